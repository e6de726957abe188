"""Pending records: written before the push, settled by the next command, and answering the identical one."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import ALICE, BOB, OPERATOR, Clone, World, tid
from hypothesis import given
from hypothesis import strategies as st
from memory_store import MemoryPublisher

from loopx_git.core.change import Actor
from loopx_git.core.commands import AddTodo, Command, OnTodo
from loopx_git.core.table import Operation
from loopx_git.errors import HeldByAnother, InvalidState, OutcomeUnknown, RemoteFailure
from loopx_git.store.base import Fetched, Pushed, PushKind
from loopx_git.store.pending import ANSWERS_FOR, Built, Pending, PendingFolder, with_built

RECORD = Pending(
    request="0123456789abcdef" * 2,
    fingerprint="f" * 64,
    agent="alice",
    command="todo claim x",
    created=1767323045.678,
    pid=4711,
    built=(Built("a" * 40, "b" * 40, ({"todo": tid(1), "epoch": 2},)), Built("c" * 40, None)),
)


@pytest.fixture
def folder(tmp_path: Path) -> PendingFolder:
    return PendingFolder(str(tmp_path / "loopx"))


def path_of(folder: PendingFolder, record: Pending = RECORD) -> Path:
    return Path(folder.folder, f"{record.request}.json")


# -- the files


def test_a_record_is_read_back_alike(folder: PendingFolder) -> None:
    assert folder.all() == []
    folder.write(RECORD)
    (found,) = folder.all()
    assert found == replace(RECORD, built=tuple(replace(item, facts=list(item.facts)) for item in RECORD.built))
    assert [path.name for path in Path(folder.folder).iterdir()] == [path_of(folder).name]


def test_a_record_is_replaced_and_removed(folder: PendingFolder) -> None:
    folder.write(RECORD)
    folder.write(replace(RECORD, landed="a" * 40))
    assert [record.landed for record in folder.all()] == ["a" * 40]
    folder.remove(RECORD.request)
    folder.remove(RECORD.request)
    assert folder.all() == []


def test_the_oldest_comes_first(folder: PendingFolder) -> None:
    for number, created in enumerate((30.0, 10, 20.5)):
        folder.write(replace(RECORD, request=f"{number:032x}", created=created))
    assert [record.created for record in folder.all()] == [10, 20.5, 30.0]


@given(st.text(max_size=20), st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(), max_size=3))
def test_whatever_a_record_says_it_is_read_back(words: str, fact: dict[str, Any]) -> None:
    import tempfile

    words = words.encode("utf-8", "replace").decode()
    with tempfile.TemporaryDirectory() as home:
        folder = PendingFolder(home)
        folder.write(replace(RECORD, command=words, built=(Built("a" * 40, None, [fact]),)))
        (found,) = folder.all()
    assert (found.command, found.built[0].facts) == (words, [fact])


def test_everything_ever_built_stays_in_the_record() -> None:
    one, two = Built("1" * 40, None, [{"n": 1}]), Built("2" * 40, "1" * 40, [{"n": 2}])
    record = with_built(with_built(replace(RECORD, built=()), one), two)
    assert record.built == (one, two)
    assert record.facts("1" * 40) == [{"n": 1}] and record.facts("2" * 40) == [{"n": 2}]


def damaged(**changes: Any) -> bytes:
    raw = {
        "request": RECORD.request, "fingerprint": "f", "agent": "a", "command": "c", "created": 1.0, "pid": 1,
        "built": [], "landed": None, "extra": {}, **changes,
    }  # fmt: skip
    return json.dumps({key: value for key, value in raw.items() if value != "absent"}).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"1",
        b'"text"',
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 5000,
        damaged(request="absent"),
        damaged(request="../../x"),
        damaged(request="f" * 32),
        damaged(request=5),
        damaged(created="absent"),
        damaged(created="yesterday"),
        damaged(created=None),
        damaged(built="absent"),
        damaged(built=None),
        damaged(built=[1]),
        damaged(built=[{"oid": "x", "parent": None, "facts": []}]),
        damaged(built=[{"oid": "--upload-pack=x", "parent": None, "facts": []}]),
        damaged(built=[{"oid": 5, "parent": None, "facts": []}]),
        damaged(built=[{"parent": None, "facts": []}]),
        damaged(unknown=1),
    ],
)
def test_a_corrupt_record_is_named(folder: PendingFolder, data: bytes) -> None:
    folder.write(replace(RECORD, request="e" * 32))
    path_of(folder).write_bytes(data)
    with pytest.raises(InvalidState, match=str(path_of(folder))) as caught:
        folder.all()
    assert caught.value.about == {"file": str(path_of(folder))}
    assert str(path_of(folder)) in caught.value.hint
    assert path_of(folder).read_bytes() == data, "it is kept for whoever looks"


def test_a_record_that_is_a_link_is_named_and_not_followed(folder: PendingFolder, tmp_path: Path) -> None:
    folder.write(RECORD)
    os.rename(path_of(folder), tmp_path / "elsewhere")
    path_of(folder).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidState, match=str(path_of(folder))):
        folder.all()


def test_a_request_is_no_path(folder: PendingFolder) -> None:
    for request in ("../../evil", "", "x" * 32):
        with pytest.raises(InvalidState):
            folder.write(replace(RECORD, request=request))
    assert not Path(folder.folder).exists() or not list(Path(folder.folder).iterdir())


def test_other_files_in_the_folder_are_left_alone(folder: PendingFolder) -> None:
    folder.write(RECORD)
    Path(folder.folder, "README").write_text("hello")
    Path(folder.folder, "x.json.123.tmp").write_text("half")
    assert len(folder.all()) == 1


# -- settling


class Broken(MemoryPublisher):
    """A publisher whose connection can break: before a push arrives, or before its answer does."""

    breaks = ""

    def fetch(self, timeout: float) -> Fetched:
        return Fetched(error="no route to host") if self.breaks else super().fetch(timeout)

    def push(self, parent: str | None, oid: str, timeout: float) -> Pushed:
        if self.breaks == "before":
            return Pushed(PushKind.UNKNOWN)
        done = super().push(parent, oid, timeout)
        return Pushed(PushKind.UNKNOWN) if self.breaks == "after" else done


class Place:
    """A world with two clones; the first one's connection can break. Its records lie in real files."""

    def __init__(self, home: Path) -> None:
        self.world = World(2).begin(todos=3)
        self.publisher = Broken(self.world.remote)
        self.publisher.accept(self.world.tip)
        self.clone = Clone(self.world, "breaking", self.publisher)
        self.folder = PendingFolder(str(home))
        self.clone.context.pending = self.folder
        self.world.clones.append(self.clone)

    def unknown(self, *commands: Command, by: Actor = ALICE, breaks: str = "after") -> Pending:
        """Run a command that ends without knowing; the record that it leaves."""
        known = {record.request for record in self.folder.all()}
        self.publisher.breaks = breaks
        with pytest.raises(OutcomeUnknown):
            self.clone.submit(*commands, by=by)
        self.publisher.breaks = ""
        (record,) = (record for record in self.folder.all() if record.request not in known)
        assert self.publisher.anchors[record.request] == record.built[-1].oid
        return record

    def somebody_else_moves_the_tip(self) -> None:
        self.world.first.on(Operation.SOFT, 2, BOB)
        self.world.first.on(Operation.UNSOFT, 2, BOB)

    @property
    def requests(self) -> list[str]:
        return [record.request for record in self.folder.all()]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


