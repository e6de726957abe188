"""Todo, peer and goal files: frontmatter documents, typed field by field from one row each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from loopx_git.core import ids
from loopx_git.core.fields import why_bad
from loopx_git.core.peer import ClaimMode, Goal, GoalStatus, Peer, PeerKind, PeerStatus
from loopx_git.core.times import format_time, parse_time
from loopx_git.core.todo import TERMINAL, TITLE_MAX, Status, Todo, bad_line
from loopx_git.errors import InvalidState, UsageError
from loopx_git.format import document, notes
from loopx_git.format.document import FieldKind, Value


@dataclass(frozen=True, slots=True)
class Field:
    """One frontmatter key: its shape, and text -> value (ValueError says why not) -> text."""

    kind: FieldKind
    parse: Callable[[Any], Any] = lambda value: value
    show: Callable[[Any], Value] = lambda value: value
    required: bool = False
    default: Any = None


def _digits(value: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", value, re.ASCII):
        raise ValueError("is not a whole number")
    return int(value)


def _time(value: str) -> datetime:
    try:
        return parse_time(value)
    except ValueError:
        raise ValueError('is not a UTC timestamp such as "2026-01-02T03:04:05Z"') from None


def _one_of(enum: Callable[[str], Any], *refused: str) -> Callable[[str], Any]:
    def parse(value: str) -> Any:
        if value in refused:
            raise ValueError("is not a value that is written")
        return enum(value)

    return parse


def _name(kind: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if not ids.is_valid(kind, value):
            raise ValueError(f"is not a valid {kind}")
        return value

    return parse


def _line(value: str) -> str:
    reason = bad_line(value, TITLE_MAX)
    if reason:
        raise ValueError(reason)
    return value


def _names(value: tuple[str, ...]) -> tuple[str, ...]:
    for item in value:
        _name("capability")(item)
    return value


_TEXT, _LIST, _NUMBER = FieldKind.TEXT, FieldKind.LIST, FieldKind.NUMBER
_TIME = Field(_TEXT, _time, format_time)
_LISTED = Field(_LIST, default=())
_NEEDED = Field(_TEXT, required=True)
_CREATED = Field(_TEXT, _time, format_time, required=True)

TODO: Mapping[str, Field] = {
    "id": _NEEDED,
    "goal": _NEEDED,
    "alias": Field(_TEXT),
    "title": _NEEDED,
    "status": Field(_TEXT, _one_of(Status, "archived"), str, required=True),
    "priority": Field(_NUMBER, _digits, str, default=2),
    "created_at": _CREATED,
    "created_by": _NEEDED,
    "scope": _LISTED,
    "requires": _LISTED,
    "excluded": _LISTED,
    "depends_on": _LISTED,
    "labels": _LISTED,
    "resume_after": _TIME,
    "validate": _LISTED,
    "branch": Field(_TEXT),
    "attempts": Field(_NUMBER, _digits, str, default=0),
    "claimed_by": Field(_TEXT),
    "soft_claims": _LISTED,
    "supersedes": _LISTED,
    "successor": Field(_TEXT),
    "completed_at": _TIME,
}
PEER: Mapping[str, Field] = {
    "agent": Field(_TEXT, _name("agent"), required=True),
    "kind": Field(_TEXT, _one_of(PeerKind), str, default=PeerKind.AGENT),
    "status": Field(_TEXT, _one_of(PeerStatus), str, default=PeerStatus.ACTIVE),
    "capabilities": Field(_LIST, _names, default=()),
    "created_at": _CREATED,
    "created_by": _NEEDED,
    "last_seen": _TIME,
}
GOAL: Mapping[str, Field] = {
    "id": Field(_TEXT, _name("goal"), required=True),
    "title": Field(_TEXT, _line, required=True),
    "status": Field(_TEXT, _one_of(GoalStatus), str, default=GoalStatus.OPEN),
    "claims": Field(_TEXT, _one_of(ClaimMode), str),
    "created_at": _CREATED,
    "created_by": _NEEDED,
}


_TABLES: Mapping[type, Mapping[str, Field]] = {Peer: PEER, Goal: GOAL}
_SCHEMAS = {id(table): {key: field.kind for key, field in table.items()} for table in (TODO, PEER, GOAL)}


def load_todo(data: bytes, goal: str, todo: str, *, archived: bool, name: str) -> Todo:
    """The todo from the file `name`, which the path says is `todo` of `goal`; InvalidState names the line."""
    values, loaded = _load(data, TODO, name)
    if values["id"] != todo or values["goal"] != goal:
        key = "id" if values["id"] != todo else "goal"
        raise bad_key(data, name, key, f"does not agree with the path ({todo} of {goal})")
    if archived and values["status"] not in TERMINAL:
        raise bad_key(data, name, "status", "is not terminal, yet the todo lies in the archive")
    above, found = notes.parse_notes(loaded.body)
    return Todo(**values, body=above.strip("\r\n"), notes=found, extra=loaded.extra, archived=archived)


def load_peer(data: bytes, agent: str, *, name: str) -> Peer:
    """The peer from the file `name`; its name must be the path's."""
    values, loaded = _load(data, PEER, name)
    if values["agent"] != agent:
        raise bad_key(data, name, "agent", f"does not agree with the path ({agent})")
    return Peer(**values, body=loaded.body, extra=loaded.extra)


