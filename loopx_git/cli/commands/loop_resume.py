"""`git loopx loop resume`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CHECKS, CommandContext, command, options
from loopx_git.cli.render.loops import loop_line


@command("resume", example="git loopx loop resume nightly")
@click.argument("name")
@options("dry_run", dry_run=CHECKS)
def main(context: CommandContext, name: str, dry_run: bool) -> None:
    """Let a paused loop go on."""
    view = context.client.loop.resume(name, dry_run=dry_run)
    context.emit(
        "loop", lambda: {**view.as_json(), "dry_run": dry_run}, [loop_line(view, context.client.clocks().now)]
    )
