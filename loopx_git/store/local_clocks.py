"""What this clone saw with its own clocks: a holder's deadlines, and the first sight of records from the future.

Both are kept on disk for the next process of the clone, each in a small JSON file written under the lock. A file that
cannot be read counts as empty: the wall clock then decides, as after a reboot.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from loopx_git.core.lease import Lease, margin
from loopx_git.core.times import format_time, parse_time
from loopx_git.store.boot import left
from loopx_git.store.clock import Clock
from loopx_git.store.state_file import load, save

#: Entries kept in either file; the oldest go first.
_KEPT = 2000


def _store(path: str, values: Mapping[str, Any]) -> None:
    save(path, dict(list(values.items())[-_KEPT:]), indent=1)


class Deadlines:
    """The holder's deadlines by lease id, on the counting clock of one boot.

    An entry is written when an acquire or renewal landed, and counts from *before* its push. An entry of another boot
    is ignored.
    """

    def __init__(self, home: str, clock: Clock) -> None:
        self._path, self._clock = os.path.join(home, "deadlines.json"), clock

    def note(self, lease: Lease, before_push: float) -> None:
        """Store that `lease` is ours until ttl minus margin after `before_push` (counting seconds)."""
        values = load(self._path) or {}
        values.pop(lease.id, None)
        if lease.holder is not None and lease.ttl_s is not None:
            until = before_push + lease.ttl_s - margin(lease.ttl_s)
            values[lease.id] = {"until": until, "boot": self._clock.boot(), "seq": lease.seq}
        _store(self._path, values)

    def remaining(self) -> dict[str, float]:
        """Seconds left by lease id; negative when it has passed."""
        return left((load(self._path) or {}), self._clock.counting(), self._clock.boot())


class FirstSight(dict[str, datetime]):
    """When a record dated in our future was first seen here, by its stamp.

    Asking for an unknown stamp stores it: the core asks only for records with such dates.
    """

    def __init__(self, home: str, clock: Clock) -> None:
        super().__init__()
        self._path, self._clock = os.path.join(home, "first-sight.json"), clock

    def get(self, key: str, default: Any = None) -> Any:
        """The time of first sight; `default`, which is then remembered, when it is seen for the first time."""
        values = load(self._path) or {}
        try:
            return parse_time(values[key])
        except (KeyError, ValueError, TypeError):
            now = self._clock.wall() if default is None else default
            _store(self._path, {**values, key: format_time(now)})
            return now
