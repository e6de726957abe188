"""The planner: (snapshot, command, actor, moment, request) -> change set, or a typed refusal.

A refusal is a raised LoopXError; it changes nothing. The same planner decides a claim, a dry run, and, through
`replay`, whether a commit that somebody else made is legal.
"""

from __future__ import annotations

from loopx_git.core import ids, plan_heartbeat, plan_loop, plan_peer, plan_setup, plan_todo
from loopx_git.core.change import Actor, ChangeSet
from loopx_git.core.commands import (
    AddTodo,
    Beat,
    ClaimTask,
    CloseGoal,
    Command,
    CountTick,
    CreateGoal,
    CreateLoop,
    DropSoftClaim,
    Init,
    OnTodo,
    RegisterPeer,
    RenewAll,
    SetLoopStatus,
    SetPeerStatus,
    SetPolicy,
)
from loopx_git.core.fields import why_bad
from loopx_git.core.lease import Clocks
from loopx_git.core.snapshot import Snapshot
from loopx_git.errors import UsageError


def plan(snapshot: Snapshot | None, command: Command, actor: Actor, clocks: Clocks, request: str) -> ChangeSet:
    """The change set of one command on one snapshot (None: there is no ledger yet).

    `request` is the idempotency key, 32 hex digits. A change set without writes changes nothing.
    """
    bad = why_bad("created_by", actor.name)
    if bad:
        raise UsageError(f"the actor {actor.name[:80]!r} {bad}", hint="--agent NAME")
    if actor.session is not None:
        ids.check("session", actor.session)
    if isinstance(command, Init):
        return plan_setup.init(snapshot, actor, clocks)
    if snapshot is None:
        raise AssertionError("only init is planned without a ledger")
    match command:
        case SetPolicy():
            return plan_setup.set_policy(snapshot, command, actor, clocks)
        case CreateGoal():
            return plan_setup.create_goal(snapshot, command, actor, clocks)
        case CloseGoal():
            return plan_setup.close_goal(snapshot, command, actor, clocks)
        case SetPeerStatus():
            return plan_peer.set_status(snapshot, command, actor, clocks)
        case Beat():
            return plan_heartbeat.beat(snapshot, actor, clocks)
        case RenewAll():
            return plan_heartbeat.renew_all(snapshot, command, actor, clocks, request)
        case DropSoftClaim():
            return plan_heartbeat.drop_soft_claim(snapshot, command, actor, clocks)
        case RegisterPeer():
            return plan_peer.register(snapshot, command, actor, clocks)
        case AddTodo():
            return plan_setup.add_todo(snapshot, command, actor, clocks)
        case OnTodo():
            return plan_todo.on_todo(snapshot, command, actor, clocks, request)
        case CreateLoop():
            return plan_loop.create(snapshot, command, actor, clocks)
        case SetLoopStatus():
            return plan_loop.set_status(snapshot, command, actor, clocks)
        case ClaimTask():
            return plan_loop.claim(snapshot, command, actor, clocks, request)
        case CountTick():
            return plan_loop.count(snapshot, command, actor, clocks, request)
