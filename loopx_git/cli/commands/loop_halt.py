"""`git loopx loop halt`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CHECKS, CommandContext, command, options
from loopx_git.cli.render.loops import loop_line


@command("halt", example="git loopx loop halt nightly --reason 'the tests went red'")
@click.argument("name")
@click.option("--reason", metavar="TEXT", help="Why; shown to the person who approves.")
@options("dry_run", dry_run=CHECKS)
def main(context: CommandContext, name: str, reason: str | None, dry_run: bool) -> None:
    """Stop a loop until somebody approves. It keeps its task."""
    view = context.client.loop.halt(name, reason=reason, dry_run=dry_run)
    context.emit(
        "loop", lambda: {**view.as_json(), "dry_run": dry_run}, [loop_line(view, context.client.clocks().now)]
    )
