"""The hand-over: what a new holder should know about the former one."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from typing import Any

from loopx_git.client.base import BaseClient
from loopx_git.client.history import entry_of
from loopx_git.client.views import TodoView
from loopx_git.errors import InvalidState
from loopx_git.ledger.commits import newest_first

#: How many of the newest notes are handed over, and how far back history is searched for the last holder.
NOTES, DEPTH = 5, 500


def handover(client: BaseClient, view: TodoView, former: str | None, tip: str) -> dict[str, Any] | None:
    """Last holder and epoch, how it ended, its notes and branch, and the attempts; None for a todo that was never
    held.

    `former` is the claim that was taken over (agent@epoch); without it, history is searched.
    """
    epoch = view.lease.lease.epoch
    if epoch <= 1:
        return None
    holder, _, last = (former or _last_claim(client, view.id, epoch, tip)).rpartition("@")
    return {
        "holder": holder or None,
        "epoch": int(last) if last else None,
        "ended": "lapsed" if former else _ended(client, view, tip),
        "notes": [asdict(note) for note in view.todo.notes[-NOTES:]],
        "branch": view.todo.branch,
        "attempts": view.todo.attempts,
    }


def _last_claim(client: BaseClient, todo: str, epoch: int, tip: str) -> str:
    for commit in islice(newest_first(client.connection.ledger.objects, tip), DEPTH):
        entry = entry_of(commit)
        if entry.get("todo") == todo and entry["op"] == "claim" and entry.get("epoch", epoch) < epoch:
            return f"{entry['agent']}@{entry['epoch']}"
    return ""


def _ended(client: BaseClient, view: TodoView, tip: str) -> str | None:
    """How the former claim ended: what the record said before this one."""
    objects = client.connection.ledger.objects
    parents = objects.commit(tip).parents
    if not parents:
        return None
    try:
        lease = client.connection.ledger.snapshot(parents[0]).lease(view.todo.goal, view.id)
    except InvalidState:
        # The edge of a shallow history.
        return None
    return None if lease is None or lease.ended is None else lease.ended.value
