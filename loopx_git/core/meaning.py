"""Which operation of the table a caller's command stands for."""

from __future__ import annotations

from dataclasses import replace

from loopx_git.core.change import Actor, Facts
from loopx_git.core.commands import OnTodo
from loopx_git.core.peer import ClaimMode
from loopx_git.core.snapshot import Snapshot
from loopx_git.core.table import Effect, HoldState, Operation, Row
from loopx_git.core.todo import Todo
from loopx_git.errors import NotAllowed, UsageError

#: Stands as the reason in the commit of a note that needed no claim. With a reason, every version of this program
#: takes it for an operator's update, which it is allowed to be; this version lets it change nothing but the notes.
NOTE_REASON = "a note without the claim"
#: What an operator may change beside somebody's claim by an operation of its own.
TRIAGED = frozenset({"priority", "labels"})
_OWN = frozenset({HoldState.MINE, HoldState.LATE})


def claims_softly(snapshot: Snapshot, goal: str) -> bool:
    """True when a plain claim in a goal is soft: by the goal's mode, or else the policy's."""
    stored = snapshot.goal(goal)
    mode = snapshot.policy.claims_mode if stored is None or stored.claims is None else stored.claims
    return mode is ClaimMode.SOFT


def meant(command: OnTodo, todo: Todo, actor: Actor, hold: HoldState, *, soft: bool) -> OnTodo:
    """The command with the operation that it means. `soft` tells what a plain claim is in the todo's goal.

    claim    in a goal whose claims are soft: a soft claim
    release  takes back what a plain claim gives there; where the caller's session does not have that, the other
    update   of nothing but a note, without the claim: a note; forced, of priority and labels alone: a triage

    A command that is `exclusive`, or names an epoch, means the lease.
    """
    operation = command.operation
    plain = not (command.exclusive or command.force or command.epoch is not None)
    match operation:
        case Operation.CLAIM if soft and not command.exclusive and not command.force:
            operation = Operation.SOFT
        case Operation.RELEASE if plain and actor.name in todo.soft_claims and (soft or hold not in _OWN):
            operation = Operation.UNSOFT
        case Operation.UPDATE if not command.status:
            if plain and not command.fields and hold not in _OWN and hold is not HoldState.SOFT:
                operation = Operation.NOTE
            elif command.force and command.fields and set(command.fields) <= TRIAGED:
                operation = Operation.TRIAGE
    return command if operation is command.operation else replace(command, operation=operation)


def check(command: OnTodo) -> None:
    """Raise UsageError for a note or a triage that is not valid in any state."""
    operation = command.operation
    if operation is Operation.NOTE and (command.note is None or command.fields):
        raise UsageError(
            "a note is a text and nothing else", hint=f"git loopx todo update {command.todo} --note TEXT"
        )
    if operation is Operation.TRIAGE and not (command.fields and set(command.fields) <= TRIAGED):
        raise UsageError(
            "a triage changes priority and labels, and nothing else",
            hint=f"git loopx todo update {command.todo} --priority 1 --force --reason TEXT",
        )
    if command.force and command.reason == NOTE_REASON:
        raise UsageError(
            f"the reason {NOTE_REASON!r} is kept for notes without --force", hint="say why in other words"
        )


def check_soft(command: OnTodo, todo: Todo, hold: HoldState, row: Row) -> None:
    """Raise NotAllowed for what a soft claim does not permit, after the row granted the operation."""
    if hold is HoldState.SOFT and command.fields and not command.force:
        raise NotAllowed(
            f"a soft claim changes status and notes only, not {', '.join(sorted(command.fields))}",
            hint=f"git loopx task-lease acquire {todo.id}",
            about={"todo_id": todo.id},
        )
    if Effect.SOFT_REMOVE in row.effects and command.status not in (None, todo.status):
        raise NotAllowed(
            f"a soft claim of {todo.id} is removed without a status: its lease or other soft claims decide it",
            hint="leave out --status",
            about={"todo_id": todo.id},
        )


def taken_back(command: OnTodo, todo: Todo, actor: Actor, hold: HoldState) -> Facts:
    """Of an agent's lease and soft claim on one todo: which one is released, and which one stays."""
    if command.operation is Operation.UNSOFT:
        return {"released": "soft claim", "goes_on": "lease"} if hold in _OWN else {"released": "soft claim"}
    if actor.name in todo.soft_claims:
        return {"released": "lease", "goes_on": "soft claim"}
    return {"released": "lease"}
