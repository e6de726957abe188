"""Which peer should take which todo: by capability, health, load and priority, no two on one todo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from loopx_git.core import conditions, scope
from loopx_git.core.change import Actor
from loopx_git.core.claim import is_held, is_stale
from loopx_git.core.lease import Clocks, Lease
from loopx_git.core.peer import Peer, PeerKind, PeerStatus
from loopx_git.core.query import loads, ranked
from loopx_git.core.snapshot import Snapshot
from loopx_git.core.todo import Status, Todo
from loopx_git.errors import InvalidState


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One peer sent to one todo."""

    agent: str
    todo: str
    title: str
    priority: int


def suggest(
    snapshot: Snapshot, goals: Sequence[str], clocks: Clocks, *, per_agent: int = 1, only: str | None = None
) -> list[Suggestion]:
    """Suggestions that can all be claimed at once. The same state gives the same answer.

    Todos go by rank; each to the fitting peer with the least load (soft claims count), of those to the one with the
    fewest todos it could do at all, then by name. So loads stay within one of each other where capabilities allow it.
    Of one priority, what has soft claims goes to those who have them, before anything else; to others, last. `only`
    asks for one peer alone. A peer that asks for itself counts as present, however long ago it was seen.
    """
    peers = [
        peer
        for peer in snapshot.peers()
        if (_is_healthy(peer, snapshot, clocks) if only is None else peer.agent == only)
    ]
    busy = loads(snapshot, clocks)
    most = snapshot.policy.claims_max_per_agent
    todos = [
        todo
        for todo in ranked(one for goal in goals for one in snapshot.todos(goal))
        if _is_free(snapshot, todo, clocks)
    ]
    options = {peer.agent: sum(1 for todo in todos if conditions.fitness(peer, todo) is None) for peer in peers}
    given: Counter[str] = Counter()
    chosen: list[tuple[Peer, Todo]] = []

    def weight(peer: Peer, todo: Todo) -> int:
        return len(busy.get(peer.agent, set()) - {todo.id}) + given[peer.agent]

    for todo, softly in _rounds(todos):
        if any(other.id == todo.id for _, other in chosen):
            continue
        able = [
            peer
            for peer in peers
            if (not softly or peer.agent in todo.soft_claims)
            and given[peer.agent] < per_agent
            and (most is None or weight(peer, todo) < most)
            and conditions.fitness(peer, todo) is None
            and conditions.scope_overlap(snapshot, todo, Actor(peer.agent, ""), clocks) is None
        ]
        if not able or _overlaps_chosen(snapshot, todo, chosen):
            continue
        peer = min(able, key=lambda one: (weight(one, todo), options[one.agent], one.agent))
        given[peer.agent] += 1
        chosen.append((peer, todo))
    return [Suggestion(peer.agent, todo.id, todo.title, todo.priority) for peer, todo in chosen]


def _rounds(todos: Sequence[Todo]) -> Iterator[tuple[Todo, bool]]:
    """(todo, whether it is offered only to those who have a soft claim of it), in the order of the offers."""
    for _, group in groupby(todos, key=lambda todo: todo.priority):
        equals = list(group)
        yield from ((todo, True) for todo in equals if todo.soft_claims)
        yield from ((todo, False) for todo in equals if not todo.soft_claims)
        yield from ((todo, False) for todo in equals if todo.soft_claims)


def _is_healthy(peer: Peer, snapshot: Snapshot, clocks: Clocks) -> bool:
    return (
        peer.status is PeerStatus.ACTIVE and peer.kind is not PeerKind.LOOP and not is_stale(peer, snapshot, clocks)
    )


def _is_free(snapshot: Snapshot, todo: Todo, clocks: Clocks) -> bool:
    if todo.status not in (Status.OPEN, Status.IN_PROGRESS):
        return False
    try:
        lease = snapshot.lease(todo.goal, todo.id) or Lease(todo.id)
    except InvalidState:
        # Unusable until it is mended; `doctor` and `verify` name it.
        return False
    return not is_held(lease, snapshot, clocks) and conditions.readiness(snapshot, todo, clocks) is None


def _overlaps_chosen(snapshot: Snapshot, todo: Todo, chosen: Sequence[tuple[Peer, Todo]]) -> bool:
    if snapshot.policy.claims_scope_overlap == "allow":
        return False
    return any(other.goal == todo.goal and scope.overlaps(todo.scope, other.scope) is not None for _, other in chosen)
