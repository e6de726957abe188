"""`git loopx log`."""

from __future__ import annotations

from typing import Any

import click

from loopx_git.cli.face import Face, command
from loopx_git.cli.output import relative, safe


@command("log", example="git loopx log --todo-id fix-login --limit 20")
@click.option("--todo-id", metavar="TODO", help="Only this todo.")
@click.option("--by", metavar="NAME", help="Only this agent's operations.")
@click.option("--goal-id", metavar="GOAL", help="Only this goal.")
@click.option("--op", help="Only this operation, such as claim.")
@click.option("--since", metavar="TIME", help="Only from this UTC time on.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(
    face: Face, todo_id: str | None, by: str | None, goal_id: str | None, op: str | None, since: str | None,
    limit: int, fresh: bool, offline: bool,
) -> None:  # fmt: skip
    """The audit trail, newest first: one line an operation."""
    from loopx_git.cli.values import time_of
    from loopx_git.core.times import parse_time

    entries, reading = face.client.history.log(
        limit=limit, todo_id=todo_id, agent=by, goal_id=goal_id, op=op, since=time_of(since, "--since"),
        fresh=fresh, offline=offline,
    )  # fmt: skip
    now = face.client.moment().now
    lines = [_line(entry, relative(parse_time(entry["time"]), now)) for entry in entries]
    face.emit("log", {"entries": entries}, lines or ["no operations"], reading)


def _line(entry: dict[str, Any], when: str) -> str:
    what = entry.get("todo") or entry["subject"].removeprefix(f"{entry['op']} ").rpartition(" by ")[0] or "-"
    epoch = f"@{entry['epoch']}" if entry.get("todo") and entry.get("epoch") else ""
    line = f"{entry['commit'][:10]}  {when:>11}  {entry['op']:10} {what}{epoch}  {entry['agent']}"
    if entry.get("prev"):
        line += f"  (from {entry['prev']})"
    if entry.get("renew"):
        line += f"  (renews {len(entry['renew'])})"
    if entry.get("reason"):
        line += f"  forced: {entry['reason']}"
    return safe(line)
