"""A loop: a registered peer of kind `loop` that works tick by tick, one task at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from loopx_git.core.todo import TERMINAL, Status, Todo


class LoopStatus(StrEnum):
    """A running or paused loop owns its task. A halted loop keeps it until an operator approves."""

    RUNNING = "running"
    PAUSED = "paused"
    HALTED = "halted"


@dataclass(frozen=True, slots=True)
class Loop:
    """The record of a loop.

    `current_task` is the todo that it works on; that todo's lease decides whether the loop still owns it. `session`
    names its clone: None until its first claim or tick. `reason` is why it was halted.
    """

    name: str
    created_at: datetime
    created_by: str
    status: LoopStatus = LoopStatus.RUNNING
    iterations: int = 0
    current_task: str | None = None
    last_tick: datetime | None = None
    session: str | None = None
    reason: str | None = None


def is_over(todo: Todo) -> bool:
    """True when a loop has nothing left to do on a todo: it has ended, is archived, or needs a human."""
    return todo.archived or todo.status in TERMINAL or todo.status is Status.NEEDS_HUMAN
