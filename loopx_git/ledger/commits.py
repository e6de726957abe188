"""Commits as the ledger reads them, and the Protocol of their store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from loopx_git.errors import InvalidState
from loopx_git.ledger.tree import Tree

#: Told how many of how many commits are checked, for a progress line.
Progress = Callable[[int, int], None]


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
    """The content of a new commit.

    `files` maps a path to its bytes (None removes it). `time` is UTC. `onto` is the commit whose tree `files`
    changes, if that is not the parent.
    """

    files: Mapping[str, bytes | None]
    message: str
    author: Signature
    committer: Signature
    time: datetime
    onto: str | None = None


class Unreadable(InvalidState):
    """An object that must be here is damaged or missing. That is a fault of this clone's disk and says nothing about
    whether history is legal: nobody may take it for a finding."""


class Objects(Protocol):
    """Commits and their trees. Every method raises InvalidState for an id that does not exist."""

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

    def merge_base(self, one: str, two: str) -> str | None:
        """The newest commit that both have in their history, or None."""

    def is_ancestor(self, old: str, new: str) -> bool:
        """True when `old` is `new` or lies in its history; False also for an id that is not here."""

    def between(self, old: str | None, new: str, limit: int) -> Sequence[str]:
        """The ids after `old` (None: from the root) up to `new`, oldest first; the newest `limit` of them."""


def newest_first(objects: Objects, tip: str) -> Iterator[Commit]:
    """The commits from `tip` back to the root, or to the edge of a shallow history. InvalidState when the tip itself
    cannot be read."""
    current: str | None = tip
    while current is not None:
        try:
            commit = objects.commit(current)
        except InvalidState:
            if current == tip:
                raise
            return
        yield commit
        current = commit.parents[0] if commit.parents else None