CLAIM = OnTodo(Operation.CLAIM, tid(0))
COMMANDS: list[tuple[Command, ...]] = [
    (CLAIM,),
    (AddTodo(tid(7), "new", scope=("src",)),),
    (CLAIM, OnTodo(Operation.CLAIM, tid(1))),
    (CLAIM, OnTodo(Operation.CLAIM, tid(0))),  # the second writes nothing, and has its entry all the same
]


def again(commands: tuple[Command, ...]) -> tuple[Command, ...]:
    """The same words typed again: a todo that is added gets another random id."""
    return tuple(replace(item, id=tid(0xFFFF)) if isinstance(item, AddTodo) else item for item in commands)


@pytest.mark.parametrize("commands", COMMANDS)
@pytest.mark.parametrize("moved", [False, True])
def test_what_landed_earlier_answers_the_identical_command(
    place: Place, commands: tuple[Command, ...], moved: bool
) -> None:
    record = place.unknown(*commands)
    assert place.world.messages()[-1].request == record.request
    if moved:
        place.somebody_else_moves_the_tip()
    before = place.world.tip
    answer = place.clone.submit(*again(commands), by=ALICE)
    assert place.world.tip == before, "nothing is done twice"
    assert answer.found and answer.wrote and not answer.confirmed
    assert answer.oid == record.built[-1].oid and answer.tip == before
    assert len(answer.facts) == len(commands)
    assert answer.facts[0]["todo"] == (tid(7) if isinstance(commands[0], AddTodo) else tid(0))
    assert not place.requests and not place.publisher.anchors
    assert not place.world.faults()


