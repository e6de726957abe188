"""`git loopx todo supersede`."""

from __future__ import annotations

from typing import Any

import click

from loopx_git.cli.command_context import CommandContext, command, options, todo_argument
from loopx_git.cli.render.todo import emit_outcome


@command("supersede", example="git loopx todo supersede todo_ab12cd34ef56 --by-title 'rewrite the parser'")
@click.option("--by", metavar="TODO", help="The todo that continues the work.")
@click.option("--by-title", metavar="TITLE", help="Make a new todo that continues the work.")
@options("epoch", "note", "force", "reason", "dry_run")
@todo_argument
def main(context: CommandContext, todo: str, **given: Any) -> None:
    """End a todo that you hold, because another one continues the work."""
    view = context.client.todo.supersede(todo, **given)
    emit_outcome(context, view, "superseded", dry_run=given["dry_run"])
