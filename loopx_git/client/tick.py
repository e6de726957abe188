"""One tick of a loop: keep the task or find one, run the command, count, and release a task that has ended."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from loopx_git.client.base import BaseClient
from loopx_git.client.loop_state import LoopView, claim_task, loop_actor, loop_view
from loopx_git.client.next_todo import drawn, few
from loopx_git.client.supervise import Inbox, supervise
from loopx_git.client.worktree import must_exist
from loopx_git.core import resolve
from loopx_git.core.change import Actor
from loopx_git.core.claim import is_held
from loopx_git.core.commands import ClaimTask, CountTick
from loopx_git.core.loop import LoopStatus, is_over
from loopx_git.core.peer import Peer
from loopx_git.core.plan_loop import check_home, owns, tracked
from loopx_git.core.query import fitting
from loopx_git.errors import Contention, HeldByAnother, NotAllowed, NotYourClaim, UsageError
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.store.lock import locked

#: Why a tick was skipped: the words of the contract first.
TAKEN = "task_claimed_by_other_loop"
NOTHING, PAUSED, HALTED, BUSY = "no_ready_task", "loop_paused", "loop_halted", "loop_is_ticking"


@dataclass(frozen=True, slots=True)
class Tick:
    """The result of a tick.

    `skipped` is why no command ran ("": one ran). `status` is the command's as Popen spells it. `released` is the
    task that was released. `told` is the signal that told the runner to end.
    """

    loop: LoopView
    skipped: str = ""
    detail: str = ""
    task: str | None = None
    status: int | None = None
    released: str | None = None
    told: int | None = None

    @property
    def code(self) -> int:
        """The exit code: 0 for a skipped tick, else the command's, or 128 and the signal that ended it."""
        status = self.status or 0
        return status if status >= 0 else 128 - status


def tick(
    client: BaseClient,
    name: str,
    argv: Sequence[str],
    *,
    task: str | None,
    goal_id: str | None,
    resume: bool,
    grace: float,
    inbox: Inbox | None,
) -> Tick:
    """Carry out one tick; see `client.loop.tick`.

    A clone runs one tick of a loop at a time. The command inherits the lock, so the next tick cannot begin while the
    command of a killed runner still works.
    """
    if not argv:
        raise UsageError("name the command of the tick", hint=f"git loopx loop tick {name} -- COMMAND ARGUMENTS...")
    must_exist(client, argv[0], here=True)
    actor = loop_actor(client, name)
    folder = os.path.join(client.connection.repository.home, "loops", f"{name}.tick")
    with ExitStack() as stack:
        try:
            handle = stack.enter_context(locked(folder, 0.0, f"tick of {name}"))
        except Contention as busy:
            return Tick(_shown(client, name), BUSY, busy.message)
        return _TickRun(client, actor, argv, grace, inbox or Inbox(), handle).run(task, goal_id, resume)


