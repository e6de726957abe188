"""What the operating system refuses is told as that, with the file, and undoes nothing that has landed."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pygit2
import pytest
from clones import Clone, World

from loopx_git.errors import InvalidState
from loopx_git.sdk import LoopXClient
from loopx_git.store.objects import PygitObjects
from loopx_git.store.pending import PendingFolder
from loopx_git.store.remote import RemotePublisher
from loopx_git.store.system import is_system, of_system

#: (folder or file below the git directory's loopx, what becomes of it).
FILES = (
    "location",
    "deadlines.json",
    "fetched",
    "claims.json",
    "sessions/alice.json",
    "guard.json",
    "pending/x.json",
)
COMMANDS = (
    ["todo", "list"],
    ["todo", "add", "two"],
    ["doctor"],
    ["guard", "check"],
    ["heartbeat", "status"],
    ["sync"],
)
NUMBERS = (errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE)


@pytest.fixture
def clone(world: World) -> Clone:
    made = world.clone("one")
    made.run("init")
    made.run("peer", "register", "alice")
    made.run("todo", "add", "one", "--alias", "fix-X", "--agent", "alice")
    made.run("todo", "claim", "fix-X", "--agent", "alice", "--ttl", "1h")
    made.run("guard", "install")
    made.run("guard", "check", check=None)
    return made


def empty(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"")


def folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir(parents=True, exist_ok=True)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("harm", [empty, folder])
def test_a_damaged_file_of_ours(clone: Clone, name: str, harm: Callable[[Path], None]) -> None:
    harm(clone.path / ".git/loopx" / name)
    for words in COMMANDS:
        done = clone.run(*words, agent="alice", check=None, json=False)
        assert done.code in (0, 14, 16, 19), (words, done.err)
        assert "bug of loopx" not in done.err
        if done.code == 16:
            assert name.rpartition("/")[0] + "/" in done.err and ".tmp" not in done.err, done.err


@pytest.mark.parametrize("name", ["pending", "coord.git", "coord.git/objects", ""])
def test_a_file_where_a_folder_should_be(clone: Clone, name: str) -> None:
    place = clone.path / ".git/loopx" / name
    place.rename(clone.path.parent / "aside")
    place.write_text("x")
    for words in COMMANDS:
        done = clone.run(*words, agent="alice", check=None, json=False)
        assert done.code in (0, 14, 16, 19), (words, done.err)
        assert "bug of loopx" not in done.err
        if done.code == 16:
            assert str(place) in done.err or str(place.parent) in done.err


def client_of(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> LoopXClient:
    for key, value in clone.env.items():
        monkeypatch.setenv(key, value)
    return LoopXClient(str(clone.path), agent="alice")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EIO])
def test_a_file_system_without_locks(clone: Clone, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    client = client_of(clone, monkeypatch)

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(InvalidState, match="loopx") as raised:
        client.todo.add("two")
    assert os.strerror(number) in raised.value.message
    assert "clone on a local disk" in raised.value.hint or number == errno.EIO


@pytest.mark.parametrize("number", NUMBERS)
def test_what_cannot_be_written_before_the_push_is_named(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    client = client_of(clone, monkeypatch)
    before = clone.git("ls-remote", "origin")

    def refuse(self: PendingFolder, record: object) -> None:
        raise OSError(number, os.strerror(number), os.path.join(self.folder, "x.json"))

    monkeypatch.setattr(PendingFolder, "write", refuse)
    with pytest.raises(InvalidState) as raised:
        client.todo.add("two")
    assert raised.value.about["file"] == str(clone.path / ".git/loopx/pending/x.json")
    assert raised.value.hint
    assert clone.git("ls-remote", "origin") == before


def test_objects_that_cannot_be_written(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(clone, monkeypatch)

    def refuse(*_: object) -> None:
        raise pygit2.GitError("failed to create locked file '/some/where/objects/ab': Permission denied")

    monkeypatch.setattr(PygitObjects, "build", refuse)
    with pytest.raises(InvalidState) as raised:
        client.todo.add("two")
    assert raised.value.about["file"] == "/some/where/objects/ab"


@pytest.mark.parametrize(
    ("owner", "name"),
    [(PendingFolder, "remove"), (RemotePublisher, "release"), (RemotePublisher, "accept"), (RemotePublisher, "tidy")],
)
@pytest.mark.parametrize("error", [OSError(errno.EROFS, "Read-only file system", "/x"), pygit2.GitError("no refs")])
def test_a_note_that_fails_after_the_landing_is_a_warning(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, error: Exception
) -> None:
    client = client_of(clone, monkeypatch)
    true = getattr(owner, name)
    landed = []
    push = RemotePublisher.push

    def pushed(*args: object) -> object:
        done = push(*args)  # type: ignore[arg-type]
        landed.append(1)
        return done

    def refuse(*args: object) -> object:
        if landed:
            raise error
        return true(*args)

    monkeypatch.setattr(RemotePublisher, "push", pushed)
    monkeypatch.setattr(owner, name, refuse)
    made = client.todo.add("two")
    assert landed
    monkeypatch.undo()
    (clone.path / ".git/loopx/fetched").unlink()
    assert made.todo.id in {item["id"] for item in clone.run("todo", "list").json["todos"]}


def test_only_the_system_is_the_system() -> None:
    assert is_system(OSError(1, "x")) and is_system(pygit2.GitError("x")) and is_system(PermissionError(13, "x"))
    assert not is_system(ValueError("x")) and not is_system(KeyError("x")) and not is_system(AssertionError())
    found = of_system(OSError(errno.ENOSPC, "No space left on device"), "/place")
    assert (found.message, found.hint) == ("/place: No space left on device", "make room: df -h /place")


def test_the_next_command_looks_at_something_that_exists(tmp_path: Path) -> None:
    """What could not be made cannot be looked at: the folder above it can."""
    from loopx_git.store.system import of_system

    missing = tmp_path / "sessions/deeper/bob.json.1a2b"
    error = of_system(PermissionError(13, "Permission denied", str(missing)), str(tmp_path))
    assert error.about["file"] == str(missing)
    assert f"ls -ld {tmp_path};" in error.hint
    missing.parent.mkdir(parents=True)
    missing.touch()
    assert str(missing) in of_system(PermissionError(13, "Permission denied", str(missing)), "").hint
