"""`client.goal`: named sets of todos."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopx_git.client.arguments import checked
from loopx_git.client.views import Reading
from loopx_git.core import resolve
from loopx_git.core.commands import CloseGoal, CreateGoal
from loopx_git.core.peer import ClaimMode, Goal
from loopx_git.errors import InternalError, UsageError

if TYPE_CHECKING:
    from loopx_git.client.base import BaseClient
    from loopx_git.ledger.snapshot import TreeSnapshot


@dataclass(frozen=True, slots=True)
class GoalView:
    """A goal, and the number of its todos by status (`archived`: archived ones)."""

    goal: Goal
    counts: Mapping[str, int]


@checked()
class Goals:
    """Named sets of todos."""

    def __init__(self, client: BaseClient) -> None:
        self._client = client

    def create(
        self, goal_id: str, *, title: str | None = None, claims: str | None = None, agent_id: str | None = None,
        dry_run: bool = False,
    ) -> tuple[GoalView | None, bool]:  # fmt: skip
        """Create a goal: (the goal, whether it is new). The goal is None in a dry run of a new one.

        Raises UsageError for an id or a mode of claims that is not valid, NotAllowed when the mode of a goal in use
        would change.
        """
        if claims is not None and claims not in set(ClaimMode):
            raise UsageError(f"{claims!r} is not a mode of claims", hint="--claims exclusive, or soft")
        command = CreateGoal(goal_id, title, None if claims is None else ClaimMode(claims))
        actor = self._client.connection.actor(agent_id)
        answer = self._client.submit([command], actor, dry_run=dry_run, words=f"goal create {goal_id}")
        assert answer.tip is not None
        snapshot = self._client.connection.ledger.snapshot(answer.tip)
        stored = snapshot.goal(goal_id)
        created = answer.facts[0].get("created", False)
        return (None if stored is None else _view(snapshot, stored)), created

    def close(self, goal_id: str, *, agent_id: str | None = None, dry_run: bool = False) -> tuple[GoalView, bool]:
        """Close a goal in which no todo is held: (the goal, whether it was open).

        Raises NotAllowed while claims in it are live, NotFound when there is no such goal.
        """
        actor = self._client.connection.actor(agent_id)
        answer = self._client.submit([CloseGoal(goal_id)], actor, dry_run=dry_run, words=f"goal close {goal_id}")
        assert answer.tip is not None
        snapshot = self._client.connection.ledger.snapshot(answer.tip)
        stored = snapshot.goal(goal_id)
        if stored is None:
            raise InternalError(f"the goal {goal_id} vanished")
        return _view(snapshot, stored), answer.facts[0].get("closed", False)

    def list(self, *, fresh: bool = False, offline: bool = False) -> tuple[list[GoalView], Reading]:
        """Every goal, by id. Raises NotInitialised."""
        reading = self._client.read(fresh=fresh, offline=offline)
        snapshot = self._client.snapshot(reading)
        goals = [snapshot.goal(goal) for goal in snapshot.goal_ids()]
        return [_view(snapshot, goal) for goal in goals if goal is not None], reading

    def show(self, goal_id: str | None, *, fresh: bool = False, offline: bool = False) -> tuple[GoalView, Reading]:
        """One goal. Raises NotFound when there is none."""
        reading = self._client.read(fresh=fresh, offline=offline)
        snapshot = self._client.snapshot(reading)
        goal = snapshot.goal(resolve.goal(snapshot, goal_id))
        if goal is None:
            raise InternalError(f"the goal {goal_id} vanished")
        return _view(snapshot, goal), reading


def _view(snapshot: TreeSnapshot, goal: Goal) -> GoalView:
    counts = Counter(todo.status.value for todo in snapshot.todos(goal.id))
    counts["archived"] = sum(1 for _ in snapshot.todos(goal.id, archived=True))
    return GoalView(goal, {name: count for name, count in counts.items() if count})
