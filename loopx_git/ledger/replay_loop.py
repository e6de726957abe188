"""Replay of loops: the command that a commit with a changed loop record claims to be."""

from __future__ import annotations

from datetime import datetime

from loopx_git.core.change import Op
from loopx_git.core.commands import ClaimTask, Command, CountTick, CreateLoop, SetLoopStatus
from loopx_git.core.lease import Lease
from loopx_git.core.loop import Loop, LoopStatus
from loopx_git.errors import InvalidState
from loopx_git.format.message import Message
from loopx_git.ledger.snapshot import TreeSnapshot


def command_of(
    before: TreeSnapshot, after: TreeSnapshot, name: str, message: Message
) -> tuple[Command, datetime | None]:
    """The command, and the moment that its records name (None: they name no time).

    Raises InvalidState when the record is missing, or shows a change that no command makes.
    """
    known, loop = before.loop(name), after.loop(name)
    if loop is None:
        raise InvalidState(f"the record of the loop {name} is gone; it is never deleted", hint="git loopx verify")
    if known is None:
        return CreateLoop(name), loop.created_at
    if loop.iterations != known.iterations:
        return CountTick(name, loop.iterations), loop.last_tick
    if (loop.status, loop.reason) != (known.status, known.reason):
        approved = known.status is LoopStatus.HALTED and loop.status is LoopStatus.RUNNING
        return SetLoopStatus(name, loop.status, approved, loop.reason), None
    if message.todo is None or message.goal is None:
        raise InvalidState(f"{message.op} of the loop {name} names no todo and goal", hint="git loopx verify")
    return _claim(before, after, known, loop, message)


def active(before: TreeSnapshot, after: TreeSnapshot, message: Message, at: datetime) -> dict[str, datetime]:
    """Who did something lately. A taker is held to what the records tell, which every version sees; only a forced
    claim that counts no attempt says that its clone had seen the holder at work."""
    if message.reason is None or message.todo is None or message.goal is None:
        return {}
    goal, todo = message.goal, message.todo
    if goal not in before.goals_of(todo) or goal not in after.goals_of(todo):
        return {}
    old = before.lease(goal, todo)
    if old is None or old.holder is None or after.todo(goal, todo).attempts > before.todo(goal, todo).attempts:
        return {}
    return {old.holder: at}


def _claim(
    before: TreeSnapshot, after: TreeSnapshot, known: Loop, loop: Loop, message: Message
) -> tuple[ClaimTask, datetime | None]:
    assert message.todo is not None and message.goal is not None
    old = before.lease(message.goal, message.todo) or Lease(message.todo)
    new = after.lease(message.goal, message.todo)
    if message.goal not in after.goals_of(message.todo) or message.goal not in before.goals_of(message.todo):
        raise InvalidState(f"there is no {message.todo} in the goal {message.goal}", hint="git loopx verify")
    attempt = after.todo(message.goal, message.todo).attempts > before.todo(message.goal, message.todo).attempts
    moved = known.session not in (None, message.session)
    sibling = old.holder == loop.name and old.session != message.session and not attempt
    command = ClaimTask(
        loop.name,
        message.todo,
        message.goal,
        resume=message.reason is None and (moved or sibling),
        force=message.reason is not None,
        reason=message.reason,
    )
    return command, new.acquired_at if new is not None and message.op is Op.CLAIM else None
