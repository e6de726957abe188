"""What others did to a todo that the caller holds: notes, and what an operator changed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from loopx_git.client.base import BaseClient
from loopx_git.client.views import News
from loopx_git.core.change import Actor, Op
from loopx_git.core.fields import EDITABLE
from loopx_git.core.meaning import NOTE_REASON
from loopx_git.errors import InvalidState
from loopx_git.format import message
from loopx_git.format.message import Message
from loopx_git.ledger.commits import Commit, newest_first

#: How far back history is searched, and how much is told of it, the newest.
DEPTH, MOST = 2000, 50


def news(client: BaseClient, todo: str, actor: Actor, tip: str, *, written: bool = False) -> tuple[News, ...]:
    """What others did since the caller's session last wrote about the todo, oldest first.

    Renewals do not count: their news is repeated until the holder writes, so that two processes of one session lose
    none. `written`: the session has just written, and the write before that one counts.
    """
    found: list[News] = []
    for commit, said in _about(client, todo, tip):
        own = (said.agent, said.session) == (actor.name, actor.session)
        if said.op is Op.RENEW:
            continue
        if own or said.op is not Op.UPDATE:
            # Its own last word, or where this claim began: what was before is in the hand-over.
            if written and own and said.op is Op.UPDATE:
                written = False
                continue
            break
        one = _told(client, commit, said, todo)
        if one is not None:
            found.append(one)
            if len(found) >= MOST:
                break
    return tuple(reversed(found))


def _about(client: BaseClient, todo: str, tip: str) -> Iterator[tuple[Commit, Message]]:
    """The operations on a todo, newest first."""
    for commit in islice(newest_first(client.connection.ledger.objects, tip), DEPTH):
        if f"Loopx-Todo: {todo}\n" in commit.message:
            try:
                said = message.load(commit.message)
            except InvalidState:
                # A foreign commit that was adopted.
                return
            yield commit, said


def _told(client: BaseClient, commit: Commit, said: Message, todo: str) -> News | None:
    assert said.goal is not None
    ledger = client.connection.ledger
    try:
        old = ledger.snapshot(commit.parents[0]).todo(said.goal, todo)
        new = ledger.snapshot(commit.oid).todo(said.goal, todo)
    except InvalidState:
        return None
    notes = new.notes[len(old.notes) :]
    changed = {name: getattr(new, name) for name in (*EDITABLE, "status") if getattr(new, name) != getattr(old, name)}
    reason = None if said.reason == NOTE_REASON else said.reason
    return News(todo, said.agent, commit.time, commit.oid, notes[0].text if notes else None, changed, reason)
