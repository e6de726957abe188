"""No wait is long in one piece: an interrupt that arrives just before it begins takes effect at the next piece."""

from __future__ import annotations

import subprocess
import sys

import pytest

from loopx_git.store import clock, process
from loopx_git.store.clock import SystemClock

#: The interrupt arrives after the last moment at which Python looks for one, and before the system's wait begins.
JUST_BEFORE = """
import os, signal, sys, time
from loopx_git.store.clock import SystemClock
wait = time.sleep
def late(seconds):
    # Blocked, it is pending until the wait has ended; a second one would be the same.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.kill(os.getpid(), signal.SIGINT)
    wait(seconds)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
time.sleep = late
try:
    SystemClock().sleep(300)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_just_before_a_wait() -> None:
    done = subprocess.run([sys.executable, "-c", JUST_BEFORE], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


def test_a_wait_is_as_long_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    now, pieces = [1000.0], list[float]()

    def sleep(seconds: float) -> None:
        pieces.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(clock.time, "sleep", sleep)
    monkeypatch.setattr(clock.time, "monotonic", lambda: now[0])
    SystemClock().sleep(2.5)
    assert pieces == [process.WAIT_MAX, process.WAIT_MAX, 0.5]
    pieces.clear()
    SystemClock().sleep(-1)
    assert not pieces


def test_the_wait_for_git_is_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = list[float]()
    step = process._Pipes._step

    def look(self: process._Pipes, seconds: float) -> None:
        pieces.append(seconds)
        step(self, min(seconds, 0.01))

    monkeypatch.setattr(process._Pipes, "_step", look)
    process.run(["sleep", "0.1"], cwd="/", env={"PATH": "/bin:/usr/bin"}, timeout=3600)
    assert pieces and max(pieces) <= process.WAIT_MAX
