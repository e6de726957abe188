"""Replay: is this commit one legal operation on the state before it, and does it say the truth about itself?

The commit is turned back into the command that it claims to be, the planner decides that command on the former
state, and what the planner would have written is compared with what stands in the tree. So `verify`, the check
of what is fetched and the receive check follow the very table that claims follow. Clocks are taken from the
records themselves: a taker is held to its own clock, a holder's lateness is not judged from afar.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from loopx_git.core import policy
from loopx_git.core.change import Actor, Op
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
from loopx_git.core.lease import Lease, Moment
from loopx_git.core.meaning import NOTE_REASON
from loopx_git.core.peer import GoalStatus
from loopx_git.core.plan import plan
from loopx_git.core.table import Operation
from loopx_git.core.times import after as ending
from loopx_git.core.times import parse_time
from loopx_git.core.todo import Todo
from loopx_git.errors import InvalidState, LoopXError
from loopx_git.format import files, layout, loop_record, record
from loopx_git.format.layout import PathKind, Place
from loopx_git.format.message import Message
from loopx_git.ledger import replay_loop
from loopx_git.ledger.adoption import plan_adoption
from loopx_git.ledger.encode import encode, message_of
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.ledger.tree import Tree


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a commit: the rule that it breaks, and a sentence."""

    rule: str
    message: str


class _Wrong(Exception):
    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.finding = Finding(rule, message)


class _Unless(dict[str, Any]):
    """What only the clone that acted knows by its own clocks, as a verifier takes it: `other` for all but some."""

    def __init__(self, other: Any, known: Mapping[str, Any] | None = None) -> None:
        super().__init__(known or {})
        self.other = other

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, self.other)


#: No holder is late, and a record dated in somebody's future was first seen there long ago.
_NEVER, _LONG_AGO = float("inf"), datetime.min.replace(tzinfo=UTC)


def check_step(
    before: TreeSnapshot | None,
    after: TreeSnapshot,
    changed: Sequence[str],
    message: Message,
    committed_at: datetime,
) -> Finding | None:
    """None when the step from `before` to `after` (which changed the paths `changed`) is one legal operation
    that `message` describes; else the first thing wrong with it."""
    try:
        places = {path: layout.parse(path) for path in changed}
        # A commit's time is cut to seconds: what had lapsed within that second had lapsed.
        command, moment = _command(before, after, places, message, ending(committed_at, 0.999))
        actor = Actor(message.agent, message.session)
        change = plan(before, command, actor, moment, message.request)
        written = encode(change, None if before is None else before.tree)
        _compare(before, after, set(changed), written)
        _compare_trailers(message, message_of(change, request="", nonce="", program=""))
    except _Wrong as wrong:
        return wrong.finding
    except InvalidState as error:
        return Finding("format", error.message)
    except LoopXError as error:
        return Finding(f"{message.op}", f"not allowed by the rules: {error.message}")
    return None


def check_adoption(
    before: TreeSnapshot, foreign: Tree, after: TreeSnapshot, changed: tuple[Sequence[str], Sequence[str]],
    message: Message, committed_at: datetime,
) -> Finding | None:  # fmt: skip
    """None when `after` is the last good state `before` plus what the rules let be taken over of the tree `foreign`.

    `changed` has the paths in which `foreign`, and those in which `after` differs from `before`. An adoption may
    also take over nothing.
    """
    theirs, ours = changed
    try:
        moment = Moment(_written_at(before, after, ours) or committed_at)
        actor = Actor(message.agent, message.session)
        change = plan_adoption(before, foreign, theirs, actor, moment, message.request).change
        if ours:
            _compare(before, after, set(ours), encode(change, before.tree))
        _compare_trailers(message, message_of(change, request="", nonce="", program=""))
    except _Wrong as wrong:
        return wrong.finding
    except LoopXError as error:
        return Finding("adopt", error.message)
    return None


def _written_at(before: TreeSnapshot, after: TreeSnapshot, paths: Sequence[str]) -> datetime | None:
    """The moment that an adoption wrote into its new todos and notes."""
    for path in paths:
        place = layout.parse(path)
        if place.kind is not PathKind.TODO:
            continue
        todo = _todo_after(after, place.goal, place.name)
        if not before.goals_of(todo.id):
            return todo.created_at
        known = before.todo(place.goal, todo.id).notes
        if todo.notes[len(known) :]:
            return parse_time(todo.notes[-1].time)
    return None


def _only(places: dict[str, Place], kind: PathKind, op: Op) -> Place:
    found = [place for place in places.values() if place.kind is kind]
    if len(found) != 1:
        raise _Wrong("shape", f"{op} must change exactly one {kind} file, this one changes {len(found)}")
    return found[0]