def test_once_answered_the_same_words_are_a_new_command(place: Place) -> None:
    place.unknown(AddTodo(tid(7), "new"))
    assert place.clone.submit(AddTodo(tid(8), "new"), by=ALICE).facts[0]["todo"] == tid(7)
    answer = place.clone.submit(AddTodo(tid(8), "new"), by=ALICE)
    assert answer.facts[0]["todo"] == tid(8) and not answer.found


@pytest.mark.parametrize(
    ("command", "by"),
    [
        (AddTodo(tid(8), "another title"), ALICE),
        (AddTodo(tid(8), "new", priority=1), ALICE),
        (AddTodo(tid(8), "new"), BOB),
        (AddTodo(tid(8), "new"), Actor("alice", "another-session")),
        (AddTodo(tid(8), "new"), OPERATOR),
        (OnTodo(Operation.CLAIM, tid(1)), ALICE),
    ],
)
def test_a_different_command_is_not_confused_with_it(place: Place, command: Command, by: Actor) -> None:
    record = place.unknown(AddTodo(tid(7), "new"))
    answer = place.clone.submit(command, by=by)
    assert not answer.found and answer.facts[0]["todo"] != tid(7)
    assert [item.landed for item in place.folder.all()] == [record.built[-1].oid], "found on the way, and kept"
    assert not place.publisher.anchors
    assert place.clone.submit(AddTodo(tid(9), "new"), by=ALICE).facts[0]["todo"] == tid(7)


@pytest.mark.parametrize(("seconds", "answers"), [(ANSWERS_FOR - 60, True), (ANSWERS_FOR + 60, False)])
def test_a_landed_record_answers_for_an_hour(place: Place, seconds: float, answers: bool) -> None:
    place.unknown(AddTodo(tid(7), "new"))
    place.world.advance(seconds)
    assert place.clone.submit(AddTodo(tid(8), "new"), by=ALICE).found is answers
    assert bool(place.requests) is not answers
    place.world.advance(90_000)
    place.clone.on(Operation.SOFT, 1, ALICE)
    assert not place.requests, "after a day it goes"


@pytest.mark.parametrize("commands", COMMANDS)
def test_what_never_landed_is_done_by_the_identical_command(place: Place, commands: tuple[Command, ...]) -> None:
    record = place.unknown(*commands, breaks="before")
    answer = place.clone.submit(*again(commands), by=ALICE)
    assert answer.wrote and not answer.found
    assert place.world.messages()[-1].request == record.request, "still the same request"
    assert not place.requests and not place.publisher.anchors
    assert not place.world.faults()


