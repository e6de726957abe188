"""The inverse of each operation: from a commit to the command that it claims to be, and the moment of the decision.

INVERSES has one function for each operation. Each one reads the message and the changes of the commit; the replay
then lets the planner decide the command again. Times come from the records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from loopx_git.core import policy
from loopx_git.core.change import Op
from loopx_git.core.commands import (
    AddTodo,
    Beat,
    CloseGoal,
    Command,
    CreateGoal,
    DropSoftClaim,
    Init,
    OnTodo,
    RegisterPeer,
    RenewAll,
    SetPeerStatus,
    SetPolicy,
)
from loopx_git.core.fields import EDITABLE
from loopx_git.core.lease import Clocks, Lease
from loopx_git.core.meaning import NOTE_REASON
from loopx_git.core.peer import GoalStatus
from loopx_git.core.table import Operation
from loopx_git.core.times import after as ending
from loopx_git.core.times import parse_time
from loopx_git.core.todo import Todo
from loopx_git.format.layout import PathKind, PathParts
from loopx_git.format.message import Message
from loopx_git.ledger import replay_loop
from loopx_git.ledger.snapshot import TreeSnapshot


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a commit: the broken rule, and a sentence."""

    rule: str
    message: str


class Wrong(Exception):
    """A commit that is not a legal operation; `finding` says why."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.finding = Finding(rule, message)


class _Unless(dict[str, Any]):
    """Times that only the acting clone knew, as a verifier assumes them: `other`, but for the `known` ones."""

    def __init__(self, other: Any, known: Mapping[str, Any] | None = None) -> None:
        super().__init__(known or {})
        self.other = other

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, self.other)


#: No holder is late, and a record dated in somebody's future was first seen there long ago.
_NEVER, _LONG_AGO = float("inf"), datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Step:
    """One commit: the state before and after, what changed, what the message says, and when it was committed."""

    before: TreeSnapshot
    after: TreeSnapshot
    places: Mapping[str, PathParts]
    message: Message
    at: datetime

    @property
    def soon(self) -> Clocks:
        """The moment of an operation that writes no time into a record.

        A commit's time is cut to seconds, so the operation was decided within the second that follows.
        """
        return Clocks(ending(self.at, 1), _Unless(_LONG_AGO))

    def only(self, kind: PathKind) -> PathParts:
        """The one file of this kind that changed."""
        found = [place for place in self.places.values() if place.kind is kind]
        if len(found) != 1:
            op = self.message.op
            raise Wrong("shape", f"{op} must change exactly one {kind} file, this one changes {len(found)}")
        return found[0]


Decided = tuple[Command, Clocks]


def command_of(
    before: TreeSnapshot | None, after: TreeSnapshot, places: Mapping[str, PathParts], message: Message, at: datetime
) -> Decided:
    """The command that a commit claims to be, and the moment of the planner's decision. Raises Wrong."""
    if message.op is Op.INIT or before is None:
        if message.op is not Op.INIT or before is not None:
            raise Wrong("root", "the first commit of a ledger, and only it, is init")
        goal = after.goal("main")
        return Init(), Clocks(at if goal is None else goal.created_at)
    return INVERSES[message.op](Step(before, after, places, message, at))


def todo_after(after: TreeSnapshot, goal: str, todo: str) -> Todo:
    """The todo as the commit leaves it."""
    if goal not in after.goals_of(todo):
        raise Wrong("deleted", f"the file of {todo} is gone; a todo is never deleted")
    return after.todo(goal, todo)


# -- what is not about one todo


def _policy(step: Step) -> Decided:
    old, new = step.before.policy, step.after.policy
    keys = [key for key in policy.KEYS if policy.get(old, key) != policy.get(new, key)]
    if len(keys) != 1:
        raise Wrong("shape", f"policy must change exactly one key, this one changes {len(keys)}")
    return SetPolicy(keys[0], policy.get(new, keys[0])), step.soon


def _goal(step: Step) -> Decided:
    goal = step.after.goal(step.only(PathKind.GOAL).goal)
    if goal is None:
        raise Wrong("deleted", "a goal's file is never deleted")
    known = step.before.goal(goal.id)
    if known is None:
        return CreateGoal(goal.id, goal.title, goal.claims), Clocks(goal.created_at)
    if goal.status is GoalStatus.CLOSED:
        return CloseGoal(goal.id), step.soon
    return CreateGoal(goal.id, goal.title, goal.claims), step.soon


