"""What a row of the table that does not grant says: its sentence, its exit code, the next command."""

from __future__ import annotations

from loopx_git.core.commands import OnTodo
from loopx_git.core.lease import Lease, expires_at
from loopx_git.core.table import REASONS, Row
from loopx_git.core.times import format_time
from loopx_git.core.todo import Todo
from loopx_git.errors import BY_CODE, About, LoopXError


def refusal(row: Row, command: OnTodo, todo: Todo, lease: Lease) -> LoopXError:
    """The typed error of a refusing row: who holds it, under which epoch, until when, what to type next."""
    reason = REASONS[row.reason]
    words = words_of(command, todo, lease)
    until = expires_at(lease)
    about: About = {
        "todo_id": todo.id,
        "status": todo.state.value,
        "holder": lease.holder,
        "epoch": lease.epoch,
        "expires_at": None if until is None else format_time(until),
    }
    return BY_CODE[reason.code](reason.message.format(**words), hint=reason.hint.format(**words), about=about)


def words_of(command: OnTodo, todo: Todo, lease: Lease) -> dict[str, object]:
    """The words that a reason's templates are filled with."""
    until = expires_at(lease)
    return {
        "todo": todo.id,
        "status": todo.state.value,
        "holder": lease.holder or "nobody",
        "session": lease.session or "unbound",
        "whose": f"{lease.holder} holds it" if lease.holder else f"nobody holds it ({todo.state.value})",
        "epoch": lease.epoch,
        "given": command.epoch,
        "until": "" if until is None else f", until {format_time(until)}",
    }
