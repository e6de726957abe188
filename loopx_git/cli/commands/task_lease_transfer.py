"""`git loopx task-lease transfer`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CommandContext, command, lease_argument, needed_lease
from loopx_git.cli.render.todo import lease_words


@command("transfer", writes=True, example="git loopx task-lease transfer todo_ab12cd34ef56@3 --to codex-2")
@click.option("--to", required=True, metavar="AGENT", help="The receiving agent.")
@lease_argument
def main(context: CommandContext, lease: str | None, to: str) -> None:
    """Transfer a lease to another agent. The epoch rises; the new holder's next write binds its session."""
    view = context.client.task_lease.transfer(needed_lease(lease), to)
    context.emit(
        "lease", lambda: {"lease": view.as_json()}, [f"{view.id}: {lease_words(view, context.client.clocks().now)}"]
    )
