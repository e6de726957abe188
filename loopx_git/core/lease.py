"""The lease record of a todo, and what the clocks say about it.

The record decides who holds a todo. It is never deleted: a release empties it and keeps the epoch, so an epoch
is never used twice. Clocks decide only when a takeover is polite; the epoch keeps it safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from loopx_git.core.times import after

#: The most that a holder's deadline is ahead of the ttl's end, in seconds.
MARGIN_MAX = 30.0


class Ended(StrEnum):
    """How the last claim under a record's epoch ended."""

    RELEASED = "released"
    COMPLETED = "completed"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    RECLAIMED = "reclaimed"
    TRANSFERRED = "transferred"


class LeaseState(StrEnum):
    """A record as others see it by the wall clock."""

    FREE = "free"
    HELD = "held"
    LAPSED = "lapsed"


@dataclass(frozen=True, slots=True)
class Lease:
    """One lease record.

    `epoch` is the fencing token, `seq` counts renewals, `ttl_s` is in seconds (None: no time bound). `session` is
    None after a transfer until the new holder writes.
    """

    todo: str
    epoch: int = 0
    holder: str | None = None
    session: str | None = None
    seq: int = 0
    ttl_s: int | None = None
    acquired_at: datetime | None = None
    renewed_at: datetime | None = None
    last_request: str | None = None
    ended: Ended | None = None

    @property
    def id(self) -> str:
        """`todo@epoch`: the name of one claim."""
        return f"{self.todo}@{self.epoch}"

    @property
    def stamp(self) -> str:
        """`todo@epoch#seq`: the name of one written state of the record."""
        return f"{self.todo}@{self.epoch}#{self.seq}"


@dataclass(frozen=True, slots=True)
class Clocks:
    """What the clocks of one clone say at one try.

    now         wall clock, UTC
    first_seen  when a record dated in our future was first seen here, by its stamp (wall clock)
    remaining   seconds until the holder's own deadline by a clock that counts sleep, by lease id; a lease that
                is absent is judged by the wall clock
    active      when an agent did its newest operation, as history tells it; who is absent is judged by the records
    """

    now: datetime
    first_seen: Mapping[str, datetime] = field(default_factory=dict)
    remaining: Mapping[str, float] = field(default_factory=dict)
    active: Mapping[str, datetime] = field(default_factory=dict)


def margin(ttl_s: int) -> float:
    """How long before the end of its ttl a holder stops acting, in seconds."""
    return min(MARGIN_MAX, ttl_s / 10)


def expires_at(lease: Lease) -> datetime | None:
    """When the lease expires by its record (UTC); None when it is free or has no ttl."""
    if lease.holder is None or lease.ttl_s is None or lease.renewed_at is None:
        return None
    return after(lease.renewed_at, lease.ttl_s)


def state(lease: Lease | None, clocks: Clocks, skew_s: int) -> LeaseState:
    """The state for others: HELD until renewed_at + ttl + skew has passed on their wall clock.

    A record dated in their future by more than the skew is timed from when it was first seen here. A wrong clock can
    therefore not hold a todo without end.
    """
    if lease is None or lease.holder is None:
        return LeaseState.FREE
    end = lapses_at(lease, clocks, skew_s)
    return LeaseState.LAPSED if end is not None and clocks.now > end else LeaseState.HELD


def lapses_at(lease: Lease, clocks: Clocks, skew_s: int) -> datetime | None:
    """After when others may take the claim over, by their wall clock; None without a time bound."""
    if lease.ttl_s is None or lease.renewed_at is None:
        return None
    start = lease.renewed_at
    if start > after(clocks.now, skew_s):
        start = clocks.first_seen.get(lease.stamp, clocks.now)
    return after(start, lease.ttl_s + skew_s)


def late_at(lease: Lease) -> datetime | None:
    """After when the holder must stop acting, by the wall clock: ttl minus margin; None without a time bound."""
    if lease.ttl_s is None or lease.renewed_at is None:
        return None
    return after(lease.renewed_at, lease.ttl_s - margin(lease.ttl_s))


def is_late(lease: Lease, clocks: Clocks) -> bool:
    """True when the holder must stop acting: its own deadline (ttl minus margin) has passed."""
    deadline = late_at(lease)
    remaining = clocks.remaining.get(lease.id)
    if deadline is None or remaining is None:
        return deadline is not None and clocks.now > deadline
    return remaining <= 0


def is_due(lease: Lease, clocks: Clocks) -> bool:
    """True when less than a third of the ttl is left: the holder's next operation renews it."""
    end = expires_at(lease)
    if end is None or lease.ttl_s is None:
        return False
    remaining = clocks.remaining.get(lease.id)
    left = remaining if remaining is not None else (end - clocks.now).total_seconds()
    return left < lease.ttl_s / 3
