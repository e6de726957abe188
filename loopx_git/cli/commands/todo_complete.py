"""`git loopx todo complete`."""

from __future__ import annotations

from typing import Any

import click

from loopx_git.cli.command_context import CommandContext, command, options, todo_argument
from loopx_git.cli.render.todo import emit_outcome


@command("complete", example="git loopx todo complete todo_ab12cd34ef56 --note 'merged as #12'")
@options("epoch", "note", note="A last note.")
@click.option("--successor", metavar="TODO", help="The todo that carries on.")
@click.option("--successor-title", metavar="TITLE", help="Make a new todo that continues the work.")
@options("dry_run")
@todo_argument
def main(context: CommandContext, todo: str, **given: Any) -> None:
    """Complete a todo that you hold. Ends the claim in the same commit.

    A todo with a `validate` command is completed only when that passes; what it prints goes to standard error.
    """
    import sys

    def sink(chunk: bytes) -> None:
        sys.stderr.buffer.write(chunk)
        sys.stderr.flush()

    view = context.client.todo.complete(todo, sink=sink, **given)
    linked = bool(view.todo.successor) and not view.facts.get("unchanged")
    emit_outcome(
        context,
        view,
        "completed",
        dry_run=given["dry_run"],
        more=[f"  carried on by {view.todo.successor}"] if linked else (),
    )
