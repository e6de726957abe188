"""`git loopx todo next`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loopx_git.cli.command_context import CommandContext, command, duration
from loopx_git.cli.output import safe
from loopx_git.cli.render.listing import fields_of, rendered
from loopx_git.cli.render.todo import lease_words
from loopx_git.errors import UsageError

if TYPE_CHECKING:
    from loopx_git.client.next_todo import Picked


@command("next", example="git loopx todo next --claim --agent codex-1 --json")
@click.option("--claim", is_flag=True, help="Claim it; try the next one when another agent is faster.")
@click.option("--goal-id", metavar="GOAL", help="Only from this goal (default: all).")
@click.option("--ttl", metavar="TIME", help="Time bound, such as 45m or none (default: the policy's).")
@click.option("--status", multiple=True, help="Only open, or only in_progress ones.")
@click.option("--limit", type=click.IntRange(1), help="Show the best so many instead of one.")
@click.option("--fields", metavar="A,B", help="Show them as a list of these fields, such as id,title.")
@click.option("--budget", type=click.IntRange(50), metavar="N", help="Show as many as about N tokens hold.")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
@click.option("--dry-run", is_flag=True, help="With --claim: say what would happen, write nothing.")
def main(
    context: CommandContext, claim: bool, goal_id: str | None, ttl: str | None, status: tuple[str, ...],
    limit: int | None, fields: str | None, budget: int | None, fresh: bool, offline: bool, dry_run: bool,
) -> None:  # fmt: skip
    """The best todo that fits the agent; with --claim it is claimed in one step.

    Agents that look at the same moment get different todos of the best priority, and after a lost race also others.

    With --limit, --fields or --budget the best that fit are listed, as by todo list.

    A todo fits when it is ready, within the agent's capabilities and limits, and its scope is free. Exit 17: no todo
    fits now.
    """
    for flag, given in (("--ttl", ttl is not None), ("--dry-run", dry_run)):
        if given and not claim:
            raise UsageError(f"{flag} goes with --claim", hint=f"add --claim, or leave out {flag}")
    for flag, value in (("--limit", limit), ("--fields", fields), ("--budget", budget)):
        if value is not None and claim:
            raise UsageError(
                f"{flag} is for a look, and --claim takes one todo", hint=f"leave out {flag}, or --claim"
            )
    listed = limit is not None or fields is not None or budget is not None
    fields_of(fields, as_json=context.output.as_json)
    found = context.client.todo.next(
        claim=claim, goal_id=goal_id, ttl=duration(ttl, "--ttl"), fresh=fresh, offline=offline, dry_run=dry_run,
        statuses=status, limit=limit if listed else 1,
    )  # fmt: skip
    if listed:
        _list(context, found, fields, budget)
        return
    todo = found.view.todo
    verb = ("would be claimed" if dry_run else "claimed") if claim else "is next"
    lines = [f"{todo.id} {verb}: {safe(todo.title)}"]
    if claim and not dry_run:
        lines.append(f"  {lease_words(found.view.lease, context.client.clocks().now)}")
    lines += [f"  lost: {safe(why)}" for why in found.lost]
    lines += [f"  passed over: {safe(item.words)}" for item in found.skipped[:5]]
    if len(found.skipped) > 5:
        lines.append(f"  ... and {len(found.skipped) - 5} more passed over")
    payload = {
        **found.view.as_json(),
        "tries": found.tries,
        "lost": list(found.lost),
        "skipped": [{"todo_id": item.todo, "why": item.why} for item in found.skipped],
        "dry_run": dry_run,
    }
    context.emit("todo", payload, lines, found.reading if not claim else None)


def _list(context: CommandContext, found: Picked, fields: str | None, budget: int | None) -> None:
    """The best that fit, one a line, and how many more there are."""
    lines, objects, cut = rendered(context, found.best, fields, budget)
    left_out = found.left_out + cut
    if left_out:
        lines.append(f"... and {left_out} more fit (--limit, --budget)")
    skipped = [{"todo_id": item.todo, "why": item.why} for item in found.skipped]
    context.emit("todos", {"todos": objects, "left_out": left_out, "skipped": skipped}, lines, found.reading)
