"""The Python face: the client with this process's environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from loopx_git.client.arguments import converted
from loopx_git.client.client import Client

if TYPE_CHECKING:
    from loopx_git.sdk.aio import Aio


class LoopXClient(Client):
    """Coordination for programs, in the repository that contains `folder`.

        client = LoopXClient(agent="codex-1")
        view = client.todo.claim(todo_id="todo_ab12cd34ef56", ttl=600)

    `agent`, `session`, `remote`, `ref` and `timeout` (seconds) have the meaning of the command line's flags. An
    argument that you leave out is read from LOOPX_*, git config or .loopx/config.toml. `env` replaces the environment
    of the process.

    Methods raise the errors of `loopx_git.errors`. Every method may raise NotInitialised (no ledger), InvalidState
    (stored data or configuration is not valid) and UsageError (an argument is not valid). A method that writes, or
    reads with `fresh`, may raise RemoteFailure; a method that writes may also raise Contention and OutcomeUnknown. A
    method that raises has written nothing. The exception is OutcomeUnknown: call the method again to find out.
    """

    def __init__(
        self, folder: str | os.PathLike[str] = ".", *, agent: str | None = None, session: str | None = None,
        remote: str | None = None, ref: str | None = None, timeout: float | None = None,
        env: Mapping[str, str] | None = None, **settings: Any,
    ) -> None:  # grouped by meaning  # fmt: skip
        given = converted({"agent": agent, "session": session, "remote": remote, "ref": ref})
        flags = {**given, "timeout": timeout}
        super().__init__(folder, dict(os.environ) if env is None else env, flags, **settings)

    @cached_property
    def aio(self) -> Aio:
        """`hold` and `next` for asyncio."""
        from loopx_git.sdk.aio import Aio  # asyncio takes a while to load

        return Aio(self)