def _command(
    before: TreeSnapshot | None, after: TreeSnapshot, places: dict[str, Place], message: Message, at: datetime
) -> tuple[Command, Moment]:
    op = message.op
    if op is Op.INIT or before is None:
        if op is not Op.INIT or before is not None:
            raise _Wrong("root", "the first commit of a ledger, and only it, is init")
        goal = after.goal("main")
        return Init(), Moment(at if goal is None else goal.created_at)
    if op is Op.POLICY:
        keys = [key for key in policy.KEYS if policy.get(before.policy, key) != policy.get(after.policy, key)]
        if len(keys) != 1:
            raise _Wrong("shape", f"policy must change exactly one key, this one changes {len(keys)}")
        return SetPolicy(keys[0], policy.get(after.policy, keys[0])), _soon(at)
    if op is Op.GOAL:
        goal = after.goal(_only(places, PathKind.GOAL, op).goal)
        if goal is None:
            raise _Wrong("deleted", "a goal's file is never deleted")
        if before.goal(goal.id) is not None and goal.status is GoalStatus.CLOSED:
            return CloseGoal(goal.id), _soon(at)
        known_goal = before.goal(goal.id)
        at_once = Moment(goal.created_at) if known_goal is None else _soon(at)
        return CreateGoal(goal.id, goal.title, goal.claims), at_once
    if op is Op.PEER:
        name = _only(places, PathKind.PEER, op).name
        peer = after.peer(name)
        if peer is None:
            raise _Wrong("deleted", "a peer's file is never deleted")
        known = before.peer(name)
        if known is not None and peer.last_seen is not None and known.last_seen != peer.last_seen:
            return Beat(), Moment(peer.last_seen)
        if known is not None and known.status is not peer.status:
            return SetPeerStatus(peer.agent, peer.status), _soon(at)
        return (
            RegisterPeer(peer.agent, peer.kind, peer.capabilities),
            Moment(peer.created_at if known is None else at),
        )
    changed_loops = [place.name for place in places.values() if place.kind is PathKind.LOOP]
    if op is Op.LOOP or (op is Op.CLAIM and changed_loops):
        _only(places, PathKind.LOOP, op)
        command, named = replay_loop.command_of(before, after, changed_loops[0], message)
        active = replay_loop.active(before, after, message, at)
        return command, (_soon(at) if named is None else Moment(named, _Unless(_LONG_AGO), _Unless(_NEVER), active))
    if op is Op.ADD:
        place = _only(places, PathKind.TODO, op)
        todo = _todo_after(after, place.goal, place.name)
        names = set(AddTodo.__dataclass_fields__)
        return AddTodo(**{name: getattr(todo, name) for name in names}), Moment(todo.created_at)
    if op is Op.RENEW and message.todo is None:
        now = _renewed_at(after, message.renew[0]) if message.renew else None
        return RenewAll(message.renew), Moment(now or at)
    return _on_todo(before, after, message, at)


def _soon(at: datetime) -> Moment:
    """The moment of an operation that leaves no time of its own in a record: a commit's time is cut to seconds,
    so it was decided within the second that follows."""
    return Moment(ending(at, 1), _Unless(_LONG_AGO))


def _todo_after(after: TreeSnapshot, goal: str, todo: str) -> Todo:
    if goal not in after.goals_of(todo):
        raise _Wrong("deleted", f"the file of {todo} is gone; a todo is never deleted")
    return after.todo(goal, todo)


