"""The user's command as a child process: signals, the terminal, and a reliable end.

The command gets its own process group, so that it can be ended with everything it started. It keeps the runner's
standard streams, and it gets the terminal if the runner had it. A watch (see store/user_command) ends the group when
the runner itself is killed. Process groups are POSIX: `run` does not work on Windows.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from loopx_git.errors import UsageError
from loopx_git.store.user_command import start_watched


class ProcessGroup:
    """A running command.

    `events` receives ("exit", status) once: the exit code, or the signal as a negative number. `keep` are descriptors
    that the command inherits. `mark` is a variable with a unique value (NAME=VALUE): with /proc it identifies
    processes that left the group. Raises UsageError when the command cannot be started.
    """

    def __init__(
        self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], events: queue.SimpleQueue[tuple[str, object]],
        grace: float, mark: str, keep: Sequence[int] = (),
    ) -> None:  # grouped by meaning  # fmt: skip
        self.events, self._mark = events, mark.encode()
        self.status: int | None = None
        self._terminal = _terminal()
        try:
            self._process, self._watch = start_watched(
                argv, env=env, grace=grace, keep=keep, cwd=cwd, process_group=0
            )
        except OSError as error:
            self._close_terminal()
            raise UsageError(f"cannot run {argv[0]}: {error.strerror}", hint="run -- COMMAND ARGUMENTS...") from None
        self.pid = self._process.pid
        self._give_terminal(self.pid)
        threading.Thread(target=self._wait, name=f"wait {self.pid}", daemon=True).start()

    def signal(self, number: int) -> None:
        """Send a signal to every process of the command's group."""
        # macOS says "not permitted" of a group that only has a dead member.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def end(self, grace: float, *, strays: bool = False) -> None:
        """Send TERM to the whole group, and KILL after `grace` seconds; returns when no process is left.

        `strays` includes processes that started their own session.
        """
        if strays:
            self._signal_strays(signal.SIGTERM)
        self.signal(signal.SIGTERM)
        # A command that was stopped cannot hear TERM.
        self.signal(signal.SIGCONT)
        ends = time.monotonic() + grace
        while self._alive() and time.monotonic() < ends:
            time.sleep(0.02)
        if strays:
            self._signal_strays(signal.SIGKILL)
        self.signal(signal.SIGKILL)
        ends = time.monotonic() + 5.0
        while self._alive() and time.monotonic() < ends:
            time.sleep(0.02)

    def close(self, grace: float) -> None:
        """After the command's end: end the processes that it left, and take the terminal back."""
        self.end(grace)
        self._watch.close()
        self._give_terminal(os.getpgrp())
        self._close_terminal()

    def _signal_strays(self, number: int) -> None:
        for pid in _marked(self._mark):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def _alive(self) -> bool:
        """True while a process of the group lives. Where there is /proc, one that is dead and not fetched by its
        parent does not count: an init that fetches nobody would keep it for ever."""
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return self.status is None
        return _living(self.pid)

    def _wait(self) -> None:
        """Fetch the command's end; when it is stopped at the terminal, stop as it did, and go on with it."""
        while True:
            _, status = os.waitpid(self.pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                break
            if self._terminal is not None:
                self._give_terminal(os.getpgrp())
                os.killpg(os.getpgrp(), signal.SIGSTOP)
                self._give_terminal(self.pid)
                self.signal(signal.SIGCONT)
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code
        self.status = code
        self.events.put(("exit", code))

    # -- the terminal

    def _give_terminal(self, group: int) -> None:
        if self._terminal is None:
            return
        # Asking as a background group raises SIGTTOU, whose default would stop us.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            with suppress(OSError):
                os.tcsetpgrp(self._terminal, group)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if group == self.pid:
            # It may have read before it was allowed to, and was stopped for it.
            self.signal(signal.SIGCONT)

    def _close_terminal(self) -> None:
        if self._terminal is not None:
            os.close(self._terminal)
            self._terminal = None


def _living(group: int) -> bool:
    """Whether a process of the group is not a zombie; True where that cannot be known."""
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return True
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The program's name, in brackets, may hold anything; see proc(5) for the fields behind it.
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] not in (b"Z", b"X"):
            return True
    return not names


def _marked(mark: bytes) -> list[int]:
    """The processes with this variable in their environment; none where there is no /proc."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            # It has ended, or it is somebody else's.
            continue
    return found


def _terminal() -> int | None:
    """The controlling terminal, when we are its foreground group; else None."""
    try:
        handle = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return None
    try:
        if os.tcgetpgrp(handle) == os.getpgrp():
            return handle
    except OSError:
        # A terminal that was hung up.
        os.close(handle)
        return None
    os.close(handle)
    return None
