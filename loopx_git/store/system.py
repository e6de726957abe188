"""Errors of the operating system as errors that name the file."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from loopx_git.errors import InvalidState, LoopXError

#: A path as libgit2 and the C library quote it in a message.
_QUOTED = re.compile(r"'(/[^']*)'")
_HINTS = {
    errno.ENOSPC: "make room: df -h {folder}",
    errno.EDQUOT: "make room, your quota is used up: quota",
    errno.EROFS: "the file system is mounted for reading alone: use a clone that you can write to",
    errno.EACCES: "look whose it is: ls -ld {file}; use a clone that you can write to",
    errno.EPERM: "look whose it is: ls -ld {file}; use a clone that you can write to",
    errno.ENOLCK: "this file system has no locks: use a clone on a local disk",
    errno.EOPNOTSUPP: "this file system has no locks: use a clone on a local disk",
    errno.ENOSYS: "this file system has no locks: use a clone on a local disk",
    errno.EMFILE: "too many open files: ulimit -n",
    errno.EIO: "the disk or its driver fails: df {folder}",
}


def is_system(error: BaseException) -> bool:
    """True for an exception of the operating system, or about files that git cannot read."""
    return isinstance(error, OSError | MemoryError) or type(error).__module__.startswith(("pygit2", "_pygit2"))


def there(file: str) -> str:
    """The file, or the nearest folder above it that exists: what could not be made cannot be looked at."""
    while not os.path.lexists(file) and os.path.dirname(file) not in ("", file):
        file = os.path.dirname(file)
    return file


def of_system(error: BaseException, place: str) -> InvalidState:
    """InvalidState for an error of the system. `place` is the current folder, for an error that names no file."""
    number = getattr(error, "errno", None)
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    named = getattr(error, "filename", None)
    quoted = _QUOTED.search(str(error))
    file = str(named) if isinstance(named, str) else quoted[1] if quoted else place
    hint = _HINTS.get(number or 0, "look at it: ls -ld {file}").format(file=there(file), folder=place)
    return InvalidState(f"{file}: {said}", hint=hint, about={"file": file})


@contextmanager
def system_errors(place: str) -> Iterator[None]:
    """Turn errors of the system inside the block into InvalidState that names the file."""
    try:
        yield
    except LoopXError:
        raise
    except Exception as error:
        if not is_system(error):
            raise
        raise of_system(error, place) from error


def noted(notes: list[str], keep: Callable[[], object], *, what: str = "written") -> None:
    """Store something about a settled outcome; `what` is the outcome in one word.

    A failure becomes one of the `notes`: the outcome stands, and the next command reads it again.
    """
    try:
        with system_errors("the git directory"):
            keep()
    except InvalidState as error:
        notes.append(f"{what}, but this clone could not note it: {error.message}")
