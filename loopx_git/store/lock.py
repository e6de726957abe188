"""The clone-wide lock: one transaction at a time in one clone, whatever its worktrees."""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from loopx_git.errors import Contention, InvalidState
from loopx_git.store.system import there

#: Seconds between two tries for the lock.
_POLL = 0.01
#: The locks that threads of this process hold. A thread must not wait for a lock of its own.
_HELD: set[tuple[str, int]] = set()
#: The files of the locks that this process holds or waits for, and what keeps a fork away while one is opened.
_OPEN: set[int] = set()
_OPENING = threading.RLock()


def _drop_all() -> None:
    """In a process that was forked off: a copy of the file would hold the lock for as long as that process lives,
    also after its parent's end. A command that is to hold it gets the file by name."""
    while _OPEN:
        os.close(_OPEN.pop())
    _HELD.clear()
    _OPENING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_OPENING.acquire, after_in_parent=_OPENING.release, after_in_child=_drop_all)


@contextmanager
def locked(
    folder: str, timeout: float, what: str = "loopx command of this clone", *, name: str = "lock", stays: bool = True
) -> Iterator[int]:
    """Hold `<folder>/<name>`, waiting at most `timeout` seconds; yields the open file.

    A child that inherits the file holds the lock, too. `what` names the owner in the message. With `stays=False` the
    owner removes the file at the end. flock is used, so that a killed owner leaves no lock. O_NOFOLLOW, and no
    truncation before the lock is held: a planted symlink or a running owner loses nothing. POSIX only: Windows has no
    flock. Raises Contention (13), with the owner's pid, when the time is over.
    """
    import fcntl

    path = os.path.join(folder, name)
    make_folder(folder)
    handle = _opened(path)
    started = time.monotonic()
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if stays or _is_at(handle, path):
                    break
                # Its owner removed the file after we opened it and before we locked it: open a new one.
                newer = _opened(path)
                _close(handle)
                handle = newer
                continue
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EINTR):
                    raise
            waited = time.monotonic() - started
            if waited >= timeout:
                owner = os.pread(handle, 32, 0).decode("ascii", "replace").strip() or "unknown"
                raise Contention(
                    f"another {what} (pid {owner}) did not end within {timeout:g} s",
                    hint="run the same command again, or give it longer: --timeout 120",
                    about={"pid": owner},
                )
            time.sleep(min(_POLL, timeout - waited))
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode("ascii"), 0)
        mark = (os.path.realpath(path), threading.get_ident())
        _HELD.add(mark)
        try:
            yield handle
        finally:
            _HELD.discard(mark)
            if not stays and handle in _OPEN and _is_at(handle, path):
                os.unlink(path)
    finally:
        # Closing drops the lock; the pid stays in the file for people who look.
        _close(handle)


def _close(handle: int) -> None:
    if handle in _OPEN:
        _OPEN.remove(handle)
        os.close(handle)


def _opened(path: str) -> int:
    try:
        with _OPENING:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            _OPEN.add(handle)
    except OSError as error:
        raise InvalidState(
            f"cannot open the lock {path}: {error.strerror}", hint=f"look at it: ls -l {os.path.dirname(path)}"
        ) from None
    return handle


def _is_at(handle: int, path: str) -> bool:
    """Whether the open file is the one that the path names."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def held(folder: str) -> bool:
    """True when this thread holds the lock of that folder."""
    return (os.path.realpath(os.path.join(folder, "lock")), threading.get_ident()) in _HELD


def make_folder(folder: str) -> None:
    """Our folder inside the git directory, created with its parents' permissions."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InvalidState(
            f"cannot create {folder}: {error.strerror}",
            hint=f"loopx keeps its state in .git; look whose it is: ls -ld {there(folder)}",
        ) from None
    if os.path.islink(folder):
        raise InvalidState(f"{folder} is a symbolic link", hint=f"ls -l {folder}")


def write_file(path: str, data: bytes, *, like: os.stat_result | None = None) -> None:
    """Write a file completely or not at all. A planted symlink is replaced, never followed. With `like` it has the
    mode and the owner of the file that it replaces from the beginning."""
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        _put(aside, path, data, like)
    except OSError as error:
        # The file that a person knows, not the one beside it.
        raise type(error)(error.errno, error.strerror, path) from None


def _put(aside: str, path: str, data: bytes, like: os.stat_result | None) -> None:
    with suppress(FileNotFoundError):
        # Left by a killed process that had our pid.
        os.unlink(aside)
    mode = 0o666 if like is None else stat.S_IMODE(like.st_mode) & 0o700
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            if like is not None:
                if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
                    # Only a privileged user can give a file away.
                    with suppress(PermissionError):
                        os.fchown(handle, like.st_uid, like.st_gid)
                os.fchmod(handle, stat.S_IMODE(like.st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise


def read_file(path: str, limit: int) -> bytes | None:
    """The bytes of a file of ours (None: absent).

    Raises InvalidState for a symlink, or for more than `limit` bytes.
    """
    try:
        # Not blocking: opening a planted pipe would never return.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidState(f"cannot read {path}: {error.strerror}", hint=f"ls -l {path}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InvalidState(f"cannot read {path}: it is not a plain file", hint=f"ls -l {path}")
    with os.fdopen(handle, "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise InvalidState(f"{path} is larger than {limit} bytes", hint=f"ls -l {path}")
    return data
