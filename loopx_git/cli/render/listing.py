"""Lists of todos: columns, fields, and a budget of tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from loopx_git.cli.output import Output, relative, safe
from loopx_git.cli.render.cells import cut, pad, width
from loopx_git.cli.render.todo import status_word, waits_words
from loopx_git.client.views import TodoView
from loopx_git.core.lease import LeaseState
from loopx_git.errors import UsageError

if TYPE_CHECKING:
    from loopx_git.cli.command_context import CommandContext

#: What a list costs at most unless --budget or --limit says otherwise, in tokens.
BUDGET = 15_000
#: Longest title in a list, in cells; `show` has the whole.
TITLE_MAX = 44
DEFAULT = ("id", "priority", "status", "holder", "alias", "title")
_COLOURS = {
    "open": "32", "in_progress": "36", "waiting": "33", "blocked": "33", "needs_human": "35", "completed": "2",
}  # fmt: skip
_PIECE = re.compile(r"[A-Za-z]+|[0-9]{1,3}|[^\sA-Za-z0-9]")


def tokens(text: str) -> int:
    """The approximate number of tokens of a text: words by length, digits in threes, signs."""
    return sum(1 + (len(piece) - 1) // 7 if piece.isascii() else 2 for piece in _PIECE.findall(text)) + 1


def _holder(view: TodoView) -> str:
    holder = view.lease.lease.holder
    if view.lease.state is LeaseState.FREE:
        first, *more = (*view.todo.soft_claims, "-")
        return "-" if first == "-" else f"{first} (soft)" if len(more) == 1 else f"{first} +{len(more) - 1} (soft)"
    return f"{holder} (lapsed)" if view.lease.state is LeaseState.LAPSED else str(holder)


#: Columns of the text form: name -> (view, now, hex digits of an id) -> text.
COLUMNS: Mapping[str, Callable[[TodoView, datetime, int], str]] = {
    "id": lambda view, now, digits: view.id[5 : 5 + digits],
    "full_id": lambda view, now, digits: view.id,
    "priority": lambda view, now, digits: str(view.todo.priority),
    "status": lambda view, now, digits: status_word(view),
    "holder": lambda view, now, digits: _holder(view),
    "title": lambda view, now, digits: cut(safe(view.todo.title), TITLE_MAX),
    "alias": lambda view, now, digits: view.todo.alias or "-",
    "waits": lambda view, now, digits: waits_words(view.waits or (), now) or "-",
    "goal": lambda view, now, digits: view.todo.goal,
    "labels": lambda view, now, digits: ",".join(view.todo.labels) or "-",
    "scope": lambda view, now, digits: ",".join(view.todo.scope) or "-",
    "requires": lambda view, now, digits: ",".join(view.todo.requires) or "-",
    "depends_on": lambda view, now, digits: ",".join(view.todo.depends_on) or "-",
    "soft_claims": lambda view, now, digits: ",".join(view.todo.soft_claims) or "-",
    "attempts": lambda view, now, digits: str(view.todo.attempts),
    "epoch": lambda view, now, digits: str(view.lease.lease.epoch),
    "age": lambda view, now, digits: relative(view.todo.created_at, now),
    "left": lambda view, now, digits: "-" if view.lease.expires_at is None else relative(view.lease.expires_at, now),
}


def fields_of(given: str | None, *, as_json: bool) -> tuple[str, ...]:
    """The fields of --fields: columns of the text form, keys of the JSON form; empty when not given."""
    if given is None:
        return ()
    names = tuple(name.strip() for name in given.split(",") if name.strip())
    from loopx_git.format.files import TODO

    known = {*TODO, "lease", "body", "notes", "archived", "waits_for"} if as_json else set(COLUMNS)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise UsageError(
            f"--fields: {unknown[0]!r} is not a field" if unknown else "--fields names nothing",
            hint="--fields " + ",".join(sorted(known)),
        )
    return names


def as_lines(
    output: Output, views: Sequence[TodoView], fields: tuple[str, ...], now: datetime, digits: int, budget: int
) -> tuple[list[str], int]:
    """(the aligned lines, how many todos were cut to keep within `budget` tokens)."""
    waits = ("waits",) if any(view.waits for view in views) else ()
    names = fields or DEFAULT + waits
    rows = [[safe(COLUMNS[name](view, now, digits)) for name in names] for view in views]
    if not fields and waits:
        # Most todos wait for nothing, and the last column is a sentence rather than a value.
        rows = [[*row[:-1], row[-1].removeprefix("-")] for row in rows]
    spent, kept = 40, 0
    for row in rows:
        spent += tokens(" ".join(row))
        if spent > budget:
            break
        kept += 1
    widths = [max((width(row[column]) for row in rows[:kept]), default=0) for column in range(len(names))]
    lines = []
    for row in rows[:kept]:
        cells = [pad(cell, size) for cell, size in zip(row, widths, strict=True)]
        if "status" in names:
            place = names.index("status")
            cells[place] = output.paint(cells[place], _COLOURS.get(row[place], "0"))
        lines.append(" ".join(cells).rstrip())
    return lines, len(rows) - kept


def rendered(
    context: CommandContext, views: Sequence[TodoView], fields: str | None, budget: int | None
) -> tuple[list[str], list[dict[str, Any]], int]:
    """(the lines, the JSON objects, how many todos were cut): lines or objects, as the output asks."""
    chosen = fields_of(fields, as_json=context.output.as_json)
    if context.output.as_json:
        objects, cut = as_objects(views, chosen, budget)
        return [], objects, cut
    now, digits = context.client.clocks().now, context.client.todo.short_ids()
    lines, cut = as_lines(context.output, views, chosen, now, digits, budget or BUDGET)
    return lines, [], cut


def as_objects(
    views: Sequence[TodoView], fields: tuple[str, ...], budget: int | None
) -> tuple[list[dict[str, Any]], int]:
    """(the JSON objects, how many todos were cut). Without --budget nothing is cut."""
    objects: list[dict[str, Any]] = []
    spent = 40
    for view in views:
        shown = view.as_json()
        whole = {**shown["todo"], "lease": shown["lease"], "waits_for": shown.get("waits_for", [])}
        item = {name: whole[name] for name in fields} if fields else whole
        spent += tokens(json.dumps(item))
        if budget is not None and spent > budget:
            break
        objects.append(item)
    return objects, len(views) - len(objects)
