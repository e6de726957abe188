"""A change set as the files that it writes: path -> new bytes (None: removed)."""

from __future__ import annotations

from loopx_git.core.change import ChangeSet, PutFormat, PutGoal, PutLease, PutLoop, PutPeer, PutPolicy, PutTodo
from loopx_git.format import files, layout, loop_record, policy_file, version
from loopx_git.format import lease_record as record
from loopx_git.format.message import Message
from loopx_git.ledger.tree import Tree


def encode(change: ChangeSet, tree: Tree | None) -> dict[str, bytes | None]:
    """The files of one change set. Existing files are edited line by line, new ones have canonical bytes."""
    written: dict[str, bytes | None] = {}
    for write in change.writes:
        match write:
            case PutFormat():
                written[layout.FORMAT] = version.BYTES
            case PutPolicy(policy):
                written[layout.POLICY] = policy_file.dump(policy)
            case PutLease(goal, lease):
                written[layout.lease(goal, lease.todo)] = record.dump(lease)
            case PutLoop(loop):
                written[layout.loop(loop.name)] = loop_record.dump(loop)
            case PutPeer(peer):
                path = layout.peer(peer.agent)
                data = _blob(tree, path)
                if data is None:
                    written[path] = files.dump_peer(peer)
                else:
                    before = files.load_peer(data, peer.agent, name=path)
                    written[path] = files.edit_peer(data, before, peer, name=path)
            case PutGoal(goal_after):
                path = layout.goal(goal_after.id)
                data = _blob(tree, path)
                if data is None:
                    written[path] = files.dump_goal(goal_after)
                else:
                    known = files.load_goal(data, goal_after.id, name=path)
                    written[path] = files.edit_goal(data, known, goal_after, name=path)
            case PutTodo():
                written |= _todo(write, tree)
    return written


def _todo(write: PutTodo, tree: Tree | None) -> dict[str, bytes | None]:
    todo = write.todo
    target = layout.todo(todo.goal, todo.id, archived=todo.archived)
    for archived in (False, True):
        path = layout.todo(todo.goal, todo.id, archived=archived)
        data = _blob(tree, path)
        if data is None:
            continue
        before = files.load_todo(data, todo.goal, todo.id, archived=archived, name=path)
        edited = files.edit_todo(data, before, todo, name=path)
        return {target: edited} if path == target else {target: edited, path: None}
    return {target: files.dump_todo(todo)}


def _blob(tree: Tree | None, path: str) -> bytes | None:
    return None if tree is None else tree.blob(path)


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