class _TickRun:
    """One tick under way."""

    def __init__(
        self, client: BaseClient, actor: Actor, argv: Sequence[str], grace: float, inbox: Inbox, handle: int
    ) -> None:
        self.client, self.actor, self.argv = client, actor, argv
        self.grace, self.inbox, self.handle = grace, inbox, handle

    def run(self, task: str | None, goal_id: str | None, resume: bool) -> Tick:
        client, name = self.client, self.actor.name
        snapshot = client.snapshot(client.read(fresh=True))
        loop = tracked(snapshot, name)
        if loop.status is not LoopStatus.RUNNING:
            rests = PAUSED if loop.status is LoopStatus.PAUSED else HALTED
            return Tick(_shown(client, name), rests, loop.reason or "")
        again = shlex.join(["git", "loopx", "loop", "tick", name, "--resume", "--", *self.argv])
        check_home(loop, self.actor, moves=resume, way=again)
        released = None
        moves = resume and loop.session != self.actor.session
        held = None if moves else owns(snapshot, loop)
        if loop.current_task is not None and not moves:
            over = held is None or is_over(snapshot.todo(snapshot.goals_of(held.todo)[0], held.todo))
            if over:
                # The former tick ended without its last write: that is made up for, and a new task is found.
                released, held = self._count(loop.iterations + 1), None
                snapshot = client.snapshot(client.read_known())
        if held is None:
            wanted = task or (loop.current_task if moves and owns(snapshot, loop) is not None else None)
            # Also where the loop lives here: the task may be held by another session of its own agent.
            skipped = self._claim(snapshot, wanted, goal_id, resume)
            if skipped is not None:
                why, detail = skipped
                return Tick(_shown(client, name), why, detail, released=released)
        return self._work()

    def _claim(
        self, snapshot: TreeSnapshot, task: str | None, goal_id: str | None, moves: bool
    ) -> tuple[str, str] | None:
        """Claim the task, or the best that fits; (why skipped, detail) when there is none for this loop now."""
        if task is None:
            found = self._find(snapshot, goal_id)
            if isinstance(found, tuple):
                return found
            task = found
        try:
            claim_task(self.client, ClaimTask(self.actor.name, task, goal_id, moves))
        except HeldByAnother as error:
            own = error.holder == self.actor.name
            return TAKEN, f"{error.message}; {error.hint}" if own else error.message
        except NotAllowed as error:
            if error.reason in ("loop_has_task", "loop_elsewhere", "loop_halted"):
                raise
            if error.holder or error.about.get("conflict"):
                # What another took meanwhile stands in the way: its scope overlaps.
                return TAKEN, error.message
            return NOTHING, error.message
        return None

    def _find(self, snapshot: TreeSnapshot, goal_id: str | None) -> str | tuple[str, str]:
        """A todo picked among the equals of the best priority that fit; or why there is none."""
        client = self.client
        goals = resolve.goals(snapshot, goal_id)
        clocks = client.clocks()
        peer = snapshot.peer(self.actor.name) or Peer(self.actor.name, clocks.now, self.actor.name)
        fits, skipped = fitting(snapshot, goals, peer, self.actor, clocks, few(snapshot))
        if fits:
            return drawn(client, fits, 0, self.actor).id
        words = "; ".join(item.why for item in skipped[:3]) or "there is no todo"
        taken = any(
            is_held(lease, snapshot, clocks) and lease.holder != self.actor.name
            for goal in goals
            for lease in snapshot.leases(goal)
        )
        return (TAKEN if taken else NOTHING), words

    def _work(self) -> Tick:
        client, name = self.client, self.actor.name
        snapshot = client.snapshot(client.read_known())
        loop = tracked(snapshot, name)
        lease = owns(snapshot, loop)
        if lease is None:
            raise NotYourClaim(
                f"the task of the loop {name} was taken from it",
                hint=f"git loopx loop show {name}",
                about={"loop": name, "current_task": loop.current_task},
            )
        view = client.view(snapshot, snapshot.goals_of(lease.todo)[0], lease.todo)
        session = self.actor.session or ""
        status, renewer, told = supervise(
            client,
            self.argv,
            view,
            session=session,
            cwd=client.connection.repository.cwd,
            inbox=self.inbox,
            grace=self.grace,
            keep=(self.handle,),
            variables={"LOOPX_LOOP": name},
        )
        released = self._count(loop.iterations + 1)
        renewer.checkpoint()
        return Tick(_shown(client, name), task=lease.todo, status=status, released=released, told=told)

    def _count(self, iteration: int) -> str | None:
        """Count the iteration, and let go of the task in the same commit if it is over; what was let go of."""
        command = CountTick(self.actor.name, iteration)
        answer = self.client.submit([command], self.actor, words=f"loop tick {self.actor.name}")
        return answer.facts[0].get("released")


def _shown(client: BaseClient, name: str) -> LoopView:
    """The loop as it is at the tip that is known here."""
    snapshot = client.snapshot(client.read_known())
    return loop_view(client, snapshot, name)
