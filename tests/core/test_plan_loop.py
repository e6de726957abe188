"""Loops in memory: every rule of their claims and ticks, each history replayed by `verify`."""

from __future__ import annotations

from typing import Any

import pytest
from builders import ALICE, BOB, OPERATOR, World, tid

from loopx_git.core.change import Actor, Op
from loopx_git.core.commands import ClaimTask, Command, CountTick, CreateLoop, RegisterPeer, SetLoopStatus, SetPolicy
from loopx_git.core.loop import Loop, LoopStatus
from loopx_git.core.peer import PeerKind
from loopx_git.core.table import Operation
from loopx_git.core.todo import Status
from loopx_git.errors import HeldByAnother, LoopXError, NotAllowed, NotFound, UsageError

NIGHT, DAY = Actor("night", "night-home"), Actor("day", "day-home")


@pytest.fixture
def world() -> World:
    world = World(2).begin(ALICE, BOB, todos=4)
    world.first.submit(CreateLoop("night"))
    world.first.submit(CreateLoop("day"))
    return world


def loop(world: World, name: str = "night") -> Loop:
    found = world.snapshot().loop(name)
    assert found is not None
    return found


def claims(world: World, number: int, by: Actor = NIGHT, **fields: Any) -> dict[str, Any]:
    answer = world.first.submit(ClaimTask(by.name, tid(number), **fields), by=by)
    assert not world.faults()
    return dict(answer.facts[0])


def refused(world: World, command: Command, by: Actor, kind: type[LoopXError], words: str = ".") -> LoopXError:
    tip = world.tip
    with pytest.raises(kind, match=words) as caught:
        world.first.submit(command, by=by)
    assert world.tip == tip
    return caught.value


def test_a_loop_is_a_peer_and_a_record(world: World) -> None:
    peer = world.snapshot().peer("night")
    assert peer is not None
    assert peer.kind is PeerKind.LOOP
    assert (loop(world).status, loop(world).iterations, loop(world).session) == (LoopStatus.RUNNING, 0, None)
    assert world.first.submit(CreateLoop("night")).wrote is False
    assert not world.faults()


@pytest.mark.parametrize("name", ["alice", "NIGHT"])
def test_a_name_that_is_taken(world: World, name: str) -> None:
    refused(world, CreateLoop(name), OPERATOR, NotAllowed, "is taken")


def test_a_loop_peer_that_was_registered_before_gets_its_record(world: World) -> None:
    world.first.submit(RegisterPeer("dusk", PeerKind.LOOP, ("gpu",)))
    assert world.first.submit(CreateLoop("dusk")).wrote
    peer = world.snapshot().peer("dusk")
    assert peer is not None
    assert peer.capabilities == ("gpu",)
    assert not world.faults()


def test_a_claim_takes_the_lease_and_the_record_in_one_commit(world: World) -> None:
    before = len(world.history())
    assert claims(world, 0)["acquired"] is True
    assert len(world.history()) == before + 1
    said = world.messages()[-1]
    assert (said.op, said.agent, said.todo, said.epoch) == (Op.CLAIM, "night", tid(0), 1)
    lease = world.lease(0)
    assert lease is not None
    assert (lease.holder, lease.session, lease.ttl_s) == ("night", "night-home", None)
    assert (loop(world).current_task, loop(world).session) == (tid(0), "night-home")
    assert world.todo(0).claimed_by == "night"


def test_again_is_nothing(world: World) -> None:
    claims(world, 0)
    tip = world.tip
    assert claims(world, 0).get("acquired") is None
    assert world.tip == tip


@pytest.mark.parametrize("holder", [DAY, ALICE])
def test_what_anybody_else_holds(world: World, holder: Actor) -> None:
    if holder is DAY:
        claims(world, 0, DAY)
    else:
        world.first.on(Operation.CLAIM, 0, ALICE)
    error = refused(world, ClaimTask("night", tid(0)), NIGHT, HeldByAnother)
    assert error.about["holder"] == holder.name
    refused_other = refused(world, ClaimTask("night", tid(0), resume=True), NIGHT, HeldByAnother)
    assert refused_other.about["holder"] == holder.name


