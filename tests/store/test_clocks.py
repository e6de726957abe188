"""Holders and takers whose clocks are wrong: polite within the allowance, safe beyond it, never stuck for ever."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest
from builders import ALICE, BOB, World, tid

from loopx_git.core.commands import OnTodo, RenewAll, SetPolicy
from loopx_git.core.lease import margin
from loopx_git.core.table import Operation
from loopx_git.errors import HeldByAnother, NotYourClaim
from loopx_git.store.local_clocks import Deadlines, FirstSight

DAY, TTL, SKEW = 86400.0, 600, 60
OFFSETS = (-DAY, -2700.0, -30.0, 0.0, 30.0, 2700.0, DAY)


def two_clones(holder: float, taker: float, folder: Path) -> World:
    """A world whose first clone's wall clock is off by `holder` seconds, the second's by `taker`."""
    world = World(count=2).begin(todos=2)
    for clone, offset in zip(world.clones, (holder, taker), strict=True):
        clone.clock.now += timedelta(seconds=offset)
        home = str(folder / clone.name)
        clone.context.first_sight = FirstSight(home, clone.clock)
        clone.context.deadlines = Deadlines(home, clone.clock)
    return world


@pytest.mark.parametrize(("holder", "taker"), list(product(OFFSETS, OFFSETS)))
def test_clocks_that_are_wrong(holder: float, taker: float, tmp_path: Path) -> None:
    world = two_clones(holder, taker, tmp_path)
    alice, bob = world.clones
    ahead = taker - holder
    alice.on(Operation.CLAIM, 0, ALICE, ttl=TTL)
    robbed = None
    for _ in range(8):
        world.advance(TTL / 3)
        try:
            answer = bob.on(Operation.CLAIM, 0, BOB, ttl=TTL)
        except HeldByAnother:
            alice.on(Operation.RENEW, 0, ALICE)
            continue
        robbed = answer
        break
    if abs(ahead) <= SKEW:
        assert robbed is None, "a live holder was robbed within the allowance"
    if ahead > TTL + SKEW:
        assert robbed is not None
    if robbed is not None:
        # Early, and harmless: the answer says so, and the former holder changes nothing.
        (warning,) = robbed.facts[0]["warnings"]
        assert "alice" in warning
        assert "differ" in warning
        tip = world.tip
        for operation in (Operation.RENEW, Operation.UPDATE, Operation.COMPLETE, Operation.RELEASE, Operation.CANCEL):
            more = {"fields": {"title": "late"}} if operation is Operation.UPDATE else {}
            with pytest.raises(NotYourClaim) as refusal:
                alice.on(operation, 0, ALICE, **more)
            assert (refusal.value.about["holder"], refusal.value.about["epoch"]) == ("bob", 2)
        assert world.tip == tip
    assert world.faults() == []


@pytest.mark.parametrize("taker", OFFSETS)
def test_a_record_from_the_far_future_does_not_hold_for_ever(taker: float, tmp_path: Path) -> None:
    world = two_clones(400 * DAY, taker, tmp_path)
    alice, bob = world.clones
    alice.on(Operation.CLAIM, 0, ALICE, ttl=TTL)
    with pytest.raises(HeldByAnother):
        bob.on(Operation.CLAIM, 0, BOB)
    world.advance(TTL + SKEW - 1)
    # First sight is on disk: a new process of the clone goes on counting where the former stopped.
    bob.context.first_sight = FirstSight(str(tmp_path / bob.name), bob.clock)
    with pytest.raises(HeldByAnother):
        bob.on(Operation.CLAIM, 0, BOB)
    world.advance(2)
    bob.on(Operation.CLAIM, 0, BOB)
    assert world.lease(0).holder == "bob"  # type: ignore[union-attr]
    assert world.faults() == []


def test_a_renewing_holder_from_the_future_is_not_robbed(tmp_path: Path) -> None:
    world = two_clones(400 * DAY, 0, tmp_path)
    alice, bob = world.clones
    alice.on(Operation.CLAIM, 0, ALICE, ttl=TTL)
    for _ in range(10):
        with pytest.raises(HeldByAnother):
            bob.on(Operation.CLAIM, 0, BOB)
        world.advance(TTL / 3)
        alice.on(Operation.RENEW, 0, ALICE)


@pytest.mark.parametrize("jump", [-DAY, -2700.0, 2700.0, DAY])
def test_a_wall_clock_that_is_set_does_not_touch_a_holder(jump: float, tmp_path: Path) -> None:
    """The holder's deadline is on the counting clock: the wall may be set as anybody likes."""
    world = two_clones(0, 0, tmp_path)
    alice = world.first
    alice.on(Operation.CLAIM, 0, ALICE, ttl=TTL)
    alice.clock.now += timedelta(seconds=jump)
    alice.on(Operation.UPDATE, 0, ALICE, note="still mine")
    alice.clock.count += TTL - margin(TTL) + 1
    with pytest.raises(NotYourClaim) as refusal:
        alice.on(Operation.UPDATE, 0, ALICE, note="too late")
    assert "renew" in refusal.value.hint
    alice.on(Operation.RENEW, 0, ALICE)
    alice.on(Operation.COMPLETE, 0, ALICE)


