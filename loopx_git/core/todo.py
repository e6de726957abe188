"""A todo: what there is to do, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

#: Longest title in characters; more belongs into the body.
TITLE_MAX = 1000
#: Longest single note or body in bytes of UTF-8; a whole todo file may have FILE_MAX bytes.
TEXT_MAX = 65536
FILE_MAX = 262144


class Status(StrEnum):
    """Where a todo stands. ARCHIVED is not a written status: it is a terminal todo in the archive folder."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    NEEDS_HUMAN = "needs_human"
    COMPLETED = "completed"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"
    ARCHIVED = "archived"


TERMINAL = frozenset({Status.COMPLETED, Status.SUPERSEDED, Status.CANCELLED})
#: The statuses that a person may give with `update --status`; the others have a command of their own.
SETTABLE = (Status.OPEN, Status.IN_PROGRESS, Status.BLOCKED, Status.NEEDS_HUMAN)


@dataclass(frozen=True, slots=True)
class Note:
    """One note: `time` as written (RFC 3339 UTC), the actor, and the text (may have several lines)."""

    time: str
    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class Todo:
    """One todo as stored. Ids and names are checked against `ids` when it is read or made.

    `extra` holds the raw source of unknown frontmatter keys, `body` the text above the notes; both are
    carried, never interpreted. `archived` tells the folder it lies in.
    """

    id: str
    goal: str
    title: str
    status: Status
    created_at: datetime
    created_by: str
    priority: int = 2
    alias: str | None = None
    scope: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    resume_after: datetime | None = None
    validate: tuple[str, ...] = ()
    branch: str | None = None
    attempts: int = 0
    claimed_by: str | None = None
    soft_claims: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    successor: str | None = None
    completed_at: datetime | None = None
    body: str = ""
    notes: tuple[Note, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)
    archived: bool = False

    @property
    def state(self) -> Status:
        """The status as the table sees it."""
        return Status.ARCHIVED if self.archived else self.status


def bad_line(text: str, limit: int) -> str | None:
    """Why `text` cannot be a one-line value (a title, a branch, a reason), or None when it can."""
    if not text.strip():
        return "is empty"
    if text != text.strip():
        return "begins or ends with white space"
    if len(text) > limit:
        return f"has {len(text)} characters; {limit} at most"
    return _bad_character(text, allowed="")


def bad_text(text: str) -> str | None:
    """Why `text` cannot be a note or a body, or None when it can. Line feed and tab are allowed."""
    reason = _bad_character(text, allowed="\n\t")
    if reason is None and len(text.encode("utf-8")) > TEXT_MAX:
        reason = f"has more than {TEXT_MAX} bytes"
    return reason


def _bad_character(text: str, *, allowed: str) -> str | None:
    for position, char in enumerate(text):
        code = ord(char)
        if char in allowed:
            continue
        if code < 0x20 or 0x7F <= code < 0xA0:
            return f"has the control character U+{code:04X} at position {position + 1}"
        if code in (0x2028, 0x2029) and not allowed:
            return f"has the line separator U+{code:04X} at position {position + 1}"
        if 0xD800 <= code < 0xE000:
            return f"is not valid Unicode at position {position + 1}"
        if code == 0xFEFF:
            return f"has a byte order mark at position {position + 1}"
    return None
