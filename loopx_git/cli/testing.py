"""LOOPX_NOW and LOOPX_FAILPOINT: a clock that is wrong and a death at a named step, for tests and drills.

LOOPX_NOW=+45m or -1d shifts the wall clock, LOOPX_NOW=2026-01-02T03:04:05Z stops it.
LOOPX_FAILPOINT=NAME=kill ends the process by SIGKILL at a step of the transaction (fetched, built, pushing,
pushed, landed); NAME=stop suspends it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import replace

from loopx_git.client.connect import Overrides
from loopx_git.errors import UsageError
from loopx_git.guard.clock import clock_of

_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}


def with_testing(overrides: Overrides, environ: Mapping[str, str]) -> Overrides:
    """The hooks with the clock and the failpoint that the environment asks for."""
    now = environ.get("LOOPX_NOW")
    if now:
        overrides = replace(overrides, clock=clock_of(now))
    point = environ.get("LOOPX_FAILPOINT")
    if point:
        name, _, what = point.partition("=")
        if what not in _SIGNALS:
            raise UsageError(f"LOOPX_FAILPOINT={point}: the action is kill or stop", hint="unset LOOPX_FAILPOINT")

        def fail(step: str) -> None:
            if step == name:
                os.kill(os.getpid(), _SIGNALS[what])

        overrides = replace(overrides, failpoint=fail)
    return overrides