def _peer(step: Step) -> Decided:
    name = step.only(PathKind.PEER).name
    known, peer = step.before.peer(name), step.after.peer(name)
    if peer is None:
        raise Wrong("deleted", "a peer's file is never deleted")
    if known is None:
        return RegisterPeer(peer.agent, peer.kind, peer.capabilities), Clocks(peer.created_at)
    if peer.last_seen is not None and known.last_seen != peer.last_seen:
        return Beat(), Clocks(peer.last_seen)
    if known.status is not peer.status:
        return SetPeerStatus(peer.agent, peer.status), step.soon
    return RegisterPeer(peer.agent, peer.kind, peer.capabilities), Clocks(step.at)


def _loop(step: Step) -> Decided:
    name = step.only(PathKind.LOOP).name
    command, named = replay_loop.command_of(step.before, step.after, name, step.message)
    if named is None:
        return command, step.soon
    active = replay_loop.active(step.before, step.after, step.message, step.at)
    return command, Clocks(named, _Unless(_LONG_AGO), _Unless(_NEVER), active)


def _add(step: Step) -> Decided:
    place = step.only(PathKind.TODO)
    todo = todo_after(step.after, place.goal, place.name)
    return AddTodo.of(todo), Clocks(todo.created_at)


# -- operations on one todo


@dataclass(frozen=True, slots=True)
class _OneTodo:
    """A step of one todo: the todo and its lease before and after, and the text of a note if one was added."""

    step: Step
    goal: str
    old: Todo
    new: Todo
    lease_old: Lease
    lease_new: Lease

    @classmethod
    def of(cls, step: Step) -> _OneTodo:
        before, after, message = step.before, step.after, step.message
        if message.todo is None or message.goal is None:
            raise Wrong("trailers", f"{message.op} names no todo and goal")
        goal, todo = message.goal, message.todo
        if goal not in before.goals_of(todo):
            raise Wrong("trailers", f"there was no {todo} in the goal {goal}")
        old, new = before.todo(goal, todo), todo_after(after, goal, todo)
        lease_old, lease_new = before.lease(goal, todo) or Lease(todo), after.lease(goal, todo)
        if lease_new is None and lease_old.epoch:
            raise Wrong("deleted", f"the lease record of {todo} is gone; it is never deleted")
        return cls(step, goal, old, new, lease_old, lease_new or Lease(todo))

    @property
    def note(self) -> str | None:
        added = self.new.notes[len(self.old.notes) :]
        return added[0].text if added else None

    def clocks(self, own: datetime | None = None, *, on_the_way: bool = True) -> Clocks:
        """When the planner decided: the time of the note it wrote, else that of a claim it renewed `on_the_way`, else
        `own`, the time that the operation itself wrote, else the commit's."""
        added, renewed = self.new.notes[len(self.old.notes) :], self.step.message.renew
        now = own or self.step.at
        if added:
            try:
                now = parse_time(added[0].time)
            except ValueError:
                raise Wrong("note", f"the note's time {added[0].time!r} is not a UTC timestamp") from None
        elif renewed and on_the_way:
            now = _renewed_at(self.step.after, renewed[0]) or now
        return Clocks(now, _Unless(_LONG_AGO), _Unless(_NEVER))

    def command(self, operation: Operation, **more: Any) -> OnTodo:
        """The command with what every operation may carry, and what is this one's own."""
        reason = self.step.message.reason
        given: dict[str, Any] = {
            "force": reason is not None,
            "reason": reason,
            "ttl": self.lease_new.ttl_s,
            "note": self.note,
            "to": self.lease_new.holder,
            "exclusive": True,
            "validated": self.old.validate,
            "renewals": self.step.message.renew,
        }
        return OnTodo(operation, self.new.id, self.goal, **{**given, **more})

    def successor(self) -> tuple[dict[str, Any], datetime | None]:
        """What the command says of a successor, and when a new one was made."""
        name = self.new.successor
        if name == self.old.successor:
            return {}, None
        if name is None or self.step.before.goals_of(name):
            return {"successor": name}, None
        made = todo_after(self.step.after, self.goal, name)
        return {"successor": name, "successor_title": made.title}, made.created_at


def _plain(
    operation: Operation, own: Callable[[_OneTodo], datetime | None] = lambda one: None
) -> Callable[[Step], Decided]:
    """An operation that leaves no more than its effect on the todo; `own` is the time that it writes itself."""

    def inverse(step: Step) -> Decided:
        one = _OneTodo.of(step)
        return one.command(operation), one.clocks(own(one))

    return inverse


