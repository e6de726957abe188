"""`git loopx log`."""

from __future__ import annotations

from typing import Any

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command, complete_todo
from loopx_git.cli.output import relative, safe
from loopx_git.cli.render.cells import cut
from loopx_git.core.meaning import NOTE_REASON
from loopx_git.errors import UsageError

#: Fields that change with an operation whose name, agent and time say it already.
_IMPLIED = frozenset({"claimed_by", "completed_at", "last_seen", "archived"})
#: Longest value, in cells; `--json` has the whole.
_VALUE_MAX = 60


@command("log", unused=ACTOR, instead="git loopx log --by NAME", example="git loopx log fix-login --limit 20")
@click.option("--todo-id", metavar="TODO", help="The same as the argument.")
@click.option("--by", metavar="NAME", help="Only this agent's operations.")
@click.option("--goal-id", metavar="GOAL", help="Only this goal.")
@click.option("--op", help="Only this operation, such as claim.")
@click.option("--since", metavar="TIME", help="Only from this UTC time on.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
@click.argument("todo", required=False, shell_complete=complete_todo)
def main(
    context: CommandContext, todo: str | None, todo_id: str | None, by: str | None, goal_id: str | None,
    op: str | None, since: str | None, limit: int, fresh: bool, offline: bool,
) -> None:  # fmt: skip
    """The log of operations, newest first: one line for each, and below it each field that it changed.

    TODO: only operations on this todo, by id, a prefix of 4 digits or more, or alias.
    """
    if todo is not None and todo_id is not None:
        raise UsageError("the todo is named twice", hint="git loopx log TODO")
    from loopx_git.cli.values import time_of
    from loopx_git.core.times import parse_time

    entries, reading = context.client.history.log(
        limit=limit, todo_id=todo_id if todo is None else todo, agent=by, goal_id=goal_id, op=op,
        since=time_of(since, "--since"), fresh=fresh, offline=offline,
    )  # fmt: skip
    now = context.client.clocks().now
    lines = []
    for entry in entries:
        lines.append(_line(entry, relative(parse_time(entry["time"]), now)))
        lines += [
            _change(change, entry.get("todo")) for change in entry["changes"] if change["field"] not in _IMPLIED
        ]
    context.emit("log", {"entries": entries}, lines or ["no operations"], reading)


def _change(change: dict[str, Any], todo: str | None) -> str:
    """`    priority: 2 -> 0`; of something else than the entry's todo it says of what."""
    of = "" if change["of"] == todo else f"{change['of']} "
    return f"    {safe(of + change['field'])}: {_value(change['from'])} -> {_value(change['to'])}"


def _value(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
    return cut(safe(text), _VALUE_MAX) or "-"


def _line(entry: dict[str, Any], when: str) -> str:
    what = entry.get("todo") or entry["subject"].removeprefix(f"{entry['op']} ").rpartition(" by ")[0] or "-"
    epoch = f"@{entry['epoch']}" if entry.get("todo") and entry.get("epoch") else ""
    line = f"{entry['commit'][:10]}  {when:>11}  {entry['op']:10} {what}{epoch}  {entry['agent']}"
    if entry.get("prev"):
        line += f"  (from {entry['prev']})"
    if entry.get("renew"):
        line += f"  (renews {len(entry['renew'])})"
    if entry.get("reason"):
        # A note without the claim has a reason, and is not an operation that anybody forced.
        line += f"  {entry['reason']}" if entry["reason"] == NOTE_REASON else f"  forced: {entry['reason']}"
    return safe(line)
