"""Replay of what soft claims grant, and of notes beside a claim: legal ones verify, forged ones are named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import ALICE, BOB, CAROL, OPERATOR, World, tid

from loopx_git.core.commands import AddTodo, Beat, CreateGoal, DropSoftClaim
from loopx_git.core.lease import Ended, Lease
from loopx_git.core.meaning import NOTE_REASON
from loopx_git.core.peer import ClaimMode
from loopx_git.core.plan_todo import NeedsValidation
from loopx_git.core.table import Operation
from loopx_git.core.todo import Status
from loopx_git.errors import LoopXError
from loopx_git.format import files, layout, message
from loopx_git.format import lease_record as record


@pytest.fixture
def world() -> World:
    """A goal whose claims are soft, with todos 0 to 2: alice and bob have a soft claim of 0."""
    world = World().begin()
    world.first.submit(CreateGoal("ideas", "ideas", ClaimMode.SOFT))
    for number in range(3):
        world.first.submit(AddTodo(tid(number), f"idea {number}", "ideas"))
    for actor in (ALICE, BOB):
        world.first.on(Operation.CLAIM, 0, actor)
    return world


def changed(world: World, oid: str, **changes: Any) -> str:
    """A copy of a commit with other values in its todo."""
    snapshot = world.snapshot(oid)
    todo = snapshot.todo("ideas", tid(0))
    path = layout.todo("ideas", tid(0))
    data = snapshot.tree.blob(path)
    assert data is not None
    return world.forge(oid, files={path: files.edit_todo(data, todo, replace(todo, **changes), name=path)})


def named(world: World, forged: str) -> bool:
    return [fault.commit for fault in world.faults(forged)] == [forged]


ENDINGS: list[tuple[Operation, dict[str, Any], Status]] = [
    (Operation.COMPLETE, {}, Status.COMPLETED),
    (Operation.SUPERSEDE, {"successor": tid(9), "successor_title": "carries on"}, Status.SUPERSEDED),
    (Operation.CANCEL, {}, Status.CANCELLED),
]


@pytest.mark.parametrize(("operation", "more", "status"), ENDINGS, ids=[item[0] for item in ENDINGS])
@pytest.mark.parametrize("epoch", [0, 1])
def test_a_soft_claim_ends_the_todo_and_makes_no_lease(
    world: World, operation: Operation, more: dict[str, Any], status: Status, epoch: int
) -> None:
    if epoch:
        world.first.on(Operation.CLAIM, 0, CAROL, exclusive=True)
        world.first.on(Operation.RELEASE, 0, CAROL)
    before = world.lease(0)
    world.first.on(operation, 0, ALICE, note="done so far", **more)
    todo = world.todo(0)
    assert (todo.status, todo.soft_claims, todo.notes[-1].text) == (status, (), "done so far")
    assert world.lease(0) == before
    assert world.messages()[-1].epoch == epoch
    assert not world.faults()
    # Whoever had a soft claim beside it, and who asks twice, is told that it is over.
    for actor in (BOB, ALICE):
        for again in (Operation.COMPLETE, Operation.UPDATE, Operation.RELEASE):
            with pytest.raises(LoopXError) as caught:
                world.first.on(again, 0, actor, note="me too")
            assert caught.value.code == 12 and status.value in caught.value.message
    # And who reopens it finds it without soft claims.
    world.first.on(Operation.REOPEN, 0, BOB)
    assert world.todo(0).soft_claims == () and not world.faults()


@pytest.mark.parametrize(
    "changes",
    [{"soft_claims": ("bob",)}, {"claimed_by": "alice"}, {"status": Status.CANCELLED}, {"title": "other"},
     {"attempts": 1}, {"completed_at": None}],
    ids=lambda changes: next(iter(changes)),
)  # fmt: skip
def test_a_forged_completion_under_a_soft_claim_is_named(world: World, changes: dict[str, Any]) -> None:
    oid = world.first.on(Operation.COMPLETE, 0, ALICE).oid
    assert oid is not None
    assert named(world, changed(world, oid, **changes))


def test_a_check_of_its_own_is_asked_for_under_a_soft_claim_too(world: World) -> None:
    """There is no lease to renew while it runs."""
    world.first.submit(AddTodo(tid(6), "checked", "ideas", validate=("make", "test")))
    world.first.on(Operation.CLAIM, 6, ALICE)
    with pytest.raises(NeedsValidation) as needed:
        world.first.on(Operation.COMPLETE, 6, ALICE)
    assert (needed.value.argv, needed.value.lease.holder) == (("make", "test"), None)
    world.first.on(Operation.COMPLETE, 6, ALICE, validated=("make", "test"))
    assert world.todo(6).status is Status.COMPLETED and not world.faults()


def test_only_who_has_a_soft_claim_completes(world: World) -> None:
    """The commit of a peer without one, of a former one, and beside a lease."""
    oid = world.first.on(Operation.COMPLETE, 0, ALICE).oid
    assert oid is not None
    said = message.load(world.objects.commit(oid).message)
    author = replace(world.objects.commit(oid).author, name="carol")
    forged = world.forge(oid, text=message.dump(replace(said, agent="carol", session="s")), author=author)
    assert named(world, forged)
    lease = record.dump(Lease(tid(0), 1, ended=Ended.COMPLETED, last_request=said.request))
    assert named(world, world.forge(oid, files={layout.lease("ideas", tid(0)): lease}))


def test_a_lease_beside_it_stands_in_the_way_of_a_soft_claim(world: World) -> None:
    world.first.on(Operation.CLAIM, 0, CAROL, exclusive=True)
    for operation, more, _ in ENDINGS:
        with pytest.raises(LoopXError) as caught:
            world.first.on(operation, 0, ALICE, **more)
        assert (caught.value.code, caught.value.about["holder"]) == (12, "carol")


def test_the_last_soft_claim_taken_back_puts_the_todo_back(world: World) -> None:
    clone = world.first
    clone.on(Operation.UPDATE, 0, ALICE, status="in_progress")
    clone.on(Operation.RELEASE, 0, ALICE, note="not mine")
    assert (world.todo(0).status, world.todo(0).soft_claims) == (Status.IN_PROGRESS, ("bob",))
    clone.on(Operation.UNSOFT, 0, BOB)
    assert (world.todo(0).status, world.todo(0).soft_claims) == (Status.OPEN, ())
    clone.on(Operation.CLAIM, 1, BOB)
    clone.on(Operation.RELEASE, 1, BOB, status="blocked")
    assert world.todo(1).status is Status.BLOCKED
    assert [said.op for said in world.messages()[-4:]] == ["soft", "soft", "soft", "soft"]
    assert not world.faults()


def test_the_last_soft_claim_of_who_is_gone_puts_the_todo_back(world: World) -> None:
    clone = world.first
    clone.on(Operation.UPDATE, 0, ALICE, status="in_progress")
    world.advance(3 * 86400)
    clone.submit(Beat(), by=CAROL)
    clone.submit(DropSoftClaim(tid(0), "alice"), by=CAROL)
    assert (world.todo(0).status, world.todo(0).soft_claims) == (Status.IN_PROGRESS, ("bob",))
    oid = clone.submit(DropSoftClaim(tid(0), "bob"), by=CAROL).oid
    assert oid is not None and (world.todo(0).status, world.todo(0).soft_claims) == (Status.OPEN, ())
    assert not world.faults()
    # As versions wrote it that left it in progress it is legal too; any other status is not.
    assert not world.faults(changed(world, oid, status=Status.IN_PROGRESS))
    assert named(world, changed(world, oid, status=Status.BLOCKED))


def test_a_soft_claim_that_is_taken_back_changes_nothing_else(world: World) -> None:
    oid = world.first.on(Operation.RELEASE, 0, ALICE).oid
    assert oid is not None
    for changes in ({"title": "other"}, {"soft_claims": ()}, {"priority": 0}, {"claimed_by": "bob"}):
        assert named(world, changed(world, oid, **changes))
    # Where a lease stands beside it, the status is the holder's.
    world.first.on(Operation.CLAIM, 0, CAROL, exclusive=True)
    oid = world.first.on(Operation.RELEASE, 0, BOB).oid
    assert oid is not None and not world.faults()
    assert named(world, changed(world, oid, status=Status.BLOCKED))


def test_taking_back_as_it_was_written_before_stays_legal(world: World) -> None:
    """The last soft claim used to leave the todo in progress."""
    world.first.on(Operation.RELEASE, 0, BOB)
    world.first.on(Operation.UPDATE, 0, ALICE, status="in_progress")
    oid = world.first.on(Operation.RELEASE, 0, ALICE, status="in_progress").oid
    assert oid is not None and world.todo(0).status is Status.IN_PROGRESS
    assert not world.faults()


@pytest.mark.parametrize("soft", [True, False], ids=["soft goal", "exclusive goal"])
def test_release_takes_back_what_a_plain_claim_gives_there(world: World, soft: bool) -> None:
    """An agent with both: the soft claim in a goal whose claims are soft, the lease elsewhere; then the other."""
    number, clone = (0, world.first) if soft else (5, world.first)
    if not soft:
        clone.submit(AddTodo(tid(5), "exclusive", "main"))
        clone.on(Operation.SOFT, 5, ALICE)
    clone.on(Operation.CLAIM, number, ALICE, exclusive=True)
    took = clone.on(Operation.RELEASE, number, ALICE).facts[0]
    assert (took["released"], took["goes_on"]) == (
        ("soft claim", "lease") if soft else ("lease", "soft claim")
    )  # fmt: skip
    then = clone.on(Operation.RELEASE, number, ALICE).facts[0]
    assert then["released"] == took["goes_on"] and "goes_on" not in then
    lease = world.lease(number)
    assert lease is not None and lease.holder is None and "alice" not in world.todo(number).soft_claims
    with pytest.raises(LoopXError) as caught:
        clone.on(Operation.RELEASE, number, ALICE)
    assert caught.value.code == 12
    assert not world.faults()


def test_an_epoch_names_the_lease(world: World) -> None:
    world.first.on(Operation.CLAIM, 0, ALICE, exclusive=True)
    took = world.first.on(Operation.RELEASE, 0, ALICE, epoch=1).facts[0]
    assert (took["released"], took["goes_on"]) == ("lease", "soft claim")
    with pytest.raises(LoopXError) as caught:
        world.first.on(Operation.RELEASE, 0, ALICE, epoch=1)
    assert caught.value.code == 12 and "task-lease acquire" in caught.value.hint


def test_a_note_is_legal_for_versions_that_know_no_notes(world: World) -> None:
    """They take it for an operator's update, by its reason: that is what this one forged into a command is."""
    world.first.on(Operation.CLAIM, 0, CAROL, exclusive=True)
    world.first.on(Operation.UPDATE, 0, BOB, note="look at #12")
    said = world.messages()[-1]
    assert (said.op, said.reason, said.epoch, said.prev, said.renew) == ("update", NOTE_REASON, 1, None, ())
    oid = world.tip
    other = world.forge(oid, text=message.dump(replace(said, reason="an operator's")))
    assert not world.faults() and not world.faults(other)


def test_the_reason_of_notes_is_kept_for_them(world: World) -> None:
    with pytest.raises(LoopXError) as caught:
        world.first.on(Operation.UPDATE, 0, OPERATOR, force=True, reason=NOTE_REASON, fields={"title": "x"})
    assert caught.value.code == 2
