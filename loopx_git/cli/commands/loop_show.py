"""`git loopx loop show`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.cli.output import safe
from loopx_git.cli.render.loops import loop_line
from loopx_git.core.times import format_time


@command("show", unused=ACTOR, example="git loopx loop show nightly")
@click.argument("name")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(context: CommandContext, name: str, fresh: bool, offline: bool) -> None:
    """Show one loop with its task, its claim, and the clone it belongs to."""
    view, reading = context.client.loop.show(name, fresh=fresh, offline=offline)
    loop = view.loop
    lines = [loop_line(view, context.client.clocks().now)]
    lines.append(f"  session     {loop.session or 'unbound: the first claim or tick binds it'}")
    lines.append(f"  created     {format_time(loop.created_at)} by {safe(loop.created_by)}")
    if loop.reason:
        lines.append(f"  reason      {safe(loop.reason)}")
    context.emit("loop", view.as_json, lines, reading)
