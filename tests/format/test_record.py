"""The lease record: golden bytes, round trips, and everything that is none, with file and line."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from builders import ALICE, at, lease_of, tid
from hypothesis import given
from hypothesis import strategies as st

from loopx_git.core.change import Actor
from loopx_git.core.claim import acquired, ended, fenced, handed_over, renewed
from loopx_git.core.lease import Clocks, Ended, Lease
from loopx_git.core.times import TTL_MAX
from loopx_git.errors import InvalidState
from loopx_git.format.lease_record import COUNT_MAX, KEYS, SIZE_MAX, dump, load

NAME = "leases/00/todo_000000000001.json"
TODO = tid(1)

HELD = b"""\
{
"acquired_at": "2026-01-02T03:04:05.678Z",
"ended": null,
"epoch": 3,
"holder": "codex-1",
"last_request": "0123456789abcdef0123456789abcdef",
"renewed_at": "2026-01-02T04:00:00Z",
"seq": 2,
"session": "s-1",
"todo": "todo_000000000001",
"ttl_s": 7200
}
"""
FREE = b"""\
{
"acquired_at": "2026-01-02T03:04:05.678Z",
"ended": "released",
"epoch": 3,
"holder": null,
"last_request": "0123456789abcdef0123456789abcdef",
"renewed_at": "2026-01-02T04:00:00Z",
"seq": 2,
"session": null,
"todo": "todo_000000000001",
"ttl_s": null
}
"""
LEASE = Lease(
    TODO, 3, "codex-1", "s-1", 2, 7200, datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC),
    datetime(2026, 1, 2, 4, tzinfo=UTC), "0123456789abcdef" * 2,
)  # fmt: skip


def test_golden_bytes() -> None:
    assert dump(LEASE) == HELD
    assert load(HELD, TODO, name=NAME) == LEASE
    released = replace(LEASE, holder=None, session=None, ttl_s=None, ended=Ended.RELEASED)
    assert dump(released) == FREE
    assert load(FREE, TODO, name=NAME) == released


times = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)
requests = st.from_regex(r"[0-9a-f]{32}", fullmatch=True)
ttls = st.none() | st.integers(1, TTL_MAX)
held = st.builds(
    Lease, st.just(TODO), st.integers(1, COUNT_MAX), names, st.none() | names, st.integers(0, COUNT_MAX), ttls,
    times, times, st.none() | requests,
)  # fmt: skip
free = st.builds(
    lambda epoch, seq, then, how, request: Lease(
        TODO, epoch, seq=seq, acquired_at=then, renewed_at=then, ended=how, last_request=request
    ),
    st.integers(1, COUNT_MAX), st.integers(0, COUNT_MAX), st.none() | times, st.none() | st.sampled_from(Ended),
    st.none() | requests,
)  # fmt: skip


@given(held | free)
def test_every_record_is_read_back_alike(lease: Lease) -> None:
    data = dump(lease)
    assert load(data, TODO, name=NAME) == lease
    assert dump(load(data, TODO, name=NAME)) == data
    assert data.isascii() and len(data) < 1000 and data.count(b"\n") == len(KEYS) + 2


@given(st.lists(st.sampled_from(["acquire", "renew", "end", "fence", "hand over"]), min_size=1, max_size=6))
def test_every_record_that_the_rules_write_can_be_stored(steps: list[str]) -> None:
    moment = Clocks(at(0))
    lease = acquired(Lease(TODO), ALICE, 60, moment, "0" * 32)
    for step in steps:
        epoch = lease.epoch
        match step:
            case "acquire":
                lease = acquired(lease, Actor("bob"), None, moment, "1" * 32)
            case "renew" if lease.holder is not None:
                lease = renewed(lease, ALICE, 90, moment, "2" * 32)
            case "end":
                lease = ended(lease, Ended.CANCELLED, "3" * 32)
            case "fence":
                lease = fenced(lease, "4" * 32)
            case "hand over" if lease.holder is not None:
                lease = handed_over(lease, "carol", moment, "5" * 32)
        assert lease.epoch >= epoch
        assert load(dump(lease), TODO, name=NAME) == lease


def changed(key: str, value: Any, base: bytes = HELD) -> bytes:
    raw = json.loads(base)
    raw[key] = value
    return (json.dumps(raw, indent=0, sort_keys=True) + "\n").encode()


LINE = {key: number for number, key in enumerate(KEYS, 2)}
BAD = [
    ("epoch", 0, "whole number from 1"),
    ("epoch", -1, "whole number"),
    ("epoch", 2**53, "whole number"),
    ("epoch", 1.0, "whole number"),
    ("epoch", True, "whole number"),
    ("epoch", "3", "whole number"),
    ("epoch", None, "whole number"),
    ("seq", -1, "whole number from 0"),
    ("seq", False, "whole number"),
    ("ttl_s", 0, "whole number from 1"),
    ("ttl_s", TTL_MAX + 1, "whole number"),
    ("ttl_s", 1.5, "whole number"),
    ("holder", "", "not a valid agent"),
    ("holder", "-x", "not a valid agent"),
    ("holder", "a@example.org", "not a valid agent"),
    ("holder", 5, "not a valid agent"),
    ("holder", ["x"], "not a valid agent"),
    ("session", "a b", "not a valid session"),
    ("session", "x" * 65, "not a valid session"),
    ("last_request", "0" * 31, "not a valid request"),
    ("last_request", "X" * 32, "not a valid request"),
    ("acquired_at", "2026-01-02T03:04:05", "not a UTC timestamp"),
    ("acquired_at", "2026-01-02T03:04:05+01:00", "not a UTC timestamp"),
    ("acquired_at", "2026-02-30T03:04:05Z", "not a UTC timestamp"),
    ("acquired_at", 1767323045, "not a UTC timestamp"),
    ("renewed_at", "yesterday", "not a UTC timestamp"),
    ("renewed_at", None, "missing while there is a holder"),
    ("todo", tid(2), f"is not {TODO}"),
    ("todo", None, f"is not {TODO}"),
    ("ended", "lost", "not a known ending"),
    ("ended", "released", "is set while there is a holder"),
]


@pytest.mark.parametrize(("key", "value", "words"), BAD)
def test_a_bad_value_is_refused_with_its_line(key: str, value: Any, words: str) -> None:
    with pytest.raises(InvalidState) as caught:
        load(changed(key, value), TODO, name=NAME)
    assert caught.value.message.startswith(f"{NAME}:{LINE[key]}: the lease record {key} ")
    assert words in caught.value.message
    assert caught.value.about == {"file": NAME, "line": LINE[key], "todo_id": TODO}
    assert caught.value.hint


@pytest.mark.parametrize(("key", "value"), [("session", "s-1"), ("ttl_s", 60)])
def test_a_free_record_holds_nothing_of_a_claim(key: str, value: Any) -> None:
    with pytest.raises(InvalidState, match="is set while there is no holder"):
        load(changed(key, value, FREE), TODO, name=NAME)


def test_a_holder_needs_both_times() -> None:
    with pytest.raises(InvalidState, match="missing while there is a holder"):
        load(changed("acquired_at", None), TODO, name=NAME)


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"", 1, "not a JSON object"),
        (b"null\n", 1, "must have exactly the keys"),
        (b"[]\n", 1, "must have exactly the keys"),
        (b"{}\n", 1, "must have exactly the keys"),
        (HELD.replace(b'"seq": 2,\n', b""), 1, "must have exactly the keys"),
        (HELD.replace(b'"seq": 2,\n', b'"seq": 2,\n"sex": 2,\n'), 1, "must have exactly the keys"),
        (HELD.replace(b'"seq": 2,\n', b'"seq": 2,\n"seq": 2,\n'), 1, "a key is there twice"),
        (HELD.replace(b'"seq": 2,\n', b'"seq": NaN,\n'), 1, "NaN is not a number"),
        (HELD.replace(b'"seq": 2,\n', b'"seq": Infinity,\n'), 1, "Infinity is not a number"),
        (HELD.replace(b'"seq": 2,\n', b'"seq": 02,\n'), 8, "not a JSON object"),
        (HELD.replace(b'"seq": 2,\n', b'"seq": 2\n'), 9, "not a JSON object"),
        (HELD.replace(b"codex-1", b"codex\xff"), 1, "not a JSON object"),
        (HELD + b"{}", 13, "not a JSON object"),
        (b"\xef\xbb\xbf" + HELD, 1, "not a JSON object"),
        (b"[" * 4000, 1, "not a JSON object"),
        (HELD + b" " * SIZE_MAX, 1, f"larger than {SIZE_MAX} bytes"),
    ],
)
def test_what_is_no_record(data: bytes, line: int, words: str) -> None:
    with pytest.raises(InvalidState) as caught:
        load(data, TODO, name=NAME)
    assert caught.value.message.startswith(f"{NAME}:{line}: the lease record ")
    assert words in caught.value.message
    assert caught.value.about == {"file": NAME, "line": line, "todo_id": TODO}


def test_a_record_of_another_layout_is_read() -> None:
    """Canonical bytes are what we write; a record mended by hand may have other white space."""
    loose = json.dumps(json.loads(HELD), indent=4).replace("\n", "\r\n").encode()
    assert load(loose, TODO, name=NAME) == LEASE
    assert lease_of(1, ALICE).id == f"{TODO}@3"
    assert LEASE.stamp == f"{TODO}@3#2"
