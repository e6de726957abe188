"""`git loopx todo next`."""

from __future__ import annotations

import click

from loopx_git.cli.face import Face, command, duration
from loopx_git.cli.output import safe
from loopx_git.cli.show import lease_words
from loopx_git.errors import UsageError


@command("next", example="git loopx todo next --claim --agent codex-1 --json")
@click.option("--claim", is_flag=True, help="Claim it; try the next one when another agent is faster.")
@click.option("--goal-id", metavar="GOAL", help="Only from this goal (default: all).")
@click.option("--ttl", metavar="TIME", help="Time bound, such as 45m or none (default: the policy's).")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
@click.option("--dry-run", is_flag=True, help="With --claim: say what would happen, write nothing.")
def main(
    face: Face, claim: bool, goal_id: str | None, ttl: str | None, fresh: bool, offline: bool, dry_run: bool
) -> None:
    """The best todo that fits the agent; with --claim it is claimed in one step.

    Agents that look at the same moment get different todos of the best priority, and after a lost race also others.

    A todo fits when it is ready, within the agent's capabilities and limits, and its scope is free. Exit 17: no todo
    fits now.
    """
    for flag, given in (("--ttl", ttl is not None), ("--dry-run", dry_run)):
        if given and not claim:
            raise UsageError(f"{flag} goes with --claim", hint=f"add --claim, or leave out {flag}")
    found = face.client.todo.next(
        claim=claim, goal_id=goal_id, ttl=duration(ttl, "--ttl"), fresh=fresh, offline=offline, dry_run=dry_run
    )
    todo = found.view.todo
    verb = ("would be claimed" if dry_run else "claimed") if claim else "is next"
    lines = [f"{todo.id} {verb}: {safe(todo.title)}"]
    if claim and not dry_run:
        lines.append(f"  {lease_words(found.view.lease, face.client.moment().now)}")
    lines += [f"  lost: {safe(why)}" for why in found.lost]
    lines += [f"  passed over: {safe(item.why)}" for item in found.skipped[:5]]
    if len(found.skipped) > 5:
        lines.append(f"  ... and {len(found.skipped) - 5} more passed over")
    payload = {
        **found.view.as_json(),
        "tries": found.tries,
        "lost": list(found.lost),
        "skipped": [{"todo_id": item.todo, "why": item.why} for item in found.skipped],
        "dry_run": dry_run,
    }
    face.emit("todo", payload, lines, found.reading if not claim else None)
