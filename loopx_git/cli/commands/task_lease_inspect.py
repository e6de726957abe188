"""`git loopx task-lease inspect`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command, lease_argument, needed_lease
from loopx_git.cli.render.todo import lease_words


@command("inspect", unused=ACTOR, example="git loopx task-lease inspect todo_ab12cd34ef56")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
@lease_argument
def main(context: CommandContext, lease: str | None, fresh: bool, offline: bool) -> None:
    """Show a lease record and its state by the wall clock."""
    view = context.client.task_lease.inspect(needed_lease(lease), fresh=fresh, offline=offline)
    line = f"{view.id}: {lease_words(view, context.client.clocks().now)}"
    context.emit("lease", lambda: {"lease": view.as_json()}, [line], context.client.reading)
