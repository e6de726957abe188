"""Plans of loops: create, pause, resume, halt, approve, claim a task, count a tick.

A loop's claim and its record change in one commit, so they never disagree. The table decides the claim like every
other claim.
"""

from __future__ import annotations

from dataclasses import replace

from loopx_git.core import ids, resolve
from loopx_git.core.change import Actor, ChangeSet, Facts, Op, Write
from loopx_git.core.claim import hold_of
from loopx_git.core.commands import ClaimTask, CountTick, CreateLoop, OnTodo, SetLoopStatus
from loopx_git.core.lease import Clocks, Lease
from loopx_git.core.loop import Loop, LoopStatus, is_over
from loopx_git.core.peer import Peer, PeerKind, PeerStatus
from loopx_git.core.plan_setup import check_reason, subject
from loopx_git.core.plan_todo import decide
from loopx_git.core.snapshot import Snapshot
from loopx_git.core.table import HoldState, Operation
from loopx_git.errors import NotAllowed, NotFound, UsageError


def tracked(snapshot: Snapshot, name: str) -> Loop:
    """The loop's record. Raises NotFound (`loop_untracked`) when there is no such loop."""
    ids.check("agent", name, where="loop")
    loop = snapshot.loop(name)
    if loop is None:
        near = [other.name for other in snapshot.loops() if ids.folded(other.name) == ids.folded(name)]
        raise NotFound(
            f"there is no loop {name!r}" + (f"; did you mean {near[0]}?" if near else ""),
            hint=f"git loopx loop create {name}",
            about={"loop": name, "reason": "loop_untracked"},
        )
    return loop


def owns(snapshot: Snapshot, loop: Loop) -> Lease | None:
    """The lease of the loop's current task while the loop holds it under its session, else None."""
    if loop.current_task is None:
        return None
    goals = snapshot.goals_of(loop.current_task)
    lease = snapshot.lease(goals[0], loop.current_task) if len(goals) == 1 else None
    mine = lease is not None and lease.holder == loop.name and lease.session in (None, loop.session)
    return lease if mine else None


def create(snapshot: Snapshot, command: CreateLoop, actor: Actor, clocks: Clocks) -> ChangeSet:
    """The record of a new loop and its peer. Nothing changes when the loop exists."""
    name = ids.check("agent", command.loop, where="loop")
    known, peer = snapshot.loop(name), snapshot.peer(name)
    text = subject(f"loop {name} created by {actor.name}")
    facts: Facts = {"loop": name, "created": known is None}
    if known is not None:
        return ChangeSet(Op.LOOP, actor, text, facts=facts)
    writes: list[Write] = [Loop(name, clocks.now, actor.name)]
    if peer is None:
        writes.insert(0, Peer(name, clocks.now, actor.name, PeerKind.LOOP))
    elif peer.agent != name or peer.kind is not PeerKind.LOOP or peer.status is PeerStatus.RETIRED:
        what = "retired" if peer.status is PeerStatus.RETIRED else f"registered as {peer.kind}"
        raise NotAllowed(
            f"the name {name} is taken: the peer {peer.agent} is {what}",
            hint="choose another name: git loopx peer list",
            about={"loop": name, "agent": peer.agent},
        )
    return ChangeSet(Op.LOOP, actor, text, tuple(writes), facts=facts)


def set_status(snapshot: Snapshot, command: SetLoopStatus, actor: Actor, clocks: Clocks) -> ChangeSet:
    """Pause, halt or resume a loop; it keeps its task. A halted loop continues only when somebody else approves."""
    loop = tracked(snapshot, command.loop)
    if command.reason is not None:
        check_reason(command.reason)
    facts: Facts = {"loop": loop.name, "status": command.status.value, "former": loop.status.value}
    halted, wanted = loop.status is LoopStatus.HALTED, command.status
    approved = command.approve and wanted is LoopStatus.RUNNING
    if halted and wanted is not LoopStatus.HALTED and not approved:
        raise _halted(loop)
    if approved and halted and actor.name == loop.name:
        raise NotAllowed(
            f"the loop {loop.name} cannot approve itself",
            hint=_others(loop),
            about={"loop": loop.name},
        )
    after = replace(loop, status=wanted, reason=command.reason if wanted is LoopStatus.HALTED else None)
    if loop.status is wanted and (command.reason is None or after == loop):
        return ChangeSet(Op.LOOP, actor, "", facts=facts)
    text = subject(f"loop {loop.name} {wanted.value} by {actor.name}")
    return ChangeSet(Op.LOOP, actor, text, (after,), reason=command.reason, facts=facts)


