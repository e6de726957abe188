"""`git loopx goal close`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CHECKS, CommandContext, command, options
from loopx_git.client.views import goal_json


@command("close", example="git loopx goal close release-2")
@click.argument("goal")
@options("dry_run", dry_run=CHECKS)
def main(context: CommandContext, goal: str, dry_run: bool) -> None:
    """Close a goal in which no todo is held. No todo can be added to it or claimed in it after that."""
    view, closed = context.client.goal.close(goal, dry_run=dry_run)
    verb = "is closed already" if not closed else "would be closed" if dry_run else "is closed"
    payload = {"goal": goal_json(view.goal, view.counts), "closed": closed, "dry_run": dry_run}
    context.emit("goal", payload, [f"goal {goal} {verb}"])
