"""Replay: is this commit one legal operation on the state before it, and is its message true?

The commit is turned back into the command that it claims to be. The planner decides that command on the former state,
and its result is compared with the tree. So `verify`, the check of fetched commits and the receive check follow the
same table as claims. Times come from the records: a taker is judged by its own clock, and a holder's lateness is not
judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from loopx_git.core.change import Actor
from loopx_git.core.lease import Clocks
from loopx_git.core.plan import plan
from loopx_git.core.times import after as ending
from loopx_git.core.times import parse_time
from loopx_git.errors import InvalidState, LoopXError
from loopx_git.format import files, layout, loop_record
from loopx_git.format import lease_record as record
from loopx_git.format.layout import PathKind, PathParts
from loopx_git.format.message import Message
from loopx_git.ledger.adoption import plan_adoption
from loopx_git.ledger.encode import encode, message_of
from loopx_git.ledger.inverse import Finding, Wrong, command_of, todo_after
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.ledger.tree import Tree


def check_step(
    before: TreeSnapshot | None,
    after: TreeSnapshot,
    changed: Sequence[str],
    message: Message,
    committed_at: datetime,
) -> Finding | None:
    """None when the step from `before` to `after` is the one legal operation that `message` describes; else the first
    finding.

    `changed` lists the changed paths.
    """
    try:
        places = {path: layout.parse(path) for path in changed}
        # A commit's time is cut to seconds, so a claim that lapsed within that second counts as lapsed.
        command, clocks = command_of(before, after, places, message, ending(committed_at, 0.999))
        actor = Actor(message.agent, message.session)
        change = plan(before, command, actor, clocks, message.request)
        written = encode(change, before)
        _compare(before, after, set(changed), written)
        _compare_trailers(message, message_of(change, request="", nonce="", program=""))
    except Wrong as wrong:
        return wrong.finding
    except InvalidState as error:
        return Finding("format", error.message)
    except LoopXError as error:
        return Finding(f"{message.op}", f"not allowed by the rules: {error.message}")
    return None


def check_adoption(
    before: TreeSnapshot, foreign: Tree, after: TreeSnapshot, changed: tuple[Sequence[str], Sequence[str]],
    message: Message, committed_at: datetime,
) -> Finding | None:  # grouped by meaning  # fmt: skip
    """None when `after` is the last good state `before` plus the edits of `foreign` that the rules allow; else a
    finding.

    `changed` lists the paths in which `foreign` differs from `before`, and those in which `after` differs from it. An
    adoption may also admit nothing.
    """
    theirs, ours = changed
    try:
        clocks = Clocks(_written_at(before, after, ours) or committed_at)
        actor = Actor(message.agent, message.session)
        change = plan_adoption(before, foreign, theirs, actor, clocks, message.request).change
        if ours:
            _compare(before, after, set(ours), encode(change, before))
        _compare_trailers(message, message_of(change, request="", nonce="", program=""))
    except Wrong as wrong:
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
        todo = todo_after(after, place.goal, place.name)
        if not before.goals_of(todo.id):
            return todo.created_at
        known = before.todo(place.goal, todo.id).notes
        if todo.notes[len(known) :]:
            return parse_time(todo.notes[-1].time)
    return None


def _compare(
    before: TreeSnapshot | None, after: TreeSnapshot, changed: set[str], written: dict[str, bytes | None]
) -> None:
    expected = {path for path, data in written.items() if before is None or before.tree.blob(path) != data}
    for path in sorted(changed - expected):
        raise Wrong("extra", f"{path} changed, which this operation does not write")
    for path in sorted(expected - changed):
        raise Wrong("missing", f"{path} did not change, which this operation writes")
    for path in sorted(expected):
        data, wanted = after.tree.blob(path), written[path]
        if data == wanted:
            continue
        if data is None or wanted is None:
            raise Wrong("content", f"{path} should {'not exist' if wanted is None else 'exist'}")
        place = layout.parse(path)
        if _decode(place, data, path) != _decode(place, wanted, path):
            raise Wrong("content", f"{path} does not hold what this operation writes")


def _decode(place: PathParts, data: bytes, path: str) -> object:
    match place.kind:
        case PathKind.TODO | PathKind.ARCHIVED:
            archived = place.kind is PathKind.ARCHIVED
            return files.load_todo(data, place.goal, place.name, archived=archived, name=path)
        case PathKind.LEASE:
            return record.load(data, place.name, name=path)
        case PathKind.LOOP:
            return loop_record.load(data, place.name, name=path)
        case PathKind.PEER:
            return files.load_peer(data, place.name, name=path)
        case PathKind.GOAL:
            return files.load_goal(data, place.goal, name=path)
    return data


def _compare_trailers(said: Message, planned: Message) -> None:
    for name in ("goal", "todo", "epoch", "prev", "code", "renew"):
        stated, true = getattr(said, name), getattr(planned, name)
        if stated != true:
            raise Wrong("trailers", f"Loopx-{name.title()} says {stated!r}; the tree says {true!r}")
