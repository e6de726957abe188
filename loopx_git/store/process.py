"""The only place that starts git."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from loopx_git.errors import InvalidState
from loopx_git.store.environment import unbent
from loopx_git.store.itself import absolute

#: Options of every call, each with its reason.
SAFE = (
    "--no-pager",  # a pager is a program that configuration names
    "-c", "core.fsmonitor=false",  # the same: repository configuration that executes
    "-c", f"core.hooksPath={os.devnull}",  # no hook of anybody runs on our behalf
    "-c", "core.useReplaceRefs=false",  # a setting of true would beat GIT_NO_REPLACE_OBJECTS
    "-c", "core.pager=cat",
    "-c", "color.ui=false",  # output is parsed
    "-c", "advice.objectNameWarning=false",
)  # fmt: skip
#: Most bytes of an answer. A part of one is never handed on: what is missing from it could be what decides.
OUTPUT_MAX = 64 * 1024 * 1024
#: Most bytes of standard error that are kept: it is words for people.
_WORDS_MAX = 4 * 1024 * 1024
#: More than any pipe holds: what an ended process has left in one is read up to here, and what something behind it
#: goes on writing is not waited for.
_PIPE_MAX = 4 * 1024 * 1024
#: The longest wait in one piece, in seconds. A signal that arrives just before a wait begins does not end it: Ctrl-C
#: would take effect only after the whole of it.
WAIT_MAX = 1.0
#: How often the end of a process is looked for where the system cannot tell of it, in seconds.
_LOOK = 0.01


class Finished(NamedTuple):
    """A git process that ended. `code` is the exit status (negative: the signal), 124 with `timed_out`."""

    code: int
    out: bytes
    err: bytes
    timed_out: bool = False

    @property
    def text(self) -> str:
        """Standard output as text; bytes that are not UTF-8 survive as surrogates."""
        return self.out.decode("utf-8", "surrogateescape")

    @property
    def complaint(self) -> str:
        """The last lines of standard error, for a message to a person."""
        lines = [line for line in self.err.decode("utf-8", "replace").splitlines() if line.strip()]
        return without_credentials("; ".join(lines[-4:])[:800])


def git(
    args: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    stdin: bytes = b"",
    program: str = "git",
    options: Sequence[str] = SAFE,
    most: int | None = None,
) -> Finished:
    """Run one git command to its end, or kill its whole process group after `timeout` seconds.

    `env` is the complete environment; nothing is inherited. A new session keeps ssh from asking on a terminal. A git
    that cannot be started has code 127. `options` precede the command; options other than SAFE serve only to find out
    whether the user's hooks run. Raises InvalidState when it says more than `most` bytes (None: OUTPUT_MAX).
    """
    argv = [program, *options, *args]
    what = f"{os.path.basename(program)} {args[0] if args else ''}"
    return run(argv, cwd=cwd, env=unbent(env), timeout=timeout, stdin=stdin, most=most, what=what)


def run(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout: float, stdin: bytes = b"",
    most: int | None = None, what: str = "",
) -> Finished:  # fmt: skip
    """Run a program that belongs to git (ssh-keygen) to its end, as `git` does. `what` names it in messages."""
    program = argv[0]
    most = OUTPUT_MAX if most is None else most
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=absolute(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Finished(127, b"", f"cannot run {program}: {error.strerror}".encode())
    try:
        with _Pipes(process, stdin, most) as pipes:
            ended = pipes.until_end(time.monotonic() + max(0.05, timeout))
            if not ended:
                kill(process)
            pipes.drain()
    except _TooMuch:
        kill(process)
        raise InvalidState(
            f"{what or program} says more than {_size(most)}, and a part of it decides nothing",
            hint="look at less at once: fewer paths, fewer commits, fewer refs",
        ) from None
    except BaseException:
        kill(process)
        raise
    finally:
        process.wait()
    out, err = bytes(pipes.out), bytes(pipes.err)
    if not ended:
        return Finished(124, out, err + f"\n{program} was stopped: no answer in time".encode(), timed_out=True)
    return Finished(process.returncode, out, err)


class _TooMuch(Exception):
    """An answer has more bytes than there may be."""


def _size(count: int) -> str:
    return f"{count // 1048576} MiB" if count >= 1048576 else f"{count} bytes"


class _Pipes:
    """The data of a process's pipes until the process itself has ended. A program that it left running (a shared ssh
    connection that stays open for the next command) may keep the pipes open for hours."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, most: int) -> None:
        self.out, self.err, self._most = bytearray(), bytearray(), most
        self._process, self._stdin = process, memoryview(stdin)
        self._selector = selectors.DefaultSelector()
        self._open: set[int] = set()
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._streams = {process.stdout.fileno(): self.out, process.stderr.fileno(): self.err}
        self._end: int | None = None

    def __enter__(self) -> _Pipes:
        for number in self._streams:
            os.set_blocking(number, False)
            self._selector.register(number, selectors.EVENT_READ)
            self._open.add(number)
        given = self._process.stdin
        assert given is not None
        if self._stdin:
            os.set_blocking(given.fileno(), False)
            self._selector.register(given.fileno(), selectors.EVENT_WRITE)
        else:
            given.close()
        with suppress(AttributeError, OSError):
            # Where the system reports the end itself, there is no need to poll.
            self._end = os.pidfd_open(self._process.pid)
            self._selector.register(self._end, selectors.EVENT_READ)
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        if self._end is not None:
            os.close(self._end)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            # It did not read all of its input; that is not an error.
            with suppress(BrokenPipeError):
                stream.close()

    def until_end(self, ends: float) -> bool:
        """Read and write until the process has ended (True), or the time is over (False)."""
        while self._process.poll() is None:
            left = ends - time.monotonic()
            if left <= 0:
                return False
            self._step(min(left, WAIT_MAX if self._end is not None else _LOOK))
        return True

    def drain(self) -> None:
        """Read what an ended process has left in its pipes. All of it lies there already, so amounts bound this and
        no time does: on a busy machine a time would cut the answer off."""
        left = dict.fromkeys(self._open, _PIPE_MAX)
        for number in sorted(left):
            while left[number] > 0 and number in self._open:
                try:
                    left[number] -= self._read(number)
                except BlockingIOError:
                    break

    def _step(self, seconds: float) -> None:
        """Wait at most so long for something to read or to write, and do it."""
        for key, _ in self._selector.select(seconds):
            number = key.fd
            if number in self._streams:
                self._read(number)
            elif number != self._end:
                self._write(number)

    def _read(self, number: int) -> int:
        """Read what lies there: how many bytes it was."""
        kept = self._streams[number]
        chunk = os.read(number, 65536)
        if not chunk:
            self._selector.unregister(number)
            self._open.discard(number)
        elif kept is self.err:
            kept += chunk[: _WORDS_MAX - len(kept)]
        elif len(kept) + len(chunk) > self._most:
            raise _TooMuch
        else:
            kept += chunk
        return len(chunk)

    def _write(self, number: int) -> None:
        try:
            self._stdin = self._stdin[os.write(number, self._stdin[:65536]) :]
        except BrokenPipeError:
            self._stdin = memoryview(b"")
        if not self._stdin:
            self._selector.unregister(number)
            assert self._process.stdin is not None
            with suppress(BrokenPipeError):
                self._process.stdin.close()


def detached(argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> None:
    """Start a command of ours that outlives this process: in its own session, without a terminal or output.

    Its own time budget bounds it. A failed start is not an error: the next occasion tries again.
    """
    with suppress(OSError):
        subprocess.Popen(
            list(argv), cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip


def kill(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started (ssh, a remote helper): a killed parent alone leaves them pushing."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()


def without_credentials(text: str) -> str:
    """The text without the user part of URLs, so that no token is printed."""
    import re

    return re.sub(r"(\b[a-z][a-z0-9+.-]*://)[^/\s@]+@", r"\1***@", text, flags=re.IGNORECASE)
