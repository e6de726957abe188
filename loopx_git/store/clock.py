"""Clocks: the wall clock, and one that counts through a suspend."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from loopx_git.core.times import to_milliseconds
from loopx_git.store.boot import boot, counting
from loopx_git.store.process import WAIT_MAX


class Clock(Protocol):
    """The clocks that the store asks. Tests and simulations bring their own."""

    def wall(self) -> datetime:
        """UTC, cut to milliseconds."""

    def counting(self) -> float:
        """Seconds since a fixed point; never set back, and counting during a suspend where the system can."""

    def boot(self) -> str:
        """A name of this boot: counting seconds of another one mean nothing."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's clocks.

    `offset` (seconds) shifts the wall clock, to imitate a wrong one. `fixed` stops it. `slept` (seconds) is added to
    the counting clock, to imitate a suspend.
    """

    offset: float = 0.0
    fixed: datetime | None = None
    slept: float = 0.0

    def wall(self) -> datetime:
        now = self.fixed if self.fixed is not None else datetime.now(UTC)
        return to_milliseconds(now + timedelta(seconds=self.offset))

    def counting(self) -> float:
        return counting() + self.slept

    def boot(self) -> str:
        return boot(self.counting())

    def sleep(self, seconds: float) -> None:
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0:
            time.sleep(min(left, WAIT_MAX))
