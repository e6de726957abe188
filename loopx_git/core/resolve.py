"""From what a caller types (id, unique prefix, alias, goal) to what is stored, or NotFound with candidates."""

from __future__ import annotations

import re

from loopx_git.core import ids
from loopx_git.core.peer import Peer, PeerKind, PeerStatus
from loopx_git.core.snapshot import Snapshot
from loopx_git.core.todo import Todo
from loopx_git.errors import InvalidState, NotFound, UsageError

#: What begins an id but is too short to name a todo.
_SHORT_PREFIX = re.compile(r"(?:todo_)?([0-9a-f]{1,3})", re.ASCII)


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


def peer(snapshot: Snapshot, agent: str) -> Peer:
    """The peer of that name, compared ignoring case. Raises NotFound when there is none."""
    known = snapshot.peer(agent)
    if known is None:
        raise NotFound(f"there is no peer {agent!r}", hint=f"git loopx peer register {agent}", about={"agent": agent})
    return known


def goals(snapshot: Snapshot, given: str | None) -> list[str]:
    """The goals to look through: the one given, else all."""
    return list(snapshot.goal_ids()) if given is None else [goal(snapshot, given)]


#: What to type where no agent is set: who there is, and how one of them is named.
WHO_ACTS = "who there is: git loopx peer list   then one of them: git config loopx.agent NAME, or --agent NAME"


def who_acts(snapshot: Snapshot) -> str:
    """The hint of what needs an agent: the only registered one by name. It names none of several: two readers of the
    same hint would act as one agent."""
    names = [
        peer.agent for peer in snapshot.peers() if peer.kind is not PeerKind.LOOP and peer.status is PeerStatus.ACTIVE
    ]
    if not names:
        return "git loopx peer register NAME   then: git config loopx.agent NAME, or --agent NAME"
    return WHO_ACTS if len(names) > 1 else f"if you are {names[0]}: git config loopx.agent {names[0]}"


def todo(snapshot: Snapshot, given: str, goal_given: str | None = None) -> tuple[str, str]:
    """(goal, todo id) of a full id, a unique prefix of four or more digits, or an alias.

    Errors: UsageError when `given` can be none of these, NotFound when nothing or more than one fits,
    InvalidState when one id is in two goals.
    """
    found = _full_id(snapshot, given)
    goals = snapshot.goals_of(found)
    if not goals:
        raise NotFound(f"there is no todo {found}", hint="git loopx todo list", about={"todo_id": found})
    if len(goals) > 1:
        raise InvalidState(
            f"{found} is in two goals: {', '.join(goals)}",
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


def linked(snapshot: Snapshot, todo_id: str) -> Todo | None:
    """The todo that a link of another todo names, or None for a link to nothing, or to one id in two goals."""
    goals = snapshot.goals_of(todo_id)
    return snapshot.todo(goals[0], todo_id) if len(goals) == 1 else None


def _full_id(snapshot: Snapshot, given: str) -> str:
    """The full id that `given` names: a full id, else the alias spelt exactly so, else a unique prefix of an id."""
    if ids.is_valid("todo", given):
        return given
    prefix = ids.TODO_PREFIX.fullmatch(given)
    is_alias = ids.is_valid("alias", given)
    # Somebody chose the alias; a prefix only happens to begin an id.
    found = list(snapshot.ids_with_alias(given)) if is_alias else []
    if not found and prefix is not None:
        found = list(snapshot.ids_with_prefix(prefix[1]))
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(
            f"{given!r} means more than one todo: {', '.join(found[:5])}",
            hint="give more digits of the id",
            about={"candidates": found[:20]},
        )
    if prefix is None and not is_alias:
        raise UsageError(
            f"{given[:80]!r} is not a todo id, not a prefix of one and not an alias",
            hint="a todo id is todo_ and 12 hex digits; a prefix has 4 digits or more: git loopx todo list",
        )
    raise _not_found(snapshot, given)


def _not_found(snapshot: Snapshot, given: str) -> NotFound:
    """Nothing is called so: explain a prefix that is too short, or name the alias that was probably meant."""
    short = _SHORT_PREFIX.fullmatch(given)
    digits = [] if short is None else [short[1]]
    if digits and len(digits[0]) == 1:
        # The folders of a ledger are named by two digits: one digit is looked up as every pair that it begins.
        digits = [digits[0] + digit for digit in "0123456789abcdef"]
    begun = [found for prefix in digits for found in snapshot.ids_with_prefix(prefix)]
    if begun:
        hint = "give 4 digits of the id or more: git loopx todo list"
        if len(begun) == 1:
            hint = f"git loopx todo show {begun[0].removeprefix('todo_')}"
        return NotFound(
            f"there is no todo {given!r}: no alias has this spelling, and a prefix of an id has 4 hex digits or more",
            hint=hint,
            about={"candidates": begun[:20]},
        )
    near = _nearest_alias(snapshot, given)
    if near is None:
        return NotFound(f"there is no todo {given!r}", hint="git loopx todo list")
    return NotFound(
        f"there is no todo {given!r}; the nearest alias is {near}",
        hint=f"did you mean: git loopx todo show {near}",
        about={"nearest": near},
    )


def _nearest_alias(snapshot: Snapshot, given: str) -> str | None:
    """The alias of a readable todo that is spelt most like `given`, or None where none comes near."""
    # Imported here: only a typing mistake needs it.
    from difflib import get_close_matches

    known = {
        ids.folded(item.alias): item.alias
        for name in snapshot.goal_ids()
        for item in snapshot.todos(name)
        if item.alias is not None
    }
    near = get_close_matches(ids.folded(given), known, 1, 0.7)
    return known[near[0]] if near else None
