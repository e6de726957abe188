"""`client.goal`: named sets of todos."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Unpack

from loopx_git.client.arguments import checked
from loopx_git.client.base import Namespace
from loopx_git.client.parameters import Asked
from loopx_git.client.views import Reading
from loopx_git.core import resolve
from loopx_git.core.commands import CloseGoal, CreateGoal
from loopx_git.core.peer import ClaimMode, Goal
from loopx_git.errors import InternalError, UsageError
from loopx_git.ledger.snapshot import TreeSnapshot


@dataclass(frozen=True, slots=True)
class GoalView:
    """A goal, and the number of its todos by status (`archived`: archived ones)."""

    goal: Goal
    counts: Mapping[str, int]


@checked()
class Goals(Namespace):
    """Named sets of todos."""

    def create(
        self, goal_id: str, *, title: str | None = None, claims: str | None = None, **how: Unpack[Asked]
    ) -> tuple[GoalView | None, bool]:
        """Create a goal: (the goal, whether it is new). The goal is None in a dry run of a new one.

        Raises UsageError for an id or a mode of claims that is not valid, NotAllowed when the mode of a goal in use
        would change.
        """
        if claims is not None and claims not in set(ClaimMode):
            raise UsageError(f"{claims!r} is not a mode of claims", hint="--claims exclusive, or soft")
        command = CreateGoal(goal_id, title, None if claims is None else ClaimMode(claims))
        facts, snapshot = self._publish(command, f"goal create {goal_id}", **how)
        view = None if snapshot.goal(goal_id) is None else _view(snapshot, goal_id)
        return view, facts.get("created", False)

    def close(self, goal_id: str, **how: Unpack[Asked]) -> tuple[GoalView, bool]:
        """Close a goal in which no todo is held: (the goal, whether it was open).

        Raises NotAllowed while claims in it are live, NotFound when there is no such goal.
        """
        facts, snapshot = self._publish(CloseGoal(goal_id), f"goal close {goal_id}", **how)
        return _view(snapshot, goal_id), facts.get("closed", False)

    def list(self, *, fresh: bool = False, offline: bool = False) -> tuple[list[GoalView], Reading]:
        """Every goal, by id. Raises NotInitialised."""
        snapshot, reading = self._state(fresh=fresh, offline=offline)
        return [_view(snapshot, goal) for goal in snapshot.goal_ids() if snapshot.goal(goal) is not None], reading

    def show(self, goal_id: str | None, *, fresh: bool = False, offline: bool = False) -> tuple[GoalView, Reading]:
        """One goal. Raises NotFound when there is none."""
        snapshot, reading = self._state(fresh=fresh, offline=offline)
        return _view(snapshot, resolve.goal(snapshot, goal_id)), reading


def _view(snapshot: TreeSnapshot, goal_id: str) -> GoalView:
    goal = snapshot.goal(goal_id)
    if goal is None:
        raise InternalError(f"the goal {goal_id} vanished")
    counts = Counter(todo.status.value for todo in snapshot.todos(goal_id))
    counts["archived"] = sum(1 for _ in snapshot.todos(goal_id, archived=True))
    return GoalView(goal, {name: count for name, count in counts.items() if count})
