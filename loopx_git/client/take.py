"""How `run` and `hold` get their claim: a new one, or the one that the caller already has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

from loopx_git.client.base import BaseClient
from loopx_git.client.parameters import Taking
from loopx_git.client.renewal import renew
from loopx_git.client.todos import Todos
from loopx_git.client.views import TodoView
from loopx_git.core import resolve
from loopx_git.core.times import UNSET
from loopx_git.errors import HeldByAnother, NotFound, NotYourClaim


@dataclass(frozen=True, slots=True)
class Taken:
    """The todo, its session, and whether the claim is new."""

    view: TodoView
    session: str
    acquired: bool


def take(
    client: BaseClient, todo_id: str, *, session: str, way_on: str, dry_run: bool = False, **how: Unpack[Taking]
) -> Taken:
    """Claim the todo for `session`.

    A claim that the caller's own session already holds (by `todo claim`) is renewed instead, under the same epoch. A
    claim of another session of the same agent stays, unless `resume`; HeldByAnother then names the way on, from the
    template `way_on` over {todo}. `dry_run` writes nothing: it raises what would be raised at the current tip.
    """
    own = _own_session(client, todo_id, how)
    if own is not None:
        try:
            return _renewed(client, todo_id, how, own, dry_run)
        except NotYourClaim:
            # It held the todo by what was known here. The claim below is decided on the tip that was just read.
            own = None
    try:
        view = Todos(client).claim(todo_id, session=session, exclusive=True, dry_run=dry_run, **how)
    except HeldByAnother as error:
        own = _own_session(client, todo_id, how)
        if own is None:
            raise explained(error, _name(client, how), way_on) from None
        return _renewed(client, todo_id, how, own, dry_run)
    if not view.acquired and not dry_run:
        # The session was given by name, or a transfer left it open: the renewal binds it.
        return _renewed(client, todo_id, how, session, dry_run)
    return Taken(view, session, True)


def known(client: BaseClient, todo_id: str, goal_id: str | None) -> TodoView | None:
    """The todo at the last known tip; None when it is not known."""
    snapshot = client.snapshot(client.read_known())
    try:
        return client.view(snapshot, *resolve.todo(snapshot, todo_id, goal_id))
    except NotFound:
        return None


def _own_session(client: BaseClient, todo_id: str, how: Taking) -> str | None:
    """The session in which the caller would act otherwise, if it holds the todo at the tip that is known here."""
    found = known(client, todo_id, how.get("goal_id"))
    lease = None if found is None else found.lease.lease
    if lease is None or lease.holder is None or lease.holder != _name(client, how) or lease.session is None:
        return None
    return lease.session if lease.session == client.connection.actor(how.get("agent_id")).session else None


def _name(client: BaseClient, how: Taking) -> str | None:
    return how.get("agent_id") or client.connection.settings.agent


def _renewed(client: BaseClient, todo_id: str, how: Taking, session: str, dry_run: bool) -> Taken:
    if not dry_run:
        renew(client, todo_id, ttl=how.get("ttl", UNSET), agent_id=how.get("agent_id"), session=session)
    view = known(client, todo_id, how.get("goal_id"))
    assert view is not None
    return Taken(view, session, False)


def explained(error: HeldByAnother, agent: str | None, way_on: str) -> HeldByAnother:
    """The refusal, with the way on (a template over {todo}) where the caller's own agent holds the todo."""
    if error.holder != agent:
        return error
    hint = "if that session is gone: " + way_on.format(todo=error.todo_id)
    return HeldByAnother(error.message, hint=hint, about=error.about)
