"""How an operation on a todo is submitted, and what its caller gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from loopx_git.client.views import TodoView, lease_view
from loopx_git.core import ids
from loopx_git.core.change import Actor, Facts, PutTodo, place_of
from loopx_git.core.commands import AddTodo, OnTodo
from loopx_git.core.plan_setup import add_todo
from loopx_git.core.table import Operation
from loopx_git.errors import UsageError

if TYPE_CHECKING:
    from loopx_git.client.base import BaseClient
    from loopx_git.store.ledger import Answer


class TodoSubmit:
    """What the namespaces that write todos share."""

    def __init__(self, client: BaseClient) -> None:
        self._client = client

    def _on(
        self, operation: Operation, todo_id: str, agent_id: str | None, session: str | None, dry_run: bool,
        **more: Any,
    ) -> TodoView:  # fmt: skip
        command = OnTodo(operation, todo_id, **more)
        actor = self._client.connection.actor(agent_id, session)
        answer = self._client.submit([command], actor, dry_run=dry_run, words=f"todo {operation} {todo_id}")
        return self._result(answer, actor, [command])[0]

    def _result(self, answer: Answer, actor: Actor, commands: Sequence[Any]) -> Sequence[TodoView]:
        """The todos as they are at the answer's tip; a dry run shows them as they were."""
        assert answer.tip is not None
        snapshot = self._client.connection.ledger.snapshot(answer.tip)
        views = []
        for facts, command in zip(answer.facts, commands, strict=True):
            extra: Facts = {**facts, "found": answer.found, "losses": answer.losses}
            extra["dry_run"] = not answer.wrote and not facts.get("unchanged")
            if isinstance(command, AddTodo) and not answer.wrote:
                views.append(self._planned(snapshot, command, actor, extra))
                continue
            acquires = isinstance(command, OnTodo) and command.operation in (
                Operation.CLAIM,
                Operation.RESUME,
            )
            acquired = bool(facts.get("acquired")) if acquires else None
            views.append(self._client.view(snapshot, *place_of(facts), acquired=acquired, facts=extra))
        return views

    def _planned(self, snapshot: Any, command: AddTodo, actor: Actor, facts: Facts) -> TodoView:
        """The todo that a dry run of `add` would write."""
        moment = self._client.moment()
        write = add_todo(snapshot, command, actor, moment).writes[0]
        assert isinstance(write, PutTodo)
        return TodoView(write.todo, lease_view(None, write.todo.id, moment, 0), facts=facts)

    def _new_id(self) -> str:
        return ids.todo_id(self._client.connection.hooks.entropy(6))

    def _successor(self, successor: str | None, title: str | None) -> dict[str, Any]:
        """The command's fields for what carries on: an existing todo, or the id of one to be made."""
        if successor is not None and title is not None:
            raise UsageError("name a successor or the title of a new one, not both", hint="leave out one of them")
        if title is not None:
            return {"successor": self._new_id(), "successor_title": title}
        return {"successor": successor}
