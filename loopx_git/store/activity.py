"""When each agent last wrote, read from history. An agent that writes is alive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from loopx_git.core.times import after
from loopx_git.ledger.commits import Objects, newest_first

#: How far back history is read: so many commits, and so many that are older than the time asked about (a clock that
#: is behind dates one commit too early, not all).
_DEEPEST, _OLDER = 50_000, 100


class Activity(dict[str, datetime]):
    """The time of each agent's newest operation up to `tip`.

    History is read only as far as an answer needs it, and again after the tip moved. `reach` gives how many seconds
    before `now` matter (None: a day). A commit dated in the future counts as old as the commits built on it.
    """

    def __init__(
        self,
        objects: Objects,
        tip: Callable[[], str | None],
        now: Callable[[], datetime],
        reach: Callable[[str], int | None],
    ) -> None:
        super().__init__()
        self._objects, self._tip, self._now, self._reach = objects, tip, now, reach
        self._from: str | None = None
        self._rest: Iterator[str] = iter(())

    def get(self, key: str, default: Any = None) -> Any:
        """When the agent did its newest operation, or `default`."""
        tip = self._tip()
        if tip is None:
            return default
        if tip != self._from:
            self.clear()
            self._from, self._rest = tip, self._walk(tip, self._now())
        if key in self:
            return self[key]
        for agent in self._rest:
            if agent == key:
                return self[key]
        return default

    def _walk(self, tip: str, now: datetime) -> Iterator[str]:
        """Agents as they come up for the first time, newest first."""
        reach = self._reach(tip)
        since = after(now, -(86_400 if reach is None else reach))
        bound, older = now, 0
        for commit in islice(newest_first(self._objects, tip), _DEEPEST):
            told = commit.time <= now
            bound = min(bound, commit.time) if told else bound
            older += commit.time < since
            if commit.author.name not in self:
                self[commit.author.name] = commit.time if told else bound
                yield commit.author.name
            if older >= _OLDER:
                return
