"""Commands of the user's: started under a watch that ends them when this process itself is killed."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from loopx_git.store.itself import isolated
from loopx_git.store.process import kill

#: How long a command has, in seconds, to end by itself after the death of who ran it.
_WATCH_GRACE = 5.0
#: How much of a command's output is kept for a message.
TAIL_MAX = 4096


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
            )  # a list of words  # fmt: skip
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


#: Becomes the command when it is told to, by a byte from the descriptor $1; it ends when its runner is gone before.
#: It tells the descriptor $2 the number of the system's error when there is no such command. Python ignores two
#: signals that a command expects to end it, and in the C locale it sets LC_CTYPE ($3: whether it was set before).
_GATE = """\
import os, signal, sys
gate, fault = int(sys.argv[1]), int(sys.argv[2])
os.read(gate, 1) or os._exit(125)
os.close(gate)
os.set_inheritable(fault, False)
for name in ("SIGPIPE", "SIGXFSZ"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)
if sys.argv[3] == "unset":
    os.environ.pop("LC_CTYPE", None)
try:
    os.execvp(sys.argv[4], sys.argv[4:])
except OSError as error:
    os.write(fault, str(error.errno).encode())
    os._exit(127)
"""


def start_watched(
    argv: Sequence[str], *, env: Mapping[str, str], grace: float, keep: Sequence[int] = (), **settings: Any
) -> tuple[subprocess.Popen[bytes], Watch]:
    """Start a command of the user's, and what ends it when this process is killed (see Watch).

    The watch is there before the command begins: a runner that is killed in between leaves nothing running. The
    command leads a process group (`settings` for Popen: a new session or group). It inherits the descriptors `keep`.
    Raises OSError when it cannot be started.
    """
    with _MAKING:
        gate, opener = os.pipe()
        told, fault = os.pipe()
        try:
            words = [str(gate), str(fault), "set" if "LC_CTYPE" in env else "unset", *argv]
            process = subprocess.Popen(
                isolated(_GATE, *words),
                env=dict(env),
                pass_fds=(*keep, gate, fault),
                **settings,
            )
            os.close(fault)
            fault = -1
            watch = Watch(process.pid, grace)
            # A command that was ended before it began has closed its end.
            with suppress(BrokenPipeError):
                os.write(opener, b"g")
            failed = os.read(told, 16)
        finally:
            for number in (gate, opener, told, fault):
                if number >= 0:
                    os.close(number)
    if failed:
        process.wait()
        watch.close()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        raise OSError(int(failed), os.strerror(int(failed)))
    return process, watch


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
        process, watch = start_watched(
            argv,
            env=env,
            grace=_WATCH_GRACE,
            cwd=cwd,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
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
        kill(process)
        process.wait()
        watch.close()
        reader.join(2)
        if process.stdout is not None and not reader.is_alive():
            process.stdout.close()
    return Watched(process.returncode, bytes(tail), timed_out)
