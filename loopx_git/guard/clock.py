"""LOOPX_NOW for the hooks: a machine whose clock is wrong, for tests and drills, as `cli.testing` plays it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from loopx_git.client.connect import Hooks
from loopx_git.core.times import parse_duration, parse_time
from loopx_git.store.clock import SystemClock


def hooks_of(env: Mapping[str, str]) -> Hooks | None:
    """Hooks with the clock that the environment asks for; None without such a wish."""
    text = env.get("LOOPX_NOW")
    if not text:
        return None
    if text[0] in "+-":
        seconds = parse_duration(text[1:]) or 0
        return replace(Hooks(), clock=SystemClock(offset=float(seconds if text[0] == "+" else -seconds)))
    return replace(Hooks(), clock=SystemClock(fixed=parse_time(text)))
