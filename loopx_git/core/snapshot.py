"""What the planner may ask of the state at one commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from loopx_git.core.lease import Lease
from loopx_git.core.loop import Loop
from loopx_git.core.peer import Goal, Peer
from loopx_git.core.policy import Policy
from loopx_git.core.todo import Todo
from loopx_git.errors import InvalidState


class Snapshot(Protocol):
    """The state at one commit, read lazily. One corrupt file makes that todo unusable and no other.

    `todo`, `lease`, `peer` and `goal` raise InvalidState (naming the file) for what is stored but unreadable;
    the iterating methods leave such files out and `broken` lists them.
    """

    @property
    def policy(self) -> Policy:
        """The policy in force."""

    def goal_ids(self) -> Sequence[str]:
        """Every goal's id, sorted."""

    def goal(self, goal: str) -> Goal | None:
        """One goal, or None."""

    def peer(self, agent: str) -> Peer | None:
        """The peer with this name, compared ignoring case, or None."""

    def peers(self) -> Iterable[Peer]:
        """Every readable peer, sorted by name."""

    def loop(self, name: str) -> Loop | None:
        """The record of the loop with exactly this name, or None."""

    def loops(self) -> Iterable[Loop]:
        """Every readable loop, sorted by name."""

    def goals_of(self, todo: str) -> Sequence[str]:
        """The goals that hold a file for this full todo id (archived ones too): one, or something is wrong."""

    def todo(self, goal: str, todo: str) -> Todo:
        """The todo at a place that `goals_of` named."""

    def lease(self, goal: str, todo: str) -> Lease | None:
        """The todo's lease record, or None while it was never claimed."""

    def ids_with_prefix(self, digits: str) -> Sequence[str]:
        """Full ids whose hex digits begin so, sorted, archived ones too."""

    def ids_with_alias(self, alias: str) -> Sequence[str]:
        """Full ids of todos with this alias, ignoring case, archived ones too."""

    def todos(self, goal: str, *, archived: bool = False) -> Iterable[Todo]:
        """Every readable todo of a goal, in the order of their ids."""

    def leases(self, goal: str) -> Iterable[Lease]:
        """Every readable lease record of a goal that names a holder."""

    def broken(self, goal: str) -> Iterable[InvalidState]:
        """What is stored in a goal but cannot be read, one error a file."""
