"""LOOPX_NOW for the hooks: imitates a machine with a wrong clock, for tests and drills, as `cli.testing` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from loopx_git.client.connect import Overrides
from loopx_git.core.times import parse_duration, parse_time
from loopx_git.errors import UsageError
from loopx_git.store.clock import SystemClock


def hooks_of(env: Mapping[str, str]) -> Overrides | None:
    """Hooks with the clock that the environment asks for; None without such a wish."""
    text = env.get("LOOPX_NOW")
    return replace(Overrides(), clock=clock_of(text)) if text else None


def clock_of(text: str) -> SystemClock:
    """A clock that is off by `+45m` or `-1d`, or stands at a timestamp; UsageError for anything else."""
    try:
        if text[0] in "+-":
            seconds = parse_duration(text[1:]) or 0
            return SystemClock(offset=float(seconds if text[0] == "+" else -seconds))
        return SystemClock(fixed=parse_time(text))
    except ValueError as error:
        raise UsageError(f"LOOPX_NOW: {error}", hint="LOOPX_NOW=+45m, -1d, or a timestamp") from None
