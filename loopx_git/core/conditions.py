"""What a claim needs beyond the table: dependencies, time, attempts, the peer, limits, scopes.

Each condition is one function (snapshot, todo, ...) -> refusal or None: `claim` raises it, and `list --ready` and
`next` say its sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

from loopx_git.core import scope
from loopx_git.core.change import Actor
from loopx_git.core.claim import held_by, is_held
from loopx_git.core.lease import Clocks
from loopx_git.core.peer import GoalStatus, Peer, PeerStatus
from loopx_git.core.snapshot import Snapshot
from loopx_git.core.times import format_time
from loopx_git.core.todo import Status, Todo
from loopx_git.errors import About, InvalidState, NotAllowed

#: Longest chain of successors that is followed; a longer one counts as broken.
CHAIN_MAX = 1000
#: Longest title in a sentence; `show` has the whole.
TITLE_MAX = 40


@dataclass(frozen=True, slots=True)
class Blocker:
    """What a todo waits for: the id, why that is not over, the next command, and the todo where it can be read."""

    on: str
    why: str
    hint: str
    todo: Todo | None = None


def dependency(snapshot: Snapshot, todo: Todo) -> NotAllowed | None:
    """The first dependency that is not completed, as a sentence."""
    found = blocker(snapshot, todo)
    if found is None:
        return None
    named = found.on if found.todo is None else called(found.todo)
    about: About = {"todo_id": todo.id, "depends_on": found.on}
    return NotAllowed(f"{todo.id} waits for {named}, which {found.why}", hint=found.hint, about=about)


def called(todo: Todo) -> str:
    """A todo as people know it: its alias, or its id, and its title."""
    title = todo.title if len(todo.title) <= TITLE_MAX else todo.title[: TITLE_MAX - 3] + "..."
    return f"{todo.alias or todo.id} ({title})"


def blocker(snapshot: Snapshot, todo: Todo) -> Blocker | None:
    """The first dependency that is not completed. A superseded one is judged by its successor; a cancelled or
    dangling one keeps the todo waiting until somebody edits it."""
    for wanted in todo.depends_on:
        current, seen = wanted, {wanted}
        while True:
            goals = snapshot.goals_of(current)
            if len(goals) != 1:
                return Blocker(current, "does not exist", f"git loopx todo show {todo.id}")
            try:
                other = snapshot.todo(goals[0], current)
            except InvalidState as error:
                return Blocker(current, f"cannot be read ({error.message})", error.hint)
            if other.status is Status.COMPLETED:
                break
            if other.status is Status.SUPERSEDED and other.successor and len(seen) < CHAIN_MAX:
                if other.successor in seen:
                    return Blocker(current, "is superseded in a circle", "git loopx verify", other)
                current = other.successor
                seen.add(current)
                continue
            hint = f"git loopx todo show {current}"
            if other.status is Status.CANCELLED:
                hint = (
                    f"open that again: git loopx todo reopen {current}   or change what {todo.id} depends on, "
                    "with --force --reason TEXT: git loopx todo update -h"
                )
            return Blocker(current, f"is {other.status}", hint, other)
    return None


def readiness(snapshot: Snapshot, todo: Todo, clocks: Clocks) -> NotAllowed | None:
    """What keeps every agent from claiming the todo: dependencies, resume_after, attempts, a closed goal."""
    unmet = dependency(snapshot, todo)
    if unmet:
        return unmet
    about: About = {"todo_id": todo.id}
    if todo.resume_after is not None and todo.resume_after > clocks.now:
        when = format_time(todo.resume_after)
        return NotAllowed(f"{todo.id} resumes after {when}", hint="git loopx todo list --ready", about=about)
    limit = snapshot.policy.claims_max_attempts
    if todo.attempts >= limit:
        return NotAllowed(
            f"{todo.id} was reclaimed {todo.attempts} times (limit {limit}) and needs a human",
            hint=f"git loopx todo show {todo.id}",
            about=about,
        )
    goal = snapshot.goal(todo.goal)
    if goal is not None and goal.status is GoalStatus.CLOSED:
        return NotAllowed(f"the goal {todo.goal} is closed", hint="git loopx goal list", about=about)
    return None


def fitness(peer: Peer, todo: Todo) -> NotAllowed | None:
    """Whether this peer may take this todo: active, not excluded, capable."""
    about: About = {"todo_id": todo.id, "agent": peer.agent}
    if peer.status is not PeerStatus.ACTIVE:
        return NotAllowed(
            f"the peer {peer.agent} is {peer.status}", hint=f"git loopx peer show {peer.agent}", about=about
        )
    if peer.agent.casefold() in {name.casefold() for name in todo.excluded}:
        return NotAllowed(f"{todo.id} excludes {peer.agent}", hint="git loopx todo list --ready", about=about)
    missing = [need for need in todo.requires if need not in peer.capabilities]
    if missing:
        return NotAllowed(
            f"{todo.id} requires {', '.join(missing)}, which {peer.agent} does not have",
            hint="take another: git loopx todo list --ready",
            about=about,
        )
    return None


def limit(snapshot: Snapshot, actor: Actor, clocks: Clocks) -> NotAllowed | None:
    """The limit max_per_agent, over all goals. Lapsed claims do not count."""
    most = snapshot.policy.claims_max_per_agent
    if most is None:
        return None
    count = len(held_by(actor.name, snapshot, clocks))
    if count < most:
        return None
    return NotAllowed(
        f"{actor.name} holds {count} claims and the policy allows {most}",
        hint="finish or release one: git loopx todo list --mine",
        about={"agent": actor.name},
    )


def scope_overlap(snapshot: Snapshot, todo: Todo, actor: Actor, clocks: Clocks) -> NotAllowed | None:
    """The first live claim of another session in the goal whose scope overlaps this todo's scope."""
    if not todo.scope or snapshot.policy.claims_scope_overlap == "allow":
        return None
    for lease in snapshot.leases(todo.goal):
        if lease.todo == todo.id or not is_held(lease, snapshot, clocks):
            continue
        if (lease.holder, lease.session) == (actor.name, actor.session):
            continue
        try:
            other = snapshot.todo(todo.goal, lease.todo)
        except InvalidState:
            # An unreadable todo makes that todo unusable and no other; `verify` and `doctor` report it.
            continue
        pair = scope.overlaps(todo.scope, other.scope)
        if pair is not None:
            return NotAllowed(
                f"the scope {pair[0]!r} of {todo.id} overlaps {pair[1]!r} of {other.id}, which {lease.holder} holds "
                f"(epoch {lease.epoch}): both match {scope.witness(*pair)}",
                hint=_scope_hint(pair, other.id),
                about={"todo_id": todo.id, "conflict": other.id, "holder": lease.holder, "epoch": lease.epoch},
            )
    return None


def _scope_hint(pair: tuple[str, str], other: str) -> str:
    """A pattern without a slash inside matches at any depth, which is seldom meant: say how to anchor it."""
    loose = [pattern for pattern in pair if "/" not in pattern.rstrip("/")]
    anchor = f"; {loose[0]!r} matches at any depth, '/{loose[0]}' only at the top" if loose else ""
    return f"take another, or wait for {other}: git loopx todo list --ready{anchor}"
