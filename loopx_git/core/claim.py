"""The hold: a lease record as one actor sees it, and the record after each effect of the table."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from loopx_git.core.change import Actor
from loopx_git.core.lease import Clocks, Ended, Lease, LeaseState, is_late, state
from loopx_git.core.loop import LoopStatus
from loopx_git.core.peer import Peer, PeerKind, PeerStatus
from loopx_git.core.snapshot import Snapshot
from loopx_git.core.table import HoldState
from loopx_git.core.times import after, format_time


def hold_of(
    lease: Lease, actor: Actor, epoch: int | None, clocks: Clocks, skew_s: int, *, abandoned: bool = False
) -> HoldState:
    """The actor's relation to the record.

    `epoch` is the epoch that the caller names, or None. `abandoned`: the claim has no time bound and its peer has not
    been seen for too long.
    """
    if epoch is not None and epoch != lease.epoch:
        return HoldState.STALE
    if lease.holder is None:
        return HoldState.WAS_MINE if epoch is not None and lease.ended is not None else HoldState.FREE
    lapsed = abandoned or state(lease, clocks, skew_s) is LeaseState.LAPSED
    if lease.holder != actor.name:
        return HoldState.OTHER_LAPSED if lapsed else HoldState.OTHER
    if lease.session is not None and lease.session != actor.session:
        return HoldState.SIBLING_LAPSED if lapsed else HoldState.SIBLING
    return HoldState.LATE if is_late(lease, clocks) else HoldState.MINE


def acquired(lease: Lease, actor: Actor, ttl_s: int | None, clocks: Clocks, request: str) -> Lease:
    """The record after `actor` acquired it: epoch + 1, no renewals yet."""
    return Lease(
        todo=lease.todo,
        epoch=lease.epoch + 1,
        holder=actor.name,
        session=actor.session,
        ttl_s=ttl_s,
        acquired_at=clocks.now,
        renewed_at=clocks.now,
        last_request=request,
    )


def renewed(lease: Lease, actor: Actor, ttl_s: int | None, clocks: Clocks, request: str) -> Lease:
    """The record after a renewal: same epoch, seq + 1. A session that was unbound becomes the caller's."""
    return replace(
        lease,
        session=lease.session or actor.session,
        seq=lease.seq + 1,
        ttl_s=ttl_s,
        renewed_at=clocks.now,
        last_request=request,
    )


def ended(lease: Lease, how: Ended, request: str) -> Lease:
    """The record after the claim ended: no holder, same epoch. No epoch is ever used twice."""
    return replace(lease, holder=None, session=None, ttl_s=None, last_request=request, ended=how)


def fenced(lease: Lease, request: str) -> Lease:
    """The record with epoch + 1: an operation with the former epoch is then refused."""
    return replace(lease, epoch=lease.epoch + 1, last_request=request)


def handed_over(lease: Lease, to: str, clocks: Clocks, request: str) -> Lease:
    """The record after a transfer to `to`. The first write of `to` binds its session."""
    return Lease(
        todo=lease.todo,
        epoch=lease.epoch + 1,
        holder=to,
        ttl_s=lease.ttl_s,
        acquired_at=clocks.now,
        renewed_at=clocks.now,
        last_request=request,
    )


def state_of(lease: Lease | None, snapshot: Snapshot, clocks: Clocks) -> LeaseState:
    """The record's state for others: by its ttl, or without a ttl by when its peer was last seen."""
    if lease is not None and is_abandoned(lease, snapshot, clocks):
        return LeaseState.LAPSED
    return state(lease, clocks, snapshot.policy.claims_skew)


def is_held(lease: Lease, snapshot: Snapshot, clocks: Clocks) -> bool:
    """True while others must leave the claim alone."""
    return state_of(lease, snapshot, clocks) is LeaseState.HELD


def held_by(agent: str, snapshot: Snapshot, clocks: Clocks) -> list[Lease]:
    """The claims that an agent holds and that others must leave alone, over all goals."""
    return [
        lease
        for goal in snapshot.goal_ids()
        for lease in snapshot.leases(goal)
        if lease.holder == agent and is_held(lease, snapshot, clocks)
    ]


def is_abandoned(lease: Lease, snapshot: Snapshot, clocks: Clocks) -> bool:
    """True for a claim without a time bound whose peer has not been seen for the policy's peers.stale_after.

    The claims of a paused or halted loop are never abandoned.
    """
    if lease.holder is None or lease.ttl_s is not None:
        return False
    peer = _who_may_go_stale(lease.holder, snapshot)
    return peer is not None and is_stale(peer, snapshot, clocks)


def abandoned_at(holder: str, snapshot: Snapshot, clocks: Clocks) -> datetime | None:
    """After when the holder's claims without a time bound count as abandoned, if nobody writes; None: never."""
    peer, limit = _who_may_go_stale(holder, snapshot), snapshot.policy.peers_stale_after
    return None if peer is None or limit is None else after(last_seen(peer, snapshot, clocks), limit)


def _who_may_go_stale(holder: str, snapshot: Snapshot) -> Peer | None:
    peer = snapshot.peer(holder)
    if peer is not None and peer.kind is PeerKind.LOOP:
        loop = snapshot.loop(peer.agent)
        if loop is None or loop.status is not LoopStatus.RUNNING:
            return None
    return peer


def is_stale(peer: Peer, snapshot: Snapshot, clocks: Clocks) -> bool:
    """True when the peer has not been seen for policy peers.stale_after (none: never)."""
    limit = snapshot.policy.peers_stale_after
    # Read history only if the records alone would make the peer stale.
    return (
        limit is not None
        and clocks.now > after(_recorded(peer, snapshot), limit)
        and clocks.now > after(last_seen(peer, snapshot, clocks), limit)
    )


def gone(peer: Peer, snapshot: Snapshot, clocks: Clocks) -> str:
    """Why a peer loses its soft claims: it is retired, or was not seen for too long. "" for an active peer."""
    if peer.status is PeerStatus.RETIRED:
        return "retired"
    if not is_stale(peer, snapshot, clocks):
        return ""
    return f"not seen since {format_time(last_seen(peer, snapshot, clocks))}"


def last_seen(peer: Peer, snapshot: Snapshot, clocks: Clocks) -> datetime:
    """When a peer last acted: its registration, last beat or tick, newest renewal, or any other operation."""
    recorded, acted = _recorded(peer, snapshot), clocks.active.get(peer.agent)
    return recorded if acted is None else max(recorded, acted)


def _recorded(peer: Peer, snapshot: Snapshot) -> datetime:
    """When a peer last showed up by the records of the state alone."""
    loop = snapshot.loop(peer.agent) if peer.kind is PeerKind.LOOP else None
    seen = max(filter(None, (peer.created_at, peer.last_seen, None if loop is None else loop.last_tick)))
    for goal in snapshot.goal_ids():
        for lease in snapshot.leases(goal):
            if lease.holder == peer.agent and lease.renewed_at is not None:
                seen = max(seen, lease.renewed_at)
    return seen
