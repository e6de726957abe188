"""What the ledger says about the claims that commits of code name.

No date decides here: a claim counts while its epoch is current, or when its holder ended it by completing or
superseding the todo. That the todo was reopened afterwards undoes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from loopx_git.client.claims_file import claims_at, tests_of
from loopx_git.client.client import Client
from loopx_git.client.completed_at import commits_of
from loopx_git.core.change import Op
from loopx_git.core.lease import Clocks, Ended, Lease
from loopx_git.core.todo import Todo
from loopx_git.coverage.position import Positions
from loopx_git.coverage.rules import IN_CLONE
from loopx_git.coverage.trailers import split
from loopx_git.coverage.verdict import Claim, Named, fault_of
from loopx_git.errors import InvalidState
from loopx_git.format import layout, message
from loopx_git.ledger.commits import Objects
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.ledger.validation import Checker

#: Says why a commit of the ledger does not prove its agent, or "".
Prover = Callable[[str], str]
_CARRIED = (Ended.COMPLETED, Ended.SUPERSEDED)


@dataclass(frozen=True, slots=True)
class LedgerStep:
    """One commit of the ledger that touched a todo: the states after it."""

    commit: str
    op: str
    agent: str
    time: str
    lease: Lease
    todo: Todo | None
    ends: tuple[str, ...] = ()


@dataclass(slots=True)
class Epoch:
    """One epoch that was granted: the commit that granted it, the record while it was held last and as it was left,
    the todo as it was at its end, and the commits of code at which the work stood when it was completed."""

    granted: str
    held: Lease
    last: Lease
    todo: Todo | None = None
    ends: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Granted:
    """What the ledger knows at its tip: what each claim that is named is worth, and every claim that is live.
    `position` tells what was there when a todo was completed."""

    named: Mapping[str, Named] = field(default_factory=dict)
    live: Sequence[Claim] = ()
    tip: str = ""
    position: Positions | None = None


@dataclass(frozen=True, slots=True)
class LedgerHistory:
    """One tip of the ledger, to be asked what claims are worth. `whole` makes a history that is cut whole first,
    where it can be."""

    objects: Objects
    memo: dict[Hashable, Any]
    tip: str
    whole: Callable[[], None] = lambda: None

    @property
    def snapshot(self) -> TreeSnapshot:
        """The state at the tip."""
        return TreeSnapshot(self.objects.tree(self.tip), self.memo)

    def granted(
        self, names: Iterable[str], caller: str, clocks: Clocks, require: str, prove: Prover | None,
        position: Positions,
    ) -> Granted:  # fmt: skip
        """What is known at the tip, for judging commits that name these claims."""
        held = [Claim(found) for found in claims_at(self.snapshot, clocks)[0]]
        live = [claim for claim in held if not claim.has_lapsed(clocks.now.timestamp())]
        return Granted(self.worth(names, held, caller, require=require, prove=prove), live, self.tip, position)

    def root(self) -> str:
        """The first commit of the history. Raises InvalidState while it is not here."""
        self.whole()
        root = self.objects.between(None, self.tip, 10**9)[0]
        if self.objects.commit(root).parents:
            raise InvalidState("the ledger's history is cut here", hint="in a fresh clone: git loopx review check")
        return root

    def worth(
        self,
        names: Iterable[str],
        held: Sequence[Claim],
        caller: str,
        *,
        require: str,
        prove: Prover | None = None,
        is_late: Callable[[Claim], bool] | None = None,
    ) -> dict[str, Named]:
        """What each claim (todo@epoch) is worth. Where `prove` is given, its grant must be proven; what `is_late`
        is worth nothing, for a caller that goes by the clock, until it is renewed."""
        names = list(dict.fromkeys(names))
        now_held = {claim.lease: claim for claim in held}
        asked = [name for name in names if name not in now_held or prove is not None]
        trails: dict[str, tuple[str, list[LedgerStep]]] = {}
        if asked:
            self.root()
            trails = trails_of(self.objects, self.memo, [split(name)[0] for name in asked], self.tip)
        found = {}
        for name in names:
            todo, number = split(name)
            steps = trails[todo][1] if todo in trails else []
            epoch = epochs_of(steps).get(number)
            fields: dict[str, Any] = {"named": name, "todo": todo, "epoch": number, "by_name": True}
            claim, fault, done = now_held.get(name), None, False
            if claim is None and epoch is not None:
                claim = claim_of(epoch.held, epoch.todo)
                fault, done = _standing(epoch, steps, fields)
            elif claim is None:
                fault = "forged" if todo in trails else "unknown"
            if fault is None and prove is not None and epoch is not None:
                fields["unproven"] = prove(epoch.granted)
                fault = "signature" if fields["unproven"] else None
            if fault is None and claim is not None:
                late = caller in IN_CLONE and is_late is not None and not done and is_late(claim)
                fault = "late" if late else fault_of(claim, require)
            ends = epoch.ends if epoch is not None else ()
            found[name] = Named(claim, fault, done=done and fault is None, ends=ends, fields=fields)
        return found


def ledger_of(client: Client, tip: str) -> LedgerHistory:
    """The ledger that a client reads, at this tip."""
    ledger = client.connection.ledger
    whole = partial(ledger.publisher.deepen, client.connection.settings.timeout)
    return LedgerHistory(ledger.objects, ledger.memo, tip, whole)


def _standing(epoch: Epoch, steps: Sequence[LedgerStep], fields: dict[str, Any]) -> tuple[str | None, bool]:
    """(the rule against a claim that is not held now, whether it was carried to its end)."""
    last, number = epoch.last, epoch.last.epoch
    if last.holder is None and last.ended in _CARRIED:
        return None, True
    if last.holder is not None and steps[-1].lease.epoch == number:
        return None, False
    later = [other.held for other in epochs_of(steps).values() if other.held.epoch > number]
    if later and (last.holder is not None or last.ended in (Ended.EXPIRED, Ended.RECLAIMED)):
        fields["after"] = f"{later[-1].holder}@{later[-1].epoch}"
        return "taken-over", False
    fields["ended"] = last.ended.value if last.ended is not None else "ended by an operator"
    return "ended", False


def claim_of(record: Lease, todo: Todo | None) -> Claim:
    """A claim as its record and todo tell it, without regard to the time."""
    return Claim({
        "todo": record.todo, "title": "" if todo is None else todo.title, "epoch": record.epoch,
        "holder": record.holder or "", "session": record.session, "ttl_s": record.ttl_s, "lapses_at": None,
        "late_at": None, "tests": tests_of(todo.scope) if todo is not None and todo.scope else None,
    })  # fmt: skip


def trails_of(
    objects: Objects, memo: dict[Hashable, Any], todos: Iterable[str], tip: str
) -> dict[str, tuple[str, list[LedgerStep]]]:
    """Todo -> (goal, every legal commit that touched it or its record, oldest first); todos that the ledger does
    not have are left out. Only the commits that touched one are replayed, so long histories stay cheap."""
    snapshot = TreeSnapshot(objects.tree(tip), memo)
    goals = {todo: goals[0] for todo in sorted(set(todos)) if len(goals := snapshot.goals_of(todo)) == 1}
    found: dict[str, tuple[str, list[LedgerStep]]] = {todo: (goal, []) for todo, goal in goals.items()}
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
            step = _step(checker, oid, goal, todo, steps)
            if step is not None:
                steps.append(step)
    return found


def _step(checker: Checker, oid: str, goal: str, todo: str, steps: list[LedgerStep]) -> LedgerStep | None:
    """The states after one commit; None for a commit that was nobody's to make: it granted nothing."""
    from loopx_git.core.times import format_time

    objects = checker.objects
    commit = objects.commit(oid)
    try:
        said = message.load(commit.message)
        after = TreeSnapshot(objects.tree(oid), checker.memo)
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
    ends = commits_of(said.code) if said.op is Op.COMPLETE else ()
    return LedgerStep(oid, said.op.value, said.agent, format_time(commit.time), lease, stored, ends)


def epochs_of(steps: Sequence[LedgerStep]) -> dict[int, Epoch]:
    """Every epoch that was granted to somebody, by its number."""
    found: dict[int, Epoch] = {}
    for step in steps:
        lease = step.lease
        known = found.get(lease.epoch)
        if known is None and lease.holder is not None:
            known = found[lease.epoch] = Epoch(step.commit, lease, lease)
        if known is not None:
            known.last = lease
            known.held = lease if lease.holder is not None else known.held
            known.todo = step.todo or known.todo
            known.ends = step.ends or known.ends
    return found
