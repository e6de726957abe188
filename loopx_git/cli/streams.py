"""Standard streams that never end a command: what cannot be printed is stored, and reported at the end.

A command may have pushed before its answer meets a full disk or a closed pipe; an exception there would report a
failure. Standard library only: the hooks of agents start at every edit.
"""

from __future__ import annotations

import errno
import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


class _Lossy(io.RawIOBase):
    """A descriptor for writing that takes every byte; `failed` is the first error of the system, if there was one."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.failed: OSError | None = None
        self.told = False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.number

    def isatty(self) -> bool:
        return os.isatty(self.number)

    def write(self, data: object) -> int:
        view = memoryview(data)  # type: ignore[arg-type]
        if self.failed is not None:
            return view.nbytes
        try:
            return os.write(self.number, view)
        except OSError as error:
            self.failed = error
            return view.nbytes


def prepare() -> None:
    """Make the standard streams safe to use.

    A closed one is opened on /dev/null first. Otherwise the next file that is opened would get its number, and our
    output, or a child's.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # Standard output for reading alone, so that writing to it still fails and is noted.
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout, sys.stderr = _safe(sys.stdout, 1), _safe(sys.stderr, 2)


def _safe(stream: TextIO | None, number: int) -> io.TextIOWrapper:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if stream is not None:
        stream.flush()
    # A character that the locale cannot spell is escaped.
    return io.TextIOWrapper(
        io.BufferedWriter(_Lossy(number)), encoding, "backslashreplace", write_through=number == 2,
        line_buffering=number == 2 or os.isatty(number),
    )  # fmt: skip


def words(argv: list[str]) -> list[str]:
    """The words of the command line. A locale that cannot decode them hides UTF-8 text; this restores it."""
    return [word if word.isascii() else _text(word) for word in argv]


def _text(word: str) -> str:
    try:
        return os.fsencode(word).decode("utf-8")
    except UnicodeError:
        return word


def lost() -> OSError | None:
    """Why standard output did not take everything that was written, or None."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.failed if isinstance(raw, _Lossy) else None


def unprinted() -> OSError | None:
    """Like `lost`, but reported once. None for a reader that closed the pipe (`| head`)."""
    error = lost()
    if error is None or error.errno == errno.EPIPE:
        return None
    raw = sys.stdout.buffer.raw  # type: ignore[union-attr]
    told, raw.told = raw.told, True
    return None if told else error
