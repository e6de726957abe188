"""`git loopx guard install`."""

from __future__ import annotations

from dataclasses import asdict

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.cli.output import safe


@command("install", writes=True, unused=ACTOR, example="git loopx guard install")
@click.option("--force", is_flag=True, help="Also write into a hooks folder that is tracked, or shared with others.")
def main(context: CommandContext, force: bool) -> None:
    """Let git run the guard before commits and pushes. A hook that is there is kept and runs first.

    Serves git's own hooks folder, core.hooksPath, husky, lefthook, the pre-commit framework and configured hooks.
    Exit 15: that would write into what is not this clone's alone; the message has the lines to add by hand.
    """
    from loopx_git.guard.install import install

    done = install(context.client.connection.repository, force=force)
    lines = [f"the guard is installed ({done.kind}):", *(f"  {safe(path)}" for path in done.written)]
    lines += [f"kept, and run before it: {safe(path)}" for path in done.kept]
    lines += [f"next: {command}" for command in (*done.next, "git loopx guard status")]
    context.emit("guard_install", asdict(done), lines)
