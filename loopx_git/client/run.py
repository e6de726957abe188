"""`client.run`: claim a todo, work on it with a command, and settle by how the command ended."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loopx_git.client.attend import GRACE, Inbox, attend, exported, todo_file
from loopx_git.client.settle import Outcome, parse, settle
from loopx_git.client.workplace import Workplace, clear, prepare
from loopx_git.errors import LoopXError, UsageError

if TYPE_CHECKING:
    from loopx_git.client.client import Client
    from loopx_git.client.views import TodoView


@dataclass(frozen=True, slots=True)
class Run:
    """One run: the todo as it is now, the command's status as Popen spells it, what became of the claim, the note
    that was written, the signal that the runner was told to end by, and where the command worked."""

    view: TodoView
    status: int
    outcome: Outcome
    note: str | None
    told: int | None
    place: Workplace

    @property
    def code(self) -> int:
        """The exit code of the run: the command's, or 128 and the signal that ended it."""
        return self.status if self.status >= 0 else 128 - self.status


def run(
    client: Client, argv: Sequence[str], *, todo_id: str | None = None, agent_id: str | None = None,
    goal_id: str | None = None, ttl: int | str | None = "unset", on_exit: str | None = None, branch: bool = False,
    worktree: bool = False, keep_worktree: bool = False, grace: float = GRACE, inbox: Inbox | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Run:  # fmt: skip
    """Claim `todo_id` (None: pick the next that fits), run `argv` under the claim, settle it by the exit code.

    The claim gets a session of its own. `inbox` brings ("signal", number) from the face; `say` is told what
    happens, in one line each. Raises what claiming raises, UsageError when the command cannot be started
    (nothing is claimed for one that is not there), NotYourClaim when the claim was lost on the way.
    """
    if not argv:
        raise UsageError("name the command to run", hint="git loopx run --next -- COMMAND ARGUMENTS...")
    table = parse(on_exit if on_exit is not None else client.connection.settings.on_exit)
    must_exist(client, argv[0])
    session = client.connection.flags.get("session") or f"r-{client.connection.hooks.entropy(8).hex()}"
    began = client.connection.hooks.clock.counting()
    if todo_id is not None:
        view = client.todo.claim(
            todo_id, agent_id=agent_id, session=session, goal_id=goal_id, ttl=ttl, exclusive=True
        )
    else:
        view = client.todo.next(claim=True, agent_id=agent_id, session=session, goal_id=goal_id, ttl=ttl).view
        began = _granted(client, view, began)
    lease = view.lease.lease
    say(f"{view.id} claimed by {lease.holder} (epoch {lease.epoch}): {view.todo.title}")
    who: dict[str, Any] = {"agent": agent_id, "session": session}
    try:
        place = prepare(client, view, branch=branch, worktree=worktree)
        if place.branch is not None and place.branch != view.todo.branch:
            view = client.todo.update(view.id, agent_id=agent_id, session=session, branch=place.branch)
        with todo_file(client, view) as file:
            env = {**client.connection.env, **exported(view, session, file, place.branch)}
            status, keeper, told = attend(
                client, argv, lease, began=began, cwd=place.folder, env=env, inbox=inbox or Inbox(), grace=grace,
                **who,
            )  # fmt: skip
    except Exception:
        _let_go(client, view, agent_id, session)
        raise
    lost = keeper.lost
    if lost is not None:
        raise lost
    if keeper.settled or _settled(client, view, session):
        say(f"{view.id} was settled by the command itself")
        outcome, note = Outcome.SETTLED, None
        reading = client.read(fresh=True)
        view = client.view(client.snapshot(reading), view.todo.goal, view.id)
    else:
        view, outcome, note = settle(client, lease, status, table, " ".join(argv), **who)
        say(f"{view.id} {outcome}: the command ended with {status}")
    if not keep_worktree and place.made and clear(client, place):
        say(f"the worktree {place.folder} was clean and is removed; the branch {place.branch} stays")
    return Run(view, status, outcome, note, told, place)


def must_exist(client: Client, program: str) -> None:
    """Before anything is claimed: a command that is not there is a mistake of the call, not of the todo."""
    connection = client.connection
    if "/" not in program and shutil.which(program, path=connection.env.get("PATH")) is None:
        raise UsageError(f"there is no command {program!r}", hint="git loopx run --next -- COMMAND ARGUMENTS...")


def _granted(client: Client, view: TodoView, fallback: float) -> float:
    """When the try that won began, by the counting clock: its deadline is on disk."""
    from loopx_git.core.lease import margin

    lease = view.lease.lease
    deadlines = client.connection.ledger.around.deadlines
    left = None if deadlines is None else deadlines.remaining().get(lease.id)
    if left is None or lease.ttl_s is None:
        return fallback
    return client.connection.hooks.clock.counting() + left - lease.ttl_s + margin(lease.ttl_s)


def _settled(client: Client, view: TodoView, session: str) -> bool:
    """Whether the command has ended its claim itself (completed, released, ...)."""
    snapshot = client.snapshot(client.read(fresh=True))
    record = snapshot.lease(view.todo.goal, view.id)
    return record is not None and record.holder is None and record.epoch == view.lease.lease.epoch


def _let_go(client: Client, view: TodoView, agent: str | None, session: str) -> None:
    """Release what was claimed for a command that never ran; what then goes wrong lapses by itself."""
    try:
        client.todo.release(view.id, agent_id=agent, session=session, epoch=view.lease.lease.epoch)
    except LoopXError as error:
        client.connection.ledger.around.notes.append(f"{view.id} could not be released: {error.message}")
