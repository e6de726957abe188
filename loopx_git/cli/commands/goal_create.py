"""`git loopx goal create`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CHECKS, CommandContext, command, options
from loopx_git.client.views import goal_json


@command("create", example="git loopx goal create release-2 --title 'Release 2.0'")
@click.argument("goal")
@click.option("--title", help="What it is about (default: its id).")
@click.option("--claims", type=click.Choice(["exclusive", "soft"]), help="What a plain claim means in it.")
@options("dry_run", dry_run=CHECKS)
def main(context: CommandContext, goal: str, title: str | None, claims: str | None, dry_run: bool) -> None:
    """Create a goal: a named set of todos. On one that exists: change its title, or, while it is idle, its claims."""
    view, created = context.client.goal.create(goal, title=title, claims=claims, dry_run=dry_run)
    done = "would be created" if dry_run and created else "created" if created else "is there, as asked"
    payload = {"goal": {"id": goal} if view is None else goal_json(view.goal, view.counts), "created": created,
               "dry_run": dry_run}  # fmt: skip
    context.emit("goal", payload, [f"goal {goal} {done}"])
