"""Several commands as one group: each is planned on the result of the one before."""

from __future__ import annotations

from collections.abc import Sequence

from loopx_git.core.change import Actor, ChangeSet
from loopx_git.core.commands import Command
from loopx_git.core.lease import Clocks
from loopx_git.core.plan import plan
from loopx_git.ledger.encode import encode
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.ledger.tree import OverlayTree


def plan_group(
    snapshot: TreeSnapshot | None, commands: Sequence[Command], actor: Actor, clocks: Clocks, request: str
) -> tuple[ChangeSet, ...]:
    """The change sets of all commands. Raises the first refusal: all or nothing."""
    changes: list[ChangeSet] = []
    current = snapshot
    # One overlay with everything so far, not an overlay upon an overlay: a group may be long.
    files: dict[str, bytes | None] = {}
    for number, command in enumerate(commands, 1):
        change = plan(current, command, actor, clocks, request)
        changes.append(change)
        if number < len(commands) and snapshot is not None and current is not None and change.writes:
            files |= encode(change, current)
            current = TreeSnapshot(OverlayTree(snapshot.tree, files), snapshot.memo)
    return tuple(changes)
