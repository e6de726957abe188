"""`git loopx todo reopen`."""

from __future__ import annotations

from typing import Any

from loopx_git.cli.command_context import CommandContext, command, options, todo_argument
from loopx_git.cli.render.todo import emit_outcome


@command("reopen", example="git loopx todo reopen todo_ab12cd34ef56 --note 'the bug is back'")
@options("note", "dry_run")
@todo_argument
def main(context: CommandContext, todo: str, **given: Any) -> None:
    """Reopen a todo that has ended, is blocked, or needs a human, and that is not held."""
    view = context.client.todo.reopen(todo, **given)
    emit_outcome(context, view, "reopened", dry_run=given["dry_run"])