def load_goal(data: bytes, goal: str, *, name: str) -> Goal:
    """The goal from the file `name`; its id must be the path's."""
    values, loaded = _load(data, GOAL, name)
    if values["id"] != goal:
        raise bad_key(data, name, "id", f"does not agree with the path ({goal})")
    return Goal(**values, body=loaded.body, extra=loaded.extra)


def _load(data: bytes, table: Mapping[str, Field], name: str) -> tuple[dict[str, Any], document.Document]:
    loaded = document.load(data, _SCHEMAS[id(table)], name=name)
    values: dict[str, Any] = {}
    for key, field in table.items():
        raw = loaded.fields.get(key)
        if raw is None or (raw == "" and field.kind is not FieldKind.LIST):
            if field.required:
                raise bad_key(data, name, key, "is missing")
            values[key] = field.default
            continue
        try:
            value = field.parse(raw)
        except ValueError as error:
            why = f"has {raw!r}: {error}" if field.kind is FieldKind.LIST else f"{str(raw)[:60]!r}: {error}"
            raise bad_key(data, name, key, why) from None
        reason = why_bad(key, value) if table is TODO or key == "created_by" else None
        if reason:
            raise bad_key(data, name, key, reason)
        values[key] = value
    return values, loaded


def bad_key(data: bytes, name: str, key: str, why: str) -> InvalidState:
    """The error for one key of a stored file, with the line on which it stands."""
    pattern = re.compile(rb"^[ \t]*[\"']?" + re.escape(key.encode()) + rb"[\"']?[ \t]*:")
    line = next((n for n, text in enumerate(data.split(b"\n"), 1) if pattern.match(text)), 1)
    return InvalidState(
        f"{name}:{line}: {key} {why}",
        hint="mend the file; until then nobody can use it and nothing else is affected: git loopx verify",
        about={"file": name, "line": line, "field": key},
    )


def _values(table: Mapping[str, Field], item: Todo | Peer | Goal) -> dict[str, Value]:
    shown: dict[str, Value] = {}
    for key, field in table.items():
        value = getattr(item, key)
        shown[key] = None if value is None else field.show(value)
    return shown


def dump_todo(todo: Todo) -> bytes:
    """The canonical bytes of a new todo file; UsageError when it would be larger than FILE_MAX, or when the body
    would be read as notes."""
    _refuse_notes(todo.body)
    body = f"\n{todo.body}\n" if todo.body else ""
    try:
        return document.dump(_values(TODO, todo), body, _SCHEMAS[id(TODO)])
    except ValueError as error:
        raise UsageError(f"the todo cannot be stored: {error}", hint="shorten it") from None


def _refuse_notes(body: str) -> None:
    if notes.parse_notes(body) != (body, ()):
        raise UsageError(
            "the body ends in a section '## Notes', which would be read as notes",
            hint="give that heading another name; a note is added by: git loopx todo update TODO --note TEXT",
            about={"field": "body"},
        )


def dump(item: Peer | Goal) -> bytes:
    """The canonical bytes of a new file of a peer or goal."""
    table = _TABLES[type(item)]
    return document.dump(_values(table, item), item.body, _SCHEMAS[id(table)])


def edit(data: bytes, before: Peer | Goal, after: Peer | Goal, *, name: str) -> bytes:
    """The file of a peer or goal with the lines of the changed keys rewritten; all else keeps its bytes.

    Raises InvalidState when the file cannot be edited like that.
    """
    table = _TABLES[type(after)]
    return document.edit(data, _changes(table, before, after), _SCHEMAS[id(table)], name=name)


def edit_todo(data: bytes, before: Todo, after: Todo, *, name: str) -> bytes:
    """The file with the lines of the changed keys rewritten and new notes appended; all else keeps its bytes.

    InvalidState when the file cannot be edited so, or would grow past FILE_MAX bytes; UsageError when a new body
    would be read as notes.
    """
    if after.notes[: len(before.notes)] != before.notes:
        raise AssertionError("notes are appended, never changed")
    schema = _SCHEMAS[id(TODO)]
    loaded = document.load(data, schema, name=name)
    old, newline = loaded.body, loaded.newline
    body: str | None = None
    if after.body != before.body:
        _refuse_notes(after.body)
        above, _ = notes.parse_notes(old)
        text = after.body.replace("\n", newline)
        section = old[len(above) :]
        body = (f"{newline}{text}{newline}" if text else "") + (newline + section if section else "")
    appended, whole = "", old if body is None else body
    for note in after.notes[len(before.notes) :]:
        appended += notes.note_text(whole + appended, note, newline=newline)
    return document.edit(data, _changes(TODO, before, after), schema, name=name, body=body, append=appended)


def _changes(table: Mapping[str, Field], before: Any, after: Any) -> dict[str, Value]:
    old, new = _values(table, before), _values(table, after)
    return {key: new[key] for key in table if old[key] != new[key]}
