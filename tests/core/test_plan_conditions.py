"""What a claim needs beyond the table: dependencies, time, attempts, the peer, limits, scopes."""

from __future__ import annotations

from typing import Any

import pytest
from builders import (
    ALICE,
    BOB,
    CAROL,
    NOW,
    REQUEST,
    applied,
    at,
    goal_of,
    lease_of,
    peer_of,
    state,
    tid,
    todo_of,
)
from memory_store import MemoryTree

from loopx_git.core import conditions
from loopx_git.core.change import Actor, ChangeSet, PutLease
from loopx_git.core.commands import OnTodo
from loopx_git.core.lease import Clocks, Lease
from loopx_git.core.peer import GoalStatus, Peer, PeerKind, PeerStatus
from loopx_git.core.plan import plan
from loopx_git.core.policy import Policy
from loopx_git.core.snapshot import Snapshot
from loopx_git.core.table import Operation
from loopx_git.core.todo import Status, Todo
from loopx_git.errors import NotAllowed
from loopx_git.format import layout
from loopx_git.ledger.snapshot import TreeSnapshot

LAPSED_AGE = 7200 + 61.0


def claim(snapshot: Snapshot, by: Actor = ALICE, number: int = 1, **fields: Any) -> ChangeSet:
    operation = fields.pop("operation", Operation.CLAIM)
    return plan(snapshot, OnTodo(operation, tid(number), **fields), by, Clocks(NOW), REQUEST)


def refused(snapshot: Snapshot, by: Actor = ALICE, number: int = 1, **fields: Any) -> NotAllowed:
    with pytest.raises(NotAllowed) as caught:
        claim(snapshot, by, number, **fields)
    assert caught.value.code == 15
    assert caught.value.hint
    return caught.value


def holder(change: ChangeSet, number: int = 1) -> str | None:
    (lease,) = (
        write.lease for write in change.writes if isinstance(write, PutLease) if write.lease.todo == tid(number)
    )
    return lease.holder


# -- dependencies


@pytest.mark.parametrize(
    ("others", "waits_for", "why"),
    [
        ([todo_of(2, status=Status.COMPLETED)], None, ""),
        ([todo_of(2, status=Status.COMPLETED, archived=True)], None, ""),
        ([todo_of(2)], 2, "is open"),
        ([todo_of(2, status=Status.IN_PROGRESS)], 2, "is in_progress"),
        ([todo_of(2, status=Status.NEEDS_HUMAN)], 2, "is needs_human"),
        ([todo_of(2, status=Status.CANCELLED)], 2, "is cancelled"),
        ([todo_of(2, status=Status.CANCELLED, archived=True)], 2, "is cancelled"),
        ([], 2, "does not exist"),
        ([todo_of(2, status=Status.SUPERSEDED)], 2, "is superseded"),
        (
            [todo_of(2, status=Status.SUPERSEDED, successor=tid(3)), todo_of(3, status=Status.COMPLETED)],
            None,
            "",
        ),
        ([todo_of(2, status=Status.SUPERSEDED, successor=tid(3)), todo_of(3)], 3, "is open"),
        ([todo_of(2, status=Status.SUPERSEDED, successor=tid(3))], 3, "does not exist"),
        (
            [
                todo_of(2, status=Status.SUPERSEDED, successor=tid(3), archived=True),
                todo_of(3, status=Status.SUPERSEDED, successor=tid(4)),
                todo_of(4, status=Status.COMPLETED, archived=True),
            ],
            None,
            "",
        ),
        (
            [
                todo_of(2, status=Status.SUPERSEDED, successor=tid(3)),
                todo_of(3, status=Status.SUPERSEDED, successor=tid(4)),
                todo_of(4, status=Status.CANCELLED),
            ],
            4,
            "is cancelled",
        ),
        (
            [
                todo_of(2, status=Status.SUPERSEDED, successor=tid(3)),
                todo_of(3, status=Status.SUPERSEDED, successor=tid(2)),
            ],
            3,
            "is superseded in a circle",
        ),
        ([todo_of(2, status=Status.COMPLETED, goal="other"), goal_of("other")], None, ""),
        ([todo_of(2, goal="other"), goal_of("other")], 2, "is open"),
    ],
)
def test_dependencies(others: list[Todo], waits_for: int | None, why: str) -> None:
    snapshot = state(todo_of(1, depends_on=(tid(2),)), *others)
    if waits_for is None:
        assert holder(claim(snapshot)) == "alice"
        return
    error = refused(snapshot)
    named = next((f" ({todo.title})" for todo in others if todo.id == tid(waits_for)), "")
    assert f"waits for {tid(waits_for)}{named}, which {why}" in error.message
    assert error.about == {"todo_id": tid(1), "depends_on": tid(waits_for)}


