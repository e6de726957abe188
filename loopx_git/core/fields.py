"""Checks of a todo's fields, one row a field: used by add, by update, and when a stored file is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from loopx_git.core import ids
from loopx_git.core.scope import check_pattern
from loopx_git.core.todo import TITLE_MAX, bad_line, bad_text

#: Most items of any list field, and most characters of one validate argument.
ITEMS_MAX = 100
ARGUMENT_MAX = 4096


def _branch(value: Any) -> str | None:
    """A branch name is shown and exported, never given to git unchecked: git's own rules in short."""
    reason = bad_line(value, 200)
    if reason:
        return reason
    bad = {"..", "@{", "//", "\\"}
    if value.startswith(("-", "/", ".")) or value.endswith(("/", ".", ".lock")) or set(" ~^:?*[") & set(value):
        return "is not a branch name"
    return "is not a branch name" if any(part in value for part in bad) else None


def _number(most: int, why: str) -> Callable[[Any], str | None]:
    return lambda value: None if isinstance(value, int) and 0 <= value <= most else why


def _id(kind: str) -> Callable[[Any], str | None]:
    why = f"is not a valid {kind}: {ids.GRAMMAR[kind][1]}"
    return lambda value: None if ids.is_valid(kind, value) else why


def _actor(value: Any) -> str | None:
    known = ids.is_valid("agent", value) or ids.EMAIL.fullmatch(value)
    return None if known else "is neither an agent's id nor an e-mail address"


def _each(check: Callable[[Any], str | None], *, unique: bool = True) -> Callable[[Any], str | None]:
    def check_all(values: Iterable[Any]) -> str | None:
        items = list(values)
        if len(items) > ITEMS_MAX:
            return f"has {len(items)} items; {ITEMS_MAX} at most"
        for item in items:
            reason = check(item)
            if reason:
                return f"has {item[:80]!r}, which {reason}"
        if unique and len(set(items)) != len(items):
            return "names something twice"
        return None

    return check_all


def _pattern(value: Any) -> str | None:
    try:
        check_pattern(value)
    except ValueError as error:
        return f"is not a scope pattern: {error}"
    return None


def _argument(value: Any) -> str | None:
    return bad_text(value) if len(value) <= ARGUMENT_MAX else f"is longer than {ARGUMENT_MAX} characters"


#: field of Todo -> why a (non-null) value is refused, or None.
CHECKS: Mapping[str, Callable[[Any], str | None]] = {
    "title": lambda value: bad_line(value, TITLE_MAX),
    "body": bad_text,
    "alias": _id("alias"),
    "priority": _number(4, "is not a priority from 0 (highest) to 4"),
    "attempts": _number(1_000_000, "is not a count"),
    "scope": _each(_pattern),
    "requires": _each(_id("capability")),
    "excluded": _each(_id("agent")),
    "depends_on": _each(_id("todo")),
    "labels": _each(_id("label")),
    "validate": _each(_argument, unique=False),
    "branch": _branch,
    "claimed_by": _id("agent"),
    "created_by": _actor,
    "soft_claims": _each(_id("agent")),
    "supersedes": _each(_id("todo")),
    "successor": _id("todo"),
    "id": _id("todo"),
    "goal": _id("goal"),
}

#: What `update` may change, besides status and notes.
EDITABLE = (
    "title", "body", "alias", "priority", "scope", "requires", "excluded", "depends_on", "labels",
    "resume_after", "validate", "branch",
)  # a list of words  # fmt: skip


def why_bad(field: str, value: Any) -> str | None:
    """Why `value` is not valid for `field`, or None. A null and a field without a row are always valid."""
    check = CHECKS.get(field)
    return None if check is None or value is None else check(value)
