"""`git loopx todo list`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.cli.output import safe
from loopx_git.cli.render.listing import fields_of, rendered
from loopx_git.core.query import Skipped

#: How many reasons the line about what was left out gives; `--json` has all.
_REASONS = 3


@command("list", example="git loopx todo list --ready --limit 10")
@click.option("--goal-id", metavar="GOAL", help="Only this goal (default: all).")
@click.option("--status", multiple=True, help="Only this status, or all; repeat it.")
@click.option("--ready", is_flag=True, help="Only what could be claimed now, by the agent where one is set.")
@click.option("--mine", is_flag=True, help="Only what the agent holds, or has a soft claim of.")
@click.option("--holder", "--claimed-by", "holder", metavar="NAME", help="Only what NAME holds.")
@click.option("--label", multiple=True, help="Only with this label; repeat it for more.")
@click.option("--text", metavar="TEXT", help="Only with TEXT in title, alias, id or body; case does not matter.")
@click.option("--waiting", is_flag=True, help="Only what waits for another todo, or for a time.")
@click.option("--blocked", is_flag=True, help="Only what is blocked: the same as --status blocked.")
@click.option("--archived", is_flag=True, help="Archived todos instead.")
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@click.option("--fields", metavar="A,B", help="Only these fields, such as id,status,title.")
@click.option("--budget", type=click.IntRange(50), metavar="N", help="At most about N tokens (text: 15000).")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(
    context: CommandContext, goal_id: str | None, status: tuple[str, ...], ready: bool, mine: bool,
    holder: str | None,
    label: tuple[str, ...], text: str | None, waiting: bool, blocked: bool, archived: bool, limit: int | None,
    fields: str | None, budget: int | None, fresh: bool, offline: bool,
) -> None:  # fmt: skip
    """List todos that have not ended, by priority and age, with who holds them.

    Columns: id (shortened to the digits that distinguish it), priority, status, holder, alias, title, and what the
    todo waits for. A todo that cannot be claimed yet is shown as waiting.
    """
    if not (ready or mine):
        context.refuse(
            ACTOR, why=" without --ready or --mine",
            instead="what NAME holds: git loopx todo list --holder NAME   what NAME could claim: "
            "git loopx todo list --ready --agent NAME",
        )  # fmt: skip
    fields_of(fields, as_json=context.output.as_json)
    found = context.client.todo.list(
        goal_id=goal_id, status=status, ready=ready, mine=mine, holder=holder, label=label, text=text,
        waiting=waiting, blocked=blocked, archived=archived, limit=limit, fresh=fresh, offline=offline,
    )  # fmt: skip
    for error in found.broken:
        context.output.warn(error.message)
    lines, objects, cut = rendered(context, found.todos, fields, budget)
    left_out = found.left_out + cut
    if not found.todos:
        lines.append(safe(found.nothing) or "no todos")
    if left_out:
        lines.append(f"... and {left_out} more (--limit, --budget, --label, --text, --goal-id)")
    if found.skipped:
        lines.append(_passed_over(found.skipped, context.client.connection.settings.agent or ""))
    payload = {
        "todos": objects,
        "left_out": left_out,
        "skipped": [{"todo_id": item.todo, "why": item.why} for item in found.skipped],
        "broken": [safe(error.message) for error in found.broken],
    }
    context.emit("todos", payload, lines, found.reading)


def _passed_over(skipped: Sequence[Skipped], agent: str) -> str:
    """The line about what the agent could not claim now: how many, and the first reasons."""
    reasons = "; ".join(item.words for item in skipped[:_REASONS])
    more = f"; and {len(skipped) - _REASONS} more" if len(skipped) > _REASONS else ""
    what = "all" if skipped[0].todo == "*" else str(len(skipped))
    return safe(f"left out {what} that {agent} could not claim now: {reasons}{more}")
