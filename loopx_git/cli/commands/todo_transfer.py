"""`git loopx todo transfer`."""

from __future__ import annotations

from typing import Any

import click

from loopx_git.cli.command_context import CommandContext, command, options, todo_argument
from loopx_git.cli.render.todo import emit_outcome


@command(
    "transfer", example="git loopx todo transfer todo_ab12cd34ef56 --to codex-2 --note 'yours: it is the backend'"
)
@click.option("--to", required=True, metavar="AGENT", help="The receiving agent.")
@options("epoch", "note", "force", "reason", "dry_run")
@todo_argument
def main(context: CommandContext, todo: str, **given: Any) -> None:
    """Transfer a claim to another agent. The epoch rises; the new holder's next write binds its session."""
    view = context.client.todo.transfer(todo, **given)
    emit_outcome(context, view, "transferred", dry_run=given["dry_run"])
