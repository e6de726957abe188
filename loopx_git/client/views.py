"""What callers get: plain values for `--json`, and small objects for Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from loopx_git.core.change import Facts
from loopx_git.core.lease import Clocks, Ended, Lease, LeaseState, expires_at, state
from loopx_git.core.peer import Goal, Peer
from loopx_git.core.query import WaitsFor
from loopx_git.core.times import format_time
from loopx_git.core.todo import Status, Todo

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class News:
    """One operation of another agent on a todo: who, when, the added `note`, and what was `changed`.

    `changed` maps a field to its new value. `reason` is the operator's.
    """

    todo: str
    agent: str
    time: datetime
    commit: str
    note: str | None = None
    changed: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command line."""
        return {
            "todo_id": self.todo,
            "agent": self.agent,
            "time": format_time(self.time),
            "commit": self.commit,
            "note": self.note,
            "changed": {name: plain(value) for name, value in self.changed.items()},
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class LeaseView:
    """A lease record and its state by the wall clock.

    `state` is free, held or lapsed; `id` is todo@epoch. After a renewal, `news` has what others did to the todo since
    the holder's session last wrote about it.
    """

    lease: Lease
    state: LeaseState
    expires_at: datetime | None
    news: Sequence[News] = ()

    @property
    def id(self) -> str:
        """The id of the lease: todo@epoch."""
        return self.lease.id

    @property
    def todo_id(self) -> str:
        """The id of the todo that the lease is of."""
        return self.lease.todo

    @property
    def holder(self) -> str | None:
        """The agent that holds it, or None."""
        return self.lease.holder

    @property
    def epoch(self) -> int:
        """The fencing token: it rises with every new claim."""
        return self.lease.epoch

    @property
    def session(self) -> str | None:
        """The holder's session; None until the receiver of a transfer has written."""
        return self.lease.session

    @property
    def seq(self) -> int:
        """How often this claim was renewed."""
        return self.lease.seq

    @property
    def ttl(self) -> int | None:
        """The time bound in seconds, or None."""
        return self.lease.ttl_s

    @property
    def acquired_at(self) -> datetime | None:
        """When the holder acquired it (UTC), or None."""
        return self.lease.acquired_at

    @property
    def renewed_at(self) -> datetime | None:
        """When the holder last renewed it (UTC), or None."""
        return self.lease.renewed_at

    @property
    def ended(self) -> Ended | None:
        """How the last claim ended, or None."""
        return self.lease.ended

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command line: the record, id, expires_at and state."""
        from loopx_git.format.lease_record import as_json  # only --json

        return {
            **as_json(self.lease),
            "id": self.lease.id,
            "expires_at": plain(self.expires_at),
            "state": self.state.value,
        }

    def news_json(self) -> list[dict[str, Any]]:
        """The news as plain values."""
        return [item.as_json() for item in self.news]


@dataclass(frozen=True, slots=True)
class TodoView:
    """A todo with its lease.

    A claim sets `acquired`: False when the caller already had it. `waits` has what an open todo waits for, if that
    was requested. `facts` has what else the operation reported (former holder, warnings, unchanged).
    """

    todo: Todo
    lease: LeaseView
    acquired: bool | None = None
    waits: Sequence[WaitsFor] | None = None
    facts: Facts = field(default_factory=Facts)

    @property
    def id(self) -> str:
        """The full id of the todo."""
        return self.todo.id

    @property
    def title(self) -> str:
        """The title, one line."""
        return self.todo.title

    @property
    def status(self) -> Status:
        """The status that is stored."""
        return self.todo.status

    @property
    def alias(self) -> str | None:
        """The alias, or None."""
        return self.todo.alias

    @property
    def priority(self) -> int:
        """0 is the highest, 4 the lowest."""
        return self.todo.priority

    @property
    def holder(self) -> str | None:
        """The agent that holds the lease, or None."""
        return self.lease.holder

    @property
    def epoch(self) -> int:
        """The epoch of the lease."""
        return self.lease.epoch

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command line: the todo, its lease, and what the operation reported."""
        shown: dict[str, Any] = {"todo": todo_json(self.todo), "lease": self.lease.as_json()}
        if self.acquired is not None:
            shown["acquired"] = self.acquired
        if self.waits is not None:
            shown["waits_for"] = [wait_json(wait) for wait in self.waits]
        for name in (
            "unchanged", "former", "handover", "warnings", "dry_run", "found", "losses", "released", "goes_on",
            "without_claim",
        ):  # a list of words  # fmt: skip
            if self.facts.get(name):
                shown[name] = self.facts[name]
        if self.lease.news:
            shown["news"] = self.lease.news_json()
        return shown


def wait_json(wait: WaitsFor) -> dict[str, Any]:
    """What is waited for: the todo that is meant, or the time."""
    named = {"todo_id": wait.todo, "alias": wait.alias, "title": wait.title}
    return {**named, "until": plain(wait.until), "why": wait.why}


def lease_view(lease: Lease | None, todo: str, clocks: Clocks, skew_s: int) -> LeaseView:
    """The view of a lease record at a moment; None is the record of a todo that was never claimed."""
    found = lease or Lease(todo)
    return LeaseView(found, state(found, clocks, skew_s), expires_at(found))


def todo_json(todo: Todo) -> dict[str, Any]:
    """The frontmatter keys with JSON values, and the body and the notes."""
    from loopx_git.format.files import TODO  # only --json

    shown: dict[str, Any] = {key: plain(getattr(todo, key)) for key in TODO}
    shown["archived"] = todo.archived
    shown["body"] = todo.body
    shown["notes"] = [asdict(note) for note in todo.notes]
    return shown


def goal_json(goal: Goal, counts: Mapping[str, int] | None = None) -> dict[str, Any]:
    """A goal with JSON values; `counts` are its todos by status."""
    shown = {
        key: plain(getattr(goal, key)) for key in ("id", "title", "status", "claims", "created_at", "created_by")
    }
    if counts is not None:
        shown["todos"] = dict(counts)
    return shown


def peer_json(peer: Peer) -> dict[str, Any]:
    """A peer with JSON values."""
    keys = ("agent", "kind", "status", "capabilities", "created_at", "created_by", "last_seen")
    return {key: plain(getattr(peer, key)) for key in keys}


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Reading:
    """A tip that was read, its age in seconds (0: read just now), and warnings."""

    tip: str
    age: float
    warnings: Sequence[str] = ()
