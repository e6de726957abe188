"""`client.task_lease`: the exclusive lease of a todo by its own name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loopx_git.client.arguments import checked
from loopx_git.client.views import LeaseView
from loopx_git.core.commands import OnTodo, RenewAll
from loopx_git.core.table import Operation
from loopx_git.errors import LoopXError, NotFound, NotYourClaim, UsageError

if TYPE_CHECKING:
    from loopx_git.client.client import Client


@checked()
class TaskLease:
    """Leases are named todo@epoch, so that a stale name is refused by its epoch."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def acquire(
        self, todo_id: str, *, ttl: int | str | None = "unset", agent_id: str | None = None,
        session: str | None = None,
    ) -> LeaseView:  # fmt: skip
        """Claim exclusively; `ttl` in seconds, None for no bound."""
        return self._client.todo.claim(todo_id, ttl=ttl, agent_id=agent_id, session=session, exclusive=True).lease

    def renew(
        self, lease_id: str | None = None, *, todo_id: str | None = None, ttl: int | str | None = "unset",
        agent_id: str | None = None, session: str | None = None,
    ) -> LeaseView:  # fmt: skip
        """Renew a lease by its id (todo@epoch) or its todo."""
        lease_id = named(lease_id, todo_id)
        todo, epoch = split(lease_id)
        actor = self._client.connection.actor(agent_id, session)
        command = OnTodo(Operation.RENEW, todo, epoch=epoch, ttl=ttl)
        answer = self._client.submit([command], actor, words=f"task-lease renew {lease_id}")
        self._client.confirm(answer, actor)
        return self._view(answer.tip, todo)

    def renew_all(self, *, agent_id: str | None = None, session: str | None = None) -> list[str]:
        """Renew every lease of the caller's session in one operation: their ids (todo@epoch)."""
        actor = self._client.connection.actor(agent_id, session)
        answer = self._client.submit([RenewAll()], actor, words="task-lease renew --all")
        return list(answer.facts[0].get("renewed", ()))

    def transfer(
        self, lease_id: str | None = None, to: str | None = None, *, todo_id: str | None = None,
        agent_id: str | None = None, session: str | None = None,
    ) -> LeaseView:  # fmt: skip
        """Hand a lease over to the agent `to`, by its id (todo@epoch) or its todo."""
        todo, epoch = split(named(lease_id, todo_id))
        if to is None:
            raise UsageError("a transfer names the receiving agent", hint='task_lease.transfer(lease_id, to="AGENT")')
        return self._client.todo.transfer(todo, to, epoch=epoch, agent_id=agent_id, session=session).lease

    def release(
        self, lease_id: str | None = None, *, todo_id: str | None = None, agent_id: str | None = None,
        session: str | None = None,
    ) -> LeaseView:  # fmt: skip
        """Release a lease by its id (todo@epoch) or its todo; a soft claim beside it goes on."""
        todo, epoch = split(named(lease_id, todo_id))
        return self._client.todo.release(todo, epoch=epoch, agent_id=agent_id, session=session, exclusive=True).lease

    def inspect(
        self, lease_id: str | None = None, *, todo_id: str | None = None, fresh: bool = False, offline: bool = False
    ) -> LeaseView:
        """The lease record of a todo and its state by the wall clock.

        NotYourClaim for a name todo@epoch whose epoch is over, NotFound for one that is not there: both tell the
        current epoch.
        """
        todo, epoch = split(named(lease_id, todo_id))
        view, reading = self._client.todo.show(todo, fresh=fresh, offline=offline)
        if epoch not in (None, view.lease.epoch) and reading.age > 0 and not offline:
            view, _ = self._client.todo.show(todo, fresh=True)
        if epoch is not None and epoch != view.lease.epoch:
            raise _not_current(view.lease, epoch)
        return view.lease

    def _view(self, tip: str | None, todo: str) -> LeaseView:
        from loopx_git.core import resolve

        assert tip is not None
        snapshot = self._client.connection.ledger.snapshot(tip)
        goal, found = resolve.todo(snapshot, todo)
        return self._client.view(snapshot, goal, found).lease


def named(lease_id: str | None, todo_id: str | None) -> str:
    """The one name of a lease that was given. Errors: UsageError for none or two."""
    name = todo_id if lease_id is None else lease_id
    if name is None or (lease_id is not None and todo_id is not None):
        what = "the lease is named twice" if name is not None else "no lease is named"
        raise UsageError(what, hint="name it by lease_id (todo@epoch) or by todo_id")
    return name


def split(lease_id: str) -> tuple[str, int | None]:
    """(todo, epoch or None) of `TODO@3`, where TODO is an id, a prefix or an alias, or of a TODO alone."""
    todo, at, epoch = lease_id.rpartition("@")
    if not at:
        return lease_id, None
    if not todo or "@" in todo or not re.fullmatch("[0-9]{1,18}", epoch, re.ASCII):
        raise UsageError(f"{lease_id[:80]!r} is not a lease id", hint="a lease is named todo@epoch, such as ab12@3")
    return todo, int(epoch)


def _not_current(lease: LeaseView, epoch: int) -> LoopXError:
    todo = lease.lease.todo
    about = {"todo_id": todo, "holder": lease.holder, "epoch": lease.epoch, "given": epoch}
    hint = f"git loopx task-lease inspect {todo}"
    if epoch > lease.epoch:
        return NotFound(f"there is no lease {todo}@{epoch}: the epoch is {lease.epoch}", hint=hint, about=about)
    whose = f"{lease.holder} holds it" if lease.holder else "nobody holds it"
    return NotYourClaim(
        f"the lease {todo}@{epoch} is over: the epoch is {lease.epoch} and {whose}", hint=hint, about=about
    )
