"""What `run` and `loop tick` share on the command line: signals for the command, and the exit code."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

from loopx_git.client.supervise import Inbox
from loopx_git.errors import UsageError

#: Passed on to the command; whatever ends a runner must reach what it runs.
_PASSED_ON = (
    signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
)  # fmt: skip
#: Of these, what means that no further command is to be started.
STOPS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})


@contextmanager
def listening() -> Iterator[Inbox]:
    """Signals of this process as events, until the block ends."""
    inbox = Inbox()

    def receive(number: int, frame: FrameType | None) -> None:
        inbox.put(("signal", number))

    former = {}
    for number in _PASSED_ON:
        if signal.getsignal(number) is not signal.SIG_IGN:
            # nohup and a shell's background jobs have them ignored, and so they stay, for the command too.
            former[number] = signal.signal(number, receive)
    try:
        yield inbox
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def pause(inbox: Inbox, seconds: float) -> bool:
    """Wait; True when a signal that stops arrived meanwhile."""
    import queue
    import time

    ends = time.monotonic() + seconds
    while True:
        try:
            kind, value = inbox.get(timeout=max(0.0, ends - time.monotonic()))
        except queue.Empty:
            return False
        if kind == "signal" and value in STOPS:
            return True


def end_with(code: int) -> None:
    """Exit with a code that is not one of our errors."""
    if code:
        raise click.exceptions.Exit(code)


def seconds(text: str, flag: str) -> float:
    """Seconds of a duration flag that cannot be `none`."""
    from loopx_git.core.times import parse_duration

    try:
        found = parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{flag}: {error}", hint=f"{flag} 10s") from None
    if found is None:
        raise UsageError(f"{flag} cannot be none", hint=f"{flag} 10s")
    return float(found)
