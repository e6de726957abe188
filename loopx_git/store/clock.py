"""Clocks: the wall, and one that counts on through a suspend."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from loopx_git.core.times import to_milliseconds


class Clock(Protocol):
    """What the time is. Tests and simulations bring their own."""

    def wall(self) -> datetime:
        """UTC, cut to milliseconds."""

    def counting(self) -> float:
        """Seconds since some fixed point, never set back, counting while the machine sleeps where it can."""

    def boot(self) -> str:
        """A name of this boot: counting seconds of another one mean nothing."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's clocks. `offset` (seconds) shifts the wall alone, to play a machine whose clock is wrong;
    `fixed` stops it; `slept` (seconds) is added to the counting clock, to play a suspend."""

    offset: float = 0.0
    fixed: datetime | None = None
    slept: float = 0.0

    def wall(self) -> datetime:
        now = self.fixed if self.fixed is not None else datetime.now(UTC)
        return to_milliseconds(now + timedelta(seconds=self.offset))

    def counting(self) -> float:
        # CLOCK_BOOTTIME counts suspend on Linux; elsewhere CLOCK_MONOTONIC is the nearest (on macOS it does too).
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) + self.slept

    def boot(self) -> str:
        try:
            with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
                return file.read().strip()
        except OSError:
            # Elsewhere: when the machine came up, to the minute. A wall clock that is set meanwhile makes it
            # another boot, and the wall clock then decides.
            return f"up-{int((time.time() - self.counting()) // 60)}"

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
