"""`git loopx heartbeat reclaim`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CommandContext, command, options
from loopx_git.cli.render.reclaimed import reclaimed_lines, reclaimed_payload


@command(
    "reclaim", example="git loopx heartbeat reclaim\ngit loopx heartbeat reclaim --take --limit 1 --agent codex-2"
)
@click.option("--take", is_flag=True, help="Claim what has lapsed, instead of returning it to the pool.")
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@click.option("--goal-id", metavar="GOAL", help="Only this goal (default: all).")
@options("dry_run")
def main(context: CommandContext, take: bool, limit: int | None, goal_id: str | None, dry_run: bool) -> None:
    """Reclaim what lapsed: return it to the pool, or claim it.

    It counts an attempt; a todo that was reclaimed too often needs a human. Soft claims of agents that are stale,
    retired or not registered are removed, too.
    """
    done = context.client.heartbeat.reclaim(take=take, limit=limit, goal_id=goal_id, dry_run=dry_run)
    payload = {**reclaimed_payload(done), "dry_run": dry_run}
    context.emit("reclaimed", payload, reclaimed_lines(done, dry_run=dry_run))
