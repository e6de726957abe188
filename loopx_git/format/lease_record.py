"""The lease record: JSON, sorted keys, one a line, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from loopx_git.core import ids
from loopx_git.core.lease import Ended, Lease
from loopx_git.core.times import TTL_MAX, TTL_MIN, format_time, parse_time
from loopx_git.errors import InvalidState

#: Largest record in bytes that is read; ours have about 400.
SIZE_MAX = 4096
#: Every record has exactly these keys.
KEYS = tuple(sorted(Lease.__dataclass_fields__))
#: Epochs and sequence numbers stay within what every JSON reader keeps exact.
COUNT_MAX = 2**53 - 1


def dump(lease: Lease) -> bytes:
    """The canonical bytes of a record."""
    return (json.dumps(as_json(lease), indent=0, sort_keys=True, ensure_ascii=True) + "\n").encode("ascii")


def as_json(lease: Lease) -> dict[str, Any]:
    """The record's keys with plain JSON values."""
    return {
        "todo": lease.todo,
        "epoch": lease.epoch,
        "holder": lease.holder,
        "session": lease.session,
        "seq": lease.seq,
        "ttl_s": lease.ttl_s,
        "acquired_at": None if lease.acquired_at is None else format_time(lease.acquired_at),
        "renewed_at": None if lease.renewed_at is None else format_time(lease.renewed_at),
        "last_request": lease.last_request,
        "ended": None if lease.ended is None else lease.ended.value,
    }


def load(data: bytes, todo: str, *, name: str) -> Lease:
    """The record of `todo` from the file `name`; InvalidState says which line or key is wrong."""

    def wrong(why: str, line: int) -> InvalidState:
        return InvalidState(
            f"{name}:{line}: the lease record {why}",
            hint="this todo cannot be used until the record is mended: git loopx verify",
            about={"file": name, "line": line, "todo_id": todo},
        )

    raw = read_object(data, KEYS, wrong)

    def bad(key: str, why: str) -> InvalidState:
        return wrong(f"{key} {why}", line_of(data, key))

    def optional(key: str, kind: str) -> str | None:
        value = raw[key]
        if value is None:
            return None
        if not isinstance(value, str) or not ids.is_valid(kind, value):
            raise bad(key, f"is not a valid {kind}")
        return value

    def count(key: str, low: int, high: int) -> int:
        value = raw[key]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise bad(key, f"is not a whole number from {low} to {high}")
        return value

    def time(key: str) -> Any:
        if raw[key] is None:
            return None
        try:
            return parse_time(raw[key])
        except (ValueError, TypeError):
            raise bad(key, "is not a UTC timestamp") from None

    if raw["todo"] != todo:
        raise bad("todo", f"is not {todo}")
    if raw["ended"] is not None and raw["ended"] not in {how.value for how in Ended}:
        raise bad("ended", "is not a known ending")
    lease = Lease(
        todo=todo,
        epoch=count("epoch", 1, COUNT_MAX),
        holder=optional("holder", "agent"),
        session=optional("session", "session"),
        seq=count("seq", 0, COUNT_MAX),
        ttl_s=None if raw["ttl_s"] is None else count("ttl_s", TTL_MIN, TTL_MAX),
        acquired_at=time("acquired_at"),
        renewed_at=time("renewed_at"),
        last_request=optional("last_request", "request"),
        ended=None if raw["ended"] is None else Ended(raw["ended"]),
    )
    if lease.holder is not None and (lease.acquired_at is None or lease.renewed_at is None):
        raise bad("renewed_at", "is missing while there is a holder")
    if lease.holder is None and (lease.session is not None or lease.ttl_s is not None):
        raise bad("session", "or ttl_s is set while there is no holder")
    if lease.holder is not None and lease.ended is not None:
        raise bad("ended", "is set while there is a holder")
    return lease


def read_object(data: bytes, keys: Sequence[str], wrong: Callable[[str, int], InvalidState]) -> dict[str, Any]:
    """The JSON object of a record, which has exactly these keys; `wrong` makes the error of (why, line)."""
    if len(data) > SIZE_MAX:
        raise wrong(f"is larger than {SIZE_MAX} bytes", 1)
    try:
        raw = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise wrong(f"is not a JSON object: {error}", getattr(error, "lineno", 1)) from None
    if not isinstance(raw, dict) or sorted(raw) != list(keys):
        raise wrong("must have exactly the keys " + ", ".join(keys), 1)
    return raw


def line_of(data: bytes, key: str) -> int:
    """The line of a record on which a key stands."""
    return next((n for n, text in enumerate(data.split(b"\n"), 1) if f'"{key}"'.encode() in text), 1)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError("a key is there twice")
    return dict(pairs)


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number")