def test_every_dependency_counts() -> None:
    done = todo_of(2, status=Status.COMPLETED)
    snapshot = state(todo_of(1, depends_on=(tid(2), tid(3))), done, todo_of(3))
    assert refused(snapshot).about["depends_on"] == tid(3)


def test_a_cancelled_dependency_says_what_to_do() -> None:
    error = refused(state(todo_of(1, depends_on=(tid(2),)), todo_of(2, status=Status.CANCELLED)))
    assert "depends on" in error.hint and f"reopen {tid(2)}" in error.hint


def test_a_dependency_that_cannot_be_read_keeps_the_todo_waiting() -> None:
    sound = state(todo_of(1, depends_on=(tid(2),)), todo_of(2, status=Status.COMPLETED))
    assert isinstance(sound.tree, MemoryTree)
    broken = TreeSnapshot(MemoryTree({**sound.tree.files, layout.todo("main", tid(2)): b"---\nid: x\n"}))
    assert "cannot be read" in refused(broken).message


def test_a_dependency_under_two_goals_keeps_the_todo_waiting() -> None:
    twice = [todo_of(2, status=Status.COMPLETED), todo_of(2, status=Status.COMPLETED, goal="other")]
    assert "does not exist" in refused(state(todo_of(1, depends_on=(tid(2),)), goal_of("other"), *twice)).message


def test_a_chain_of_successors_has_an_end() -> None:
    length = conditions.CHAIN_MAX + 10
    links = [todo_of(n, status=Status.SUPERSEDED, successor=tid(n + 1)) for n in range(2, length)]
    snapshot = state(todo_of(1, depends_on=(tid(2),)), *links, todo_of(length, status=Status.COMPLETED))
    assert "is superseded" in refused(snapshot).message


# -- readiness that does not depend on the claimant


@pytest.mark.parametrize(("seconds", "ready"), [(-1, True), (0, True), (0.001, False), (3600, False)])
def test_resume_after(seconds: float, ready: bool) -> None:
    snapshot = state(todo_of(1, resume_after=at(seconds)))
    if ready:
        assert holder(claim(snapshot)) == "alice"
    else:
        assert "resumes after" in refused(snapshot).message


@pytest.mark.parametrize(("attempts", "limit", "ready"), [(0, 1, True), (1, 1, False), (2, 3, True), (7, 3, False)])
def test_attempts(attempts: int, limit: int, ready: bool) -> None:
    snapshot = state(todo_of(1, attempts=attempts), Policy(claims_max_attempts=limit))
    if ready:
        assert holder(claim(snapshot)) == "alice"
    else:
        assert f"reclaimed {attempts} times (limit {limit})" in refused(snapshot).message


def test_the_last_attempt_is_the_limits() -> None:
    """Of two lapses with a limit of two, the second taker is the last."""
    snapshot = state(
        todo_of(1, attempts=1, claimed_by="bob"), lease_of(1, BOB, age=LAPSED_AGE), Policy(claims_max_attempts=2)
    )
    after = applied(snapshot, claim(snapshot))
    assert after.todo("main", tid(1)).attempts == 2
    again = state(
        after.todo("main", tid(1)), lease_of(1, ALICE, epoch=4, age=LAPSED_AGE), Policy(claims_max_attempts=2)
    )
    refused(again, BOB)


def test_a_closed_goal() -> None:
    closed = goal_of("done", status=GoalStatus.CLOSED)
    assert "the goal done is closed" in refused(state(closed, todo_of(1, goal="done"))).message


# -- the claimant


@pytest.mark.parametrize("excluded", [("alice",), ("bob", "ALICE")])
def test_excluded(excluded: tuple[str, ...]) -> None:
    snapshot = state(todo_of(1, excluded=excluded))
    assert "excludes alice" in refused(snapshot).message
    assert holder(claim(snapshot, CAROL)) == "carol"


