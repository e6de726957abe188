"""`git loopx goal close`."""

from __future__ import annotations

import click

from loopx_git.cli.face import CHECKS, Face, command, options
from loopx_git.client.views import goal_json


@command("close", example="git loopx goal close release-2")
@click.argument("goal")
@options("dry_run", dry_run=CHECKS)
def main(face: Face, goal: str, dry_run: bool) -> None:
    """Close a goal in which no todo is held. No todo can be added to it or claimed in it after that."""
    view, closed = face.client.goal.close(goal, dry_run=dry_run)
    verb = "is closed already" if not closed else "would be closed" if dry_run else "is closed"
    payload = {"goal": goal_json(view.goal, view.counts), "closed": closed, "dry_run": dry_run}
    face.emit("goal", payload, [f"goal {goal} {verb}"])
