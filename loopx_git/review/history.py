"""What the ledger's history says about the claims that commits of code name."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from loopx_git.core.change import Op
from loopx_git.core.lease import Ended, Lease
from loopx_git.core.todo import Todo
from loopx_git.errors import InvalidState
from loopx_git.format import layout, message
from loopx_git.format.snapshot import TreeSnapshot
from loopx_git.review.check import Claim, Claims, Standing
from loopx_git.store.base import Objects
from loopx_git.store.validate import Checker

#: Says why a commit of the ledger does not prove its agent, or "".
Prover = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Step:
    """One commit of the ledger that touched a todo: the states after it."""

    commit: str
    op: str
    agent: str
    time: str
    lease: Lease
    todo: Todo | None


def read_claims(
    objects: Objects, memo: dict[Hashable, Any], todos: Iterable[str], tip: str, prove: Prover | None = None
) -> Claims:
    """The claims of `todos` at the tip `tip`, which has been checked."""
    snapshot = TreeSnapshot(objects.tree(tip), memo)
    known: dict[str, str | None] = {}
    granted: dict[str, Claim] = {}
    trails = trails_of(objects, memo, todos, tip)
    for todo, (goal, steps) in trails.items():
        lease = snapshot.lease(goal, todo)
        known[todo] = None if lease is None else lease.holder
        for claim in epochs(steps):
            if prove is not None:
                claim = replace(claim, unproven=prove(claim.granted))
            granted[claim.id] = claim
    return Claims(known, granted, tuple(live_claims(snapshot)), tip)


def live_claims(snapshot: TreeSnapshot) -> Iterable[Claim]:
    """Every claim in the ledger that somebody holds; what its clock says does not matter."""
    for goal in snapshot.goal_ids():
        for lease in snapshot.leases(goal):
            try:
                todo = snapshot.todo(goal, lease.todo)
            except InvalidState:
                # An unreadable todo covers nothing; `verify` and `doctor` name it.
                continue
            yield Claim(lease.todo, lease.epoch, lease.holder or "", todo.title, todo.scope)


def trails_of(
    objects: Objects, memo: dict[Hashable, Any], todos: Iterable[str], tip: str
) -> dict[str, tuple[str, list[Step]]]:
    """Todo -> (goal, every legal commit that touched it or its record, oldest first); todos that the ledger does
    not have are left out. Only the commits that touched one are replayed, so long histories stay cheap."""
    snapshot = TreeSnapshot(objects.tree(tip), memo)
    goals = {todo: goals[0] for todo in sorted(set(todos)) if len(goals := snapshot.goals_of(todo)) == 1}
    found: dict[str, tuple[str, list[Step]]] = {todo: (goal, []) for todo, goal in goals.items()}
    if not goals:
        return found
    paths = {
        todo: (layout.lease(goal, todo), layout.todo(goal, todo), layout.todo(goal, todo, archived=True))
        for todo, goal in goals.items()
    }
    former: dict[str, tuple[object, ...]] = {}
    root: object = None
    checker = Checker(objects, memo)
    for oid in objects.between(None, tip, 10**9):
        tree = objects.tree(oid)
        if tree.key(layout.GOALS) == root:
            continue
        root = tree.key(layout.GOALS)
        for todo, places in paths.items():
            keys = tuple(tree.key(place) for place in places)
            if keys == former.get(todo, (None, None, None)):
                continue
            former[todo] = keys
            goal, steps = found[todo]
            step = _step(checker, TreeSnapshot, oid, goal, todo, steps)
            if step is not None:
                steps.append(step)
    return found


def _step(
    checker: Checker, read: Callable[..., TreeSnapshot], oid: str, goal: str, todo: str, steps: list[Step]
) -> Step | None:
    """The states after one commit; None for a commit that was nobody's to make: it granted nothing."""
    from loopx_git.core.times import format_time

    objects = checker.objects
    commit = objects.commit(oid)
    try:
        said = message.load(commit.message)
        after = read(objects.tree(oid), checker.memo)
        lease = after.lease(goal, todo) or Lease(todo)
        stored = after.todo(goal, todo) if after.goals_of(todo) else None
    except InvalidState:
        return None
    if said.op is Op.ADOPT:
        # It takes over edits of fields and brings every record back; it was replayed when the tip was read.
        if lease != (steps[-1].lease if steps else Lease(todo)):
            return None
    elif any(checker.walk(commit.parents[0] if commit.parents else None, oid, 1)):
        return None
    return Step(oid, said.op.value, said.agent, format_time(commit.time), lease, stored)


def epochs(steps: list[Step]) -> list[Claim]:
    """Every epoch that was granted to somebody, with its last scope and what became of it."""
    found: dict[int, Claim] = {}
    last: dict[int, Lease] = {}
    for step in steps:
        lease = step.lease
        last[lease.epoch] = lease
        if lease.holder is not None:
            known = found.get(lease.epoch)
            title = step.todo.title if step.todo is not None else ""
            granted = step.commit if known is None else known.granted
            found[lease.epoch] = Claim(lease.todo, lease.epoch, lease.holder, title, granted=granted)
        if lease.epoch in found and step.todo is not None:
            found[lease.epoch] = replace(found[lease.epoch], scope=step.todo.scope)
    newest = steps[-1].lease if steps else Lease("")
    return [_standing(claim, last[claim.epoch], newest, found) for claim in found.values()]


def _standing(claim: Claim, last: Lease, newest: Lease, found: dict[int, Claim]) -> Claim:
    later = [other for epoch, other in sorted(found.items()) if epoch > claim.epoch]
    after = f"{later[-1].holder}@{later[-1].epoch}" if later else ""
    if last.holder is None and last.ended in (Ended.COMPLETED, Ended.SUPERSEDED):
        return replace(claim, standing=Standing.DONE, how=last.ended.value, after=after)
    if last.holder is not None and newest.epoch == claim.epoch:
        return claim
    if later and (last.holder is not None or last.ended in (Ended.EXPIRED, Ended.RECLAIMED)):
        return replace(claim, standing=Standing.TAKEN_OVER, how="taken over", after=after)
    how = last.ended.value if last.ended is not None else "ended by an operator"
    return replace(claim, standing=Standing.ENDED, how=how, after=after)
