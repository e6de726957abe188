"""`client.loop`: loops, their task, and their ticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loopx_git.client.arguments import checked
from loopx_git.client.identity import session_of_loop
from loopx_git.client.take import explained
from loopx_git.client.views import LeaseView, Reading
from loopx_git.core import ids
from loopx_git.core.change import Actor
from loopx_git.core.claim import is_stale
from loopx_git.core.commands import ClaimTask, CreateLoop, SetLoopStatus
from loopx_git.core.lease import Lease
from loopx_git.core.loop import Loop, LoopStatus
from loopx_git.core.peer import PeerStatus
from loopx_git.core.plan_loop import owns, tracked
from loopx_git.errors import HeldByAnother, UsageError

if TYPE_CHECKING:
    from loopx_git.client.attend import Inbox
    from loopx_git.client.client import Client
    from loopx_git.client.tick import Tick
    from loopx_git.format.snapshot import TreeSnapshot


@dataclass(frozen=True, slots=True)
class LoopView:
    """A loop's record, the claim of its current task (None: it does not hold it), and why it needs somebody
    ("": it does not). `acquired` is set by a claim: False when the loop had the task already."""

    loop: Loop
    claim: LeaseView | None
    trouble: str = ""
    acquired: bool | None = None

    def as_json(self) -> dict[str, Any]:
        from loopx_git.format.loop_record import as_json

        shown = {**as_json(self.loop), "lease": None if self.claim is None else self.claim.as_json()}
        shown["trouble"] = self.trouble or None
        return shown if self.acquired is None else {**shown, "acquired": self.acquired}


@checked()
class Loops:
    """Loops are registered peers of kind `loop` that work tick by tick, one task at a time, without a time bound.

    A loop lives in the clone of its first claim or tick; `resume` moves it. Methods that change a loop take
    `agent_id` for who asks (default: the configured agent, or the git identity).
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(
        self, name: str, *, agent_id: str | None = None, dry_run: bool = False
    ) -> tuple[LoopView | None, bool]:
        """Make a loop, and register its peer: (the loop, whether it is new); None in a dry run of a new one."""
        actor = self._client.connection.actor(agent_id)
        command = CreateLoop(ids.check("agent", name, where="loop"))
        answer = self._client.submit([command], actor, dry_run=dry_run, words=f"loop create {name}")
        assert answer.tip is not None
        created = bool(answer.facts[0]["created"])
        return (None if created and dry_run else self._at(answer.tip, name)), created

    def list(self, *, fresh: bool = False, offline: bool = False) -> tuple[Sequence[LoopView], Reading]:
        """Every loop, by name."""
        reading = self._client.read(fresh=fresh, offline=offline)
        snapshot = self._client.snapshot(reading)
        return [self._view(snapshot, loop) for loop in snapshot.loops()], reading

    def show(self, name: str, *, fresh: bool = False, offline: bool = False) -> tuple[LoopView, Reading]:
        """One loop; NotFound when there is none."""
        reading = self._client.read(fresh=fresh, offline=offline)
        snapshot = self._client.snapshot(reading)
        return self._view(snapshot, tracked(snapshot, name)), reading

    def audit(self, *, fresh: bool = True, offline: bool = False) -> tuple[Sequence[LoopView], Reading]:
        """The loops that hold a task and are halted, retired, or have not been seen for peers.stale_after."""
        found, reading = self.list(fresh=fresh and not offline, offline=offline)
        return [view for view in found if view.trouble], reading

    def claim(
        self, name: str, todo_id: str, *, goal_id: str | None = None, resume: bool = False, force: bool = False,
        reason: str | None = None, dry_run: bool = False,
    ) -> LoopView:  # fmt: skip
        """Claim a todo as the loop's task, atomically over all loops and all other peers.

        `resume` moves the loop to this clone, and its claim with it (epoch + 1); `force` takes the todo from
        whoever holds it, for a `reason` that goes into history. Nothing is written when the loop has it already.
        """
        actor = self.actor(name)
        command = ClaimTask(name, todo_id, goal_id, resume, force, reason)
        try:
            answer = self._client.submit([command], actor, dry_run=dry_run, words=f"loop claim {name} {todo_id}")
        except HeldByAnother as error:
            raise explained(error, name, f"git loopx loop claim {name} --task {{todo}} --resume") from None
        self._client.confirm(answer, actor)
        assert answer.tip is not None
        view = self._at(answer.tip, name)
        acquired = bool(answer.facts[0].get("acquired"))
        return LoopView(view.loop, view.claim, view.trouble, acquired)

    def pause(self, name: str, *, agent_id: str | None = None, dry_run: bool = False) -> LoopView:
        """Let a loop rest: its ticks are skipped, and it keeps its task."""
        return self._status(name, LoopStatus.PAUSED, agent_id, dry_run)

    def resume(self, name: str, *, agent_id: str | None = None, dry_run: bool = False) -> LoopView:
        """Let a paused loop go on."""
        return self._status(name, LoopStatus.RUNNING, agent_id, dry_run)

    def halt(
        self, name: str, *, reason: str | None = None, agent_id: str | None = None, dry_run: bool = False
    ) -> LoopView:
        """Stop a loop until somebody approves; it keeps its task."""
        return self._status(name, LoopStatus.HALTED, agent_id, dry_run, reason=reason)

    def approve(self, name: str, *, agent_id: str | None = None, dry_run: bool = False) -> LoopView:
        """Let a halted loop go on; a loop cannot approve itself."""
        return self._status(name, LoopStatus.RUNNING, agent_id, dry_run, approve=True)

    def tick(
        self, name: str, argv: Sequence[str], *, task: str | None = None, goal_id: str | None = None,
        resume: bool = False, grace: float = 10.0, inbox: Inbox | None = None,
    ) -> Tick:  # fmt: skip
        """One tick: keep the task or find one, run `argv` on it, count the iteration, and let go of the task if
        it is over. A tick that has nothing to do, or that lost a race, is skipped."""
        from loopx_git.client.tick import tick

        return tick(self._client, name, argv, task=task, goal_id=goal_id, resume=resume, grace=grace, inbox=inbox)

    # -- what the rest shares

    def actor(self, name: str) -> Actor:
        """The loop as an actor: its name, and its session in this clone."""
        if not ids.is_valid("agent", name):
            raise UsageError(f"{name[:80]!r} is no valid loop", hint=f"a loop is {ids.GRAMMAR['agent'][1]}")
        connection = self._client.connection
        given = connection.flags.get("session")
        return Actor(name, given or session_of_loop(connection.repository, name, connection.hooks.entropy))

    def _status(
        self, name: str, status: LoopStatus, agent_id: str | None, dry_run: bool, *, approve: bool = False,
        reason: str | None = None,
    ) -> LoopView:  # fmt: skip
        actor = self._client.connection.actor(agent_id)
        command = SetLoopStatus(name, status, approve, reason)
        answer = self._client.submit([command], actor, dry_run=dry_run, words=f"loop {status} {name}")
        assert answer.tip is not None
        return self._at(answer.tip, name)

    def _at(self, tip: str, name: str) -> LoopView:
        snapshot = self._client.connection.ledger.snapshot(tip)
        return self._view(snapshot, tracked(snapshot, name))

    def _view(self, snapshot: TreeSnapshot, loop: Loop) -> LoopView:
        held: Lease | None = owns(snapshot, loop)
        if held is None:
            return LoopView(loop, None)
        view = self._client.view_of(snapshot, snapshot.todo(snapshot.goals_of(held.todo)[0], held.todo), held)
        return LoopView(loop, view.lease, self._trouble(snapshot, loop))

    def _trouble(self, snapshot: TreeSnapshot, loop: Loop) -> str:
        """Why somebody should look at a loop that holds a task, or ""."""
        peer = snapshot.peer(loop.name)
        if loop.status is LoopStatus.HALTED:
            return "halted" + (f": {loop.reason}" if loop.reason else "")
        if peer is None or peer.status is PeerStatus.RETIRED:
            return "its peer is gone" if peer is None else "its peer is retired"
        if loop.status is LoopStatus.RUNNING and is_stale(peer, snapshot, self._client.moment()):
            return "gone: not seen for longer than policy peers.stale_after"
        return ""
