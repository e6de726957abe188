"""A change set as the files that it writes: path -> new bytes (None: removed)."""

from __future__ import annotations

from loopx_git.core.change import ChangeSet, PutFormat, PutLease
from loopx_git.core.loop import Loop
from loopx_git.core.peer import Goal, Peer
from loopx_git.core.policy import Policy
from loopx_git.core.todo import Todo
from loopx_git.format import files, layout, loop_record, policy_file, version
from loopx_git.format import lease_record as record
from loopx_git.format.message import Message
from loopx_git.ledger.snapshot import TreeSnapshot


def encode(change: ChangeSet, before: TreeSnapshot | None) -> dict[str, bytes | None]:
    """The files of one change set on a state (None: there is no ledger yet).

    Existing files are edited line by line, new ones have canonical bytes.
    """
    written: dict[str, bytes | None] = {}
    for write in change.writes:
        match write:
            case PutFormat():
                written[layout.FORMAT] = version.BYTES
            case Policy():
                written[layout.POLICY] = policy_file.dump(write)
            case PutLease(goal, lease):
                written[layout.lease(goal, lease.todo)] = record.dump(lease)
            case Loop():
                written[layout.loop(write.name)] = loop_record.dump(write)
            case Peer():
                former = None if before is None else before.peer(write.agent)
                written |= _edited(layout.peer(write.agent), former, write, before)
            case Goal():
                known = None if before is None else before.goal(write.id)
                written |= _edited(layout.goal(write.id), known, write, before)
            case Todo():
                written |= _todo(write, before)
    return written


def _edited(
    path: str, former: Peer | Goal | None, after: Peer | Goal, before: TreeSnapshot | None
) -> dict[str, bytes]:
    data = None if before is None else before.tree.blob(path)
    if data is None or former is None:
        return {path: files.dump(after)}
    return {path: files.edit(data, former, after, name=path)}


def _todo(todo: Todo, before: TreeSnapshot | None) -> dict[str, bytes | None]:
    target = layout.todo(todo.goal, todo.id, archived=todo.archived)
    if before is None or todo.goal not in before.goals_of(todo.id):
        return {target: files.dump_todo(todo)}
    former = before.todo(todo.goal, todo.id)
    path = layout.todo(todo.goal, todo.id, archived=former.archived)
    edited = files.edit_todo(before.tree.blob(path) or b"", former, todo, name=path)
    return {target: edited} if path == target else {target: edited, path: None}


def message_of(change: ChangeSet, *, request: str, nonce: str, program: str) -> Message:
    """The commit message of a change set; `program` is this program's version."""
    return Message(
        subject=change.subject,
        op=change.op,
        agent=change.actor.name,
        request=request,
        nonce=nonce,
        version=program,
        goal=change.goal,
        todo=change.todo,
        epoch=change.epoch,
        session=change.actor.session,
        prev=change.prev,
        reason=change.reason,
        code=change.code,
        renew=change.renewed,
    )