def test_an_untracked_loop(world: World) -> None:
    error = refused(world, ClaimTask("nobody", tid(0)), Actor("nobody", "s"), NotFound, "no loop 'nobody'")
    assert error.about["reason"] == "loop_untracked"
    refused(world, ClaimTask("Night", tid(0)), Actor("Night", "s"), NotFound, "did you mean night")


def test_one_task_at_a_time(world: World) -> None:
    claims(world, 0)
    error = refused(world, ClaimTask("night", tid(1)), NIGHT, NotAllowed, "has a task")
    assert error.hint.endswith("look: git loopx todo show " + tid(0))
    assert error.about["current_task"] == tid(0)
    world.first.on(Operation.RELEASE, 0, NIGHT)
    assert claims(world, 1)["acquired"] is True


def test_a_forced_claim_is_audited_and_fences(world: World) -> None:
    world.first.on(Operation.CLAIM, 0, ALICE)
    refused(world, ClaimTask("night", tid(0), force=True), NIGHT, UsageError, "--reason")
    assert claims(world, 0, force=True, reason="alice is on holiday")["acquired"] is True
    said, lease = world.messages()[-1], world.lease(0)
    assert lease is not None
    assert (lease.holder, lease.epoch) == ("night", 2)
    assert (said.prev, said.reason) == ("alice@1", "alice is on holiday")
    assert world.todo(0).attempts == 0


def test_a_loop_lives_in_one_clone_until_it_is_moved(world: World) -> None:
    claims(world, 0)
    away = Actor("night", "elsewhere")
    for command in (ClaimTask("night", tid(0)), ClaimTask("night", tid(1)), CountTick("night", 1)):
        assert refused(world, command, away, NotAllowed, "another clone").about["reason"] == "loop_elsewhere"
    assert claims(world, 0, away, resume=True)["acquired"] is True
    lease = world.lease(0)
    assert lease is not None
    assert (lease.epoch, lease.session, loop(world).session) == (2, "elsewhere", "elsewhere")
    assert refused(world, CountTick("night", 1), NIGHT, NotAllowed).about["reason"] == "loop_elsewhere"


def test_a_tick_counts_once(world: World) -> None:
    world.first.submit(CountTick("night", 1), by=NIGHT)
    assert world.first.submit(CountTick("night", 1), by=NIGHT).wrote is False
    world.first.submit(CountTick("night", 2), by=NIGHT)
    assert (loop(world).iterations, loop(world).session) == (2, "night-home")
    assert loop(world).last_tick == world.first.clock.wall()
    assert not world.faults()


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.NEEDS_HUMAN, Status.CANCELLED, Status.SUPERSEDED])
def test_a_task_that_is_over_is_let_go_of_in_the_commit_that_counts(world: World, status: Status) -> None:
    claims(world, 0)
    if status is Status.NEEDS_HUMAN:
        world.first.on(Operation.UPDATE, 0, NIGHT, status="needs_human")
    else:
        operation = {"completed": Operation.COMPLETE, "cancelled": Operation.CANCEL}.get(status, Operation.SUPERSEDE)
        more = {"successor": tid(1)} if operation is Operation.SUPERSEDE else {}
        world.first.on(operation, 0, NIGHT, **more)
    assert loop(world).current_task == tid(0)
    before = len(world.history())
    world.first.submit(CountTick("night", 1), by=NIGHT)
    assert len(world.history()) == before + 1
    assert (loop(world).current_task, loop(world).iterations) == (None, 1)
    lease = world.lease(0)
    assert lease is not None
    assert lease.holder is None
    assert world.todo(0).status is status
    assert world.todo(0).claimed_by is None
    assert not world.faults()


@pytest.mark.parametrize("status", ["open", "in_progress", "blocked"])
def test_a_task_that_goes_on_is_kept(world: World, status: str) -> None:
    claims(world, 0)
    if status != "open":
        world.first.on(Operation.UPDATE, 0, NIGHT, status=status)
    world.first.submit(CountTick("night", 1), by=NIGHT)
    assert loop(world).current_task == tid(0)
    lease = world.lease(0)
    assert lease is not None
    assert lease.holder == "night"
    assert not world.faults()


