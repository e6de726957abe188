"""`git loopx guard uninstall`."""

from __future__ import annotations

from dataclasses import asdict

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.cli.output import safe


@command("uninstall", writes=True, unused=ACTOR, example="git loopx guard uninstall")
def main(context: CommandContext) -> None:
    """Remove the guard, and restore the hooks that were there, byte for byte."""
    from loopx_git.guard.install import uninstall

    done = uninstall(context.client.connection.repository)
    lines = [f"removed: {safe(path)}" for path in done.removed]
    lines += [f"as it was: {safe(path)}" for path in done.restored]
    lines += [f"left alone, somebody changed it: {safe(path)}" for path in done.left]
    context.emit("guard_install", asdict(done), lines)
