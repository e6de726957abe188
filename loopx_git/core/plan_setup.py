"""Plans of init, policy, goals, and new todos."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from loopx_git.core import graph, ids, resolve
from loopx_git.core.change import Actor, ChangeSet, Facts, Op, PutFormat, Write
from loopx_git.core.claim import is_held
from loopx_git.core.commands import AddTodo, CloseGoal, CreateGoal, SetPolicy
from loopx_git.core.fields import EDITABLE, why_bad
from loopx_git.core.lease import Clocks
from loopx_git.core.peer import Goal, GoalStatus
from loopx_git.core.policy import Policy, get, with_value
from loopx_git.core.snapshot import Snapshot
from loopx_git.core.todo import TITLE_MAX, Status, Todo, bad_line
from loopx_git.errors import InternalError, NotAllowed, UsageError


def subject(text: str) -> str:
    """The commit's subject, cut to 72 characters. The trailers have the full data."""
    return text if len(text) <= 72 else text[:69] + "..."


def init(snapshot: Snapshot | None, actor: Actor, clocks: Clocks) -> ChangeSet:
    """A new ledger. Nothing changes when there is one."""
    if snapshot is not None:
        return ChangeSet(Op.INIT, actor, "", facts={"created": False})
    goal = Goal("main", "main", clocks.now, actor.name)
    writes: tuple[Write, ...] = (PutFormat(), Policy(), goal)
    return ChangeSet(Op.INIT, actor, subject(f"init ledger by {actor.name}"), writes, facts={"created": True})


def set_policy(snapshot: Snapshot, command: SetPolicy, actor: Actor, clocks: Clocks) -> ChangeSet:
    """Set one key. The mode of claims changes only while no goal that follows the policy is in use."""
    before = snapshot.policy
    after = with_value(before, command.key, command.value)
    facts: Facts = {"key": command.key, "value": get(after, command.key), "former": get(before, command.key)}
    if after.claims_mode is not before.claims_mode:
        for goal_id in snapshot.goal_ids():
            stored = snapshot.goal(goal_id)
            if stored is None or stored.claims is None:
                _refuse_in_use(snapshot, goal_id, clocks)
    writes = () if after == before else (after,)
    text = subject(f"policy {command.key}={facts['value']} by {actor.name}")
    return ChangeSet(Op.POLICY, actor, text, writes, facts=facts)


def create_goal(snapshot: Snapshot, command: CreateGoal, actor: Actor, clocks: Clocks) -> ChangeSet:
    """A new goal, or an existing one with another title or mode of claims.

    The mode changes only while no claim is live.
    """
    ids.check("goal", command.goal)
    title = command.title
    if title is not None:
        _refuse("title", bad_line(title, TITLE_MAX), "--title TEXT")
    known = snapshot.goal(command.goal)
    facts: Facts = {"goal": command.goal, "created": known is None}
    text = subject(f"goal {command.goal} by {actor.name}")
    if known is None:
        goal = Goal(command.goal, title or command.goal, clocks.now, actor.name, claims=command.claims)
        return ChangeSet(Op.GOAL, actor, text, (goal,), goal=command.goal, facts=facts)
    after = replace(known, title=title or known.title, claims=command.claims or known.claims)
    if after == known:
        return ChangeSet(Op.GOAL, actor, text, goal=command.goal, facts=facts)
    if known.status is GoalStatus.CLOSED:
        raise NotAllowed(f"the goal {known.id} is closed", hint="git loopx goal list", about={"goal": known.id})
    if after.claims is not known.claims:
        _refuse_in_use(snapshot, known.id, clocks)
    return ChangeSet(Op.GOAL, actor, text, (after,), goal=command.goal, facts=facts)


def _refuse_in_use(snapshot: Snapshot, goal: str, clocks: Clocks) -> None:
    """The mode of claims does not change while a claim is live: NotAllowed lists the live ones."""
    live = [lease.id for lease in snapshot.leases(goal) if is_held(lease, snapshot, clocks)]
    live += [f"{todo.id} (soft: {name})" for todo in snapshot.todos(goal) for name in todo.soft_claims]
    if live:
        raise NotAllowed(
            f"the goal {goal} is in use: {', '.join(live[:5])}"
            + ("" if len(live) <= 5 else f", {len(live) - 5} more"),
            hint=f"let these end first: git loopx todo list --goal-id {goal}",
            about={"goal": goal, "live": live},
        )