def test_a_task_that_was_taken_is_let_go_of(world: World) -> None:
    claims(world, 0)
    world.first.on(Operation.RELEASE, 0, OPERATOR, force=True, reason="stuck")
    world.first.on(Operation.CLAIM, 0, ALICE)
    world.first.submit(CountTick("night", 1), by=NIGHT)
    assert loop(world).current_task is None
    lease = world.lease(0)
    assert lease is not None
    assert lease.holder == "alice"
    assert not world.faults()


def test_pause_keeps_the_claim_and_may_claim(world: World) -> None:
    world.first.submit(SetLoopStatus("night", LoopStatus.PAUSED))
    assert claims(world, 0)["acquired"] is True
    assert refused(world, ClaimTask("day", tid(0)), DAY, HeldByAnother).about["holder"] == "night"
    world.first.submit(SetLoopStatus("night", LoopStatus.RUNNING))
    assert loop(world).current_task == tid(0)
    assert not world.faults()


def test_halt_keeps_the_claim_until_somebody_else_approves(world: World) -> None:
    claims(world, 0)
    world.first.submit(SetLoopStatus("night", LoopStatus.HALTED, reason="red tests"), by=NIGHT)
    assert (loop(world).reason, world.messages()[-1].reason) == ("red tests", "red tests")
    assert refused(world, ClaimTask("day", tid(0)), DAY, HeldByAnother).about["holder"] == "night"
    refused(world, ClaimTask("night", tid(0)), NIGHT, NotAllowed, "halted")
    refused(world, SetLoopStatus("night", LoopStatus.RUNNING), OPERATOR, NotAllowed, "is halted")
    refused(world, SetLoopStatus("night", LoopStatus.PAUSED), OPERATOR, NotAllowed, "is halted")
    approve = SetLoopStatus("night", LoopStatus.RUNNING, approve=True)
    refused(world, approve, NIGHT, NotAllowed, "cannot approve itself")
    world.first.submit(approve)
    assert (loop(world).status, loop(world).reason, loop(world).current_task) == (LoopStatus.RUNNING, None, tid(0))
    assert not world.faults()


@pytest.mark.parametrize("status", LoopStatus)
def test_only_a_running_loop_goes_stale(world: World, status: LoopStatus) -> None:
    world.first.submit(SetPolicy("peers.stale_after", "1h"))
    claims(world, 0)
    world.first.submit(CountTick("night", 1), by=NIGHT)
    if status is not LoopStatus.RUNNING:
        world.first.submit(SetLoopStatus("night", status))
    world.advance(3500)
    refused(world, ClaimTask("day", tid(0)), DAY, HeldByAnother)
    world.advance(200)
    if status is LoopStatus.RUNNING:
        assert claims(world, 0, DAY)["former"] == "night@1"
        assert world.todo(0).attempts == 1
    else:
        refused(world, ClaimTask("day", tid(0)), DAY, HeldByAnother)


def test_nobody_else_acts_for_a_loop(world: World) -> None:
    for command in (ClaimTask("night", tid(0)), CountTick("night", 1)):
        refused(world, command, DAY, UsageError, "is not day")


def test_what_no_loop_could_have_written(world: World) -> None:
    """Records changed by hand: each is found, whatever the commit says of itself."""
    claims(world, 0)
    world.first.submit(CountTick("night", 1), by=NIGHT)
    oid, path = world.history()[-1], ".loopx/loops/night.json"
    good = world.objects.tree(oid).blob(path)
    assert good is not None
    for wrong in (
        good.replace(b'"iterations": 1', b'"iterations": 7'),
        good.replace(tid(0).encode(), tid(1).encode()),
        good.replace(b'"night-home"', b'"elsewhere"'),
        good.replace(b'"running"', b'"halted"'),
        good.replace(b'"reason": null', b'"reason": "none of ours"'),
        good.replace(b'"created_by": "', b'"created_by": "x'),
        b"{}\n",
        good + b"x",
    ):
        assert wrong != good
        assert world.faults(world.forge(oid, files={path: wrong})), wrong
    assert world.faults(world.forge(oid, files={path: None}))
    assert not world.faults()
