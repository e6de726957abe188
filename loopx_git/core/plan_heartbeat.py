"""Plans of the heartbeat: beat, renew the leases of a session, remove the soft claims of a stale peer."""

from __future__ import annotations

from dataclasses import replace

from loopx_git.core import resolve
from loopx_git.core.change import Actor, ChangeSet, Facts, Op, PutLease, Write
from loopx_git.core.claim import gone, renewed
from loopx_git.core.commands import DropSoftClaim, RenewAll
from loopx_git.core.lease import Clocks, Lease
from loopx_git.core.peer import ClaimMode
from loopx_git.core.plan_setup import subject
from loopx_git.core.snapshot import Snapshot
from loopx_git.core.todo import Status
from loopx_git.errors import NotAllowed, UsageError


def beat(snapshot: Snapshot, actor: Actor, clocks: Clocks) -> ChangeSet:
    """Note that the peer was seen now."""
    peer = snapshot.peer(actor.name) if actor.is_agent else None
    if peer is None or peer.agent != actor.name:
        raise NotAllowed(
            f"{actor.name} is not a registered peer",
            hint=f"git loopx peer register {actor.name}" if actor.is_agent else resolve.who_acts(snapshot),
            about={"agent": actor.name},
        )
    text = subject(f"peer {peer.agent} beat")
    facts: Facts = {"agent": peer.agent}
    after = replace(peer, last_seen=clocks.now)
    # Two beats within a millisecond are one: a commit that changes nothing is not an operation.
    writes = () if after == peer else (after,)
    return ChangeSet(Op.PEER, actor, text, writes, facts=facts)


def renew_all(snapshot: Snapshot, command: RenewAll, actor: Actor, clocks: Clocks, request: str) -> ChangeSet:
    """Renew every lease that the caller's session still holds, in one operation."""
    if not actor.is_agent:
        raise UsageError("renew --all needs an agent", hint=resolve.who_acts(snapshot))
    found: list[tuple[str, Lease]] = [
        (goal, lease)
        for goal in snapshot.goal_ids()
        for lease in snapshot.leases(goal)
        if lease.holder == actor.name and lease.session == actor.session
    ]
    if command.renewals is not None:
        found = [(goal, lease) for goal, lease in found if lease.id in command.renewals]
    writes: tuple[Write, ...] = tuple(
        PutLease(goal, renewed(lease, actor, lease.ttl_s, clocks, request)) for goal, lease in found
    )
    names = tuple(lease.id for _, lease in found)
    text = subject(f"renew {len(names)} leases by {actor.name}")
    return ChangeSet(Op.RENEW, actor, text, writes, renewed=names, facts={"renewed": list(names)})


def drop_soft_claim(snapshot: Snapshot, command: DropSoftClaim, actor: Actor, clocks: Clocks) -> ChangeSet:
    """Remove a soft claim whose peer is stale, retired or not registered. Raises NotAllowed for an active peer.

    The last one puts the todo back to open, if it was in progress under soft claims alone.
    """
    goal, todo_id = resolve.todo(snapshot, command.todo)
    todo = snapshot.todo(goal, todo_id)
    text = subject(f"soft {todo_id} without {command.agent}")
    lease = snapshot.lease(goal, todo_id) or Lease(todo_id)
    facts: Facts = {"todo": todo_id, "goal": goal, "agent": command.agent}
    base = ChangeSet(Op.SOFT, actor, text, goal=goal, todo=todo_id, epoch=lease.epoch, facts=facts)
    if command.agent not in todo.soft_claims:
        return replace(base, facts={**facts, "unchanged": "same"})
    peer = snapshot.peer(command.agent)
    if peer is not None and not gone(peer, snapshot, clocks):
        raise NotAllowed(
            f"{command.agent} is not stale and keeps its soft claim of {todo_id}",
            hint="git loopx heartbeat status",
            about={"todo_id": todo_id, "agent": command.agent},
        )
    left = tuple(name for name in todo.soft_claims if name != command.agent)
    kept = snapshot.goal(goal)
    soft = kept is not None and kept.claims is ClaimMode.SOFT and lease.holder is None
    status = todo.status
    if soft and not left and status is Status.IN_PROGRESS and not command.stays:
        # As when the last one takes it back itself: nobody works on it any more.
        status = Status.OPEN
    return replace(base, writes=(replace(todo, soft_claims=left, status=status),))