def _claim(step: Step) -> Decided:
    if any(place.kind is PathKind.LOOP for place in step.places.values()):
        return _loop(step)
    one = _OneTodo.of(step)
    message, lease = step.message, one.lease_old
    clocks = one.clocks(one.lease_new.acquired_at)
    if lease.holder != message.agent or one.new.attempts > one.old.attempts:
        return one.command(Operation.CLAIM), clocks
    # The same agent again, and no attempt counted: a resume, by the taker's own clock.
    if lease.session in (None, message.session):
        clocks = Clocks(clocks.now, _Unless(_LONG_AGO), _Unless(_NEVER, {lease.id: 0.0}))
    return one.command(Operation.RESUME), clocks


def _renew(step: Step) -> Decided:
    message = step.message
    if message.todo is None:
        now = _renewed_at(step.after, message.renew[0]) if message.renew else None
        return RenewAll(message.renew), Clocks(now or step.at)
    one = _OneTodo.of(step)
    return one.command(Operation.RENEW), one.clocks(one.lease_new.renewed_at, on_the_way=False)


def _release(step: Step) -> Decided:
    one = _OneTodo.of(step)
    return one.command(Operation.RELEASE, status=one.new.status.value), one.clocks()


def _update(step: Step) -> Decided:
    one = _OneTodo.of(step)
    if step.message.reason == NOTE_REASON:
        # Whatever else it changed is then not what the planner would have written.
        return one.command(Operation.NOTE, force=False, reason=None), one.clocks()
    fields = {name: getattr(one.new, name) for name in EDITABLE if getattr(one.new, name) != getattr(one.old, name)}
    status: str | None = one.new.status.value
    if status == one.old.status and (fields or one.note is not None):
        status = None
    return one.command(Operation.UPDATE, fields=fields, status=status), one.clocks()


def _finish(step: Step) -> Decided:
    """An end that may name a todo which carries on."""
    one, operation = _OneTodo.of(step), Operation(step.message.op.value)
    successor, made = one.successor()
    clocks = one.clocks(one.new.completed_at if operation is Operation.COMPLETE else None)
    command = one.command(operation, code=step.message.code, **successor)
    return command, clocks if made is None else replace(clocks, now=made)


def _soft(step: Step) -> Decided:
    one, agent = _OneTodo.of(step), step.message.agent
    gone = [name for name in one.old.soft_claims if name not in one.new.soft_claims]
    if gone and gone != [agent]:
        return DropSoftClaim(one.new.id, gone[0], stays=one.new.status is one.old.status), step.soon
    peer = None if step.before.peer(agent) is not None else step.after.peer(agent)
    clocks = one.clocks(None if peer is None else peer.created_at)
    if agent in one.new.soft_claims:
        return one.command(Operation.SOFT), clocks
    # As with a release: to which status the last one leaves it is its own choice.
    return one.command(Operation.UNSOFT, status=one.new.status.value), clocks


def _unknown(step: Step) -> Decided:
    raise Wrong("op", f"{step.message.op} is not an operation that this version can replay")


def _renewed_at(after: TreeSnapshot, lease_id: str) -> datetime | None:
    todo = lease_id.split("@")[0]
    for goal in after.goals_of(todo):
        found = after.lease(goal, todo)
        if found is not None:
            return found.renewed_at
    return None


#: An adoption is not one operation: `replay.check_adoption` checks it. `command_of` handles INIT.
INVERSES: Mapping[Op, Callable[[Step], Decided]] = {
    Op.INIT: _unknown,
    Op.POLICY: _policy,
    Op.GOAL: _goal,
    Op.PEER: _peer,
    Op.ADD: _add,
    Op.CLAIM: _claim,
    Op.RENEW: _renew,
    Op.RELEASE: _release,
    Op.UPDATE: _update,
    Op.COMPLETE: _finish,
    Op.SUPERSEDE: _finish,
    Op.REOPEN: _plain(Operation.REOPEN),
    Op.CANCEL: _plain(Operation.CANCEL),
    Op.TRANSFER: _plain(Operation.TRANSFER, lambda one: one.lease_new.acquired_at),
    Op.ARCHIVE: _plain(Operation.ARCHIVE),
    Op.SOFT: _soft,
    Op.LOOP: _loop,
    Op.RECLAIM: _plain(Operation.RECLAIM, lambda one: one.step.soon.now),
    Op.ADOPT: _unknown,
}
