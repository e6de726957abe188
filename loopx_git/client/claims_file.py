"""The live claims at the known tip as one small JSON file, for readers that have only milliseconds.

`<git common dir>/loopx/claims.json` is written when the guard is first used in a clone, and then whenever the known
tip moves. It is a copy: it counts only while its tip is the known one, and a reader that finds it out of date reads
the ledger. Reading it needs neither git nor pygit2, and this module imports nothing heavy: an agent's hook runs at
every edit.
"""

from __future__ import annotations

import os

from loopx_git.store.state_file import load, read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from loopx_git.core.lease import Clocks
    from loopx_git.ledger.snapshot import TreeSnapshot

NAME = "claims.json"
VERSION = 1
HEAD = '{"tip": "'


def read(home: str) -> dict[str, Any] | None:
    """What the file says, or None when there is no usable one. `home` is <git common dir>/loopx."""
    found = load(os.path.join(home, NAME))
    return found if found is not None and found.get("version") == VERSION else None


def tip(home: str) -> str | None:
    """The remote's checked tip that the file describes; None when there is no such file."""
    from loopx_git.core import ids

    claims = read(home) or {}
    found = None if claims.get("here") else claims.get("tip")
    return found if isinstance(found, str) and ids.OID.fullmatch(found) else None


def place(folder: str) -> list[str | int]:
    """What tells a folder from its copy."""
    status = os.stat(folder)
    return [os.path.realpath(folder), status.st_dev, status.st_ino]


def session_at(path: str, place_of: str) -> str | None:
    """The session that `client.identity` stores at `path`, if it was made for this folder.

    The session of a copied clone belongs to the other clone.
    """
    known = load(path)
    if known is None or known.get("place") != place(place_of) or not isinstance(known.get("session"), str):
        return None
    return str(known["session"])


def known_tip(common_dir: str, ref: str, *, here: bool) -> str | None:
    """The tip that this clone knows, read from ref files alone.

    `here`: coordination is in the repository itself, and the tip is that of the branch.
    """
    if here:
        return _ref(common_dir, ref)
    return _ref(os.path.join(common_dir, "loopx", "coord.git"), "refs/loopx/tip")


def _ref(git_dir: str, name: str) -> str | None:
    loose = read_plain(os.path.join(git_dir, *name.split("/")))
    if loose is not None:
        return loose.strip()
    for line in (read_plain(os.path.join(git_dir, "packed-refs")) or "").splitlines():
        oid, _, packed = line.partition(" ")
        if packed == name:
            return oid
    return None


def claims_at(snapshot: TreeSnapshot, clocks: Clocks) -> tuple[list[dict[str, Any]], list[str]]:
    """Every claim that names a holder, as plain values, and a sentence for each that cannot be read.

    Times are seconds since 1970. `lapses_at` is when others may take the claim over (null: never by a clock),
    `late_at` when its holder must stop by the wall clock. `tests` has (folder, expression, pattern) of its scope
    and is null for a claim without one; the expression is null where only the pattern itself decides.
    """
    from loopx_git.core.claim import abandoned_at
    from loopx_git.core.lease import Lease, lapses_at, late_at
    from loopx_git.errors import InvalidState

    claims: list[dict[str, Any]] = []
    unreadable: list[str] = []
    abandoned: dict[str, datetime | None] = {}
    for goal in snapshot.goal_ids():
        for record in snapshot.records(goal):
            if isinstance(record, InvalidState):
                unreadable.append(record.message)
            if not isinstance(record, Lease) or record.holder is None:
                continue
            try:
                todo = snapshot.todo(goal, record.todo)
            except InvalidState as error:
                # Only this todo is unusable: its claim covers nothing, and a sentence says so.
                unreadable.append(error.message)
                continue
            lapses = lapses_at(record, clocks, snapshot.policy.claims_skew)
            if record.ttl_s is None:
                if record.holder not in abandoned:
                    abandoned[record.holder] = abandoned_at(record.holder, snapshot, clocks)
                lapses = abandoned[record.holder]
            claims.append(
                {
                    "todo": record.todo,
                    "title": todo.title,
                    "epoch": record.epoch,
                    "holder": record.holder,
                    "session": record.session,
                    "ttl_s": record.ttl_s,
                    "lapses_at": _seconds(lapses),
                    "late_at": _seconds(late_at(record)),
                    "tests": tests_of(todo.scope) if todo.scope else None,
                }
            )
    return claims, unreadable


def _seconds(when: datetime | None) -> float | None:
    return None if when is None else when.timestamp()


def tests_of(patterns: tuple[str, ...]) -> list[list[str | None]]:
    """(folder, expression or null, pattern) of each pattern of a scope."""
    from loopx_git.core import scope

    return [[scope.folder(pattern), scope.expression(pattern), pattern] for pattern in patterns]