def _on_todo(
    before: TreeSnapshot, after: TreeSnapshot, message: Message, at: datetime
) -> tuple[OnTodo | DropSoftClaim, Moment]:
    """The operation on one todo that a commit claims to be, with the moment its own records name."""
    if message.todo is None or message.goal is None:
        raise _Wrong("trailers", f"{message.op} names no todo and goal")
    goal, todo_id = message.goal, message.todo
    if goal not in before.goals_of(todo_id):
        raise _Wrong("trailers", f"there was no {todo_id} in the goal {goal}")
    old, new = before.todo(goal, todo_id), _todo_after(after, goal, todo_id)
    lease_old = before.lease(goal, todo_id) or Lease(todo_id)
    lease_new = after.lease(goal, todo_id)
    if lease_new is None and lease_old.epoch:
        raise _Wrong("deleted", f"the lease record of {todo_id} is gone; it is never deleted")
    lease_new = lease_new or Lease(todo_id)
    operation = Operation(message.op.value) if message.op.value in set(Operation) else None
    if operation is None:
        raise _Wrong("op", f"{message.op} is not an operation that this version can replay")
    note = new.notes[len(old.notes) :]
    fields: dict[str, Any] = {}
    status = None
    now = at
    if operation is Operation.CLAIM:
        now = lease_new.acquired_at or at
    elif operation is Operation.RENEW:
        now = lease_new.renewed_at or at
    elif operation is Operation.COMPLETE:
        now = new.completed_at or at
    elif operation is Operation.TRANSFER:
        now = lease_new.acquired_at or at
    elif operation is Operation.SOFT and before.peer(message.agent) is None:
        peer = after.peer(message.agent)
        now = at if peer is None else peer.created_at
    elif operation is Operation.RECLAIM:
        now = _soon(at).now
    elif operation is Operation.UPDATE:
        fields = {name: getattr(new, name) for name in EDITABLE if getattr(new, name) != getattr(old, name)}
    if note:
        try:
            now = parse_time(note[0].time)
        except ValueError:
            raise _Wrong("note", f"the note's time {note[0].time!r} is no UTC timestamp") from None
    elif message.renew and operation is not Operation.RENEW:
        now = _renewed_at(after, message.renew[0]) or now
    if operation is Operation.UPDATE and message.reason == NOTE_REASON:
        # Whatever else it changed is then not what the planner would have written.
        operation, fields = Operation.NOTE, {}
    if operation in (Operation.RELEASE, Operation.UPDATE):
        status = new.status.value
        if operation is Operation.UPDATE and status == old.status and (fields or note):
            status = None
    successor = title = None
    if operation in (Operation.SUPERSEDE, Operation.COMPLETE) and new.successor != old.successor:
        successor = new.successor
        if successor is not None and not before.goals_of(successor):
            carrying = _todo_after(after, goal, successor)
            title, now = carrying.title, carrying.created_at
    command_operation, moment = _as_claim(operation, lease_old, new.attempts > old.attempts, message, now)
    command = OnTodo(
        command_operation,
        todo_id,
        goal,
        force=message.reason is not None and operation is not Operation.NOTE,
        reason=None if operation is Operation.NOTE else message.reason,
        ttl=lease_new.ttl_s,
        status=status,
        fields=fields,
        note=note[0].text if note else None,
        to=lease_new.holder,
        exclusive=True,
        validated=old.validate,
        code=message.code if operation is Operation.COMPLETE else None,
        successor=successor,
        successor_title=title,
        renewals=message.renew,
    )
    if operation is Operation.SOFT:
        gone = [name for name in old.soft_claims if name not in new.soft_claims]
        if gone and gone != [message.agent]:
            return DropSoftClaim(todo_id, gone[0]), _soon(at)
        if message.agent not in new.soft_claims:
            # As with a release: to which status the last one leaves it is its own choice.
            command = replace(command, operation=Operation.UNSOFT, status=new.status.value)
    return command, moment


def _as_claim(
    operation: Operation, lease: Lease, attempt: bool, message: Message, now: datetime
) -> tuple[Operation, Moment]:
    """Tell a claim from a resume, and set the clocks so that the taker is judged by its own."""
    moment = Moment(now, _Unless(_LONG_AGO), _Unless(_NEVER))
    if operation is not Operation.CLAIM or lease.holder != message.agent or attempt:
        return operation, moment
    if lease.session in (None, message.session):
        return Operation.RESUME, Moment(now, _Unless(_LONG_AGO), _Unless(_NEVER, {lease.id: 0.0}))
    return Operation.RESUME, moment


def _renewed_at(after: TreeSnapshot, lease_id: str) -> datetime | None:
    todo = lease_id.split("@")[0]
    for goal in after.goals_of(todo):
        found = after.lease(goal, todo)
        if found is not None:
            return found.renewed_at
    return None


def _compare(
    before: TreeSnapshot | None, after: TreeSnapshot, changed: set[str], written: dict[str, bytes | None]
) -> None:
    expected = {path for path, data in written.items() if before is None or before.tree.blob(path) != data}
    for path in sorted(changed - expected):
        raise _Wrong("extra", f"{path} changed, which this operation does not write")
    for path in sorted(expected - changed):
        raise _Wrong("missing", f"{path} did not change, which this operation writes")
    for path in sorted(expected):
        data, wanted = after.tree.blob(path), written[path]
        if data == wanted:
            continue
        if data is None or wanted is None:
            raise _Wrong("content", f"{path} should {'not exist' if wanted is None else 'exist'}")
        place = layout.parse(path)
        if _decode(place, data, path) != _decode(place, wanted, path):
            raise _Wrong("content", f"{path} does not hold what this operation writes")


def _decode(place: Place, data: bytes, path: str) -> object:
    match place.kind:
        case PathKind.TODO | PathKind.ARCHIVED:
            archived = place.kind is PathKind.ARCHIVED
            return files.load_todo(data, place.goal, place.name, archived=archived, name=path)
        case PathKind.LEASE:
            return record.load(data, place.name, name=path)
        case PathKind.LOOP:
            return loop_record.load(data, place.name, path=path)
        case PathKind.PEER:
            return files.load_peer(data, place.name, name=path)
        case PathKind.GOAL:
            return files.load_goal(data, place.goal, name=path)
    return data


def _compare_trailers(said: Message, planned: Message) -> None:
    for name in ("goal", "todo", "epoch", "prev", "code", "renew"):
        stated, true = getattr(said, name), getattr(planned, name)
        if stated != true:
            raise _Wrong("trailers", f"Loopx-{name.title()} says {stated!r}; the tree says {true!r}")
