"""Adopt what was merged or edited at the forge: on request, or by the next command where it is safe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopx_git.client.connect import Connection
from loopx_git.core.change import Actor, ChangeSet, Op
from loopx_git.core.lease import Clocks
from loopx_git.errors import InvalidState, NotAllowed
from loopx_git.ledger.adoption import Adoption, plan_adoption
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.ledger.tree import Tree
from loopx_git.ledger.validation import ForeignTip
from loopx_git.store.driver import Job
from loopx_git.store.ledger import SubmitResult, not_initialised
from loopx_git.store.transaction import Limits


class _Asked(NotAllowed):
    """A person must agree to the adoption."""


def adopt(
    connection: Connection, actor: Actor, *, dry_run: bool = False, discard: bool = False, only_safe: bool = False
) -> dict[str, Any]:
    """Publish one adoption of the foreign commits at the tip.

    Facts: admitted, undone, and adopted (False: the tip is not foreign). `discard` admits nothing. `only_safe`
    refuses an adoption that a person must agree to.
    """

    def plan(good: TreeSnapshot, foreign: Tree, changed: Sequence[str], clocks: Clocks, request: str) -> ChangeSet:
        planned: Adoption = plan_adoption(good, foreign, changed, actor, clocks, request, discard=discard)
        if only_safe and not planned.is_safe:
            raise _Asked(
                "these foreign commits are adopted only when somebody asks for it", hint="git loopx adopt -h"
            )
        return planned.change

    def nothing(snapshot: TreeSnapshot | None, clocks: Clocks, request: str) -> tuple[ChangeSet, ...]:
        if snapshot is None:
            raise not_initialised()
        return (ChangeSet(Op.ADOPT, actor, "", facts={"adopted": False, "admitted": [], "undone": []}),)

    job = Job(
        decide=nothing,
        actor=actor,
        fingerprint=f"adopt {discard} {only_safe} {actor.name} {actor.session}",
        command="adopt",
        limits=Limits(budget=connection.left),
        dry_run=dry_run,
        adopt=plan,
    )
    answer: SubmitResult = connection.ledger.submit(job)
    return {**answer.facts[0], "tip": answer.tip, "commit": answer.oid}


def adopted_if_safe(connection: Connection, error: InvalidState, actor: Actor) -> bool:
    """Adopt the foreign tip of `error`, if no holder has to agree; False otherwise, and for any other error."""
    if not isinstance(error, ForeignTip) or error.forged:
        return False
    try:
        done = adopt(connection, actor, only_safe=True)
    except (_Asked, ForeignTip):
        return False
    if done["adopted"]:
        connection.ledger.notes.append(
            f"adopted {len(done['admitted'])} edits that were made beside the operations, up to {error.tip[:12]}"
        )
    return True
