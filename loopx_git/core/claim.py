"""The hold: a lease record as one actor sees it, and the record after each effect of the table."""

from __future__ import annotations

from dataclasses import replace

from loopx_git.core.change import Actor
from loopx_git.core.lease import Ended, Lease, LeaseState, Moment, is_late, state
from loopx_git.core.snapshot import Snapshot
from loopx_git.core.table import Hold


def hold_of(lease: Lease, actor: Actor, epoch: int | None, moment: Moment, skew_s: int) -> Hold:
    """The actor's relation to the record; `epoch` is the claim that the caller names, if it names one."""
    if epoch is not None and epoch != lease.epoch:
        return Hold.STALE
    if lease.holder is None:
        return Hold.WAS_MINE if epoch is not None and lease.ended is not None else Hold.FREE
    lapsed = state(lease, moment, skew_s) is LeaseState.LAPSED
    if lease.holder != actor.name:
        return Hold.OTHER_LAPSED if lapsed else Hold.OTHER
    if lease.session is not None and lease.session != actor.session:
        return Hold.SIBLING_LAPSED if lapsed else Hold.SIBLING
    return Hold.LATE if is_late(lease, moment) else Hold.MINE


def acquired(lease: Lease, actor: Actor, ttl_s: int | None, moment: Moment, request: str) -> Lease:
    """The record once `actor` holds it: the epoch rises by one, the renewals begin at zero."""
    return Lease(
        todo=lease.todo,
        epoch=lease.epoch + 1,
        holder=actor.name,
        session=actor.session,
        ttl_s=ttl_s,
        acquired_at=moment.now,
        renewed_at=moment.now,
        last_request=request,
    )


def renewed(lease: Lease, actor: Actor, ttl_s: int | None, moment: Moment, request: str) -> Lease:
    """The record once renewed: same epoch, seq + 1; an unbound session is bound to the caller's."""
    return replace(
        lease,
        session=lease.session or actor.session,
        seq=lease.seq + 1,
        ttl_s=ttl_s,
        renewed_at=moment.now,
        last_request=request,
    )


def ended(lease: Lease, how: Ended, request: str) -> Lease:
    """The emptied record: nobody holds it, the epoch stays, so that no epoch is ever used twice."""
    return replace(lease, holder=None, session=None, ttl_s=None, last_request=request, ended=how)


def fenced(lease: Lease, request: str) -> Lease:
    """The record one epoch later, so that whoever remembers the former epoch is refused."""
    return replace(lease, epoch=lease.epoch + 1, last_request=request)


def handed_over(lease: Lease, to: str, moment: Moment, request: str) -> Lease:
    """The record in the hands of `to`; its first write binds its session."""
    return Lease(
        todo=lease.todo,
        epoch=lease.epoch + 1,
        holder=to,
        ttl_s=lease.ttl_s,
        acquired_at=moment.now,
        renewed_at=moment.now,
        last_request=request,
    )


def is_held(lease: Lease, snapshot: Snapshot, moment: Moment) -> bool:
    """True while others must leave the claim alone."""
    return state(lease, moment, snapshot.policy.claims_skew) is LeaseState.HELD
