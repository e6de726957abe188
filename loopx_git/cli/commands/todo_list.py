"""`git loopx todo list`."""

from __future__ import annotations

import click

from loopx_git.cli.face import Face, command
from loopx_git.cli.output import safe
from loopx_git.cli.show import todo_line


@command("list", example="git loopx todo list --ready --limit 10")
@click.option("--goal-id", metavar="GOAL", help="Only this goal (default: all).")
@click.option("--status", multiple=True, help="Only this status, or all; repeat it.")
@click.option("--ready", is_flag=True, help="Only what could be claimed now.")
@click.option("--mine", is_flag=True, help="Only what the agent holds.")
@click.option("--label", multiple=True, help="Only with this label.")
@click.option("--archived", is_flag=True, help="Archived todos instead.")
@click.option("--limit", type=click.IntRange(1), help="At most so many.")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(
    face: Face, goal_id: str | None, status: tuple[str, ...], ready: bool, mine: bool, label: tuple[str, ...],
    archived: bool, limit: int | None, fresh: bool, offline: bool,
) -> None:  # fmt: skip
    """List todos that have not ended, by priority and age, with who holds them."""
    found = face.client.todo.list(
        goal_id=goal_id, status=status, ready=ready, mine=mine, label=label, archived=archived, limit=limit,
        fresh=fresh, offline=offline,
    )  # fmt: skip
    for error in found.broken:
        face.output.warn(error.message)
    now = face.client.moment().now
    width = min(24, max((len(view.lease.lease.holder or "-") for view in found.todos), default=1))
    lines = [todo_line(face.output, view, now, width) for view in found.todos] or ["no todos"]
    if found.left_out:
        lines.append(f"... and {found.left_out} more (--limit)")
    payload = {
        "todos": [{**(shown := view.as_json())["todo"], "lease": shown["lease"]} for view in found.todos],
        "left_out": found.left_out,
        "broken": [safe(error.message) for error in found.broken],
    }
    face.emit("todos", payload, lines, found.reading)
