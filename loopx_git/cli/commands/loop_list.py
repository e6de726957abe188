"""`git loopx loop list`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.cli.render.loops import loop_line


@command("list", unused=ACTOR, example="git loopx loop list --fresh")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(context: CommandContext, fresh: bool, offline: bool) -> None:
    """List loops: claim, status, iterations, last tick."""
    found, reading = context.client.loop.list(fresh=fresh, offline=offline)
    now = context.client.clocks().now
    lines = [loop_line(view, now) for view in found] or ["no loops: git loopx loop create NAME"]
    context.emit("loops", lambda: {"loops": [view.as_json() for view in found]}, lines, reading)
