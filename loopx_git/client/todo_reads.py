"""`client.todo.show` and `client.todo.list`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from loopx_git.client.arguments import checked, words
from loopx_git.client.views import Reading, TodoView
from loopx_git.core import conditions, resolve
from loopx_git.core.lease import Lease, LeaseState
from loopx_git.core.todo import TERMINAL, Status
from loopx_git.errors import InvalidState, UsageError

if TYPE_CHECKING:
    from loopx_git.client.client import Client


@dataclass(frozen=True, slots=True)
class TodoList:
    """What `list` found: the todos in order, how many were cut, what could not be read, and from when."""

    todos: Sequence[TodoView]
    left_out: int
    broken: Sequence[InvalidState]
    reading: Reading


@checked(status=words)
class TodoReads:
    """What `client.todo` reads."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def show(
        self, todo_id: str, *, goal_id: str | None = None, fresh: bool = False, offline: bool = False
    ) -> tuple[TodoView, Reading]:
        """One todo with its lease."""
        reading = self._client.read(fresh=fresh, offline=offline)
        snapshot = self._client.snapshot(reading)
        goal, todo = resolve.todo(snapshot, todo_id, goal_id)
        return self._client.view(snapshot, goal, todo), reading

    def list(
        self, *, goal_id: str | None = None, status: Sequence[str] = (), ready: bool = False, mine: bool = False,
        label: Sequence[str] = (), archived: bool = False, limit: int | None = None, fresh: bool = False,
        offline: bool = False, agent_id: str | None = None,
    ) -> TodoList:  # fmt: skip
        """Todos of one goal or of all, by priority, then age. Without `status`, those that have not ended."""
        for name in status:
            if name not in {item.value for item in Status} - {"archived"} | {"all"}:
                raise UsageError(
                    f"{name!r} is no status",
                    hint="one of open, in_progress, blocked, needs_human, completed, superseded, cancelled, all",
                )
        reading = self._client.read(fresh=fresh, offline=offline)
        snapshot, moment = self._client.snapshot(reading), self._client.moment()
        goals = [resolve.goal(snapshot, goal_id)] if goal_id is not None else list(snapshot.goal_ids())
        agent = agent_id or self._client.connection.settings.agent
        if mine and agent is None:
            raise UsageError("--mine needs an agent", hint="--agent NAME, or: git config loopx.agent NAME")
        found: list[TodoView] = []
        broken: list[InvalidState] = []
        for goal in goals:
            broken += snapshot.broken(goal)
            records = {item.todo: item for item in snapshot.records(goal) if isinstance(item, Lease)}
            unreadable = {str(error.about.get("todo_id")) for error in broken}
            for todo in snapshot.todos(goal, archived=archived):
                wanted = not status or "all" in status or todo.status.value in status
                if not wanted or (not status and not archived and todo.status in TERMINAL):
                    continue
                if (label and not set(label) <= set(todo.labels)) or todo.id in unreadable:
                    continue
                view = self._client.view_of(snapshot, todo, records.get(todo.id))
                if mine and view.lease.lease.holder != agent:
                    continue
                if ready and (
                    view.lease.state is LeaseState.HELD
                    or todo.status not in (Status.OPEN, Status.IN_PROGRESS)
                    or conditions.readiness(snapshot, todo, moment) is not None
                ):
                    continue
                found.append(view)
        found.sort(key=lambda view: (view.todo.priority, view.todo.created_at, view.todo.id))
        shown = found if limit is None else found[:limit]
        return TodoList(shown, len(found) - len(shown), broken, reading)

    def short_ids(self) -> int:
        """How many hex digits of an id tell every todo of the ledger apart, as far as it is known here: 4 or more."""
        tip = self._client.connection.ledger.tip()
        ids = [] if tip is None else self._client.connection.ledger.snapshot(tip).all_ids()
        digits = [todo.removeprefix("todo_") for todo in ids]
        shared = (next(at for at in range(13) if one[: at + 1] != two[: at + 1]) for one, two in pairwise(digits))
        return max(4, max(shared, default=0) + 1)
