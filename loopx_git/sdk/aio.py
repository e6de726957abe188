"""The asyncio face: `hold` and `next` that do not block the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any, TypeVar, Unpack

from loopx_git.client.arguments import checked
from loopx_git.client.client import Client
from loopx_git.client.hold import Hold
from loopx_git.client.next_todo import Picked
from loopx_git.client.parameters import Taking
from loopx_git.client.views import TodoView
from loopx_git.errors import NotYourClaim

T = TypeVar("T")


@checked()
class Aio:
    """`client.aio`: `next` and `hold` as awaitables. They run one at a time, in one thread."""

    #: A hold is as long as the work that it does.
    LASTING = True

    def __init__(self, client: Client) -> None:
        connection = client.connection
        # A client of its own: object stores are not shared between threads.
        self._client = Client(connection.repository.cwd, connection.env, connection.flags, connection.overrides)
        self._thread = ThreadPoolExecutor(1, "loopx")

    async def next(self, **settings: Any) -> Picked:
        """Like `client.todo.next`: find the best todo that fits, and claim it with `claim=True`.

        Raises NotFound when no todo fits.
        """
        return await self._call(partial(self._client.todo.next, **settings))

    def hold(self, todo_id: str, **how: Unpack[Taking]) -> AsyncHold:
        """Claim a todo, renew the claim in the background, and release it at the end.

            async with client.aio.hold(todo) as claim: ...

        `ttl` is in seconds, None for no bound, "unset" for the policy's. When the claim is lost, the task inside the
        block is cancelled and the block raises NotYourClaim. Entering raises what `client.todo.claim` raises.
        """
        return AsyncHold(self, partial(self._client.hold, todo_id, **how))

    async def _call(self, function: Callable[[], T]) -> T:
        running = asyncio.get_running_loop().run_in_executor(self._thread, function)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            # A push that has begun cannot be undone. The cancellation waits for its end, so that nothing is written
            # after it.
            await asyncio.wait([running])
            raise


class AsyncHold:
    """A hold inside an asyncio task: see `client.aio.hold`."""

    def __init__(self, aio: Aio, make: Callable[..., Hold]) -> None:
        self._aio, self._make = aio, make
        self._hold: Hold | None = None
        self._cancelled_by_us = False

    @property
    def claim(self) -> Hold:
        """The hold itself: lease_id, epoch, session, lost, checkpoint(). It exists inside the block only."""
        assert self._hold is not None, "inside the block only"
        return self._hold

    async def complete(self, note: str | None = None) -> TodoView:
        """Complete the todo. The claim is not renewed after that. Raises NotYourClaim when the claim is lost."""
        return await self._aio._call(partial(self.claim.complete, note))

    async def __aenter__(self) -> AsyncHold:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None

        def lost(error: NotYourClaim) -> None:
            loop.call_soon_threadsafe(self._cancel, task)

        hold = self._make(on_lost=lost)
        try:
            await self._aio._call(hold.__enter__)
        except asyncio.CancelledError:
            if hold.view is not None:
                await self._aio._call(partial(hold.__exit__, None, None, None))
            raise
        self._hold = hold
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        hold, self._hold = self.claim, None
        await self._aio._call(partial(hold.__exit__, kind, error, trace))
        lost = hold.lost
        if self._cancelled_by_us:
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
        if lost is not None and (kind is None or self._cancelled_by_us):
            raise lost from error

    def _cancel(self, task: asyncio.Task[Any]) -> None:
        """In the event loop: interrupt the block, if it is still running."""
        if self._hold is not None and not self._cancelled_by_us:
            self._cancelled_by_us = True
            task.cancel()
