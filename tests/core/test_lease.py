"""What the clocks say about a lease record: to others, to its holder, and at every boundary."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from builders import ALICE, BOB, NOW, at, lease_of, tid
from hypothesis import given
from hypothesis import strategies as st

from loopx_git.core.change import Actor
from loopx_git.core.claim import acquired, ended, fenced, handed_over, hold_of, renewed
from loopx_git.core.lease import (
    MARGIN_MAX,
    Clocks,
    Ended,
    Lease,
    LeaseState,
    expires_at,
    is_due,
    is_late,
    margin,
    state,
)
from loopx_git.core.table import HoldState
from loopx_git.core.times import TTL_MAX

TTL, SKEW = 600, 60
HELD, LAPSED, FREE = LeaseState.HELD, LeaseState.LAPSED, LeaseState.FREE
FIRST, LAST = (moment.replace(tzinfo=UTC) for moment in (datetime.min, datetime.max))


def record(renewed_after: float = 0, **fields: object) -> Lease:
    """Held by alice, renewed so many seconds after NOW."""
    known = {"age": 0.0, "ttl_s": TTL, "renewed_at": at(renewed_after), **fields}
    return lease_of(1, ALICE, **known)  # type: ignore[arg-type]


# -- what others may conclude


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, HELD),
        (TTL, HELD),
        (TTL + SKEW, HELD),
        (TTL + SKEW + 0.001, LAPSED),
        (1e9, LAPSED),
        (-SKEW, HELD),
        (-SKEW - 0.001, HELD),
    ],
)
def test_others_wait_for_ttl_and_skew(seconds: float, expected: LeaseState) -> None:
    assert state(record(), Clocks(at(seconds)), SKEW) is expected


@pytest.mark.parametrize("skew", [0, 1, 3600])
def test_the_skew_is_the_policys(skew: int) -> None:
    assert state(record(), Clocks(at(TTL + skew)), skew) is HELD
    assert state(record(), Clocks(at(TTL + skew + 0.001)), skew) is LAPSED


def test_nobodys_record_is_free() -> None:
    assert state(None, Clocks(NOW), SKEW) is FREE
    assert state(lease_of(1), Clocks(NOW), SKEW) is FREE
    assert state(Lease(tid(1)), Clocks(NOW), SKEW) is FREE


def test_a_claim_without_a_ttl_does_not_lapse() -> None:
    lease = record(ttl_s=None)
    assert state(lease, Clocks(LAST), SKEW) is HELD
    assert expires_at(lease) is None and not is_late(lease, Clocks(LAST)) and not is_due(lease, Clocks(LAST))


# -- records dated in our future


@pytest.mark.parametrize("ahead", [3600, 1e9])
def test_a_record_from_the_future_is_timed_from_first_sight(ahead: float) -> None:
    """Somebody's wrong clock cannot hold a todo for ever."""
    lease = record(ahead)
    seen = {lease.stamp: at(-1)}
    assert state(lease, Clocks(at(-1 + TTL + SKEW), seen), SKEW) is HELD
    assert state(lease, Clocks(at(-1 + TTL + SKEW + 0.001), seen), SKEW) is LAPSED
    assert state(lease, Clocks(at(-1 + TTL + SKEW + 0.001)), SKEW) is HELD, "first seen now"
    assert state(lease, Clocks(NOW, {tid(1): FIRST}), SKEW) is HELD, "another name"


def test_first_sight_is_of_one_written_state() -> None:
    """A renewal is a new record, seen for the first time."""
    lease = record(1e6)
    seen = {lease.stamp: at(-1e5)}
    assert state(lease, Clocks(NOW, seen), SKEW) is LAPSED
    assert state(replace(lease, seq=1), Clocks(NOW, seen), SKEW) is HELD
    assert state(replace(lease, epoch=4), Clocks(NOW, seen), SKEW) is HELD


@pytest.mark.parametrize(("ahead", "expected"), [(0, HELD), (SKEW, HELD), (SKEW + 0.001, LAPSED)])
def test_within_the_skew_the_record_is_believed(ahead: float, expected: LeaseState) -> None:
    lease = record(ahead)
    assert state(lease, Clocks(NOW, {lease.stamp: at(-1e6)}), SKEW) is expected


# -- what the holder must conclude


@pytest.mark.parametrize(("ttl", "seconds"), [(1, 0.1), (60, 6), (299, 29.9), (300, 30), (301, 30), (TTL_MAX, 30)])
def test_the_margin(ttl: int, seconds: float) -> None:
    assert margin(ttl) == pytest.approx(seconds)
    assert margin(ttl) <= MARGIN_MAX


@pytest.mark.parametrize(
    ("seconds", "late"), [(-1e6, False), (TTL - 30, False), (TTL - 30 + 0.001, True), (TTL, True), (1e9, True)]
)
def test_a_holder_stops_a_margin_before_the_end(seconds: float, late: bool) -> None:
    assert is_late(record(), Clocks(at(seconds))) is late


@pytest.mark.parametrize(("remaining", "late"), [(0.001, False), (0, True), (-5, True), (1e9, False)])
@pytest.mark.parametrize("seconds", [-1e6, 0, TTL, 1e9])
def test_the_holders_own_clock_counts_where_there_is_one(seconds: float, remaining: float, late: bool) -> None:
    lease = record()
    assert is_late(lease, Clocks(at(seconds), remaining={lease.id: remaining})) is late


