"""The record of a loop: JSON, sorted keys, one a line, and nothing else."""

from __future__ import annotations

import json
from typing import Any

from loopx_git.core import ids
from loopx_git.core.fields import why_bad
from loopx_git.core.loop import Loop, LoopStatus
from loopx_git.core.times import format_time, parse_time
from loopx_git.core.todo import bad_line
from loopx_git.errors import InvalidState
from loopx_git.format.lease_record import COUNT_MAX, line_of, read_object

#: Longest reason in characters.
REASON_MAX = 300


def as_json(loop: Loop) -> dict[str, Any]:
    """The record's keys with plain JSON values."""
    return {
        "name": loop.name,
        "status": loop.status.value,
        "iterations": loop.iterations,
        "current_task": loop.current_task,
        "last_tick": None if loop.last_tick is None else format_time(loop.last_tick),
        "session": loop.session,
        "reason": loop.reason,
        "created_at": format_time(loop.created_at),
        "created_by": loop.created_by,
    }


#: Every record has exactly these keys.
KEYS = tuple(sorted(Loop.__dataclass_fields__))


def dump(loop: Loop) -> bytes:
    """The canonical bytes of a record."""
    return (json.dumps(as_json(loop), indent=0, sort_keys=True, ensure_ascii=True) + "\n").encode("ascii")


def load(data: bytes, loop: str, *, name: str) -> Loop:
    """The record of `loop` from the file `name`; InvalidState says which line or key is wrong."""

    def wrong(why: str, line: int) -> InvalidState:
        return InvalidState(
            f"{name}:{line}: the loop's record {why}",
            hint="that loop cannot tick until it is mended, and nothing else is affected: git loopx verify",
            about={"file": name, "line": line},
        )

    raw = read_object(data, KEYS, wrong)
    for key, value in raw.items():
        why = _why_bad(key, value, loop)
        if why is not None:
            raise wrong(f"{key} {why}", line_of(data, key))
    return Loop(
        name=loop,
        created_at=parse_time(raw["created_at"]),
        created_by=raw["created_by"],
        status=LoopStatus(raw["status"]),
        iterations=raw["iterations"],
        current_task=raw["current_task"],
        last_tick=None if raw["last_tick"] is None else parse_time(raw["last_tick"]),
        session=raw["session"],
        reason=raw["reason"],
    )


def _why_bad(key: str, value: Any, name: str) -> str | None:
    """What is wrong with one value, or None."""
    if key == "iterations":
        whole = isinstance(value, int) and not isinstance(value, bool)
        return None if whole and 0 <= value <= COUNT_MAX else f"is not a whole number from 0 to {COUNT_MAX}"
    if value is None:
        return None if key in ("current_task", "last_tick", "session", "reason") else "is missing"
    if not isinstance(value, str):
        return "is not text"
    if key == "name":
        return None if value == name else f"is not {name}, as the path says"
    if key == "status":
        return None if value in set(LoopStatus) else "is not a known status"
    if key in ("created_at", "last_tick"):
        return _why_no_time(value)
    if key == "created_by":
        return why_bad("created_by", value)
    if key == "reason":
        return bad_line(value, REASON_MAX)
    kind = "todo" if key == "current_task" else "session"
    return None if ids.is_valid(kind, value) else f"is not a valid {kind}"


def _why_no_time(value: str) -> str | None:
    try:
        parse_time(value)
    except ValueError:
        return "is not a UTC timestamp"
    return None
