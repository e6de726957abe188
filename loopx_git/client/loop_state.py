"""What loops and their ticks share: the view of a loop, the loop as an actor, and the claim of its task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from loopx_git.client.base import BaseClient
from loopx_git.client.identity import session_of_loop
from loopx_git.client.take import explained
from loopx_git.client.views import LeaseView, lease_view
from loopx_git.core import ids
from loopx_git.core.change import Actor, place_of
from loopx_git.core.claim import acquired as acquired_by
from loopx_git.core.claim import is_stale
from loopx_git.core.commands import ClaimTask
from loopx_git.core.lease import Lease
from loopx_git.core.loop import Loop, LoopStatus
from loopx_git.core.peer import PeerStatus
from loopx_git.core.plan_loop import owns, tracked
from loopx_git.errors import HeldByAnother, UsageError
from loopx_git.format.loop_record import as_json
from loopx_git.ledger.snapshot import TreeSnapshot


@dataclass(frozen=True, slots=True)
class LoopView:
    """A loop's record, the claim of its current task (None: it does not hold it), and its trouble ("": none).

    A claim sets `acquired`: False when the loop already had the task. Then `title` is the task's, and `former` the
    holder before, as agent@epoch.
    """

    loop: Loop
    claim: LeaseView | None
    trouble: str = ""
    acquired: bool | None = None
    title: str = ""
    former: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command line."""
        shown = {**as_json(self.loop), "lease": None if self.claim is None else self.claim.as_json()}
        shown["trouble"] = self.trouble or None
        return shown if self.acquired is None else {**shown, "acquired": self.acquired}


def loop_actor(client: BaseClient, name: str) -> Actor:
    """The loop as an actor: its name, and its session in this clone."""
    if not ids.is_valid("agent", name):
        raise UsageError(f"{name[:80]!r} is not a valid loop", hint=f"a loop is {ids.GRAMMAR['agent'][1]}")
    connection = client.connection
    given = connection.flags.get("session")
    return Actor(name, given or session_of_loop(connection.repository, name, connection.overrides.entropy))


def loop_view(client: BaseClient, snapshot: TreeSnapshot, name: str) -> LoopView:
    """One loop as `snapshot` has it. Raises NotFound when there is none."""
    loop = tracked(snapshot, name)
    held: Lease | None = owns(snapshot, loop)
    if held is None:
        return LoopView(loop, None)
    view = client.view_of(snapshot, snapshot.todo(snapshot.goals_of(held.todo)[0], held.todo), held)
    return LoopView(loop, view.lease, _trouble(client, snapshot, loop))


def claim_task(client: BaseClient, command: ClaimTask, *, dry_run: bool = False) -> LoopView:
    """Claim a todo as the loop's task; see `client.loop.claim`."""
    actor = loop_actor(client, command.loop)
    words = f"loop claim {command.loop} {command.todo}"
    try:
        answer = client.submit([command], actor, dry_run=dry_run, words=words)
    except HeldByAnother as error:
        way_on = f"git loopx loop claim {command.loop} --task {{todo}} --resume"
        raise explained(error, command.loop, way_on) from None
    client.confirm(answer, actor)
    assert answer.tip is not None
    facts, snapshot = answer.facts[0], client.connection.ledger.snapshot(answer.tip)
    view = loop_view(client, snapshot, command.loop)
    acquired, former = bool(facts.get("acquired")), facts.get("former")
    goal, todo = place_of(facts)
    title = snapshot.todo(goal, todo).title
    if not dry_run:
        return LoopView(view.loop, view.claim, view.trouble, acquired, title, former)
    clocks = client.clocks()
    record = snapshot.lease(goal, todo) or Lease(todo)
    if acquired:
        record = acquired_by(record, actor, None, clocks, record.last_request or "")
    loop = replace(view.loop, current_task=todo, session=actor.session)
    return LoopView(loop, lease_view(record, todo, clocks, 0), view.trouble, acquired, title, former)


def _trouble(client: BaseClient, snapshot: TreeSnapshot, loop: Loop) -> str:
    """Why somebody should look at a loop that holds a task, or ""."""
    peer = snapshot.peer(loop.name)
    if loop.status is LoopStatus.HALTED:
        return "halted" + (f": {loop.reason}" if loop.reason else "")
    if peer is None or peer.status is PeerStatus.RETIRED:
        return "its peer is gone" if peer is None else "its peer is retired"
    if loop.status is LoopStatus.RUNNING and is_stale(peer, snapshot, client.clocks()):
        return "gone: not seen for longer than policy peers.stale_after"
    return ""
