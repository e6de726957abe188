"""`client.run`: claim a todo, work on it with a command, and end the claim by the command's exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from loopx_git.client.exit_policy import Outcome, apply_exit_policy, parse
from loopx_git.client.next_todo import next_todo
from loopx_git.client.parameters import Taking
from loopx_git.client.supervise import GRACE, Inbox, supervise
from loopx_git.client.take import Taken, known, take
from loopx_git.client.todos import Todos
from loopx_git.client.worktree import UnusableWorktree, Worktree, Worktrees, clear, must_exist, none_prepared
from loopx_git.errors import Contention, LoopXError, NotAllowed, NotFound, UsageError

if TYPE_CHECKING:
    from loopx_git.client.base import BaseClient
    from loopx_git.client.views import TodoView


@dataclass(frozen=True, slots=True)
class Run:
    """One run: the todo now, the command's status as Popen spells it, and what became of the claim.

    It also has the note that was written, the signal that told the runner to end, and where the command worked.
    """

    view: TodoView
    status: int
    outcome: Outcome
    note: str | None
    told: int | None
    place: Worktree

    @property
    def code(self) -> int:
        """The exit code of the run: the command's, or 128 and the signal that ended it."""
        return self.status if self.status >= 0 else 128 - self.status


def run(
    client: BaseClient,
    argv: Sequence[str],
    *,
    todo_id: str | None = None,
    on_exit: str | None = None,
    branch: bool = False,
    worktree: bool = False,
    keep_worktree: bool = False,
    grace: float = GRACE,
    inbox: Inbox | None = None,
    passed: dict[str, UnusableWorktree] | None = None,
    say: Callable[[str], None] = lambda text: None,
    **how: Unpack[Taking],
) -> Run:
    """Claim `todo_id` (None: the next that fits), run `argv` under the claim, and end the claim by the exit code.

    The branch or worktree is prepared before the claim. A todo that cannot be prepared is passed over: it is then in
    `passed`, and a todo in `passed` is not tried again. Raises NonePrepared when no other is left. The claim gets its
    own session; a claim that the caller's session already holds is used as it is. `resume` takes over from another
    session of the same agent. `inbox` brings ("signal", number) from the caller; `say` is called with each line of
    progress. Raises what claiming raises, UsageError when the command cannot be started (nothing is claimed for a
    command that does not exist), NotYourClaim when the claim was lost meanwhile.
    """
    if not argv:
        raise UsageError("name the command to run", hint="git loopx run --next -- COMMAND ARGUMENTS...")
    if how.get("resume") and todo_id is None:
        raise UsageError("--resume takes over one todo", hint="name it: --todo-id TODO")
    table = parse(on_exit if on_exit is not None else client.connection.settings.on_exit)
    must_exist(client, argv[0], here=not worktree)
    session = client.connection.flags.get("session") or f"r-{client.connection.overrides.entropy(8).hex()}"
    passed = {} if passed is None else passed
    places = Worktrees(client, argv[0], branch=branch, worktree=worktree, passed=passed, say=say)
    taken = _next(client, places, session, how) if todo_id is None else _of(client, todo_id, places, session, how)
    try:
        view, session = taken.view, taken.session
        lease = view.lease.lease
        verb = "claimed by" if taken.acquired else "already held by"
        say(f"{view.id} {verb} {lease.holder} (epoch {lease.epoch}): {view.todo.title}")
        try:
            place = places.settled(view)
            if place.branch is not None and place.branch != view.todo.branch:
                view = Todos(client).update(view.id, agent_id=lease.holder, session=session, branch=place.branch)
            status, renewer, told = supervise(
                client,
                argv,
                view,
                session=session,
                cwd=place.folder,
                inbox=inbox or Inbox(),
                grace=grace,
                keep=(places.handle,),
                variables={} if place.branch is None else {"LOOPX_BRANCH": place.branch},
            )
        except Exception:
            if taken.acquired:
                _let_go(client, view, session)
            raise
        renewer.look()
        renewer.checkpoint()
        if renewer.settled:
            say(f"{view.id} was settled by the command itself")
            outcome, note = Outcome.SETTLED, None
            view = client.view(client.snapshot(client.read_known()), view.todo.goal, view.id)
        else:
            view, outcome, note = apply_exit_policy(Todos(client), lease, status, table, " ".join(argv), session)
            say(f"{view.id} {outcome}: the command ended with {status}")
        if not keep_worktree and place.made and clear(client, place):
            say(f"the worktree {place.folder} was clean and is removed; the branch {place.branch} stays")
        return Run(view, status, outcome, note, told, place)
    finally:
        places.close()


def _of(client: BaseClient, todo_id: str, places: Worktrees, session: str, how: Taking) -> Taken:
    """Claim one todo by name. A claim that would be refused is refused before anything is prepared."""
    way_on = "git loopx run --todo-id {todo} --resume -- COMMAND ARGUMENTS..."
    view = None if places.makes else known(client, todo_id, how.get("goal_id"))
    if view is None:
        view = take(client, todo_id, session=session, way_on=way_on, dry_run=True, **how).view
    try:
        places.must(view)
    except Contention as busy:
        raise NotAllowed(
            f"another run of {view.id} is under way in this clone (pid {busy.about['pid']})",
            hint=f"let it end; look: git loopx todo show {view.id}",
            about={"todo_id": view.id, "pid": busy.about["pid"]},
        ) from None
    try:
        return take(client, view.id, session=session, way_on=way_on, **how)
    except BaseException:
        places.withdraw()
        raise


def _next(client: BaseClient, places: Worktrees, session: str, how: Taking) -> Taken:
    given: dict[str, Any] = {name: value for name, value in how.items() if name != "resume"}
    try:
        # Prepare for the todo as it is now, with the branch that its last holder recorded.
        view = next_todo(
            client, claim=Todos(client).claim, before=places, session=session, fresh=places.makes, **given
        ).view
    except NotFound as nothing:
        if places.passed:
            raise none_prepared(places.passed, nothing) from None
        raise
    return Taken(view, session, True)


def _let_go(client: BaseClient, view: TodoView, session: str) -> None:
    """Release the claim of a command that never ran. A claim that cannot be released lapses."""
    try:
        Todos(client).release(view.id, agent_id=view.holder, session=session, epoch=view.epoch)
    except LoopXError as error:
        client.connection.ledger.notes.append(f"{view.id} could not be released: {error.message}")
