"""Renew one lease: for `client.task_lease`, for a claim that is taken up again, and for the thread that renews."""

from __future__ import annotations

import re

from loopx_git.client.base import BaseClient
from loopx_git.core.commands import OnTodo
from loopx_git.core.table import Operation
from loopx_git.core.times import UNSET, Ttl
from loopx_git.errors import UsageError
from loopx_git.store.ledger import SubmitResult


def renew(
    client: BaseClient, lease_id: str, *, ttl: Ttl = UNSET, agent_id: str | None = None, session: str | None = None
) -> SubmitResult:
    """Renew a lease by its name (todo@epoch, or the todo alone).

    `ttl` is in seconds, None for no bound, "unset" for no change. Raises NotYourClaim when the session does not hold
    it any more.
    """
    todo, epoch = split(lease_id)
    actor = client.connection.actor(agent_id, session)
    command = OnTodo(Operation.RENEW, todo, epoch=epoch, ttl=ttl)
    answer = client.submit([command], actor, words=f"task-lease renew {lease_id}")
    client.confirm(answer, actor)
    return answer


def split(lease_id: str) -> tuple[str, int | None]:
    """(todo, epoch or None) of `TODO@3`, where TODO is an id, a prefix or an alias, or of a TODO alone."""
    todo, at, epoch = lease_id.rpartition("@")
    if not at:
        return lease_id, None
    if not todo or "@" in todo or not re.fullmatch("[0-9]{1,18}", epoch, re.ASCII):
        raise UsageError(f"{lease_id[:80]!r} is not a lease id", hint="a lease is named todo@epoch, such as ab12@3")
    return todo, int(epoch)