def test_requires() -> None:
    able = peer_of("alice", capabilities=("python", "docker", "gpu"))
    half = peer_of("bob", capabilities=("python",))
    snapshot = state(todo_of(1, requires=("python", "gpu")), able, half)
    assert holder(claim(snapshot)) == "alice"
    error = refused(snapshot, BOB)
    assert "requires gpu, which bob does not have" in error.message
    # Who lacks a capability is not told to grant it to itself.
    assert error.hint == "take another: git loopx todo list --ready"


@pytest.mark.parametrize("operation", [Operation.CLAIM, Operation.SOFT])
@pytest.mark.parametrize("status", [PeerStatus.PAUSED, PeerStatus.RETIRED])
def test_a_peer_that_is_not_active(status: PeerStatus, operation: Operation) -> None:
    snapshot = state(todo_of(1), peer_of("alice", status=status))
    assert f"the peer alice is {status}" in refused(snapshot, operation=operation).message


@pytest.mark.parametrize("operation", [Operation.CLAIM, Operation.SOFT])
def test_an_unregistered_agent(operation: Operation) -> None:
    error = refused(state(todo_of(1)), Actor("dave", "s"), operation=operation)
    assert "dave is not a registered peer" in error.message
    assert error.hint == "git loopx peer register dave"


@pytest.mark.parametrize("auto", [False, True])
def test_names_differ_in_more_than_case(auto: bool) -> None:
    error = refused(state(todo_of(1), Policy(peers_auto_register=auto)), Actor("ALICE", "s"))
    assert "did you mean alice?" in error.message


@pytest.mark.parametrize("operation", [Operation.CLAIM, Operation.SOFT])
def test_auto_register_writes_the_peer_with_the_first_claim(operation: Operation) -> None:
    snapshot = state(todo_of(1), Policy(peers_auto_register=True))
    change = claim(snapshot, Actor("dave", "s"), operation=operation)
    assert Peer("dave", NOW, "dave") in change.writes
    after = applied(snapshot, change)
    assert after.peer("dave") == Peer("dave", NOW, "dave", PeerKind.AGENT, PeerStatus.ACTIVE)
    assert not any(isinstance(write, Peer) for write in claim(after, BOB, operation=Operation.SOFT).writes)


def test_auto_register_registers_nobody_but_the_caller() -> None:
    snapshot = state(todo_of(1, claimed_by="alice"), lease_of(1, ALICE), Policy(peers_auto_register=True))
    assert "dave is not a registered peer" in refused(snapshot, operation=Operation.TRANSFER, to="dave").message


def test_auto_register_does_not_free_of_other_conditions() -> None:
    snapshot = state(todo_of(1, requires=("gpu",)), Policy(peers_auto_register=True))
    assert "requires gpu" in refused(snapshot, Actor("dave", "s")).message


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("dave", "dave is not a registered peer"),
        ("Bob", "did you mean bob?"),
        ("paused", "the peer paused is paused"),
        ("bob", f"{tid(1)} requires gpu"),
        ("carol", f"{tid(1)} excludes carol"),
    ],
)
def test_who_can_receive_a_transfer(to: str, why: str) -> None:
    snapshot = state(
        todo_of(1, claimed_by="alice", requires=("gpu",), excluded=("carol",)),
        lease_of(1, ALICE),
        peer_of("carol", capabilities=("gpu",)),
        peer_of("paused", capabilities=("gpu",), status=PeerStatus.PAUSED),
    )
    assert why in refused(snapshot, operation=Operation.TRANSFER, to=to).message


# -- how many


@pytest.mark.parametrize(
    ("held", "most", "allowed"),
    [
        ([lease_of(2, ALICE)], 2, True),
        ([lease_of(2, ALICE)], 1, False),
        ([lease_of(2, ALICE, session="another")], 1, False),
        ([lease_of(2, BOB)], 1, True),
        ([lease_of(2, ALICE, age=LAPSED_AGE)], 1, True),
        ([lease_of(2, ALICE, age=1e8, ttl_s=None)], 1, False),
        ([lease_of(2), lease_of(3)], 1, True),
        ([lease_of(2, ALICE)], None, True),
        ([lease_of(2, ALICE), lease_of(3, ALICE)], None, True),
    ],
)
def test_max_per_agent(held: list[Lease], most: int | None, allowed: bool) -> None:
    todos = [todo_of(n, claimed_by=None) for n in (1, 2, 3)]
    snapshot = state(*todos, *held, Policy(claims_max_per_agent=most))
    if allowed:
        assert holder(claim(snapshot)) == "alice"
    else:
        assert f"holds 1 claims and the policy allows {most}" in refused(snapshot).message


