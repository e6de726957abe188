"""Suggestions for thirty peers and two hundred todos: stable, fitting, fair, free of conflicts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from builders import NOW, Item, at, lease_of, peer_of, state, todo_of

from loopx_git.core import conditions, scope
from loopx_git.core.change import Actor
from loopx_git.core.commands import OnTodo
from loopx_git.core.lease import Clocks
from loopx_git.core.peer import PeerKind, PeerStatus
from loopx_git.core.plan import plan
from loopx_git.core.policy import Policy
from loopx_git.core.suggest import suggest
from loopx_git.core.table import Operation
from loopx_git.core.todo import Status

ABILITIES = (("python",), ("docs",), ("python", "gpu"), (), ("docs", "rust"), ("rust",))
NEEDS = ((), ("python",), ("docs",), ("gpu",), ("rust",))
MOMENT = Clocks(NOW)


def items() -> list[Item]:
    found: list[Item] = [
        peer_of(f"peer-{number:02}", capabilities=ABILITIES[number % len(ABILITIES)]) for number in range(30)
    ]
    found += [
        todo_of(number, requires=NEEDS[number % 5], priority=number % 4, scope=(f"/area-{number % 150}/",))
        for number in range(200)
    ]
    return found


@pytest.mark.parametrize("per_agent", [1, 3])
def test_thirty_peers_and_two_hundred_todos(per_agent: int) -> None:
    snapshot = state(*items())
    found = suggest(snapshot, ["main"], MOMENT, per_agent=per_agent)
    assert found == suggest(state(*reversed(items())), ["main"], MOMENT, per_agent=per_agent)
    todos = {todo.id: todo for todo in snapshot.todos("main")}
    peers = {peer.agent: peer for peer in snapshot.peers()}
    assert len({item.todo for item in found}) == len(found)
    assert all(conditions.fitness(peers[item.agent], todos[item.todo]) is None for item in found)
    load = Counter(item.agent for item in found)
    assert set(load.values()) == {per_agent}
    assert len(load) == 33
    chosen = [todos[item.todo] for item in found]
    assert not any(
        scope.overlaps(one.scope, two.scope) for number, one in enumerate(chosen) for two in chosen[:number]
    )


def test_loads_stay_within_one_todo_of_each_other() -> None:
    busy = [lease_of(number, Actor("peer-03", "s"), age=5) for number in range(2)]
    held = [todo_of(number, claimed_by="peer-03") for number in range(2)]
    free = [todo_of(number) for number in range(10, 17)]
    peers = [peer_of(f"peer-0{number}") for number in range(3, 6)]
    gone = [peer_of(name, status=PeerStatus.RETIRED) for name in ("alice", "bob", "carol")]
    found = suggest(state(*peers, *gone, *busy, *held, *free), ["main"], MOMENT, per_agent=9)
    load = Counter({"peer-03": 2}) + Counter(item.agent for item in found)
    assert sum(load.values()) == 9
    assert max(load.values()) - min(load.values()) <= 1


def test_the_unwell_are_left_out() -> None:
    peers = [
        peer_of("alice", status=PeerStatus.PAUSED),
        peer_of("bob", status=PeerStatus.RETIRED),
        replace(peer_of("carol"), created_at=at(-100 * 86400)),
        peer_of("night", kind=PeerKind.LOOP),
    ]
    assert suggest(state(*peers, todo_of(1)), ["main"], MOMENT) == []


def test_limits_and_held_scopes_are_respected() -> None:
    held = todo_of(1, scope=("/src/",), claimed_by="alice")
    snapshot = state(
        Policy(claims_max_per_agent=1), held, lease_of(1, Actor("alice", "s"), age=5),
        todo_of(2, scope=("/src/a",)), todo_of(3, scope=("/docs/",)), todo_of(4, scope=("/docs/x",)),
    )  # fmt: skip
    found = suggest(snapshot, ["main"], MOMENT, per_agent=5)
    assert [(item.agent, item.title) for item in found] == [("bob", "title")]
    assert found[0].todo.endswith("3")


def test_what_is_suggested_is_granted() -> None:
    snapshot = state(*items())
    for item in suggest(snapshot, ["main"], MOMENT):
        change = plan(snapshot, OnTodo(Operation.CLAIM, item.todo), Actor(item.agent, "s"), MOMENT, "0" * 32)
        assert change.facts["acquired"] is True


def test_soft_claims_are_load_and_keep_others_away() -> None:
    """What alice has a soft claim of is hers before anything else; bob gets what nobody has, and it only at last."""
    peers = [peer_of("alice"), peer_of("bob"), peer_of("carol", status=PeerStatus.PAUSED)]
    hers, free, less = todo_of(1, soft_claims=("alice",)), todo_of(2), todo_of(3, priority=4)
    snapshot = state(*peers, hers, free, less)
    assert [(item.agent, item.todo) for item in suggest(snapshot, ["main"], MOMENT)] == [
        ("alice", hers.id), ("bob", free.id),
    ]  # fmt: skip
    # Her soft claim of another todo weighs as much as a lease.
    other = todo_of(4, soft_claims=("alice",), status=Status.BLOCKED)
    (first, *_) = suggest(state(*peers, free, other), ["main"], MOMENT)
    assert first.agent == "bob"
    # Of the limit, too; what she has softly herself she may still take.
    tight = Policy(claims_max_per_agent=1)
    assert {item.agent for item in suggest(state(tight, *peers, free, other), ["main"], MOMENT, per_agent=2)} == {
        "bob"
    }
    assert suggest(state(tight, *peers, hers), ["main"], MOMENT)[0].agent == "alice"
    # It blocks nobody: where nobody of those who have it can take it, it is offered to the rest.
    gone = replace(peers[0], status=PeerStatus.PAUSED)
    assert suggest(state(gone, *peers[1:], hers), ["main"], MOMENT)[0].agent == "bob"
