"""This boot and its clock, with cheap imports only: an agent's hook asks at every edit."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def counting() -> float:
    """Seconds since a fixed point; never set back."""
    # CLOCK_BOOTTIME counts suspend on Linux; elsewhere CLOCK_MONOTONIC is the nearest (on macOS it does too).
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def boot(counted: float) -> str:
    """A name of this boot. `counted` is the counting clock's time now."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        # Elsewhere: when the machine came up, to the minute. A wall clock that is set meanwhile makes it
        # another boot, and the wall clock then decides.
        return f"up-{int((time.time() - counted) // 60)}"


def left(entries: Any, counted: float, this_boot: str) -> dict[str, float]:
    """Seconds left of the deadlines of this boot, by lease id, as `store.local_clocks` keeps them."""
    return {
        lease: float(entry["until"]) - counted
        for lease, entry in (entries.items() if isinstance(entries, dict) else ())
        if isinstance(entry, dict) and entry.get("boot") == this_boot and isinstance(entry.get("until"), int | float)
    }
