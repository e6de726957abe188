"""Manual edits of todo files, as the operations that would have made them, or the reason why no operation can.

It serves files that are edited outside the operations: the acceptance of proposals, and the adoption of foreign
commits. Every changed path becomes an edit, with its commands or its refusal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from loopx_git.core.commands import AddTodo, OnTodo
from loopx_git.core.fields import EDITABLE
from loopx_git.core.table import Operation
from loopx_git.core.todo import SETTABLE, Status, Todo
from loopx_git.errors import InvalidState
from loopx_git.format import layout
from loopx_git.format.layout import PathKind
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.ledger.tree import OverlayTree, Tree

#: Fields that only operations write: field -> why a manual edit of it is refused.
_OURS = {
    "claimed_by": "a claim cannot be set by hand; it is made by: git loopx todo claim",
    "soft_claims": "a soft claim cannot be set by hand; it is made by: git loopx todo claim --soft",
    "attempts": "attempts are counted by reclaims alone",
    "supersedes": "links are made by: git loopx todo supersede",
    "successor": "links are made by: git loopx todo supersede",
    "completed_at": "a todo is completed by: git loopx todo complete",
    "created_at": "a todo's creation does not change",
    "created_by": "a todo's creation does not change",
}


@dataclass(frozen=True, slots=True)
class ManualEdit:
    """One changed path: the commands that make the change, in order, or the reason why it is refused.

    Without both, only the form of the file differs. `held` names the holder of the todo.
    """

    path: str
    todo: str | None = None
    commands: tuple[AddTodo | OnTodo, ...] = ()
    refused: str = ""
    held: str | None = None


def edits(before: TreeSnapshot, tree: Tree, changed: Sequence[str], reason: str) -> list[ManualEdit]:
    """The edits between a legal state and a tree that was edited by hand, sorted by path.

    `reason` is the reason of the operator's updates.
    """
    # Only todos are taken from that tree. A manual edit may not change the policy or the format number.
    kept = {path: before.tree.blob(path) for path in (layout.FORMAT, layout.POLICY)}
    after = TreeSnapshot(OverlayTree(tree, kept))
    return [_edit(before, after, path, reason) for path in sorted(changed)]


def _edit(before: TreeSnapshot, after: TreeSnapshot, path: str, reason: str) -> ManualEdit:
    try:
        place = layout.parse(path)
    except InvalidState as error:
        return ManualEdit(path, refused=error.message)
    if place.kind is not PathKind.TODO:
        return ManualEdit(
            path, place.name or None, refused=_NOT_A_TODO.get(place.kind, "it is written by operations alone")
        )
    todo = place.name
    known = before.goals_of(todo)
    try:
        if after.tree.blob(path) is None:
            return ManualEdit(path, todo, refused="a todo is never deleted; to archive it: git loopx todo archive")
        new = after.todo(place.goal, todo)
        if not known:
            return _added(before, new, path)
        if known != [place.goal]:
            return ManualEdit(path, todo, refused=f"the id {todo} is taken by a todo of the goal {known[0]}")
        old = before.todo(place.goal, todo)
        lease = before.lease(place.goal, todo)
    except InvalidState as error:
        return ManualEdit(path, todo, refused=error.message)
    if old.archived:
        return ManualEdit(path, todo, refused=f"the id {todo} is taken by an archived todo")
    return _updated(old, new, path, reason, None if lease is None else lease.holder)


_NOT_A_TODO = {
    PathKind.FORMAT: "the format number does not change by hand",
    PathKind.POLICY: "the policy is changed by: git loopx policy set",
    PathKind.PEER: "peers are changed by: git loopx peer",
    PathKind.GOAL: "goals are changed by: git loopx goal",
    PathKind.ARCHIVED: "to archive a todo: git loopx todo archive",
    PathKind.LOOP: "loops are changed by: git loopx loop",
    PathKind.LEASE: "a lease record is written by operations alone; a claim cannot be set by hand",
}


def _added(before: TreeSnapshot, new: Todo, path: str) -> ManualEdit:
    fresh = Todo(new.id, new.goal, new.title, Status.OPEN, new.created_at, new.created_by)
    for field, why in _OURS.items():
        if getattr(new, field) != getattr(fresh, field):
            return ManualEdit(path, new.id, refused=f"{field}: {why}")
    if new.status is not Status.OPEN:
        return ManualEdit(path, new.id, refused=f"status: a new todo is open, not {new.status.value}")
    if new.notes:
        return ManualEdit(path, new.id, refused="notes: a new todo has none yet; put the text into its description")
    if new.extra:
        return ManualEdit(path, new.id, refused=f"{min(new.extra)}: a new todo has the known keys only")
    return ManualEdit(path, new.id, (AddTodo.of(new),))


def _updated(old: Todo, new: Todo, path: str, reason: str, holder: str | None) -> ManualEdit:
    for field, why in _OURS.items():
        if getattr(new, field) != getattr(old, field):
            return ManualEdit(path, old.id, refused=f"{field}: {why}", held=holder)
    if dict(new.extra) != dict(old.extra):
        return ManualEdit(path, old.id, refused="a key that this format does not know was changed", held=holder)
    if new.notes[: len(old.notes)] != old.notes:
        return ManualEdit(path, old.id, refused="notes: they are appended, never changed", held=holder)
    status = None
    if new.status is not old.status:
        if new.status not in SETTABLE or old.status not in SETTABLE:
            return ManualEdit(path, old.id, refused=_transition(old, new), held=holder)
        status = new.status.value
    fields = {name: getattr(new, name) for name in EDITABLE if getattr(new, name) != getattr(old, name)}
    notes = [note.text for note in new.notes[len(old.notes) :]]
    if not (status or fields or notes):
        return ManualEdit(path, old.id, held=holder)
    operator: dict[str, Any] = {"force": True, "reason": reason, "renewals": ()}
    first = OnTodo(Operation.UPDATE, old.id, old.goal, status=status, fields=fields, **operator)
    if notes:
        first = replace(first, note=notes[0])
    rest = (replace(first, status=None, fields={}, note=note) for note in notes[1:])
    return ManualEdit(path, old.id, (first, *rest), held=holder)


def _transition(old: Todo, new: Todo) -> str:
    verb = {Status.COMPLETED: "complete", Status.SUPERSEDED: "supersede", Status.CANCELLED: "cancel"}
    command = verb.get(new.status, "reopen")
    return f"status: {old.status.value} does not become {new.status.value} by hand; use: git loopx todo {command}"