def test_what_can_still_land_is_kept_and_what_cannot_is_dropped(place: Place) -> None:
    record = place.unknown(CLAIM, breaks="before")
    place.clone.on(Operation.SOFT, 1, ALICE)
    assert place.requests == [record.request], "the tip was its parent when this command began"
    place.clone.on(Operation.SOFT, 2, ALICE)
    assert not place.requests and not place.publisher.anchors
    assert all(message.request != record.request for message in place.world.messages())


def test_a_late_landing_is_found(place: Place) -> None:
    """It was under way all the time, and arrives before anybody moves the tip."""
    record = place.unknown(CLAIM, breaks="before")
    place.world.remote.tip = record.built[-1].oid
    answer = place.clone.submit(CLAIM, by=ALICE)
    assert answer.found and answer.oid == record.built[-1].oid
    assert not place.world.faults()


def test_an_identical_command_that_is_now_refused_says_so(place: Place) -> None:
    place.unknown(CLAIM, breaks="before")
    place.world.first.submit(CLAIM, by=BOB)
    with pytest.raises(HeldByAnother) as caught:
        place.clone.submit(CLAIM, by=ALICE)
    assert caught.value.about["holder"] == "bob"
    place.clone.on(Operation.SOFT, 1, ALICE)
    assert not place.requests and not place.publisher.anchors


def test_nothing_is_settled_while_the_remote_is_away(place: Place) -> None:
    record = place.unknown(CLAIM)
    place.publisher.breaks = "before"
    with pytest.raises(RemoteFailure):
        place.clone.submit(CLAIM, by=ALICE)
    assert place.requests == [record.request]
    place.publisher.breaks = ""
    assert place.clone.submit(CLAIM, by=ALICE).found


def test_a_landed_claim_that_is_over_is_still_answered_with_its_own_epoch(place: Place) -> None:
    """The client then compares it with the tip, and says that it is lost."""
    place.unknown(OnTodo(Operation.CLAIM, tid(0), ttl=10))
    place.world.advance(100)
    place.world.first.on(Operation.CLAIM, 0, BOB)
    answer = place.clone.submit(OnTodo(Operation.CLAIM, tid(0), ttl=10), by=ALICE)
    assert answer.found and answer.facts[0]["epoch"] == 1 and not answer.confirmed
    lease = place.world.lease(0)
    assert lease is not None and (lease.holder, lease.epoch) == ("bob", 2)


def test_a_dry_run_settles_nothing(place: Place) -> None:
    record = place.unknown(CLAIM)
    answer = place.clone.submit(CLAIM, by=ALICE, dry_run=True)
    assert not answer.wrote and not answer.found
    assert place.requests == [record.request]


def test_a_corrupt_record_stops_every_command_and_is_named(place: Place) -> None:
    place.unknown(CLAIM)
    (path,) = Path(place.folder.folder).iterdir()
    path.write_text("{")
    before = place.world.tip
    with pytest.raises(InvalidState, match=str(path)):
        place.clone.on(Operation.CLAIM, 1, ALICE)
    assert place.world.tip == before


def test_nothing_is_left_of_a_command_that_has_its_answer(place: Place) -> None:
    place.clone.submit(CLAIM, by=ALICE)
    place.clone.submit(CLAIM, by=ALICE)
    with pytest.raises(HeldByAnother):
        place.clone.submit(CLAIM, by=BOB)
    assert not place.requests and not place.publisher.anchors


def test_the_record_and_the_anchor_come_before_the_push(place: Place) -> None:
    seen: list[tuple[int, int]] = []

    def failpoint(name: str) -> None:
        if name == "pushing":
            seen.append((len(place.requests), len(place.publisher.anchors)))

    place.clone.context.failpoint = failpoint
    place.clone.submit(CLAIM, by=ALICE)
    assert seen == [(1, 1)]
