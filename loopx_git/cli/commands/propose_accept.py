"""`git loopx propose accept`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CommandContext, command, options


@command("accept", example="git loopx propose accept plans")
@click.argument("branch")
@options("dry_run")
def main(context: CommandContext, branch: str, dry_run: bool) -> None:
    """Replay what a branch proposes as ordinary operations, all or nothing. Exit 15 names what breaks a rule."""
    done = context.client.propose.accept(branch, dry_run=dry_run)
    verb = "would be accepted" if dry_run else "accepted"
    lines = [f"{len(done['todos'])} todos {verb} in {done['operations']} operations: {', '.join(done['todos'])}"]
    context.emit("proposal", {**done, "dry_run": dry_run}, lines)
