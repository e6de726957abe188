"""The one spawner of git, and of the user's own commands."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

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
#: Most bytes of one stream that are kept; git has no reason to say more to us.
OUTPUT_MAX = 64 * 1024 * 1024
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
        """Standard output as text; bytes that are no UTF-8 survive as surrogates."""
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
) -> Finished:
    """Run one git command to its end, or kill its whole process group when `timeout` seconds have passed.

    `env` is the complete environment; nothing is inherited. A session of its own keeps ssh from asking a
    terminal. A git that cannot be started is code 127. `options` come before the command: other ones than SAFE
    are for the one purpose of seeing whether the user's own hooks run.
    """
    return run([program, *options, *args], cwd=cwd, env=unbent(env), timeout=timeout, stdin=stdin)


def run(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout: float, stdin: bytes = b""
) -> Finished:  # fmt: skip
    """Run a program that belongs to git (ssh-keygen) to its end, under the same terms as `git`."""
    program = argv[0]
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
    with process:
        try:
            out, err = process.communicate(stdin, timeout=max(0.05, timeout))
        except subprocess.TimeoutExpired:
            _kill(process)
            out, err = _rest(process)
            return Finished(124, out, err + f"\n{program} was stopped: no answer in time".encode(), timed_out=True)
        except BaseException:
            _kill(process)
            raise
    return Finished(process.returncode, out[:OUTPUT_MAX], err[:OUTPUT_MAX])


class Watched(NamedTuple):
    """A command of the user's that ended: its exit status (negative: the signal; 127: it could not be started),
    the last bytes that it printed, and whether its time ran out."""

    code: int
    tail: bytes
    timed_out: bool = False


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
    """Run a command of the user's, calling `tick` every so many seconds and `sink` with what it prints.

    Its whole process group is killed when `timeout` seconds have passed or `tick` raises.
    """
    import tempfile

    # A file, not a pipe: a command that does not read its input keeps nobody waiting.
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
        reader.join(2)
        if process.stdout is not None and not reader.is_alive():
            process.stdout.close()
    return Watched(process.returncode, bytes(tail), timed_out)


def detached(argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> None:
    """Start a command of ours that outlives this process: its own session, no terminal, nothing to say. Its own
    time budget bounds it. One that cannot be started is no error: it is tried again at the next occasion."""
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


def _rest(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    try:
        out, err = process.communicate(timeout=2)
    except subprocess.TimeoutExpired:
        # A grandchild that left the group holds the pipe; its output is of no use any more.
        return b"", b""
    return out, err


def without_credentials(text: str) -> str:
    """The text with the user part of URLs blanked out, so that no token is ever printed."""
    import re

    return re.sub(r"(\b[a-z][a-z0-9+.-]*://)[^/\s@]+@", r"\1***@", text, flags=re.IGNORECASE)
