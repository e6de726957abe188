"""The clone-wide lock and our small files: planted links lose nothing, and a dead owner leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from loopx_git.errors import Contention, InvalidState
from loopx_git.store import lock
from loopx_git.store.lock import locked, make_folder, read_file, write_file

OWNER = """\
import sys, time
from loopx_git.store.lock import locked
with locked(sys.argv[1], 10):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "git" / "loopx")


def owner(home: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", OWNER, home], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"held\n"
    return process


def test_one_at_a_time_and_the_owner_is_named(home: str) -> None:
    make_folder(home)
    Path(home, "lock").write_text("99999999999 of long ago\n")
    with locked(home, 1):
        assert Path(home, "lock").read_text() == f"{os.getpid()}\n"
        started = time.monotonic()
        with pytest.raises(Contention, match=f"pid {os.getpid()}") as caught, locked(home, 0.05):
            raise AssertionError("held twice")
        assert 0.05 <= time.monotonic() - started < 5
        assert caught.value.about == {"pid": str(os.getpid())}
    with locked(home, 0):
        pass


def test_the_lock_is_dropped_when_the_work_fails(home: str) -> None:
    with pytest.raises(KeyError), locked(home, 1):
        raise KeyError
    with locked(home, 0):
        pass


def test_another_process_is_waited_for(home: str) -> None:
    with owner(home) as process:
        with pytest.raises(Contention, match=f"pid {process.pid}"), locked(home, 0.03):
            raise AssertionError("held twice")
        assert process.stdin is not None
        threading.Timer(0.1, process.stdin.close).start()
        with locked(home, 30) as waited:
            assert waited > 0


def test_a_killed_owner_leaves_nothing_behind(home: str) -> None:
    with owner(home) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert Path(home, "lock").read_text() == f"{process.pid}\n"
    with locked(home, 0):
        assert Path(home, "lock").read_text() == f"{os.getpid()}\n"


def test_a_planted_link_is_refused_and_its_target_keeps_its_bytes(home: str, tmp_path: Path) -> None:
    sentinel = tmp_path / "precious"
    sentinel.write_text("precious\n")
    make_folder(home)
    Path(home, "lock").symlink_to(sentinel)
    with pytest.raises(InvalidState, match="cannot open the lock"), locked(home, 1):
        raise AssertionError("followed a link")
    assert sentinel.read_text() == "precious\n"
    Path(home, "lock").unlink()
    Path(home, "lock").symlink_to(tmp_path / "not-there")
    with pytest.raises(InvalidState), locked(home, 1):
        raise AssertionError("followed a link")
    assert not (tmp_path / "not-there").exists()


def test_a_waiting_process_does_not_truncate_what_the_owner_wrote(home: str) -> None:
    with owner(home) as process:
        with pytest.raises(Contention), locked(home, 0.02):
            raise AssertionError("held twice")
        assert Path(home, "lock").read_text() == f"{process.pid}\n"
        process.kill()


def test_our_folder_is_no_link_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "loopx").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidState, match="is a symbolic link"), locked(str(tmp_path / "loopx"), 1):
        raise AssertionError("followed a link")
    assert not list((tmp_path / "elsewhere").iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(InvalidState, match="cannot create"), locked(str(tmp_path / "file"), 1):
        raise AssertionError("a lock in a file")


def test_a_file_is_put_in_place_whole(tmp_path: Path) -> None:
    path = tmp_path / "tip"
    for data in (b"one", b"", b"three" * 1000):
        write_file(str(path), data)
        assert read_file(str(path), 10_000) == path.read_bytes() == data
    assert [item.name for item in tmp_path.iterdir()] == ["tip"]


def test_a_file_replaces_a_planted_link_and_never_follows_it(tmp_path: Path) -> None:
    sentinel = tmp_path / "precious"
    sentinel.write_text("precious\n")
    path = tmp_path / "tip"
    path.symlink_to(sentinel)
    with pytest.raises(InvalidState, match="cannot read"):
        read_file(str(path), 100)
    write_file(str(path), b"ours")
    assert not path.is_symlink() and path.read_bytes() == b"ours"
    aside = tmp_path / f"tip.{os.getpid()}.tmp"
    aside.symlink_to(sentinel)
    write_file(str(path), b"again")
    assert path.read_bytes() == b"again" and not aside.exists() and not aside.is_symlink()
    assert sentinel.read_text() == "precious\n"


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tip"
    write_file(str(path), b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_file(str(path), b"new")
    assert path.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1


def test_reading_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "tip"
    assert read_file(str(path), 10) is None
    path.write_bytes(b"0123456789")
    assert read_file(str(path), 10) == b"0123456789"
    with pytest.raises(InvalidState, match="larger than 9 bytes"):
        read_file(str(path), 9)


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        with pytest.raises(InvalidState, match="not a plain file"):
            read_file(str(tmp_path / name), 9)


def test_one_of_many_locks_is_removed_at_the_end(home: str) -> None:
    with locked(home, 1, name="one", stays=False):
        assert os.listdir(home) == ["one"]
    assert os.listdir(home) == []
    with pytest.raises(KeyError), locked(home, 1, name="one", stays=False):
        raise KeyError
    assert os.listdir(home) == []


def test_who_waits_for_a_lock_that_is_removed_does_not_get_in_beside_the_next_owner(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The waiter has the file open; its owner removes it, and the next one makes a new file of that name."""
    opened = lock._opened
    first, again, go_on = threading.Event(), threading.Event(), threading.Event()
    waiter: list[threading.Thread] = []
    seen: list[bool] = []
    held = False

    def opening(path: str) -> int:
        handle = opened(path)
        if threading.current_thread() in waiter:
            (again if first.is_set() else first).set()
            go_on.wait(30)
        return handle

    def wait() -> None:
        with locked(home, 30, name="one", stays=False):
            seen.append(held)

    monkeypatch.setattr(lock, "_opened", opening)
    waiter.append(threading.Thread(target=wait))
    with locked(home, 1, name="one", stays=False):
        waiter[0].start()
        assert first.wait(30)
    with locked(home, 1, name="one", stays=False):
        held = True
        go_on.set()
        assert again.wait(10), "it took the file that is gone for the lock"
        held = False
    waiter[0].join()
    assert seen == [False]
