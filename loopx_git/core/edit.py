"""A todo with some of its fields changed, or a note appended; every value checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from loopx_git.core.change import Actor
from loopx_git.core.fields import EDITABLE
from loopx_git.core.lease import Clocks
from loopx_git.core.plan_setup import check_alias, check_field, resolved_dependencies
from loopx_git.core.snapshot import Snapshot
from loopx_git.core.times import format_time
from loopx_git.core.todo import Note, Todo, bad_text
from loopx_git.errors import UsageError

#: Fields that may be null. The other fields that are not text are lists, and an empty one is an empty list.
EMPTYABLE = frozenset({"alias", "resume_after", "branch"})


def edited(snapshot: Snapshot, todo: Todo, fields: Mapping[str, Any]) -> Todo:
    """The todo with new values: `fields` maps an attribute of Todo to its value.

    Raises UsageError, naming the field.
    """
    changes = dict(fields)
    for name in changes:
        if name not in EDITABLE:
            raise UsageError(f"{name!r} cannot be edited", hint="editable: " + ", ".join(EDITABLE))
        if changes[name] is None and name not in EMPTYABLE:
            raise UsageError(f"{name} cannot be empty", hint=f"give {name} a value, or leave it as it is")
    if "depends_on" in changes:
        changes["depends_on"] = resolved_dependencies(snapshot, todo.id, tuple(changes["depends_on"]))
    for name, value in changes.items():
        check_field(name, value)
    if changes.get("alias") is not None:
        check_alias(snapshot, changes["alias"], todo.id)
    return replace(todo, **changes)


def with_note(todo: Todo, text: str, actor: Actor, clocks: Clocks) -> Todo:
    """The todo with a note at the end."""
    reason = bad_text(text) if text.strip() else "is empty"
    if reason:
        raise UsageError(f"the note {reason}", hint="--note TEXT, or --note-file FILE")
    return replace(todo, notes=(*todo.notes, Note(format_time(clocks.now), actor.name, text)))
