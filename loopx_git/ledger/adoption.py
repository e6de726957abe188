"""Adopt foreign commits: one operation whose tree is the last good one plus the edits that the rules allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loopx_git.core.change import Actor, ChangeSet, Facts, Op, Restore, Write
from loopx_git.core.lease import Clocks
from loopx_git.core.plan import plan
from loopx_git.core.plan_setup import subject
from loopx_git.core.todo import Todo
from loopx_git.errors import LoopXError
from loopx_git.ledger.encode import encode
from loopx_git.ledger.manual_edits import ManualEdit, edits
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.ledger.tree import OverlayTree, Tree

#: What stands as the reason of an operator's update while an adoption is planned.
REASON = "adopted from a foreign commit"


@dataclass(frozen=True, slots=True)
class Adoption:
    """What an adoption does: the change set, the admitted edits, and the undone edits with their reasons."""

    change: ChangeSet
    admitted: Sequence[ManualEdit]
    undone: Sequence[ManualEdit]

    @property
    def is_safe(self) -> bool:
        """True when no holder has to agree: it has only new todos and edits of todos that are not held."""
        return not self.undone and all(edit.held is None for edit in self.admitted)


def plan_adoption(
    before: TreeSnapshot, foreign: Tree, changed: Sequence[str], actor: Actor, clocks: Clocks, request: str,
    *, discard: bool = False,
) -> Adoption:  # grouped by meaning  # fmt: skip
    """Plan on the last good state `before`; `changed` lists the paths in which the tree `foreign` differs from it.

    Each edit is planned as the ordinary operation that would have made it, on the result of the edit before. An edit
    that the rules refuse is undone; `discard` undoes all edits.
    """
    found = edits(before, foreign, changed, REASON)
    if discard:
        found = [replace(edit, commands=(), refused=edit.refused or "discarded") for edit in found]
    admitted: list[ManualEdit] = []
    undone = [edit for edit in found if edit.refused]
    waiting = [edit for edit in found if edit.commands]
    files: dict[str, bytes | None] = {}
    todos: dict[str, Write] = {}
    progress = True
    while waiting and progress:
        # A new todo may depend on another new one: those that fail are tried again once others are in.
        failed: list[ManualEdit] = []
        for edit in waiting:
            current = TreeSnapshot(OverlayTree(before.tree, files), before.memo) if files else before
            try:
                for command in edit.commands:
                    change = plan(current, command, actor, clocks, request)
                    written = encode(change, current)
                    todos |= {write.id: write for write in change.writes if isinstance(write, Todo)}
                    files |= written
                    current = TreeSnapshot(OverlayTree(before.tree, files), before.memo)
            except LoopXError as error:
                failed.append(replace(edit, refused=error.message))
                continue
            admitted.append(edit)
        progress = len(failed) < len(waiting)
        waiting = failed
    undone += waiting
    text = subject(f"adopt {len(admitted)} edits, undo {len(undone)} by {actor.name}")
    facts: Facts = {
        "admitted": [{"path": edit.path, "todo": edit.todo} for edit in admitted],
        "undone": [{"path": edit.path, "todo": edit.todo, "reason": edit.refused} for edit in undone],
        "adopted": True,
    }
    writes: tuple[Write, ...] = (Restore(), *(todos[name] for name in sorted(todos)))
    return Adoption(ChangeSet(Op.ADOPT, actor, text, writes, facts=facts), admitted, undone)
