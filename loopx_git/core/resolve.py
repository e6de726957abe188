"""From what a caller types (id, unique prefix, alias, goal) to what is stored, or NotFound with candidates."""

from __future__ import annotations

from loopx_git.core import ids
from loopx_git.core.snapshot import Snapshot
from loopx_git.errors import InvalidState, NotFound, UsageError


def goal(snapshot: Snapshot, given: str | None) -> str:
    """The goal to work in: the one given, else the only one, else `main`."""
    if given is not None:
        ids.check("goal", given)
        if snapshot.goal(given) is None:
            raise NotFound(
                f"there is no goal {given!r}",
                hint=f"git loopx goal list, or: git loopx goal create {given}",
                about={"goal": given},
            )
        return given
    known = snapshot.goal_ids()
    if len(known) == 1:
        return known[0]
    if "main" in known:
        return "main"
    raise UsageError(
        "this ledger has several goals and none is called main; say which one",
        hint="add --goal-id GOAL; goals: " + ", ".join(known[:10]),
    )


def todo(snapshot: Snapshot, given: str, goal_given: str | None = None) -> tuple[str, str]:
    """(goal, todo id) of a full id, a unique prefix of four or more digits, or an alias.

    Errors: UsageError when `given` can be none of these, NotFound when nothing or more than one fits,
    InvalidState when one id lies under two goals.
    """
    found = _full_id(snapshot, given)
    goals = snapshot.goals_of(found)
    if not goals:
        raise NotFound(f"there is no todo {found}", hint="git loopx todo list", about={"todo_id": found})
    if len(goals) > 1:
        raise InvalidState(
            f"{found} lies under two goals: {', '.join(goals)}",
            hint="git loopx verify",
            about={"todo_id": found},
        )
    if goal_given is not None and goal_given != goals[0]:
        ids.check("goal", goal_given)
        raise NotFound(
            f"{found} belongs to the goal {goals[0]}, not to {goal_given}",
            hint=f"leave out --goal-id, or: --goal-id {goals[0]}",
            about={"todo_id": found, "goal": goals[0]},
        )
    return goals[0], found


def _full_id(snapshot: Snapshot, given: str) -> str:
    if ids.is_valid("todo", given):
        return given
    prefix = ids.TODO_PREFIX.fullmatch(given)
    by_alias = list(snapshot.ids_with_alias(given)) if ids.is_valid("alias", given) else []
    by_prefix = list(snapshot.ids_with_prefix(prefix[1])) if prefix else []
    found = sorted({*by_alias, *by_prefix})
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(
            f"{given!r} means more than one todo: {', '.join(found[:5])}",
            hint="give more digits of the id",
            about={"candidates": found[:20]},
        )
    if prefix is None and not ids.is_valid("alias", given):
        raise UsageError(
            f"{given[:80]!r} is no todo id, no prefix of one and no alias",
            hint="a todo id is todo_ and 12 hex digits; a prefix has 4 digits or more: git loopx todo list",
        )
    raise NotFound(f"there is no todo {given!r}", hint="git loopx todo list")
