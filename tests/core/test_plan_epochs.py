"""Epochs, transfers, and the renewals on the way, through whole commits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import ALICE, BOB, CAROL, NOW, OPERATOR, World, at, tid

from loopx_git.core.change import Actor
from loopx_git.core.commands import (
    AddTodo,
    Beat,
    Command,
    CreateGoal,
    DropSoftClaim,
    Init,
    OnTodo,
    RegisterPeer,
    RenewAll,
    SetPolicy,
)
from loopx_git.core.lease import Ended, Lease
from loopx_git.core.peer import PeerKind
from loopx_git.core.table import Operation
from loopx_git.core.times import UNSET
from loopx_git.core.todo import Status
from loopx_git.errors import HeldByAnother, LoopXError, NotAllowed, NotYourClaim, UsageError

TTL, SKEW = 7200, 60
LAPSED = TTL + SKEW + 1
OTHER_SESSION = Actor("alice", "another-session")


@pytest.fixture
def world() -> World:
    return World().begin(todos=4)


def lease(world: World, number: int = 0) -> Lease:
    found = world.lease(number)
    assert found is not None
    return found


def refused(world: World, error: type[LoopXError], command: OnTodo, by: Actor) -> LoopXError:
    before = world.tip
    with pytest.raises(error) as caught:
        world.first.submit(command, by=by)
    assert world.tip == before
    return caught.value


# -- the epoch


def test_the_first_claim_has_epoch_one(world: World) -> None:
    answer = world.first.on(Operation.CLAIM, 0, ALICE)
    assert lease(world) == Lease(
        tid(0), 1, "alice", ALICE.session, 0, TTL, NOW, NOW, world.messages()[-1].request
    )  # fmt: skip
    assert answer.facts[0]["acquired"] is True and answer.facts[0]["epoch"] == 1
    assert world.todo(0).claimed_by == "alice"


def test_a_whole_life_never_uses_an_epoch_twice(world: World) -> None:
    """Each step with what it does to the epoch; a renewal and a note leave it, an acquisition raises it."""
    clone = world.first
    steps: list[tuple[OnTodo, Actor, float, int]] = [
        (OnTodo(Operation.CLAIM, tid(0)), ALICE, 0, 1),
        (OnTodo(Operation.RENEW, tid(0), epoch=1), ALICE, 60, 1),
        (OnTodo(Operation.UPDATE, tid(0), status="in_progress", note="half"), ALICE, 1, 1),
        (OnTodo(Operation.RELEASE, tid(0), epoch=1), ALICE, 1, 1),
        (OnTodo(Operation.CLAIM, tid(0)), BOB, 1, 2),
        (OnTodo(Operation.CLAIM, tid(0)), ALICE, LAPSED, 3),  # takes over
        (OnTodo(Operation.RESUME, tid(0)), OTHER_SESSION, 1, 4),
        (OnTodo(Operation.TRANSFER, tid(0), to="carol"), OTHER_SESSION, 1, 5),
        (OnTodo(Operation.UPDATE, tid(0), note="mine now"), CAROL, 1, 5),
        (OnTodo(Operation.RELEASE, tid(0), force=True, reason="gone"), OPERATOR, 1, 6),
        (OnTodo(Operation.CLAIM, tid(0)), BOB, 1, 7),
        (OnTodo(Operation.COMPLETE, tid(0)), BOB, 1, 7),
        (OnTodo(Operation.REOPEN, tid(0)), ALICE, 1, 8),
        (OnTodo(Operation.CLAIM, tid(0)), ALICE, 1, 9),
        (OnTodo(Operation.TRANSFER, tid(0), to="bob", force=True, reason="away"), OPERATOR, 1, 10),
        (OnTodo(Operation.CANCEL, tid(0), force=True, reason="not wanted"), OPERATOR, 1, 11),
        (OnTodo(Operation.REOPEN, tid(0)), ALICE, 1, 12),
        (OnTodo(Operation.CLAIM, tid(0)), CAROL, 1, 13),
        (OnTodo(Operation.UPDATE, tid(0), fields={"priority": 0}, force=True, reason="urgent"), OPERATOR, 1, 13),
        (OnTodo(Operation.CANCEL, tid(0)), CAROL, 1, 13),
        (OnTodo(Operation.ARCHIVE, tid(0)), ALICE, 1, 13),
    ]
    held: set[tuple[int, str]] = set()
    for command, actor, pause, epoch in steps:
        world.advance(pause)
        answer = clone.submit(command, by=actor)
        assert (lease(world).epoch, answer.facts[0]["epoch"]) == (epoch, epoch), command
        if (holder := lease(world).holder) is not None:
            held.add((epoch, holder))
        assert world.todo(0).claimed_by == holder
    assert len({epoch for epoch, _ in held}) == len(held), "one holder an epoch"
    assert not world.faults()


@pytest.mark.parametrize("given", [0, 1, 3])
@pytest.mark.parametrize("operation", Operation)
def test_a_stale_epoch_changes_nothing(world: World, operation: Operation, given: int) -> None:
    for _ in range(2):
        world.first.on(Operation.CLAIM, 0, ALICE)
        world.first.on(Operation.RELEASE, 0, ALICE)
    world.first.on(Operation.UPDATE, 0, ALICE, force=True, reason="x", fields={"title": "t"})
    fields = {"priority": 0} if operation is Operation.TRIAGE else {}
    command = OnTodo(operation, tid(0), epoch=given, note="x", to="bob", fields=fields)
    error = refused(world, NotYourClaim, command, ALICE)
    assert error.about["epoch"] == 2 and f"epoch {given} of {tid(0)} is not current" in error.message


def test_a_former_holder_is_fenced_off(world: World) -> None:
    """Whatever the former holder does with the epoch that it remembers is refused, and names the new one."""
    world.first.on(Operation.CLAIM, 0, ALICE)
    world.advance(LAPSED)
    assert world.first.on(Operation.CLAIM, 0, BOB).facts[0]["former"] == "alice@1"
    assert world.messages()[-1].prev == "alice@1"
    for operation in (Operation.RENEW, Operation.UPDATE, Operation.RELEASE, Operation.COMPLETE, Operation.TRANSFER):
        for epoch in (1, None):
            # Without an epoch a note alone would need no claim.
            status = "blocked" if operation is Operation.UPDATE else None
            command = OnTodo(operation, tid(0), epoch=epoch, note="x", to="carol", status=status)
            error = refused(world, NotYourClaim, command, ALICE)
            assert (error.about["holder"], error.about["epoch"]) == ("bob", 2)
    assert world.todo(0).attempts == 1


def test_a_holder_past_its_deadline_may_renew_or_release_and_nothing_else(world: World) -> None:
    world.first.on(Operation.CLAIM, 0, ALICE)
    world.advance(LAPSED)
    for operation in (Operation.UPDATE, Operation.COMPLETE, Operation.CANCEL, Operation.TRANSFER, Operation.CLAIM):
        error = refused(world, NotYourClaim, OnTodo(operation, tid(0), note="x", to="bob"), ALICE)
        assert "renew" in error.hint and error.about["holder"] == "alice"
    world.first.on(Operation.RENEW, 0, ALICE)
    assert (lease(world).epoch, lease(world).seq, lease(world).renewed_at) == (1, 1, at(LAPSED))
    world.first.on(Operation.UPDATE, 0, ALICE, note="back")
    world.advance(LAPSED)
    world.first.on(Operation.RELEASE, 0, ALICE)
    assert lease(world).holder is None


def test_a_renewal_never_revives_a_released_lease(world: World) -> None:
    world.first.on(Operation.CLAIM, 0, ALICE)
    world.first.on(Operation.RELEASE, 0, ALICE)
    for epoch in (None, 1):
        refused(world, NotYourClaim, OnTodo(Operation.RENEW, tid(0), epoch=epoch), ALICE)


def test_a_renewal_does_not_touch_the_todo(world: World) -> None:
    world.first.on(Operation.CLAIM, 0, ALICE)
    world.first.on(Operation.RENEW, 0, ALICE)
    changed = world.objects.changed(world.history()[-2], world.tip)
    assert list(changed) == [f".loopx/goals/main/leases/00/{tid(0)}.json"]


def test_again_by_the_same_session_is_nothing_to_do(world: World) -> None:
    world.first.on(Operation.CLAIM, 0, ALICE)
    for operation in (Operation.CLAIM, Operation.RESUME):
        answer = world.first.on(operation, 0, ALICE)
        assert not answer.wrote and answer.facts[0]["unchanged"] == "already_yours"
        assert not answer.facts[0].get("acquired")
    error = refused(world, HeldByAnother, OnTodo(Operation.CLAIM, tid(0)), OTHER_SESSION)
    assert "--resume" in error.hint


def test_completing_again_under_the_same_epoch_is_nothing_to_do(world: World) -> None:
    world.first.on(Operation.CLAIM, 0, ALICE)
    world.first.on(Operation.COMPLETE, 0, ALICE, epoch=1)
    assert lease(world).ended is Ended.COMPLETED and lease(world).epoch == 1
    assert world.todo(0).completed_at == NOW
    answer = world.first.on(Operation.COMPLETE, 0, ALICE, epoch=1)
    assert not answer.wrote and answer.facts[0]["unchanged"] == "already_done"
    refused(world, NotYourClaim, OnTodo(Operation.COMPLETE, tid(0)), ALICE)


@pytest.mark.parametrize(("ttl", "stored"), [(UNSET, TTL), (None, None), (60, 60), (1, 1), (30 * 86400, 30 * 86400)])
def test_the_ttl_of_a_claim(world: World, ttl: int | str | None, stored: int | None) -> None:
    world.first.on(Operation.CLAIM, 0, ALICE, ttl=ttl)
    assert lease(world).ttl_s == stored
    world.first.on(Operation.RENEW, 0, ALICE)
    assert lease(world).ttl_s == stored
    world.first.on(Operation.RENEW, 0, ALICE, ttl=90)
    assert lease(world).ttl_s == 90
    assert not world.faults()


def test_the_policys_ttl_is_the_default(world: World) -> None:
    world.first.submit(SetPolicy("claims.ttl", "10m"))
    world.first.on(Operation.CLAIM, 0, ALICE)
    assert lease(world).ttl_s == 600
    world.first.submit(SetPolicy("claims.ttl", "none"))
    world.first.on(Operation.CLAIM, 1, ALICE)
    assert lease(world, 1).ttl_s is None


# -- claims without a time bound

DAY = 86400.0


def test_without_a_ttl_a_claim_lasts_as_long_as_its_peer_is_seen(world: World) -> None:
    clone = world.first
    clone.on(Operation.CLAIM, 0, ALICE, ttl=None)
    world.advance(DAY)
    refused(world, HeldByAnother, OnTodo(Operation.CLAIM, tid(0)), BOB)
    clone.submit(Beat(), by=ALICE)
    world.advance(DAY)
    refused(world, HeldByAnother, OnTodo(Operation.CLAIM, tid(0)), BOB)
    clone.on(Operation.CLAIM, 1, ALICE)  # to hold something newer is to be seen
    world.advance(DAY)
    refused(world, HeldByAnother, OnTodo(Operation.CLAIM, tid(0)), BOB)
    world.advance(0.001)
    clone.on(Operation.CLAIM, 0, BOB)
    assert (lease(world).holder, lease(world).epoch, world.todo(0).attempts) == ("bob", 2, 1)
    assert not world.faults()


def test_two_beats_within_a_millisecond_are_one(world: World) -> None:
    """A commit that changes nothing would be no legal operation."""
    assert world.first.submit(Beat(), by=ALICE).wrote
    before = world.tip
    assert not world.first.submit(Beat(), Beat(), by=ALICE).wrote
    assert world.tip == before
    world.advance(0.001)
    assert world.first.submit(Beat(), Beat(), by=ALICE).wrote
    assert not world.faults()


@pytest.mark.parametrize("command", [SetPolicy("peers.stale_after", "none"), RegisterPeer("alice", PeerKind.LOOP)])
def test_some_claims_never_go_stale(world: World, command: Command) -> None:
    world.first.submit(command)
    world.first.on(Operation.CLAIM, 0, ALICE, ttl=None)
    world.advance(1e8)
    refused(world, HeldByAnother, OnTodo(Operation.CLAIM, tid(0)), BOB)


def test_to_be_unseen_ends_no_claim_that_has_a_ttl(world: World) -> None:
    world.first.submit(SetPolicy("peers.stale_after", "1s"))
    world.first.on(Operation.CLAIM, 0, ALICE)
    world.advance(TTL)
    refused(world, HeldByAnother, OnTodo(Operation.CLAIM, tid(0)), BOB)


# -- reclaim: back into the pool


def test_what_has_lapsed_goes_back_to_the_pool_and_counts(world: World) -> None:
    clone = world.first
    for attempt in (1, 2, 3):
        world.advance(1)
        clone.on(Operation.CLAIM, 0, ALICE)
        clone.on(Operation.UPDATE, 0, ALICE, status="in_progress")
        refused(world, NotAllowed, OnTodo(Operation.RECLAIM, tid(0)), BOB)
        world.advance(LAPSED)
        clone.on(Operation.RECLAIM, 0, BOB)
        assert (lease(world).holder, lease(world).epoch, lease(world).ended) == (None, attempt, Ended.EXPIRED)
        assert world.messages()[-1].prev == f"alice@{attempt}"
        assert world.todo(0).attempts == attempt
        assert world.todo(0).status == ("needs_human" if attempt == 3 else "open")
    refused(world, NotAllowed, OnTodo(Operation.CLAIM, tid(0)), CAROL)
    refused(world, NotYourClaim, OnTodo(Operation.RENEW, tid(0)), ALICE)
    assert clone.on(Operation.RECLAIM, 0, BOB).facts[0]["unchanged"] == "nobody"
    assert not world.faults()


def test_soft_claims_of_peers_that_are_gone_can_be_dropped(world: World) -> None:
    clone = world.first
    clone.on(Operation.SOFT, 0, ALICE)
    clone.on(Operation.SOFT, 0, BOB)
    before = world.tip
    with pytest.raises(NotAllowed, match="alice is not stale"):
        clone.submit(DropSoftClaim(tid(0), "alice"), by=CAROL)
    assert world.tip == before
    world.advance(DAY + 1)
    clone.submit(Beat(), by=BOB)
    clone.submit(DropSoftClaim(tid(0), "alice"), by=CAROL)
    assert world.todo(0).soft_claims == ("bob",)
    assert not clone.submit(DropSoftClaim(tid(0), "alice"), by=CAROL).wrote
    assert not world.faults()


# -- renew everything


def test_renewing_all_is_one_commit_about_ones_own_session(world: World) -> None:
    clone = world.first
    for number, by in ((0, ALICE), (1, OTHER_SESSION), (2, BOB), (3, ALICE)):
        clone.on(Operation.CLAIM, number, by)
    world.advance(60)
    before = len(world.history())
    answer = clone.submit(RenewAll(), by=ALICE)
    assert answer.facts[0]["renewed"] == [f"{tid(0)}@1", f"{tid(3)}@1"]
    assert world.messages()[-1].renew == (f"{tid(0)}@1", f"{tid(3)}@1") and world.messages()[-1].todo is None
    assert [lease(world, number).seq for number in range(4)] == [1, 0, 0, 1]
    assert len(world.history()) == before + 1
    clone.submit(RenewAll((f"{tid(3)}@1", f"{tid(2)}@1")), by=ALICE)
    assert [lease(world, number).seq for number in range(4)] == [1, 0, 0, 2]
    assert not clone.submit(RenewAll(), by=CAROL).wrote
    assert not world.faults()


def test_a_takeover_waits_for_ttl_and_skew(world: World) -> None:
    world.first.on(Operation.CLAIM, 0, ALICE, ttl=100)
    for seconds in (0, 100, 59.999, 0.001):
        world.advance(seconds)
        error = refused(world, HeldByAnother, OnTodo(Operation.CLAIM, tid(0)), BOB)
        assert error.about["expires_at"] == "2026-01-02T03:05:45.678Z"
    world.advance(0.001)
    world.first.on(Operation.CLAIM, 0, BOB)
    assert lease(world).holder == "bob"


def test_the_operators_end_is_audited(world: World) -> None:
    world.first.on(Operation.CLAIM, 0, ALICE)
    world.first.on(Operation.RELEASE, 0, OPERATOR, force=True, reason="the machine is gone")
    said = world.messages()[-1]
    assert (said.prev, said.reason, said.epoch, said.agent) == ("alice@1", "the machine is gone", 2, OPERATOR.name)
    assert lease(world).ended is Ended.RELEASED
    refused(world, NotYourClaim, OnTodo(Operation.UPDATE, tid(0), epoch=1, note="x"), ALICE)


# -- transfer


def test_a_transferred_claim_is_bound_by_the_first_write(world: World) -> None:
    clone = world.first
    clone.on(Operation.CLAIM, 0, ALICE)
    world.advance(10)
    clone.on(Operation.TRANSFER, 0, ALICE, to="bob")
    given = lease(world)
    assert (given.holder, given.session, given.epoch, given.ttl_s) == ("bob", None, 2, TTL)
    assert given.acquired_at == given.renewed_at == at(10)
    assert world.messages()[-1].prev == "alice@1"
    assert world.todo(0).claimed_by == "bob"
    refused(world, NotYourClaim, OnTodo(Operation.UPDATE, tid(0), note="x", status="open"), ALICE)
    refused(world, NotYourClaim, OnTodo(Operation.UPDATE, tid(0), note="x", status="open"), CAROL)
    clone.on(Operation.UPDATE, 0, BOB, note="thanks")
    bound = lease(world)
    assert bound == replace(given, session=BOB.session)
    elsewhere = Actor("bob", "another")
    refused(world, NotYourClaim, OnTodo(Operation.UPDATE, tid(0), note="x", status="open"), elsewhere)
    assert not world.faults()


@pytest.mark.parametrize(
    "command",
    [
        OnTodo(Operation.UPDATE, tid(0), status="open"),
        OnTodo(Operation.UPDATE, tid(0), note="x"),
        OnTodo(Operation.RENEW, tid(0)),
        OnTodo(Operation.SOFT, tid(0)),
    ],
)
def test_any_write_binds_an_unbound_session(world: World, command: OnTodo) -> None:
    world.first.on(Operation.CLAIM, 0, ALICE)
    world.first.on(Operation.TRANSFER, 0, ALICE, to="bob")
    world.first.submit(command, by=BOB)
    assert (lease(world).session, lease(world).epoch) == (BOB.session, 2)
    assert not world.faults()


def test_an_unbound_claim_of_ones_own_is_held_already(world: World) -> None:
    world.first.on(Operation.CLAIM, 0, ALICE)
    world.first.on(Operation.TRANSFER, 0, ALICE, to="bob")
    assert world.first.on(Operation.CLAIM, 0, BOB).facts[0]["unchanged"] == "already_yours"
    world.first.on(Operation.COMPLETE, 0, BOB)
    assert world.todo(0).status is Status.COMPLETED
    assert not world.faults()


def test_a_claim_can_be_transferred_to_another_session_of_ones_own(world: World) -> None:
    world.first.on(Operation.CLAIM, 0, ALICE)
    world.first.on(Operation.TRANSFER, 0, ALICE, to="alice")
    world.first.on(Operation.UPDATE, 0, OTHER_SESSION, note="here")
    assert lease(world).session == OTHER_SESSION.session
    assert not world.faults()


# -- renewals on the way


def test_what_is_due_is_renewed_on_the_way(world: World) -> None:
    """Less than a third left: 2,400 of 7,200 seconds. The seconds that are left decide, to the millisecond."""
    clone = world.first
    clone.on(Operation.CLAIM, 0, ALICE)
    world.advance(TTL * 2 / 3)
    clone.on(Operation.CLAIM, 1, ALICE)
    assert lease(world).seq == 0 and world.messages()[-1].renew == ()
    world.advance(0.001)
    clone.on(Operation.UPDATE, 1, ALICE, note="work")
    assert (lease(world).seq, lease(world).epoch, lease(world).renewed_at) == (1, 1, at(TTL * 2 / 3 + 0.001))
    assert world.messages()[-1].renew == (f"{tid(0)}@1",)
    assert lease(world, 1).seq == 0
    assert not world.faults()


def test_only_live_claims_of_the_callers_own_session_are_renewed(world: World) -> None:
    clone = world.first
    clone.on(Operation.CLAIM, 0, OTHER_SESSION)
    clone.on(Operation.CLAIM, 1, BOB)
    clone.on(Operation.CLAIM, 2, ALICE, ttl=5500)  # late by the time of the last command
    clone.on(Operation.CLAIM, 3, ALICE, ttl=None)
    clone.submit(AddTodo(tid(9), "the last"))
    world.advance(TTL - 1000)
    clone.on(Operation.CLAIM, 9, ALICE)
    assert world.messages()[-1].renew == ()
    assert [lease(world, number).seq for number in range(4)] == [0, 0, 0, 0]


def test_claims_of_every_goal_are_renewed_in_one_commit(world: World) -> None:
    clone = world.first
    clone.submit(CreateGoal("another", "another goal"))
    clone.submit(AddTodo(tid(8), "there", goal="another"))
    for number in (2, 8, 1):
        clone.on(Operation.CLAIM, number, ALICE)
    world.advance(TTL - 100)
    before = len(world.history())
    clone.on(Operation.SOFT, 3, ALICE)
    assert len(world.history()) == before + 1
    assert world.messages()[-1].renew == (f"{tid(8)}@1", f"{tid(1)}@1", f"{tid(2)}@1")
    assert not world.faults()


def test_what_writes_nothing_renews_nothing(world: World) -> None:
    clone = world.first
    for number in (0, 1):
        clone.on(Operation.CLAIM, number, ALICE)
    world.advance(TTL - 100)
    before = world.tip
    assert not clone.on(Operation.UPDATE, 1, ALICE, status="open").wrote
    assert world.tip == before


@pytest.mark.parametrize(
    ("renewals", "renewed"), [((), ()), ((f"{tid(0)}@1",), (f"{tid(0)}@1",)), ((f"{tid(0)}@7", f"{tid(2)}@1"), ())]
)
def test_renewals_can_be_chosen(world: World, renewals: tuple[str, ...], renewed: tuple[str, ...]) -> None:
    """The renewal of all is the renewal of one with the others on the way, due or not."""
    clone = world.first
    clone.on(Operation.CLAIM, 0, ALICE)
    clone.on(Operation.CLAIM, 1, ALICE)
    clone.on(Operation.CLAIM, 2, BOB)
    world.advance(5)
    clone.on(Operation.RENEW, 1, ALICE, renewals=renewals)
    assert world.messages()[-1].renew == renewed
    assert lease(world, 1).seq == 1
    assert not world.faults()


# -- groups


def test_a_group_is_all_or_nothing(world: World) -> None:
    clone = world.first
    clone.on(Operation.CLAIM, 2, BOB)
    before = world.tip
    with pytest.raises(HeldByAnother):
        clone.submit(*(OnTodo(Operation.CLAIM, tid(number)) for number in (0, 1, 2)), by=ALICE)
    assert world.tip == before
    answer = clone.submit(*(OnTodo(Operation.CLAIM, tid(number)) for number in (0, 1, 3)), by=ALICE)
    assert [facts["epoch"] for facts in answer.facts] == [1, 1, 1]
    history = world.history()
    assert history[history.index(before) + 1 :][-1] == answer.oid and len(history) - history.index(before) == 4
    assert len({message.request for message in world.messages()[-3:]}) == 1
    assert len({message.nonce for message in world.messages()[-3:]}) == 3
    assert not world.faults()


def test_a_group_sees_what_its_former_commands_wrote(world: World) -> None:
    answer = world.first.submit(
        OnTodo(Operation.CLAIM, tid(0)), OnTodo(Operation.UPDATE, tid(0), note="x", epoch=1),
        OnTodo(Operation.COMPLETE, tid(0), epoch=1), OnTodo(Operation.ARCHIVE, tid(0)), by=ALICE,
    )  # fmt: skip
    assert len(answer.facts) == 4
    assert world.todo(0).archived
    assert not world.faults()
    with pytest.raises(NotAllowed, match="belongs to"):
        world.first.submit(AddTodo(tid(7), "x", alias="same"), AddTodo(tid(8), "x", alias="SAME"))


def test_a_group_may_hold_what_writes_nothing(world: World) -> None:
    clone = world.first
    clone.on(Operation.CLAIM, 0, ALICE)
    answer = clone.submit(*(OnTodo(Operation.CLAIM, tid(number)) for number in (0, 1)), by=ALICE)
    assert [facts.get("acquired", False) for facts in answer.facts] == [False, True]


# -- the ledger's beginning


def test_there_is_one_beginning() -> None:
    world = World()
    assert world.first.submit(Init()).facts[0]["created"] is True
    before = world.tip
    again = world.first.submit(Init())
    assert not again.wrote and again.facts[0]["created"] is False and world.tip == before
    assert world.snapshot().goal_ids() == ["main"]


def test_nothing_is_done_without_a_ledger() -> None:
    world = World()
    with pytest.raises(LoopXError) as caught:
        world.first.submit(RegisterPeer("alice"))
    assert caught.value.code == 10
    assert world.remote.tip is None


def test_a_dry_run_writes_nothing_and_says_what_would_be(world: World) -> None:
    before = world.tip
    answer = world.first.submit(OnTodo(Operation.CLAIM, tid(0)), by=ALICE, dry_run=True)
    assert not answer.wrote and answer.facts[0]["epoch"] == 1
    assert world.tip == before and world.lease(0) is None
    with pytest.raises(UsageError):
        world.first.submit(OnTodo(Operation.UPDATE, tid(0)), by=ALICE, dry_run=True)
