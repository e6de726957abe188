"""Shell completion of todos from the local state."""

from __future__ import annotations

import os

import click

from loopx_git.errors import LoopXError


def todos_like(context: click.Context, incomplete: str) -> list[str]:
    """Ids and aliases that begin with what was typed. Without a ledger: none."""
    from loopx_git.client.client import Client

    folder = context.params.get("folder") or "."
    try:
        found = Client(folder, os.environ).todo.list(status=("all",), offline=True).todos
    except LoopXError:
        return []
    names = [name for view in found for name in (view.id, view.todo.alias) if name]
    return [name for name in names if name.startswith(incomplete)]