def test_max_per_agent_counts_every_goal() -> None:
    policy = Policy(claims_max_per_agent=1)
    snapshot = state(todo_of(1), goal_of("other"), todo_of(2, goal="other"), lease_of(2, ALICE), policy)
    assert "holds 1 claims" in refused(snapshot).message


def test_max_per_agent_does_not_keep_from_resuming_ones_own() -> None:
    snapshot = state(
        todo_of(1, claimed_by="alice"), lease_of(1, ALICE, session="gone"), Policy(claims_max_per_agent=1)
    )
    assert holder(claim(snapshot, operation=Operation.RESUME)) == "alice"


# -- scopes


@pytest.mark.parametrize(
    ("mine", "theirs", "overlap"),
    [
        (("src/a",), ("src/b",), False),
        (("src",), ("src/b",), True),
        (("docs", "src/*.py"), ("src/main.py",), True),
        ((), ("src",), False),
        (("src",), (), False),
    ],
)
def test_scope_overlap(mine: tuple[str, ...], theirs: tuple[str, ...], overlap: bool) -> None:
    snapshot = state(todo_of(1, scope=mine), todo_of(2, scope=theirs, claimed_by="bob"), lease_of(2, BOB))
    if not overlap:
        assert holder(claim(snapshot)) == "alice"
        return
    error = refused(snapshot)
    assert "overlaps" in error.message
    assert error.about == {"todo_id": tid(1), "conflict": tid(2), "holder": "bob", "epoch": 3}


OVERLAPPING = (todo_of(1, scope=("src",)), todo_of(2, scope=("src/b",)))


@pytest.mark.parametrize(
    ("lease", "allowed"),
    [
        (lease_of(2, BOB), False),
        (lease_of(2, BOB, age=LAPSED_AGE), True),
        (lease_of(2), True),
        (lease_of(2, ALICE), True),  # the claims of one session do not stand in each other's way
        (lease_of(2, ALICE, session="another"), False),
        (lease_of(2, ALICE, session=None), False),
    ],
)
def test_whose_scope_counts(lease: Lease, allowed: bool) -> None:
    snapshot = state(*OVERLAPPING, lease)
    if allowed:
        assert holder(claim(snapshot)) == "alice"
    else:
        assert "overlaps" in refused(snapshot).message


def test_the_policy_may_allow_overlaps() -> None:
    snapshot = state(*OVERLAPPING, lease_of(2, BOB), Policy(claims_scope_overlap="allow"))
    assert holder(claim(snapshot)) == "alice"


def test_scopes_of_another_goal_do_not_count() -> None:
    mine, theirs = todo_of(1, scope=("src",)), todo_of(2, goal="other", scope=("src",))
    assert holder(claim(state(mine, goal_of("other"), theirs, lease_of(2, BOB)))) == "alice"


def test_the_todos_own_lapsed_claim_does_not_overlap_it() -> None:
    snapshot = state(todo_of(1, scope=("src",), claimed_by="bob"), lease_of(1, BOB, age=LAPSED_AGE))
    assert holder(claim(snapshot)) == "alice"


def test_resuming_asks_for_the_scope_again() -> None:
    """Meanwhile somebody else may have taken what overlaps."""
    own = lease_of(1, ALICE, session="gone", age=LAPSED_AGE)
    error = refused(state(*OVERLAPPING, own, lease_of(2, BOB)), operation=Operation.RESUME)
    assert error.about["conflict"] == tid(2)


def test_a_live_claim_of_an_unreadable_todo_keeps_nobody_else_away() -> None:
    sound = state(*OVERLAPPING, lease_of(2, BOB))
    assert isinstance(sound.tree, MemoryTree)
    broken = TreeSnapshot(MemoryTree({**sound.tree.files, layout.todo("main", tid(2)): b"---\n"}))
    assert holder(claim(broken)) == "alice"


def test_what_resumes_is_not_asked_for_readiness() -> None:
    """A session that goes on where its own agent stopped is not kept away by what came up meanwhile."""
    snapshot = state(todo_of(1, depends_on=(tid(2),), attempts=9), todo_of(2), lease_of(1, ALICE, session="gone"))
    assert holder(claim(snapshot, operation=Operation.RESUME)) == "alice"
