"""`client.todo`: adding, reading and working on todos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from loopx_git.client.views import Reading, TodoView, lease_view
from loopx_git.core import conditions, ids, resolve
from loopx_git.core.change import Actor, PutTodo
from loopx_git.core.commands import AddTodo, OnTodo
from loopx_git.core.lease import LeaseState
from loopx_git.core.plan_setup import add_todo
from loopx_git.core.table import Operation
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


class Todos:
    """Operations on todos. `agent_id` and `session` override the configured actor for one call."""

    def __init__(self, client: Client) -> None:
        self._client = client

    # -- reading

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
            for todo in snapshot.todos(goal, archived=archived):
                wanted = not status or "all" in status or todo.status.value in status
                if not wanted or (not status and not archived and todo.status in TERMINAL):
                    continue
                if label and not set(label) <= set(todo.labels):
                    continue
                try:
                    view = self._client.view(snapshot, goal, todo.id)
                except InvalidState:
                    # Its lease record cannot be read: `broken` has it.
                    continue
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

    # -- writing

    def add(
        self, title: str, *, goal_id: str | None = None, alias: str | None = None, priority: int = 2,
        body: str = "", scope: Sequence[str] = (), requires: Sequence[str] = (), excluded: Sequence[str] = (),
        depends_on: Sequence[str] = (), labels: Sequence[str] = (), resume_after: datetime | None = None,
        branch: str | None = None, agent_id: str | None = None, dry_run: bool = False,
    ) -> TodoView:  # fmt: skip
        """Add a todo; it is open and nobody's."""
        command = AddTodo(
            id=ids.todo_id(self._client.connection.hooks.entropy(6)),
            title=title,
            goal=goal_id,
            alias=alias,
            priority=priority,
            body=body.strip("\n"),
            scope=tuple(scope),
            requires=tuple(requires),
            excluded=tuple(excluded),
            depends_on=tuple(depends_on),
            labels=tuple(labels),
            resume_after=resume_after,
            branch=branch,
        )
        actor = self._client.connection.actor(agent_id)
        answer = self._client.submit([command], actor, dry_run=dry_run, words=f"todo add {title[:60]}")
        return self._result(answer, actor, [command])[0]

    def claim(
        self, todo_id: str | Sequence[str], *, agent_id: str | None = None, session: str | None = None,
        goal_id: str | None = None, ttl: int | str | None = "unset", resume: bool = False, dry_run: bool = False,
    ) -> TodoView:  # fmt: skip
        """Claim a todo for the caller's session, or learn who holds it (HeldByAnother).

        `ttl` in seconds, None for no bound, "unset" for the policy's. The view's `acquired` is False when it
        was the caller's already.
        """
        operation = Operation.RESUME if resume else Operation.CLAIM
        return self._on(operation, str(todo_id), agent_id, session, dry_run, goal=goal_id, ttl=ttl, claim=True)

    def release(
        self, todo_id: str, *, agent_id: str | None = None, session: str | None = None, goal_id: str | None = None,
        epoch: int | None = None, status: str | None = None, note: str | None = None, force: bool = False,
        reason: str | None = None, dry_run: bool = False,
    ) -> TodoView:  # fmt: skip
        """Let go of a claim. An operator ends somebody else's with `force` and `reason` (audited, epoch + 1)."""
        return self._on(
            Operation.RELEASE, todo_id, agent_id, session, dry_run,
            goal=goal_id, epoch=epoch, status=status, note=note, force=force, reason=reason,
        )  # fmt: skip

    def update(
        self, todo_id: str, *, agent_id: str | None = None, session: str | None = None, goal_id: str | None = None,
        epoch: int | None = None, status: str | None = None, note: str | None = None, force: bool = False,
        reason: str | None = None, dry_run: bool = False, **fields: Any,
    ) -> TodoView:  # fmt: skip
        """Change status, notes or fields (title, body, priority, scope, ...) of a todo that the caller holds."""
        if status == Status.COMPLETED.value:
            if force or fields:
                raise UsageError(
                    "completing takes the claim and changes nothing else",
                    hint=f"git loopx todo complete {todo_id}",
                )
            return self.complete(
                todo_id,
                agent_id=agent_id,
                session=session,
                goal_id=goal_id,
                epoch=epoch,
                note=note,
                dry_run=dry_run,
            )
        lists = {name: tuple(value) if isinstance(value, (list, tuple)) else value for name, value in fields.items()}
        return self._on(
            Operation.UPDATE, todo_id, agent_id, session, dry_run,
            goal=goal_id, epoch=epoch, status=status, note=note, force=force, reason=reason, fields=lists,
        )  # fmt: skip

    def complete(
        self, todo_id: str, *, agent_id: str | None = None, session: str | None = None, goal_id: str | None = None,
        epoch: int | None = None, note: str | None = None, dry_run: bool = False,
    ) -> TodoView:  # fmt: skip
        """Complete a todo that the caller holds; ends the claim in the same commit."""
        return self._on(Operation.COMPLETE, todo_id, agent_id, session, dry_run, goal=goal_id, epoch=epoch, note=note)

    def _on(
        self, operation: Operation, todo_id: str, agent_id: str | None, session: str | None, dry_run: bool,
        *, claim: bool = False, **more: Any,
    ) -> TodoView:  # fmt: skip
        command = OnTodo(operation, todo_id, **more)
        actor = self._client.connection.actor(agent_id, session)
        answer = self._client.submit([command], actor, dry_run=dry_run, words=f"todo {operation} {todo_id}")
        if claim:
            self._client.confirm(answer, actor)
        return self._result(answer, actor, [command])[0]

    def _result(self, answer: Any, actor: Actor, commands: Sequence[Any]) -> Sequence[TodoView]:
        """The todos as they are at the answer's tip; a dry run shows them as they were."""
        assert answer.tip is not None
        snapshot = self._client.connection.ledger.snapshot(answer.tip)
        views = []
        for facts, command in zip(answer.facts, commands, strict=True):
            extra = {**facts, "found": answer.found, "losses": answer.losses}
            extra["dry_run"] = not answer.wrote and not facts.get("unchanged")
            goal, todo = facts["goal"], facts["todo"]
            if isinstance(command, AddTodo) and not answer.wrote:
                views.append(self._planned(snapshot, command, actor, extra))
                continue
            acquires = isinstance(command, OnTodo) and command.operation in (
                Operation.CLAIM,
                Operation.RESUME,
            )
            acquired = bool(facts.get("acquired")) if acquires else None
            views.append(self._client.view(snapshot, goal, todo, acquired=acquired, facts=extra))
        return views

    def _planned(self, snapshot: Any, command: AddTodo, actor: Actor, facts: Any) -> TodoView:
        """The todo that a dry run of `add` would write."""
        moment = self._client.moment()
        write = add_todo(snapshot, command, actor, moment).writes[0]
        assert isinstance(write, PutTodo)
        return TodoView(write.todo, lease_view(None, write.todo.id, moment, 0), facts=facts)
