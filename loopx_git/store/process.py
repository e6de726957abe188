"""The only place that starts git, and the user's own commands."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
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
#: How long a command of the user's has, in seconds, to end by itself after the death of who ran it.
_WATCH_GRACE = 5.0
#: How often the end of a process is looked for where the system cannot tell of it, in seconds.
_LOOK = 0.01
#: How much of a user's command's output is kept for a message.
TAIL_MAX = 4096


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
                _kill(process)
            pipes.drain()
    except _TooMuch:
        _kill(process)
        raise InvalidState(
            f"{what or program} says more than {_size(most)}, and a part of it decides nothing",
            hint="look at less at once: fewer paths, fewer commits, fewer refs",
        ) from None
    except BaseException:
        _kill(process)
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
            self._step(left if self._end is not None else min(left, _LOOK))
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


class Watched(NamedTuple):
    """A command of the user's that ended: its exit status, its last output, and whether its time ran out.

    The status is negative for a signal, 127 when the command could not be started.
    """

    code: int
    tail: bytes
    timed_out: bool = False


#: Waits for the end of its standard input without a word before it, which is the death of the runner, and then
#: ends the group $1: TERM, and KILL after $2 seconds.
_WATCH = """\
trap '' TERM INT HUP QUIT
read -r word && exit 0
kill -TERM "-$1" 2>/dev/null || exit 0
left=$2
while kill -0 "-$1" 2>/dev/null; do
    [ "$left" -le 0 ] && break
    left=$((left - 1))
    sleep 1
done
kill -KILL "-$1" 2>/dev/null
"""


#: The pipes to the watches of this process, and what keeps a fork away while one is being made.
_PIPES: set[int] = set()
_MAKING = threading.RLock()


def _drop_all() -> None:
    """In a process that was forked off: a copy of the pipe would keep a watch waiting after the runner's death. The
    number stays taken, for the file object that knows it."""
    while _PIPES:
        nothing = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nothing, _PIPES.pop(), inheritable=False)
        os.close(nothing)
    _MAKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_MAKING.acquire, after_in_parent=_MAKING.release, after_in_child=_drop_all)


class Watch:
    """Ends a process group when this process itself is killed: a shell of a few lines that waits for our end. TERM
    to the group first, and KILL after `grace` seconds."""

    def __init__(self, group: int, grace: float) -> None:
        with _MAKING:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH, "loopx-watch", str(group), str(int(grace))], stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            assert self._shell.stdin is not None
            _PIPES.add(self._shell.stdin.fileno())

    def close(self) -> None:
        """The group has ended, or is no longer ours to end."""
        assert self._shell.stdin is not None
        with suppress(BrokenPipeError):
            self._shell.stdin.write(b"done\n")
            self._shell.stdin.flush()
        _PIPES.discard(self._shell.stdin.fileno())
        with suppress(BrokenPipeError):
            self._shell.stdin.close()
        self._shell.wait()


def watched(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    tick: Callable[[], None],
    sink: Callable[[bytes], None],
    every: float = 0.2,
    stdin: bytes = b"",
) -> Watched:
    """Run a command of the user's; call `tick` at an interval in seconds, and `sink` with its output.

    Its whole process group is killed after `timeout` seconds, or when `tick` raises. It is also ended when this
    process itself is killed.
    """
    import tempfile

    # A file, not a pipe: a command that does not read its input cannot block us.
    given = tempfile.TemporaryFile()  # noqa: SIM115 (closed below, once the command has it)
    given.write(stdin)
    given.seek(0)
    try:
        process = subprocess.Popen(
            list(argv), cwd=cwd, env=dict(env), stdin=given, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return Watched(127, f"cannot run {argv[0]}: {error.strerror}".encode())
    finally:
        given.close()
    watch = Watch(process.pid, _WATCH_GRACE)
    tail = bytearray()

    def pump() -> None:
        assert process.stdout is not None
        while chunk := process.stdout.read1(65536):  # type: ignore[attr-defined]
            sink(chunk)
            tail.extend(chunk)
            del tail[:-TAIL_MAX]

    reader = threading.Thread(target=pump, daemon=True)
    reader.start()
    ends, timed_out = time.monotonic() + timeout, False
    try:
        while True:
            try:
                process.wait(timeout=min(every, max(0.01, ends - time.monotonic())))
                break
            except subprocess.TimeoutExpired:
                if time.monotonic() >= ends:
                    timed_out = True
                    break
                tick()
    finally:
        # Also after a normal end: what it left running must not outlive the answer.
        _kill(process)
        process.wait()
        watch.close()
        reader.join(2)
        if process.stdout is not None and not reader.is_alive():
            process.stdout.close()
    return Watched(process.returncode, bytes(tail), timed_out)


def detached(argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> None:
    """Start a command of ours that outlives this process: in its own session, without a terminal or output.

    Its own time budget bounds it. A failed start is not an error: the next occasion tries again.
    """
    with suppress(OSError):
        subprocess.Popen(
            list(argv), cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started (ssh, a remote helper): a killed parent alone leaves them pushing."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()


def without_credentials(text: str) -> str:
    """The text without the user part of URLs, so that no token is printed."""
    import re

    return re.sub(r"(\b[a-z][a-z0-9+.-]*://)[^/\s@]+@", r"\1***@", text, flags=re.IGNORECASE)
