"""Activity: when each agent did its newest operation, read from history only as far as it is asked about."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from builders import ALICE, BOB, CAROL, NOW, World, at, plant, tid

from loopx_git.core.change import Actor
from loopx_git.core.commands import ClaimTask, CreateLoop, DropSoftClaim, OnTodo
from loopx_git.core.table import Operation
from loopx_git.errors import HeldByAnother, NotAllowed
from loopx_git.store.activity import Activity

DAY = 86_400


class Counting:
    """An object store that counts the commits that are read."""

    def __init__(self, world: World) -> None:
        self.world, self.read = world, 0

    def commit(self, oid: str) -> Any:
        self.read += 1
        return self.world.objects.commit(oid)


def activity(world: World, now: datetime | None = None, reach: int | None = DAY) -> tuple[Activity, Counting]:
    objects = Counting(world)
    clock = world.first.clock
    found = Activity(objects, lambda: world.tip, lambda: now or clock.wall(), lambda tip: reach)  # type: ignore[arg-type]
    return found, objects


def test_the_newest_operation_of_each_agent() -> None:
    world = World().begin(todos=2)
    world.first.on(Operation.SOFT, 0, ALICE)
    world.advance(60)
    world.first.on(Operation.UPDATE, 0, BOB, note="seen")
    found, objects = activity(world)
    assert found.get("bob") == at(60).replace(microsecond=0)
    assert objects.read == 1, "no further than it is asked about"
    assert found.get("alice") == NOW.replace(microsecond=0)
    assert found.get("carol", "nobody") == "nobody"
    read = objects.read
    assert found.get("alice") and found.get("carol") is None and objects.read == read
    world.first.on(Operation.SOFT, 1, CAROL)
    assert found.get("carol") == at(60).replace(microsecond=0), "anew once the tip has moved"


def test_what_is_older_than_anybody_asks_about_is_not_read() -> None:
    world = World().begin(todos=1)
    world.first.on(Operation.SOFT, 0, ALICE)
    for _ in range(150):
        world.first.on(Operation.SOFT, 0, BOB)
        world.first.on(Operation.UNSOFT, 0, BOB)
    found, objects = activity(world, at(3 * DAY))
    assert found.get("alice") is None
    assert objects.read == 100


def test_a_commit_dated_in_the_future_is_as_old_as_what_was_built_on_it() -> None:
    world = World(2).begin(todos=3)
    fast, sound = world.clones
    fast.clock.advance(30 * DAY)
    fast.on(Operation.SOFT, 0, ALICE)
    sound.clock.advance(100)
    sound.on(Operation.SOFT, 0, BOB)
    found, _ = activity(world, at(10 * DAY), 20 * DAY)
    assert found.get("alice") == at(100).replace(microsecond=0)


def test_a_history_that_is_cut_ends_there() -> None:
    world = World().begin(todos=1)
    world.first.on(Operation.SOFT, 0, ALICE)
    short = World(0)
    plant(short.objects, world.objects.commit(world.tip), world.objects.tree(world.tip).files)
    short.remote.tip = world.tip
    found = Activity(short.objects, lambda: world.tip, lambda: NOW, lambda tip: None)
    assert found.get("alice") is not None and found.get("tester") is None


@pytest.mark.parametrize("alive", [True, False])
def test_a_soft_claim_of_one_who_works_is_not_dropped(alive: bool) -> None:
    world = World().begin(todos=2)
    world.first.on(Operation.SOFT, 0, ALICE)
    world.advance(0.9 * DAY)
    if alive:
        world.first.on(Operation.UPDATE, 1, ALICE, note="at work")
    world.advance(0.9 * DAY)
    if alive:
        with pytest.raises(NotAllowed):
            world.first.submit(DropSoftClaim(tid(0), "alice"), by=BOB)
    else:
        world.first.submit(DropSoftClaim(tid(0), "alice"), by=BOB)
    assert world.todo(0).soft_claims == (("alice",) if alive else ())
    assert not world.faults()


def test_what_a_version_without_history_decided_stays_legal() -> None:
    """By the records alone alice was stale when bob took over; that her note counts is known to this version only."""
    world = World().begin(todos=1)
    world.first.on(Operation.CLAIM, 0, ALICE, ttl=None)
    world.advance(0.9 * DAY)
    world.first.on(Operation.UPDATE, 0, ALICE, note="at work")
    world.advance(0.9 * DAY)
    with pytest.raises(HeldByAnother):
        world.first.on(Operation.CLAIM, 0, BOB)
    oid = world.commit(world.tip, OnTodo(Operation.CLAIM, tid(0)), BOB, world.first.clock.wall())
    assert not world.faults(oid)


def test_a_forced_claim_of_a_loop_counts_an_attempt_only_of_the_stale() -> None:
    for works in (True, False):
        world = World().begin(todos=1)
        world.first.submit(CreateLoop("night"))
        world.first.on(Operation.CLAIM, 0, ALICE, ttl=None)
        world.advance(0.9 * DAY)
        if works:
            world.first.on(Operation.UPDATE, 0, ALICE, note="at work")
        world.advance(0.9 * DAY)
        world.first.submit(ClaimTask("night", tid(0), force=True, reason="it must be"), by=Actor("night", "home"))
        assert world.todo(0).attempts == (0 if works else 1)
        assert not world.faults()