def claim(snapshot: Snapshot, command: ClaimTask, actor: Actor, clocks: Clocks, request: str) -> ChangeSet:
    """The todo's lease for the loop and the loop's record, in one commit.

    Nothing changes when the loop has the task.
    """
    loop = tracked(snapshot, command.loop)
    if loop.status is LoopStatus.HALTED:
        raise _halted(loop)
    goal, todo = resolve.todo(snapshot, command.todo, command.goal)
    check_home(loop, actor, moves=command.resume, way=f"git loopx loop claim {loop.name} --task {todo} --resume")
    held = owns(snapshot, loop)
    if held is not None and held.todo != todo:
        raise NotAllowed(
            f"the loop {loop.name} has a task: {held.todo} (epoch {held.epoch})",
            hint=f"let it finish, or have it released; look: git loopx todo show {held.todo}",
            about={"loop": loop.name, "current_task": held.todo, "reason": "loop_has_task"},
        )
    operation = Operation.RESUME if command.resume else Operation.CLAIM
    asked = OnTodo(
        operation, todo, goal, force=command.force, reason=command.reason, ttl=None, exclusive=True, renewals=()
    )
    change = decide(snapshot, asked, actor, clocks, request)
    after = replace(loop, session=actor.session, current_task=todo)
    facts: Facts = {**change.facts, "loop": loop.name}
    if not change.writes and after == loop:
        return replace(change, facts=facts)
    # The lease may be the loop's already (taken by `todo claim` under its session): then only the record is written.
    op = Op.CLAIM if change.writes else Op.LOOP
    text = subject(f"{op} {todo} by {loop.name}")
    return replace(change, op=op, subject=text, writes=(*change.writes, after), facts=facts)


def count(snapshot: Snapshot, command: CountTick, actor: Actor, clocks: Clocks, request: str) -> ChangeSet:
    """Count one iteration, and release a task that has ended or was lost."""
    loop = tracked(snapshot, command.loop)
    check_home(loop, actor, moves=False, way=f"git loopx loop tick {loop.name} --resume -- COMMAND ARGUMENTS...")
    if loop.iterations >= command.iteration:
        counted: Facts = {"loop": loop.name, "iterations": loop.iterations, "released": None}
        return ChangeSet(Op.LOOP, actor, "", facts=counted)
    after = replace(loop, iterations=loop.iterations + 1, last_tick=clocks.now, session=actor.session)
    facts: Facts = {"loop": loop.name, "iterations": after.iterations, "released": None}
    base = ChangeSet(Op.LOOP, actor, subject(f"loop {loop.name} tick {after.iterations}"), facts=facts)
    if loop.current_task is None:
        return replace(base, writes=(after,))
    task = loop.current_task
    goal, _ = resolve.todo(snapshot, task)
    lease = snapshot.lease(goal, task) or Lease(task)
    mine = hold_of(lease, actor, None, clocks, snapshot.policy.claims_skew) in (HoldState.MINE, HoldState.LATE)
    base = replace(base, goal=goal, todo=task, epoch=lease.epoch)
    if not mine:
        writes: tuple[Write, ...] = (replace(after, current_task=None),)
        return replace(base, writes=writes, facts={**facts, "released": task})
    if not is_over(snapshot.todo(goal, task)):
        return replace(base, writes=(after,))
    asked = OnTodo(Operation.RELEASE, task, goal, exclusive=True, renewals=())
    released = decide(snapshot, asked, actor, clocks, request)
    writes = (*released.writes, replace(after, current_task=None))
    return replace(base, writes=writes, epoch=released.epoch, facts={**facts, "released": task})


def _halted(loop: Loop) -> NotAllowed:
    return NotAllowed(
        f"the loop {loop.name} is halted" + (f" ({loop.reason})" if loop.reason else ""),
        hint=_others(loop),
        about={"loop": loop.name, "status": loop.status.value, "reason": "loop_halted"},
    )


def _others(loop: Loop) -> str:
    """The hint of a halted loop. Somebody else has to look at the reason first, so the next command is only named."""
    return f"look: git loopx loop show {loop.name}   somebody else lets it go on: git loopx loop approve -h"


def check_home(loop: Loop, actor: Actor, *, moves: bool, way: str) -> None:
    """Raise NotAllowed when the loop's session is not the actor's: a loop works in one clone.

    `way` is the command that moves it to this clone.
    """
    if actor.name != loop.name:
        raise UsageError(f"the loop {loop.name} is not {actor.name}", hint="leave out --agent: the loop acts itself")
    if moves or loop.session is None or loop.session == actor.session:
        return
    raise NotAllowed(
        f"the loop {loop.name} lives in another clone (session {loop.session})",
        hint=f"if it has ended there: {way}",
        about={"loop": loop.name, "session": loop.session, "reason": "loop_elsewhere"},
    )
