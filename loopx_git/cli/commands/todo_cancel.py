"""`git loopx todo cancel`."""

from __future__ import annotations

from typing import Any

from loopx_git.cli.command_context import CommandContext, command, options, todo_argument
from loopx_git.cli.render.todo import emit_outcome


@command("cancel", example="git loopx todo cancel todo_ab12cd34ef56 --note 'no longer needed'")
@options("epoch", "note", "force", "reason", "dry_run")
@todo_argument
def main(context: CommandContext, todo: str, **given: Any) -> None:
    """End a todo that you hold, undone."""
    view = context.client.todo.cancel(todo, **given)
    emit_outcome(context, view, "cancelled", dry_run=given["dry_run"])