def test_the_deadline_is_of_one_claim() -> None:
    lease = record()
    assert is_late(lease, Clocks(at(TTL), remaining={f"{tid(1)}@2": 100.0}))
    assert is_late(replace(lease, epoch=4), Clocks(at(TTL), remaining={lease.id: 100.0}))


@pytest.mark.parametrize(
    ("seconds", "due"), [(0, False), (TTL * 2 / 3, False), (TTL * 2 / 3 + 0.001, True), (TTL + 5, True)]
)
def test_a_lease_is_due_in_its_last_third(seconds: float, due: bool) -> None:
    assert is_due(record(), Clocks(at(seconds))) is due


@pytest.mark.parametrize(("remaining", "due"), [(200.0, False), (199.999, True), (-1.0, True)])
def test_due_by_the_holders_own_clock(remaining: float, due: bool) -> None:
    lease = record()
    assert is_due(lease, Clocks(at(1e6), remaining={lease.id: remaining})) is due


@given(st.integers(1, TTL_MAX), st.floats(0, 1e8), st.integers(0, 3600))
def test_a_holder_stops_before_anybody_may_take_over(ttl: int, seconds: float, skew: int) -> None:
    """As far as both clocks agree to within the skew and the margin."""
    lease, moment = record(ttl_s=ttl), Clocks(at(seconds))
    if state(lease, moment, skew) is LAPSED:
        assert is_late(lease, moment)
    if is_late(lease, moment):
        assert is_due(lease, moment)


@given(
    st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)), st.none() | st.integers(1, TTL_MAX)
)
def test_no_clock_and_no_record_is_too_strange(now: datetime, then: datetime, ttl: int | None) -> None:
    lease = record(ttl_s=ttl, renewed_at=then)
    for skew in (0, 60, 3650 * 86400):
        assert state(lease, Clocks(now, {lease.stamp: FIRST}), skew) in (HELD, LAPSED)
    assert is_late(lease, Clocks(now)) in (True, False)
    assert is_due(lease, Clocks(now)) in (True, False)
    assert expires_at(lease) is None or ttl is not None


@pytest.mark.parametrize("then", [FIRST, LAST])
@pytest.mark.parametrize("now", [FIRST, LAST])
def test_the_ends_of_time(now: datetime, then: datetime) -> None:
    lease = record(renewed_at=then, ttl_s=TTL_MAX)
    expected = LAPSED if (now, then) == (LAST, FIRST) else HELD
    assert state(lease, Clocks(now), 3650 * 86400) is expected
    assert is_late(lease, Clocks(now)) is (expected is LAPSED)


# -- the hold: one word for record and actor


@pytest.mark.parametrize(
    ("lease", "epoch", "hold"),
    [
        (Lease(tid(1)), None, HoldState.FREE),
        (Lease(tid(1)), 0, HoldState.FREE),
        (Lease(tid(1)), 1, HoldState.STALE),
        (lease_of(1), None, HoldState.FREE),
        (lease_of(1), 3, HoldState.WAS_MINE),
        (lease_of(1), 2, HoldState.STALE),
        (record(), None, HoldState.MINE),
        (record(), 3, HoldState.MINE),
        (record(), 4, HoldState.STALE),
        (record(session=None), None, HoldState.MINE),
        (record(session="x"), None, HoldState.SIBLING),
        (record(-TTL), None, HoldState.LATE),
        (record(-1e6), 3, HoldState.LATE),
        (record(-1e6, session="x"), None, HoldState.SIBLING_LAPSED),
        (lease_of(1, BOB), 3, HoldState.OTHER),
        (lease_of(1, BOB, age=1e6), None, HoldState.OTHER_LAPSED),
        (lease_of(1, BOB, age=1e6), 2, HoldState.STALE),
        (lease_of(1, Actor("ALICE", ALICE.session)), None, HoldState.OTHER),
    ],
)
def test_the_hold(lease: Lease, epoch: int | None, hold: HoldState) -> None:
    assert hold_of(lease, ALICE, epoch, Clocks(NOW), SKEW) is hold


@given(
    st.sampled_from([ALICE, BOB, Actor("alice", None), Actor("alice", "x")]), st.integers(0, 5), st.integers(-10, 10)
)
def test_an_epoch_that_is_not_current_is_stale_for_everybody(actor: Actor, epoch: int, hours: int) -> None:
    lease = record(hours * 3600)
    hold = hold_of(lease, actor, epoch, Clocks(NOW), SKEW)
    assert (hold is HoldState.STALE) == (epoch != 3)


# -- the record after each effect


def test_the_records_that_effects_write() -> None:
    moment, request = Clocks(at(5)), "1" * 32
    lease = record(ended=None, seq=7)
    taken = acquired(lease, BOB, 90, moment, request)
    assert taken == Lease(tid(1), 4, "bob", BOB.session, 0, 90, at(5), at(5), request)
    again = renewed(lease, ALICE, 90, moment, request)
    assert again == replace(lease, seq=8, ttl_s=90, renewed_at=at(5), last_request=request)
    assert renewed(replace(lease, session=None), ALICE, 90, moment, request).session == ALICE.session
    over = ended(lease, Ended.RECLAIMED, request)
    assert over == replace(lease, holder=None, session=None, ttl_s=None, ended=Ended.RECLAIMED, last_request=request)
    assert fenced(over, request) == replace(over, epoch=4)
    given_to = handed_over(lease, "carol", moment, request)
    assert given_to == Lease(tid(1), 4, "carol", None, 0, TTL, at(5), at(5), request)
