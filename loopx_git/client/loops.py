"""`client.loop`: loops, their task, and their ticks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from loopx_git.client.arguments import checked
from loopx_git.client.base import Namespace
from loopx_git.client.loop_state import LoopView, claim_task, loop_actor, loop_view
from loopx_git.client.parameters import Asked
from loopx_git.client.views import Reading
from loopx_git.core import ids
from loopx_git.core.change import Actor
from loopx_git.core.commands import ClaimTask, CreateLoop, SetLoopStatus
from loopx_git.core.loop import LoopStatus

if TYPE_CHECKING:
    from loopx_git.client.supervise import Inbox
    from loopx_git.client.tick import Tick


@checked()
class Loops(Namespace):
    """Loops are registered peers of kind `loop` that work tick by tick, one task at a time, without a time bound.

    A loop lives in the clone of its first claim or tick; `resume` moves it. Methods that change a loop take
    `agent_id` for who asks (default: the configured agent, or the git identity).
    """

    #: A tick or a watch is as long as the work that it does; each step of it has a budget of its own.
    LASTING = True

    def create(self, name: str, **how: Unpack[Asked]) -> tuple[LoopView | None, bool]:
        """Create a loop and register its peer: (the loop, whether it is new). The loop is None in a dry run of a new
        one.

        Raises UsageError for a name that is not valid, NotAllowed when another peer has the name.
        """
        command = CreateLoop(ids.check("agent", name, where="loop"))
        facts, snapshot = self._publish(command, f"loop create {name}", **how)
        created = facts["created"]
        return (None if created and how["dry_run"] else loop_view(self._client, snapshot, name)), created

    def list(self, *, fresh: bool = False, offline: bool = False) -> tuple[Sequence[LoopView], Reading]:
        """Every loop, by name. Raises NotInitialised."""
        snapshot, reading = self._state(fresh=fresh, offline=offline)
        return [loop_view(self._client, snapshot, loop.name) for loop in snapshot.loops()], reading

    def show(self, name: str, *, fresh: bool = False, offline: bool = False) -> tuple[LoopView, Reading]:
        """One loop. Raises NotFound when there is none."""
        snapshot, reading = self._state(fresh=fresh, offline=offline)
        return loop_view(self._client, snapshot, name), reading

    def audit(self, *, fresh: bool = True, offline: bool = False) -> tuple[Sequence[LoopView], Reading]:
        """Loops that hold a task and are halted, retired, or not seen for peers.stale_after.

        Raises NotInitialised.
        """
        found, reading = self.list(fresh=fresh and not offline, offline=offline)
        return [view for view in found if view.trouble], reading

    def claim(
        self, name: str, todo_id: str, *, goal_id: str | None = None, resume: bool = False, force: bool = False,
        reason: str | None = None, dry_run: bool = False,
    ) -> LoopView:  # grouped by meaning  # fmt: skip
        """Claim a todo as the loop's task.

        `resume` moves the loop and its claim to this clone (epoch + 1). `force` takes the todo from its holder;
        `reason` is then required and goes into history. Nothing is written when the loop already has the task. With
        `dry_run` the view shows the loop and the lease as they would become. Raises HeldByAnother when another peer
        holds the todo, NotAllowed when the loop has another task or is halted, NotFound for an unknown loop or todo.
        """
        command = ClaimTask(name, todo_id, goal_id, resume, force, reason)
        return claim_task(self._client, command, dry_run=dry_run)

    def pause(self, name: str, **how: Unpack[Asked]) -> LoopView:
        """Pause a loop: its ticks are skipped, and it keeps its task. Raises NotFound when there is no such loop."""
        return self._status(SetLoopStatus(name, LoopStatus.PAUSED), how)

    def resume(self, name: str, **how: Unpack[Asked]) -> LoopView:
        """Resume a paused loop. Raises NotFound when there is no such loop, NotAllowed when it is halted."""
        return self._status(SetLoopStatus(name, LoopStatus.RUNNING), how)

    def halt(self, name: str, *, reason: str | None = None, **how: Unpack[Asked]) -> LoopView:
        """Stop a loop until somebody approves it; it keeps its task. Raises NotFound when there is no such loop."""
        return self._status(SetLoopStatus(name, LoopStatus.HALTED, reason=reason), how)

    def approve(self, name: str, **how: Unpack[Asked]) -> LoopView:
        """Let a halted loop continue.

        Raises NotAllowed when a loop approves itself, NotFound when there is no such loop.
        """
        return self._status(SetLoopStatus(name, LoopStatus.RUNNING, approve=True), how)

    def tick(
        self, name: str, argv: Sequence[str], *, task: str | None = None, goal_id: str | None = None,
        resume: bool = False, grace: float = 10.0, inbox: Inbox | None = None,
    ) -> Tick:  # grouped by meaning  # fmt: skip
        """One tick: keep the task or find one, run `argv` on it, count the iteration, and release the task if it has
        ended.

        A tick that finds nothing to do, or that loses a race, is skipped. Raises NotYourClaim when the task was taken
        from the loop, UsageError when the command cannot be started, NotFound when there is no such loop.
        """
        from loopx_git.client.tick import tick  # starts processes: no other method does

        return tick(self._client, name, argv, task=task, goal_id=goal_id, resume=resume, grace=grace, inbox=inbox)

    def actor(self, name: str) -> Actor:
        """The loop as an actor: its name, and its session in this clone.

        Raises UsageError for a name that is not valid.
        """
        return loop_actor(self._client, name)

    def _status(self, command: SetLoopStatus, how: Asked) -> LoopView:
        _, snapshot = self._publish(command, f"loop {command.status} {command.loop}", **how)
        return loop_view(self._client, snapshot, command.loop)