def test_after_a_reboot_the_wall_clock_decides(tmp_path: Path) -> None:
    world = two_clones(0, 0, tmp_path)
    alice = world.first
    alice.on(Operation.CLAIM, 0, ALICE, ttl=TTL)
    alice.clock.boots += 1
    alice.clock.count = 5.0
    alice.on(Operation.UPDATE, 0, ALICE, note="booted again, still in time")
    alice.clock.now += timedelta(seconds=TTL - margin(TTL) + 1)
    with pytest.raises(NotYourClaim):
        alice.on(Operation.UPDATE, 0, ALICE, note="too late")


def test_past_the_deadline_a_holder_may_renew_or_release_and_nothing_else(tmp_path: Path) -> None:
    world = two_clones(0, 0, tmp_path)
    alice = world.first
    alice.on(Operation.CLAIM, 0, ALICE, ttl=TTL)
    alice.on(Operation.CLAIM, 1, ALICE, ttl=TTL)
    world.advance(TTL - margin(TTL) + 0.1)
    tip = world.tip
    for operation in (Operation.CLAIM, Operation.UPDATE, Operation.COMPLETE, Operation.SUPERSEDE, Operation.CANCEL,
                      Operation.TRANSFER):  # fmt: skip
        more = {"fields": {"title": "x"}} if operation is Operation.UPDATE else {}
        with pytest.raises(NotYourClaim) as refusal:
            alice.on(operation, 0, ALICE, **more)
        assert "renew" in refusal.value.hint
    assert world.tip == tip
    alice.on(Operation.RELEASE, 0, ALICE)
    alice.on(Operation.RENEW, 1, ALICE)
    alice.on(Operation.COMPLETE, 1, ALICE)
    assert world.faults() == []


def test_one_commit_renews_all_and_names_them(tmp_path: Path) -> None:
    world = two_clones(0, 0, tmp_path)
    alice, bob = world.clones
    for number in (0, 1):
        alice.on(Operation.CLAIM, number, ALICE, ttl=TTL)
    before = len(world.history())
    world.advance(100)
    answer = alice.submit(RenewAll(), by=ALICE)
    assert answer.facts[0]["renewed"] == [f"{tid(0)}@1", f"{tid(1)}@1"]
    assert len(world.history()) == before + 1
    assert world.messages()[-1].renew == (f"{tid(0)}@1", f"{tid(1)}@1")
    assert [world.lease(number).seq for number in (0, 1)] == [1, 1]  # type: ignore[union-attr]
    assert not bob.submit(RenewAll(), by=BOB).wrote
    assert world.faults() == []


def test_nothing_is_born_expired(tmp_path: Path) -> None:
    """Time is sampled at every try: a claim that had to wait is dated when it was decided at last."""
    world = two_clones(0, 0, tmp_path)
    alice, bob = world.clones
    alice.context.publisher.accept(world.tip)
    real = alice.publisher.push

    def slow(parent: str | None, oid: str, timeout: float) -> object:
        if len(world.history()) < before + 1:
            bob.on(Operation.CLAIM, 1, BOB)
            world.advance(50)
        return real(parent, oid, timeout)

    before = len(world.history())
    alice.publisher.push = slow  # type: ignore[method-assign, assignment]
    started = alice.clock.wall()
    alice.submit(OnTodo(Operation.CLAIM, tid(0), ttl=10), by=ALICE, budget=200.0)
    lease = world.lease(0)
    assert lease is not None
    assert lease.renewed_at is not None
    assert (lease.renewed_at - started).total_seconds() >= 50


def test_policy_and_add_are_no_side_doors(tmp_path: Path) -> None:
    world = two_clones(0, 0, tmp_path)
    alice, bob = world.clones
    alice.on(Operation.CLAIM, 0, ALICE, ttl=TTL)
    lease = world.lease(0)
    bob.submit(SetPolicy("claims.ttl", "1s"))
    bob.submit(SetPolicy("claims.max_attempts", "1"))
    assert world.lease(0) == lease
    for operation in (Operation.UPDATE, Operation.COMPLETE, Operation.SUPERSEDE, Operation.CANCEL, Operation.TRANSFER,
                      Operation.RELEASE, Operation.RENEW, Operation.REOPEN):  # fmt: skip
        more = {"fields": {"title": "x"}} if operation is Operation.UPDATE else {}
        with pytest.raises(NotYourClaim):
            bob.on(operation, 0, BOB, **more)
    for operation in (Operation.CLAIM, Operation.RESUME):
        with pytest.raises(HeldByAnother):
            bob.submit(OnTodo(operation, tid(0)), by=BOB)
    assert world.lease(0) == lease
