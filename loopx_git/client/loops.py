"""`client.loop`: loops, their task, and their ticks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from loopx_git.client.arguments import checked
from loopx_git.client.loop_state import LoopView, claim_task, loop_actor, loop_at, loop_view
from loopx_git.client.views import Reading
from loopx_git.core import ids
from loopx_git.core.change import Actor
from loopx_git.core.commands import ClaimTask, CreateLoop, SetLoopStatus
from loopx_git.core.loop import LoopStatus
from loopx_git.core.plan_loop import tracked

if TYPE_CHECKING:
    from loopx_git.client.attend import Inbox
    from loopx_git.client.base import BaseClient
    from loopx_git.client.tick import Tick


@checked()
class Loops:
    """Loops are registered peers of kind `loop` that work tick by tick, one task at a time, without a time bound.

    A loop lives in the clone of its first claim or tick; `resume` moves it. Methods that change a loop take
    `agent_id` for who asks (default: the configured agent, or the git identity).
    """

    #: A tick or a watch is as long as the work that it does; each step of it has a budget of its own.
    LASTING = True

    def __init__(self, client: BaseClient) -> None:
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
        return (None if created and dry_run else loop_at(self._client, answer.tip, name)), created

    def list(self, *, fresh: bool = False, offline: bool = False) -> tuple[Sequence[LoopView], Reading]:
        """Every loop, by name."""
        reading = self._client.read(fresh=fresh, offline=offline)
        snapshot = self._client.snapshot(reading)
        return [loop_view(self._client, snapshot, loop) for loop in snapshot.loops()], reading

    def show(self, name: str, *, fresh: bool = False, offline: bool = False) -> tuple[LoopView, Reading]:
        """One loop; NotFound when there is none."""
        reading = self._client.read(fresh=fresh, offline=offline)
        snapshot = self._client.snapshot(reading)
        return loop_view(self._client, snapshot, tracked(snapshot, name)), reading

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
        With `dry_run` the view shows the loop and the lease as they would become.
        """
        command = ClaimTask(name, todo_id, goal_id, resume, force, reason)
        return claim_task(self._client, command, dry_run=dry_run)

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

    def actor(self, name: str) -> Actor:
        """The loop as an actor: its name, and its session in this clone."""
        return loop_actor(self._client, name)

    def _status(
        self, name: str, status: LoopStatus, agent_id: str | None, dry_run: bool, *, approve: bool = False,
        reason: str | None = None,
    ) -> LoopView:  # fmt: skip
        actor = self._client.connection.actor(agent_id)
        command = SetLoopStatus(name, status, approve, reason)
        answer = self._client.submit([command], actor, dry_run=dry_run, words=f"loop {status} {name}")
        assert answer.tip is not None
        return loop_at(self._client, answer.tip, name)
