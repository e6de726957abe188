"""`git loopx todo list`."""

from __future__ import annotations

from typing import Any

import click

from loopx_git.cli.face import Face, command
from loopx_git.cli.listing import BUDGET, as_lines, as_objects, fields_of
from loopx_git.cli.output import safe


@command("list", example="git loopx todo list --ready --limit 10")
@click.option("--goal-id", metavar="GOAL", help="Only this goal (default: all).")
@click.option("--status", multiple=True, help="Only this status, or all; repeat it.")
@click.option("--ready", is_flag=True, help="Only what could be claimed now.")
@click.option("--mine", is_flag=True, help="Only what the agent holds.")
@click.option("--label", multiple=True, help="Only with this label.")
@click.option("--archived", is_flag=True, help="Archived todos instead.")
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@click.option("--fields", metavar="A,B", help="Only these fields, such as id,status,title.")
@click.option("--budget", type=click.IntRange(50), metavar="N", help="At most about N tokens (text: 15000).")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(
    face: Face, goal_id: str | None, status: tuple[str, ...], ready: bool, mine: bool, label: tuple[str, ...],
    archived: bool, limit: int | None, fields: str | None, budget: int | None, fresh: bool, offline: bool,
) -> None:  # fmt: skip
    """List todos that have not ended, by priority and age, with who holds them.

    Columns: id (as many digits as tell it apart), priority, status, holder, title.
    """
    chosen = fields_of(fields, as_json=face.output.as_json)
    found = face.client.todo.list(
        goal_id=goal_id, status=status, ready=ready, mine=mine, label=label, archived=archived, limit=limit,
        fresh=fresh, offline=offline,
    )  # fmt: skip
    for error in found.broken:
        face.output.warn(error.message)
    lines: list[str] = []
    objects: list[dict[str, Any]] = []
    if face.output.as_json:
        objects, cut = as_objects(found.todos, chosen, budget)
    else:
        digits = face.client.todo.short_ids()
        now = face.client.moment().now
        lines, cut = as_lines(face.output, found.todos, chosen, now, digits, budget or BUDGET)
    left_out = found.left_out + cut
    if not found.todos:
        lines.append("no todos")
    if left_out:
        lines.append(f"... and {left_out} more (--limit, --budget, --label, --goal-id)")
    payload = {
        "todos": objects,
        "left_out": left_out,
        "broken": [safe(error.message) for error in found.broken],
    }
    face.emit("todos", payload, lines, found.reading)
