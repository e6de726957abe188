"""The two seams of I/O as Protocols in plain types: objects, and publishing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from loopx_git.format.tree import Tree


@dataclass(frozen=True, slots=True)
class Signature:
    """A person as a commit names one."""

    name: str
    email: str


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit as read: ids are 40 hex digits, `time` is the author's, UTC."""

    oid: str
    parents: tuple[str, ...]
    message: str
    author: Signature
    committer: Signature
    time: datetime


@dataclass(frozen=True, slots=True)
class Draft:
    """What a new commit is made of. `files` maps path -> bytes (None removes); `time` is UTC. `onto` is the commit
    whose tree `files` changes, where that is not the parent."""

    files: Mapping[str, bytes | None]
    message: str
    author: Signature
    committer: Signature
    time: datetime
    onto: str | None = None


class Objects(Protocol):
    """Commits and their trees. Ids that are asked for must exist, else InvalidState."""

    def tree(self, commit: str) -> Tree:
        """The files of a commit."""

    def commit(self, oid: str) -> Commit:
        """One commit."""

    def signature(self, oid: str) -> tuple[bytes, bytes] | None:
        """(signature, what was signed) of a commit, or None where it has none."""

    def build(self, parent: str | None, draft: Draft) -> str:
        """Write a commit on `parent` (None: a root) and return its id. No ref moves."""

    def changed(self, parent: str | None, oid: str) -> Sequence[str]:
        """The paths that differ between two commits' trees (None: the empty tree)."""

    def is_ancestor(self, old: str, new: str) -> bool:
        """True when `old` is `new` or lies in its history; False also for an id that is not here."""

    def between(self, old: str | None, new: str, limit: int) -> Sequence[str]:
        """The ids after `old` (None: from the root) up to `new`, oldest first; the newest `limit` of them."""


class PushKind(StrEnum):
    """What a push came to, read from the porcelain flag and the exit status, never from prose."""

    LANDED = "landed"
    LOST = "lost"
    REJECTED = "rejected"  # lost, or a fault of the server: the tip tells
    DECLINED = "declined"  # a policy said no
    BROKEN = "broken"  # our object store lacks something
    THROTTLED = "throttled"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Pushed:
    """One push: what it came to, whether the other side answered at all, and what it said."""

    kind: PushKind
    connected: bool = True
    said: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    """One look at the remote ref: its tip (None: the ref is absent); `error` when it could not be read."""

    tip: str | None = None
    error: str | None = None


#: Told how many of how many commits are checked, for a progress line.
Progress = Callable[[int, int], None]


class Publisher(Protocol):
    """Where coordination is published: the only place that moves the coordination ref."""

    def known_tip(self) -> str | None:
        """The last tip that was checked here; None before the first."""

    def fetch(self, timeout: float) -> Fetched:
        """Look at the ref and bring its objects here. Does not change `known_tip`. `timeout` in seconds."""

    def accept(self, tip: str) -> None:
        """Remember `tip` as the last one checked."""

    def push(self, parent: str | None, oid: str, timeout: float) -> Pushed:
        """Move the ref from `parent` (None: it must be absent) to `oid`, or do nothing: compare-and-swap."""

    def anchor(self, request: str, oid: str) -> None:
        """Keep `oid` reachable until `release`d, so that no gc takes a commit whose fate is open."""

    def release(self, request: str) -> None:
        """Drop the anchor of a request, if there is one."""

    def tidy(self) -> None:
        """Pack what has piled up, if it is much."""
