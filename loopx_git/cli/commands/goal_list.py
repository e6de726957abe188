"""`git loopx goal list`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.cli.output import safe
from loopx_git.client.views import goal_json


@command("list", unused=ACTOR, example="git loopx goal list")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(context: CommandContext, fresh: bool, offline: bool) -> None:
    """List goals with their todos by status."""
    goals, reading = context.client.goal.list(fresh=fresh, offline=offline)
    width = max(len(view.goal.id) for view in goals) if goals else 1
    lines = []
    for view in goals:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(view.counts.items())) or "no todos"
        lines.append(f"{view.goal.id:{width}}  {view.goal.status.value:6}  {safe(view.goal.title)}  ({counts})")
    payload = {"goals": [goal_json(view.goal, view.counts) for view in goals]}
    context.emit("goals", payload, lines, reading)
