"""Timestamps (RFC 3339, UTC, milliseconds) and durations (whole seconds), read and written one way."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from enum import Enum

_TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:Z|\+00:00)", re.ASCII)
_DURATION = re.compile(r"([0-9]{1,10})([smhd]?)", re.ASCII)
_UNIT = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}

#: Bounds of a lease's ttl in seconds.
TTL_MIN, TTL_MAX = 1, 30 * 86400
#: Bound of every other duration in seconds (ten years).
DURATION_MAX = 3650 * 86400


class Unset(Enum):
    """UNSET is a duration that nobody gave, where None is a value: no bound."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"

    def __str__(self) -> str:
        # As the fingerprint of a command has it, which clones keep.
        return self.value


UNSET = Unset.UNSET
#: A lease's time bound as a caller gives it: seconds, text such as 45m, None for no bound, UNSET for what applies.
Ttl = int | str | None | Unset


def to_milliseconds(moment: datetime) -> datetime:
    """`moment` cut to whole milliseconds, so that it is equal after being written and read."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def format_time(moment: datetime) -> str:
    """`2026-01-02T03:04:05Z`, with `.678` before the Z when the milliseconds are not zero."""
    utc = moment.astimezone(UTC)
    fraction = f".{utc.microsecond // 1000:03d}" if utc.microsecond // 1000 else ""
    # Not strftime: on Linux its %Y has no leading zeros.
    return utc.replace(tzinfo=None).isoformat(timespec="seconds") + fraction + "Z"


def parse_time(text: str) -> datetime:
    """The aware UTC datetime of an RFC 3339 timestamp in UTC; ValueError for anything else."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a UTC timestamp such as 2026-01-02T03:04:05Z")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    micro = int((match[7] or "0").ljust(6, "0"))
    try:
        return datetime(year, month, day, hour, minute, second, micro, tzinfo=UTC)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a valid time: {error}") from None


def parse_duration(text: str) -> int | None:
    """Seconds of `90s`, `45m`, `2h`, `1d` or plain seconds; None for `none`. ValueError otherwise."""
    if text == "none":
        return None
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration such as 90s, 45m, 2h, 1d, none, or plain seconds")
    seconds = int(match[1]) * _UNIT[match[2]]
    if seconds > DURATION_MAX:
        raise ValueError(f"{text!r} is longer than ten years")
    return seconds


def format_duration(seconds: int | None) -> str:
    """The shortest exact spelling of a duration, as policy files and `policy show` print it."""
    if seconds is None:
        return "none"
    for unit in ("d", "h", "m"):
        if seconds and seconds % _UNIT[unit] == 0:
            return f"{seconds // _UNIT[unit]}{unit}"
    return f"{seconds}s"


def check_ttl(seconds: int) -> int:
    """`seconds` when it lies within a lease's bounds (1 s to 30 d), else ValueError."""
    if not TTL_MIN <= seconds <= TTL_MAX:
        raise ValueError(f"a ttl of {seconds} s is out of bounds: 1s to 30d, or none")
    return seconds


def after(moment: datetime, seconds: float) -> datetime:
    """`moment` plus `seconds`, clamped to what a datetime can say."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)
