"""Pending records: what a command was about to publish, so that a killed command is neither lost nor repeated.

A record is written before the first push of its request, and removed when the caller has its answer. A record that
stays belongs to a command that died, or that ended without knowing the outcome.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from loopx_git.core import ids
from loopx_git.core.change import Facts
from loopx_git.ledger.commits import Objects
from loopx_git.store.state_file import parsed, save

#: How long a landed record answers the identical command, in seconds.
ANSWERS_FOR = 3600.0
_SIZE_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Built:
    """One commit (chain) built for a request: its last id, its parent, and the facts that answer the caller if it
    landed.
    """

    oid: str
    parent: str | None
    facts: Sequence[Facts] = ()


@dataclass(frozen=True, slots=True)
class Pending:
    """The record of one request.

    `fingerprint` is equal for identical commands (same words, agent, session). `created` is in seconds of the wall
    clock. `landed` is the id that was found in history.
    """

    request: str
    fingerprint: str
    agent: str
    command: str
    created: float
    pid: int
    built: tuple[Built, ...] = ()
    landed: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def facts(self, oid: str) -> Sequence[Facts]:
        """The facts of one of the built commits."""
        return next(item.facts for item in self.built if item.oid == oid)

    def built_in(self, objects: Objects, tip: str | None) -> str | None:
        """Which of the built commits lies in the history of `tip`, or None."""
        return next((item.oid for item in self.built if tip is not None and objects.is_ancestor(item.oid, tip)), None)


class PendingFolder:
    """The records under <git common dir>/loopx/pending, one JSON file a request."""

    def __init__(self, home: str) -> None:
        self.folder = os.path.join(home, "pending")

    def _path(self, request: str) -> str:
        return os.path.join(self.folder, f"{ids.check('request', request, stored=True)}.json")

    def write(self, record: Pending) -> None:
        """Write a record, or replace it."""
        save(self._path(record.request), asdict(record), indent=1, sort_keys=True)

    def remove(self, request: str) -> None:
        """Remove a record; nothing happens when there is none."""
        try:
            os.unlink(self._path(request))
        except FileNotFoundError:
            return

    def tidy(self) -> None:
        """Remove the temporary files of killed commands.

        Call it under the lock only, when no record is being written.
        """
        try:
            left = [name for name in os.listdir(self.folder) if name.endswith(".tmp")]
        except FileNotFoundError:
            return
        for name in left:
            os.unlink(os.path.join(self.folder, name))

    def all(self) -> list[Pending]:
        """Every record, oldest first. One that cannot be read is an error that names its file."""
        try:
            names = sorted(name for name in os.listdir(self.folder) if name.endswith(".json"))
        except FileNotFoundError:
            return []
        paths = (os.path.join(self.folder, name) for name in names)
        found = (parsed(path, _SIZE_MAX, partial(_record, path), "the pending record ") for path in paths)
        return sorted(filter(None, found), key=lambda record: record.created)


def _record(path: str, raw: Any) -> Pending:
    built = tuple(Built(**item) for item in raw.pop("built"))
    record = Pending(built=built, **raw)
    ids.check("request", record.request, stored=True)
    if os.path.basename(path) != f"{record.request}.json" or not isinstance(record.created, (int, float)):
        raise ValueError("its request or its time is not what it should be")
    if not all(ids.OID.fullmatch(item.oid) for item in built):
        raise ValueError("an object id is malformed")
    return record


def with_built(record: Pending, built: Built) -> Pending:
    """The record with one more commit. All commits built for the request stay in it."""
    return replace(record, built=(*record.built, built))
