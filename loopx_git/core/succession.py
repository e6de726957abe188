"""Successors: the todo that carries on where another ended, linked both ways, never in a circle."""

from __future__ import annotations

from dataclasses import replace

from loopx_git.core import graph, ids, resolve
from loopx_git.core.change import Actor
from loopx_git.core.lease import Clocks
from loopx_git.core.plan_setup import check_field
from loopx_git.core.snapshot import Snapshot
from loopx_git.core.todo import Status, Todo
from loopx_git.errors import NotAllowed, UsageError


def made(todo: Todo, successor: str, title: str, actor: Actor, clocks: Clocks) -> Todo:
    """A new todo that carries on: same goal, priority, scope, requirements, labels and dependencies."""
    check_field("title", title)
    return Todo(
        id=ids.check("todo", successor),
        goal=todo.goal,
        title=title,
        status=Status.OPEN,
        created_at=clocks.now,
        created_by=actor.name,
        priority=todo.priority,
        scope=todo.scope,
        requires=todo.requires,
        excluded=todo.excluded,
        depends_on=todo.depends_on,
        labels=todo.labels,
        supersedes=(todo.id,),
    )


def found(snapshot: Snapshot, todo: Todo, given: str) -> Todo:
    """The existing todo that carries on, with the link back; NotFound for a dangling one, NotAllowed for a
    circle."""
    goal, successor = resolve.todo(snapshot, given)
    if successor == todo.id:
        raise UsageError("a todo cannot be its own successor", hint="name another todo")
    other = snapshot.todo(goal, successor)
    if other.status is Status.CANCELLED:
        raise NotAllowed(
            f"{successor} is cancelled and carries nothing on",
            hint="name another todo, or --by-title TITLE",
            about={"todo_id": todo.id, "successor": successor},
        )

    def successor_of(current: str) -> str | None:
        following = resolve.linked(snapshot, current)
        return None if following is None else following.successor

    try:
        chain = graph.chain(successor, successor_of)
    except graph.CycleError as error:
        raise NotAllowed(
            f"the successors of {successor} run in a circle: {' -> '.join(error.cycle)}", hint="git loopx verify"
        ) from None
    if todo.id in chain:
        raise NotAllowed(
            f"{successor} is carried on by {todo.id} itself: {' -> '.join(chain)}",
            hint="name a todo that does not lead back",
            about={"todo_id": todo.id, "cycle": chain},
        )
    links = other.supersedes if todo.id in other.supersedes else (*other.supersedes, todo.id)
    return replace(other, supersedes=links)


def unlinked(snapshot: Snapshot, todo: Todo) -> Todo | None:
    """The successor of a todo without its link back, or None when there is none to take out."""
    other = None if todo.successor is None else resolve.linked(snapshot, todo.successor)
    if other is None or todo.id not in other.supersedes:
        return None
    return replace(other, supersedes=tuple(link for link in other.supersedes if link != todo.id))
