"""Writing the claims file (`client.claims_file`) whenever the known tip moves, where the guard is in use."""

from __future__ import annotations

import os
from typing import Any

from loopx_git.client import claims_file
from loopx_git.client.config import HERE
from loopx_git.client.connect import Connection
from loopx_git.errors import LoopXError
from loopx_git.store.state_file import save
from loopx_git.store.system import system_errors


def refresh(connection: Connection, tip: str) -> None:
    """Update the file where the guard is in use, that is, where the file exists."""
    path = os.path.join(connection.repository.home, claims_file.NAME)
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            if file.read(len(claims_file.HEAD) + len(tip)) == claims_file.HEAD + tip:
                return
    except OSError:
        return
    try:
        with system_errors(path):
            write(connection, tip)
    except LoopXError:
        # The command itself is done and must not fail. The file keeps its old tip, so the guard reads the ledger,
        # meets the same error, and reports it.
        return


def write(connection: Connection, tip: str) -> dict[str, Any]:
    """Write the file for `tip` and return what it says."""
    snapshot = connection.ledger.snapshot(tip)
    claims, unreadable = claims_file.claims_at(snapshot, connection.clocks())
    found = {
        "tip": tip,
        "version": claims_file.VERSION,
        "here": connection.settings.remote == HERE,
        "ref": connection.settings.ref,
        "claims": claims,
        "unreadable": unreadable,
    }
    save(os.path.join(connection.repository.home, claims_file.NAME), found)
    return found