def close_goal(snapshot: Snapshot, command: CloseGoal, actor: Actor, clocks: Clocks) -> ChangeSet:
    """Close a goal in which no todo is held. Nothing changes when it is closed."""
    goal_id = resolve.goal(snapshot, command.goal)
    goal = snapshot.goal(goal_id)
    if goal is None:
        raise InternalError(f"the goal {goal_id} vanished while it was planned on")
    text = subject(f"goal {goal_id} closed by {actor.name}")
    facts: Facts = {"goal": goal_id, "closed": goal.status is not GoalStatus.CLOSED}
    if goal.status is GoalStatus.CLOSED:
        return ChangeSet(Op.GOAL, actor, text, goal=goal_id, facts=facts)
    held = [lease for lease in snapshot.leases(goal_id) if is_held(lease, snapshot, clocks)]
    if held:
        names = ", ".join(f"{lease.todo} by {lease.holder}" for lease in held[:5])
        raise NotAllowed(
            f"{len(held)} claims are live in the goal {goal_id}: {names}",
            hint="let them end, or release them: git loopx todo list --goal-id " + goal_id,
            about={"goal": goal_id, "live": [lease.id for lease in held]},
        )
    after = replace(goal, status=GoalStatus.CLOSED)
    return ChangeSet(Op.GOAL, actor, text, (after,), goal=goal_id, facts=facts)


def add_todo(snapshot: Snapshot, command: AddTodo, actor: Actor, clocks: Clocks) -> ChangeSet:
    """A new open todo.

    Raises UsageError for a value that is not valid, NotAllowed when the goal is closed, the alias is taken or
    dependencies form a cycle, NotFound for an unknown goal or dependency.
    """
    goal = resolve.goal(snapshot, command.goal)
    stored = snapshot.goal(goal)
    if stored is not None and stored.status is GoalStatus.CLOSED:
        raise NotAllowed(f"the goal {goal} is closed", hint="git loopx goal list", about={"goal": goal})
    given = {name: getattr(command, name) for name in EDITABLE if name != "depends_on"}
    todo = Todo(
        id=ids.check("todo", command.id),
        goal=goal,
        status=Status.OPEN,
        created_at=clocks.now,
        created_by=actor.name,
        **given,
    )
    for name, value in given.items():
        check_field(name, value)
    if snapshot.goals_of(todo.id):
        raise UsageError(f"the id {todo.id} is taken", hint="run the same command again")
    if todo.alias is not None:
        check_alias(snapshot, todo.alias, todo.id)
    todo = replace(todo, depends_on=resolved_dependencies(snapshot, todo.id, command.depends_on))
    return ChangeSet(
        Op.ADD,
        actor,
        subject(f"add {todo.id} by {actor.name}"),
        (todo,),
        goal=goal,
        todo=todo.id,
        facts={"created": True},
    )


#: Fields whose flag has another name: a flag that is repeated names one.
_FLAGS = {"labels": "label", "excluded": "exclude"}


def check_field(name: str, value: Any) -> None:
    """Raise UsageError, naming the flag, when a caller's value breaks the field's grammar."""
    flag = _FLAGS.get(name, name.replace("_", "-"))
    _refuse(name, why_bad(name, value), f"see the help of --{flag}")


def _refuse(name: str, reason: str | None, hint: str) -> None:
    if reason:
        raise UsageError(f"the {name} {reason}", hint=hint, about={"field": name})


def check_reason(reason: str) -> None:
    """Raise UsageError for a reason that cannot go into history."""
    bad = bad_line(reason, 300)
    if bad:
        raise UsageError(f"the reason {bad}", hint="--reason TEXT, one line of 300 characters at most")


def check_alias(snapshot: Snapshot, alias: str, todo: str) -> None:
    """Refuse an alias that another todo has, or had before it was archived."""
    taken = [other for other in snapshot.ids_with_alias(alias) if other != todo]
    if taken:
        raise NotAllowed(
            f"the alias {alias!r} belongs to {taken[0]}",
            hint="choose another alias",
            about={"alias": alias, "todo_id": taken[0]},
        )


def resolved_dependencies(snapshot: Snapshot, todo: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """Full ids of the named todos. Raises NotFound for a missing todo, NotAllowed for a cycle."""
    wanted = tuple(dict.fromkeys(resolve.todo(snapshot, name)[1] for name in given))
    reason = why_bad("depends_on", wanted)
    _refuse("depends_on", reason, "see the help of --depends-on")

    def edges(current: str) -> tuple[str, ...]:
        if current == todo:
            return wanted
        other = resolve.linked(snapshot, current)
        return () if other is None else other.depends_on

    cycle = graph.find_cycle(todo, edges)
    if cycle:
        raise NotAllowed(
            "these dependencies would wait for each other: " + " -> ".join(cycle),
            hint="leave one of them out",
            about={"todo_id": todo, "cycle": cycle},
        )
    return wanted
