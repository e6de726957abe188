"""`client.task_lease`: the exclusive lease of a todo, by the lease's id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from loopx_git.client.arguments import checked
from loopx_git.client.base import BaseClient, Namespace
from loopx_git.client.news import news
from loopx_git.client.parameters import Caller
from loopx_git.client.renewal import renew, split
from loopx_git.client.todos import Todos
from loopx_git.client.views import LeaseView, News, TodoView
from loopx_git.core import resolve
from loopx_git.core.commands import RenewAll
from loopx_git.core.times import UNSET, Ttl
from loopx_git.errors import About, LoopXError, NotFound, NotYourClaim, UsageError


@checked()
class TaskLease(Namespace):
    """Leases. The id of a lease is todo@epoch; an id with an old epoch is refused."""

    def __init__(self, client: BaseClient) -> None:
        super().__init__(client)
        self._todos = Todos(client)

    def acquire(self, todo_id: str, *, ttl: Ttl = UNSET, **how: Unpack[Caller]) -> LeaseView:
        """Claim exclusively. `ttl` is in seconds, None for no bound.

        A lease that the caller already holds is renewed when another `ttl` is asked for, so that the answer has that
        `ttl`. Raises what `todo.claim` raises: HeldByAnother, NotAllowed, NotFound.
        """
        return acquire(self._client, todo_id, ttl=ttl, **how).lease

    def renew(
        self, lease_id: str | None = None, *, todo_id: str | None = None, ttl: Ttl = UNSET, **how: Unpack[Caller]
    ) -> LeaseView:
        """Renew a lease, by its id (todo@epoch) or its todo. `ttl` is in seconds.

        The view's `news` has what others did to the todo since this session last wrote about it: notes, and changes
        by an operator. Raises NotYourClaim when the caller does not hold it.
        """
        lease_id = named(lease_id, todo_id)
        todo, _ = split(lease_id)
        view = self._view(renew(self._client, lease_id, ttl=ttl, **how).tip, todo)
        return replace(view, news=self.news(view.todo_id, **how))

    def news(self, todo_id: str, **how: Unpack[Caller]) -> Sequence[News]:
        """What others did to a todo since this session last wrote about it, oldest first.

        It reads the last fetched state; a renewal fetches just before. Raises NotFound when there is no such todo.
        """
        actor = self._client.connection.actor(how["agent_id"], how["session"])
        return news(self._client, todo_id, actor, self._client.read_known().tip)

    def renew_all(self, **how: Unpack[Caller]) -> list[str]:
        """Renew every lease of the caller's session in one operation; returns their ids (todo@epoch).

        A lease that somebody took over is left out. Raises UsageError when no agent is set.
        """
        facts, _ = self._publish(RenewAll(), "task-lease renew --all", **how)
        return facts.get("renewed", [])

    def transfer(
        self, lease_id: str | None = None, to: str | None = None, *, todo_id: str | None = None, **how: Unpack[Caller]
    ) -> LeaseView:
        """Transfer a lease to the agent `to`, by its id (todo@epoch) or its todo. Raises what `todo.transfer` raises:
        NotYourClaim, NotAllowed.
        """
        todo, epoch = split(named(lease_id, todo_id))
        if to is None:
            raise UsageError("a transfer names the receiving agent", hint='task_lease.transfer(lease_id, to="AGENT")')
        return self._todos.transfer(todo, to, epoch=epoch, **how).lease

    def release(self, lease_id: str | None = None, *, todo_id: str | None = None, **how: Unpack[Caller]) -> LeaseView:
        """Release a lease, by its id (todo@epoch) or its todo. A soft claim on the todo stays.

        Raises NotYourClaim when the caller does not hold it.
        """
        todo, epoch = split(named(lease_id, todo_id))
        return self._todos.release(todo, epoch=epoch, exclusive=True, **how).lease

    def inspect(
        self, lease_id: str | None = None, *, todo_id: str | None = None, fresh: bool = False, offline: bool = False
    ) -> LeaseView:
        """The lease record of a todo, and its state by the wall clock.

        Raises NotYourClaim for an id todo@epoch whose epoch has passed, NotFound for one that does not exist; both
        name the current epoch.
        """
        todo, epoch = split(named(lease_id, todo_id))
        view, reading = self._todos.show(todo, fresh=fresh, offline=offline)
        if epoch not in (None, view.lease.epoch) and reading.age > 0 and not offline:
            view, _ = self._todos.show(todo, fresh=True)
        if epoch is not None and epoch != view.lease.epoch:
            raise _not_current(view.lease, epoch)
        return view.lease

    def _view(self, tip: str | None, todo: str) -> LeaseView:
        assert tip is not None
        snapshot = self._client.connection.ledger.snapshot(tip)
        goal, found = resolve.todo(snapshot, todo)
        return self._client.view(snapshot, goal, found).lease


def acquire(
    client: BaseClient, todo_id: str, *, ttl: Ttl, goal_id: str | None = None, **how: Unpack[Caller]
) -> TodoView:
    """Like `task_lease.acquire`, with all facts of the claim: the former holder, warnings."""
    view = Todos(client).claim(todo_id, ttl=ttl, goal_id=goal_id, exclusive=True, **how)
    if view.acquired or ttl in (UNSET, view.lease.ttl):
        return view
    return replace(view, lease=TaskLease(client).renew(view.lease.id, ttl=ttl, **how))


def named(lease_id: str | None, todo_id: str | None) -> str:
    """The one given name of a lease. Raises UsageError for none or two."""
    name = todo_id if lease_id is None else lease_id
    if name is None or (lease_id is not None and todo_id is not None):
        what = "the lease is named twice" if name is not None else "no lease is named"
        raise UsageError(what, hint="name it by lease_id (todo@epoch) or by todo_id")
    return name


def _not_current(lease: LeaseView, epoch: int) -> LoopXError:
    todo = lease.lease.todo
    about: About = {"todo_id": todo, "holder": lease.holder, "epoch": lease.epoch, "given": epoch}
    hint = f"git loopx task-lease inspect {todo}"
    if epoch > lease.epoch:
        return NotFound(f"there is no lease {todo}@{epoch}: the epoch is {lease.epoch}", hint=hint, about=about)
    whose = f"{lease.holder} holds it" if lease.holder else "nobody holds it"
    return NotYourClaim(
        f"the lease {todo}@{epoch} is over: the epoch is {lease.epoch} and {whose}", hint=hint, about=about
    )
