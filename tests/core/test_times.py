"""Timestamps and durations: one spelling each, strict reading, and bounds that do not crash."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopx_git.core.times import (
    DURATION_MAX,
    TTL_MAX,
    TTL_MIN,
    after,
    check_ttl,
    format_duration,
    format_time,
    parse_duration,
    parse_time,
    to_milliseconds,
)

FIRST, LAST = (moment.replace(tzinfo=UTC) for moment in (datetime.min, datetime.max))


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC), "2026-01-02T03:04:05.678Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 6000, tzinfo=UTC), "2026-01-02T03:04:05.006Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 999, tzinfo=UTC), "2026-01-02T03:04:05Z"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=5, minutes=30))), "2026-01-01T21:34:05Z"),
        (FIRST, "0001-01-01T00:00:00Z"),
        (datetime(999, 12, 31, tzinfo=UTC), "0999-12-31T00:00:00Z"),
        (LAST, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_time_is_written_one_way(moment: datetime, text: str) -> None:
    assert format_time(moment) == text
    assert parse_time(text) == to_milliseconds(moment)


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_time_is_read_back_alike(moment: datetime) -> None:
    cut = to_milliseconds(moment)
    assert timedelta(0) <= moment - cut < timedelta(milliseconds=1)
    assert to_milliseconds(cut) == cut
    assert parse_time(format_time(moment)) == cut
    assert parse_time(format_time(cut)).tzinfo is UTC


@given(st.lists(st.datetimes(timezones=st.just(UTC)).map(to_milliseconds), max_size=5))
def test_the_order_of_times_is_that_of_whole_seconds(moments: list[datetime]) -> None:
    whole = [moment.replace(microsecond=0) for moment in moments]
    assert sorted(whole) == [parse_time(text) for text in sorted(map(format_time, whole))]


@pytest.mark.parametrize(
    ("text", "micro"),
    [("2026-01-02T03:04:05+00:00", 0), ("2026-01-02T03:04:05.1Z", 100_000), ("2026-01-02T03:04:05.123456Z", 123_456)],
)
def test_other_spellings_of_utc(text: str, micro: int) -> None:
    assert parse_time(text) == datetime(2026, 1, 2, 3, 4, 5, micro, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-01-02",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04:05",
        "2026-01-02T03:04:05z",
        "2026-01-02t03:04:05Z",
        "2026-01-02T03:04:05+01:00",
        "2026-01-02T03:04:05-00:00",
        "2026-01-02T03:04Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05.1234567Z",
        "2026-01-02T03:04:60Z",
        "2026-01-02T24:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "12026-01-02T03:04:05Z",
        "٢٠٢٦-01-02T03:04:05Z",
        " 2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05Z\n",
    ],
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a UTC timestamp|is not a valid time"):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("none", None), ("0", 0), ("0s", 0), ("90", 90), ("90s", 90), ("45m", 2700), ("2h", 7200), ("1d", 86400),
     ("007m", 420), ("3650d", DURATION_MAX)],
)  # fmt: skip
def test_durations(text: str, seconds: int | None) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "None",
        "-1s",
        "+1s",
        "1.5h",
        "1 h",
        "1h30m",
        "h",
        "1w",
        "1H",
        "3651d",
        "9999999999d",
        "1" * 5000,
        "٣s",
        "1s\n",
    ],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration|longer than ten years"):
        parse_duration(text)


@given(st.none() | st.integers(0, DURATION_MAX))
def test_every_duration_is_read_back_alike(seconds: int | None) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "none"), (0, "0s"), (1, "1s"), (60, "1m"), (61, "61s"), (3600, "1h"), (5400, "90m"), (86400, "1d"),
     (90000, "25h")],
)  # fmt: skip
def test_a_duration_has_its_shortest_exact_spelling(seconds: int | None, text: str) -> None:
    assert format_duration(seconds) == text


def test_the_bounds_of_a_ttl() -> None:
    assert check_ttl(TTL_MIN) == 1 and check_ttl(TTL_MAX) == 30 * 86400
    for seconds in (TTL_MIN - 1, -5, TTL_MAX + 1):
        with pytest.raises(ValueError, match="out of bounds"):
            check_ttl(seconds)


def test_after_stays_within_what_a_datetime_can_say() -> None:
    assert after(FIRST, 1.5) == FIRST + timedelta(seconds=1.5)
    assert after(LAST, 1) == after(LAST, 1e300) == LAST
    assert after(FIRST, -1) == after(FIRST, -1e300) == FIRST
    assert after(LAST, -1) == LAST - timedelta(seconds=1)


@given(st.datetimes(timezones=st.just(UTC)), st.floats(-1e12, 1e12))
def test_after_goes_the_right_way(moment: datetime, seconds: float) -> None:
    then = after(moment, seconds)
    assert (then >= moment) if seconds >= 0 else (then <= moment)
