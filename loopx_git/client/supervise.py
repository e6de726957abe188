"""Supervise a command that works under a claim: forward signals to it, and end it when the claim is lost."""

from __future__ import annotations

import os
import queue
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from loopx_git.client.base import BaseClient
from loopx_git.client.lease_renewer import LeaseRenewer
from loopx_git.client.views import TodoView
from loopx_git.core.lease import margin
from loopx_git.format import layout
from loopx_git.store.process_group import ProcessGroup

#: What reaches the runner while the command works: ("signal", number), ("lost", error), ("exit", status).
Inbox = queue.SimpleQueue[tuple[str, object]]
#: Seconds between TERM and KILL, unless the caller says otherwise.
GRACE = 10.0
#: Signals after which a command that does not end is killed; any other is only passed on.
_ENDING = frozenset({signal.SIGTERM, signal.SIGHUP})


@contextmanager
def _todo_file(client: BaseClient, view: TodoView) -> Iterator[str]:
    """A read-only copy of the todo at the last known tip; removed at the end of the block."""
    reading = client.read_known()
    path = layout.todo(view.todo.goal, view.id, archived=view.todo.archived)
    data = client.snapshot(reading).tree.blob(path) or b""
    with tempfile.TemporaryDirectory(prefix="loopx-") as folder:
        copy = os.path.join(folder, f"{view.id}.md")
        with open(copy, "wb") as file:
            file.write(data)
        os.chmod(copy, 0o444)
        yield copy


def supervise(
    client: BaseClient,
    argv: Sequence[str],
    view: TodoView,
    *,
    session: str,
    cwd: str,
    inbox: Inbox,
    grace: float,
    keep: Sequence[int],
    variables: Mapping[str, str],
) -> tuple[int, LeaseRenewer, int | None]:
    """Run the command under the claim until it ends: (its status, the renewer, the signal that ended it or None).

    It finds the todo and its claim in its environment, with further `variables`. Meanwhile the lease is renewed, and
    read at every sync.max_age. When it is lost, the whole group gets TERM, and KILL before others may take the claim.
    Signals in `inbox` are sent to the group; after TERM or HUP it is killed when `grace` seconds have passed.
    """
    lease, mark = view.lease.lease, client.connection.overrides.entropy(16).hex()
    clock, kill_at, told = client.connection.overrides.clock, float("inf"), None
    look = max(1.0, client.connection.settings.max_age)
    renewer = LeaseRenewer(
        client, lease, session=session, look=look, on_lost=lambda error: inbox.put(("lost", error))
    )
    with _todo_file(client, view) as file:
        env = {
            **client.connection.env,
            **variables,
            "LOOPX_RUN": mark,
            "LOOPX_TODO_FILE": file,
            "LOOPX_TODO": view.id,
            "LOOPX_GOAL": view.todo.goal,
            "LOOPX_AGENT": lease.holder or "",
            "LOOPX_SESSION": session,
            "LOOPX_EPOCH": str(lease.epoch),
        }
        child = ProcessGroup(argv, cwd=cwd, env=env, events=inbox, grace=grace, mark=f"LOOPX_RUN={mark}", keep=keep)
        renewer.start()
        try:
            while True:
                try:
                    kind, value = inbox.get(timeout=0.25)
                except queue.Empty:
                    # Time has passed: look at the deadlines.
                    kind, value = "time", None
                if kind == "exit":
                    assert isinstance(value, int)
                    return value, renewer, told
                if kind == "signal":
                    assert isinstance(value, int)
                    told = value
                    child.signal(value)
                    if value in _ENDING:
                        kill_at = min(kill_at, clock.counting() + grace)
                if renewer.lost is not None:
                    child.end(min(grace, grace if lease.ttl_s is None else margin(lease.ttl_s)), strays=True)
                elif clock.counting() > kill_at:
                    child.signal(signal.SIGKILL)
        finally:
            renewer.stop()
            child.close(min(grace, 2.0) if renewer.lost is None else 0.0)
