"""A goal's state as markdown for people, with every claim. A title cannot become markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from loopx_git.cli.output import safe
from loopx_git.cli.render.todo import lease_words, status_word, wait_words
from loopx_git.client.views import LeaseView, TodoView
from loopx_git.core.lease import LeaseState
from loopx_git.core.peer import Goal

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~@&:/=])")


def escaped(text: str) -> str:
    """The text without markup, links or mentions.

    A zero-width joiner after `@` and `#` keeps forges from linking what they find in plain text.
    """
    spelt = _SPECIAL.sub(r"\\\1", safe(text))
    return re.sub(r"\\([@#])", "\\\\\\1\u2060", spelt)


def goal_page(goal: Goal, todos: Sequence[TodoView], now: datetime) -> list[str]:
    """The goal's heading, its counts, and a table with one row for each todo and its holder."""
    lines = [f"# {escaped(goal.title)}", "", f"Goal `{goal.id}`, {goal.status.value}, {len(todos)} todos.", ""]
    held = [view for view in todos if view.lease.state is not LeaseState.FREE]
    lines += [f"## Claims ({len(held)})", ""]
    if held:
        lines += ["| todo | title | holder | epoch | since | state |", "|---|---|---|---|---|---|"]
        lines += [_claim_row(view, now) for view in held]
    else:
        lines.append("No todo is held.")
    soft = [view.todo for view in todos if view.todo.soft_claims]
    if soft:
        lines += ["", f"## Soft claims ({len(soft)})", "", "| todo | title | agents |", "|---|---|---|"]
        lines += [
            f"| `{todo.id}` | {escaped(todo.title)} | {escaped(', '.join(todo.soft_claims))} |" for todo in soft
        ]
    lines += ["", "## Todos", "", "| todo | priority | status | title | waits for |", "|---|---|---|---|---|"]
    for view in todos:
        todo = view.todo
        waits = ", ".join(wait_words(wait, now).removeprefix("waits for ") for wait in view.waits or ()) or "-"
        lines.append(
            f"| `{todo.id}` | {todo.priority} | {status_word(view)} | {escaped(todo.title)} | {escaped(waits)} |"
        )
    return lines


def _claim_row(view: TodoView, now: datetime) -> str:
    lease: LeaseView = view.lease
    since = lease.lease.acquired_at
    shown = "-" if since is None else since.strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"| `{view.id}` | {escaped(view.todo.title)} | {escaped(lease.lease.holder or '-')} | {lease.lease.epoch} "
        f"| {shown} | {escaped(lease_words(lease, now))} |"
    )
