"""Which todos a peer could take now, best first, and why not the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from loopx_git.core import conditions, scope
from loopx_git.core.change import Actor
from loopx_git.core.claim import is_held
from loopx_git.core.lease import Clocks, Lease
from loopx_git.core.peer import Peer
from loopx_git.core.snapshot import Snapshot
from loopx_git.core.todo import Status, Todo
from loopx_git.errors import InvalidState


@dataclass(frozen=True, slots=True)
class Skipped:
    """A todo that was looked at and does not fit, with the reason."""

    todo: str
    why: str
    #: The todo as people know it; "" where that is not one todo.
    called: str = ""

    @property
    def words(self) -> str:
        """The reason for people: it names the todo by alias and title."""
        return self.why.replace(self.todo, self.called, 1) if self.called else self.why

    @classmethod
    def of(cls, todo: Todo, why: str) -> Skipped:
        """The todo that was passed over, with its alias and title."""
        return cls(todo.id, why, conditions.called(todo))


@dataclass(frozen=True, slots=True)
class WaitsFor:
    """One thing that an open todo waits for: another todo (its id, and its alias and title where it can be read),
    or a moment (`todo` is None and `until` is set)."""

    why: str
    todo: str | None = None
    alias: str | None = None
    title: str | None = None
    until: datetime | None = None


def waits_for(snapshot: Snapshot, todo: Todo, clocks: Clocks) -> tuple[WaitsFor, ...]:
    """What an open todo waits for: each dependency that is not completed, and the moment at which it resumes."""
    if todo.status not in (Status.OPEN, Status.IN_PROGRESS):
        return ()
    found: list[WaitsFor] = []
    for wanted in todo.depends_on:
        unmet = conditions.blocker(snapshot, replace(todo, depends_on=(wanted,)))
        if unmet is None:
            continue
        # What is not there, or cannot be read, has no title; the reason says which of the two it is.
        named = unmet.todo
        found.append(
            WaitsFor(unmet.why, unmet.on)
            if named is None
            else WaitsFor(unmet.why, unmet.on, named.alias, named.title)
        )
    if todo.resume_after is not None and todo.resume_after > clocks.now:
        found.append(WaitsFor("resumes later", until=todo.resume_after))
    return tuple(found)


def ranked(todos: Iterable[Todo], agent: str | None = None) -> list[Todo]:
    """By priority, then age, then id: the order of every list. For an `agent`, a todo with a soft claim of another
    agent comes after its equals."""
    return sorted(
        todos,
        key=lambda todo: (todo.priority, agent is not None and spoken_for(todo, agent), todo.created_at, todo.id),
    )


def spoken_for(todo: Todo, agent: str) -> bool:
    """Whether another agent has a soft claim of it. It may still be claimed."""
    return any(name != agent for name in todo.soft_claims)


def loads(snapshot: Snapshot, clocks: Clocks) -> Mapping[str, set[str]]:
    """The todos that each agent works on: those it holds in time, and those of which it has a soft claim."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for goal in snapshot.goal_ids():
        for lease in snapshot.leases(goal):
            if lease.holder is not None and is_held(lease, snapshot, clocks):
                found[lease.holder].add(lease.todo)
        for todo in snapshot.todos(goal):
            for agent in todo.soft_claims:
                found[agent].add(todo.id)
    return found


def fitting(
    snapshot: Snapshot, goals: Sequence[str], peer: Peer, actor: Actor, clocks: Clocks, few: int,
    without: Container[str] = (), statuses: Container[str] = (),
) -> tuple[list[Todo], list[Skipped]]:  # grouped by meaning  # fmt: skip
    """The best `few` todos that the peer could claim at this moment, and what was passed over on the way.
    `statuses` narrows it to some of the statuses.

    A todo that the caller's own agent holds is passed over too: it is being worked on. So are those in `without`,
    which the caller leaves out for reasons of its own.
    """
    fits: list[Todo] = []
    skipped: list[Skipped] = []
    over = conditions.limit(snapshot, actor, clocks)
    if over is not None:
        return [], [Skipped("*", over.message)]
    most = snapshot.policy.claims_max_per_agent
    busy = set() if most is None else loads(snapshot, clocks).get(actor.name, set())
    for todo in ranked((todo for goal in goals for todo in snapshot.todos(goal)), actor.name):
        if statuses and todo.status.value not in statuses:
            continue
        if todo.status not in (Status.OPEN, Status.IN_PROGRESS):
            if todo.status in (Status.BLOCKED, Status.NEEDS_HUMAN):
                skipped.append(Skipped.of(todo, f"{todo.id} is {todo.status}"))
            continue
        why = why_not(snapshot, todo, peer, actor, clocks)
        if why is None and most is not None and len(busy - {todo.id}) >= most:
            why = f"{actor.name} works on {len(busy)} todos, softly claimed ones included; the policy allows {most}"
        if why is None and todo.id in without:
            why = f"{todo.id} was passed over"
        if why is None:
            fits.append(todo)
            if len(fits) >= few:
                break
        else:
            skipped.append(Skipped.of(todo, why))
    return fits, skipped


def contended(fits: Sequence[Todo], lost: int, agent: str) -> Sequence[Todo]:
    """The candidates among `fits` (best first) after `lost` lost races.

    Without a loss they are the todos of the best priority. A todo with a soft claim of another agent counts as less
    than one without. Each lost race doubles the number of candidates, so that a crowd spreads soon, and an agent that
    is alone never gets less urgent work.
    """
    best = (fits[0].priority, spoken_for(fits[0], agent))
    equals = sum(1 for todo in fits if (todo.priority, spoken_for(todo, agent)) == best)
    return fits[: max(equals, 2**lost if lost else 0)]


def covering(
    snapshot: Snapshot, peer: Peer | None, actor: Actor, clocks: Clocks, paths: Sequence[str]
) -> tuple[Todo, int] | None:
    """The todo that could be claimed at this moment and whose scope matches most of `paths` (how many), the best
    of equals; None when there is none. A todo without a scope is about no path in particular."""
    if conditions.limit(snapshot, actor, clocks) is not None:
        return None
    found: list[tuple[int, Todo]] = []
    for todo in ranked((todo for goal in snapshot.goal_ids() for todo in snapshot.todos(goal)), actor.name):
        if todo.status in (Status.OPEN, Status.IN_PROGRESS) and todo.scope:
            count = sum(map(scope.compile_scope(todo.scope), paths))
            if count:
                found.append((count, todo))
    # The sort keeps the order of equals. Who may claim is asked last: it costs more than a look at the scope.
    for count, todo in sorted(found, key=lambda item: -item[0]):
        if why_not(snapshot, todo, peer, actor, clocks) is None:
            return todo, count
    return None


def why_not(snapshot: Snapshot, todo: Todo, peer: Peer | None, actor: Actor, clocks: Clocks) -> str | None:
    """Why the actor could not claim this open todo at this moment, in a sentence; None when it could. Without a
    `peer` nothing is asked of who it is."""
    try:
        lease = snapshot.lease(todo.goal, todo.id) or Lease(todo.id)
    except InvalidState as error:
        return error.message
    if is_held(lease, snapshot, clocks):
        return f"{todo.id} is held by {lease.holder}"
    if lease.holder == actor.name and lease.session in (None, actor.session):
        return f"{todo.id} is your own and past its deadline: renew or release it"
    for unmet in (
        None if peer is None else conditions.fitness(peer, todo),
        conditions.readiness(snapshot, todo, clocks),
        conditions.scope_overlap(snapshot, todo, actor, clocks),
    ):
        if unmet is not None:
            return unmet.message
    return None
