"""`git loopx todo archive`."""

from __future__ import annotations

from typing import Any

from loopx_git.cli.command_context import CommandContext, command, options, todo_argument
from loopx_git.cli.render.todo import emit_outcome


@command("archive", example="git loopx todo archive todo_ab12cd34ef56")
@options("dry_run")
@todo_argument
def main(context: CommandContext, todo: str, **given: Any) -> None:
    """Archive a todo that has ended. Its id and alias stay reserved."""
    view = context.client.todo.archive(todo, **given)
    emit_outcome(context, view, "archived", dry_run=given["dry_run"])
