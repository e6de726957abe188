"""`with client.hold(todo) as claim:` keep a claim alive in the background, and know at once when it is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from loopx_git.core.lease import margin
from loopx_git.errors import Contention, LoopXError, NotYourClaim, OutcomeUnknown, RemoteFailure

if TYPE_CHECKING:
    from loopx_git.client.client import Client
    from loopx_git.client.views import TodoView


class Hold:
    """A claim under a session of its own, renewed each third of its ttl by a thread.

    `checkpoint()` raises NotYourClaim once the claim is lost; `on_lost` is called at that moment, from the
    thread. A renewal whose outcome is unknown keeps the claim until the holder's own deadline, then it counts as
    lost. Leaving the block releases the claim unless it was completed; nothing is renewed after that.
    """

    def __init__(
        self, client: Client, todo_id: str, *, agent_id: str | None, goal_id: str | None, ttl: int | str | None,
        on_lost: Callable[[NotYourClaim], None] | None,
    ) -> None:  # fmt: skip
        self._client, self._todo_id, self._agent_id, self._goal_id = client, todo_id, agent_id, goal_id
        self._ttl, self._on_lost = ttl, on_lost
        self.session = f"h-{client.connection.hooks.entropy(8).hex()}"
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._lost: NotYourClaim | None = None
        self._done = False
        self._until = float("inf")
        self.view: TodoView | None = None

    # -- what the holder asks

    @property
    def lease_id(self) -> str:
        """todo@epoch of the claim."""
        assert self.view is not None
        return self.view.lease.id

    @property
    def epoch(self) -> int:
        assert self.view is not None
        return self.view.lease.lease.epoch

    @property
    def lost(self) -> NotYourClaim | None:
        """Why the claim is lost, or None while it is held."""
        if self._lost is None and self._now() > self._until:
            self._lose(self._past_deadline())
        return self._lost

    def checkpoint(self) -> None:
        """Raise NotYourClaim when the claim is lost: call it before everything that cannot be undone."""
        lost = self.lost
        if lost is not None:
            raise lost

    def complete(self, note: str | None = None) -> TodoView:
        """Complete the todo; nothing is renewed any more."""
        self.checkpoint()
        self._end_renewals()
        view = self._client.todo.complete(
            self._todo_id, agent_id=self._agent_id, session=self.session, epoch=self.epoch, note=note
        )
        self._done = True
        return view

    # -- the block

    def __enter__(self) -> Hold:
        began = self._now()
        self.view = self._client.todo.claim(
            self._todo_id, agent_id=self._agent_id, session=self.session, goal_id=self._goal_id, ttl=self._ttl,
            exclusive=True,
        )  # fmt: skip
        self._todo_id = self.view.id
        ttl = self.view.lease.lease.ttl_s
        if ttl is not None:
            self._until = began + ttl - margin(ttl)
            self._thread = threading.Thread(
                target=self._renew, args=(ttl,), name=f"loopx {self.lease_id}", daemon=True
            )
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_renewals()
        if self._done or self._lost is not None:
            return
        try:
            self._client.todo.release(self._todo_id, agent_id=self._agent_id, session=self.session, epoch=self.epoch)
        except NotYourClaim as lost:
            self._lose(lost)
            if kind is None:
                raise

    def _end_renewals(self) -> None:
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    # -- the thread

    def _renew(self, ttl: int) -> None:
        from loopx_git.client.client import Client

        connection = self._client.connection
        # A client of its own: object stores are not shared between threads.
        client = Client(connection.repository.cwd, connection.env, connection.flags, connection.hooks)
        pause = ttl / 3
        while not self._stop.wait(pause * (0.8 + 0.2 * connection.hooks.jitter())):
            began = self._now()
            try:
                client.task_lease.renew(self.lease_id, agent_id=self._agent_id, session=self.session)
            except NotYourClaim as lost:
                self._lose(lost)
                return
            except (RemoteFailure, OutcomeUnknown, Contention):
                # Not known is not lost: try again soon, until our own deadline.
                pause = min(ttl / 3, max(0.2, (self._until - self._now()) / 4))
                if self._now() > self._until:
                    self._lose(self._past_deadline())
                    return
                continue
            except LoopXError as error:
                self._lose(NotYourClaim(error.message, hint=error.hint, about=error.about))
                return
            self._until, pause = began + ttl - margin(ttl), ttl / 3

    def _now(self) -> float:
        return self._client.connection.hooks.clock.counting()

    def _past_deadline(self) -> NotYourClaim:
        return NotYourClaim(
            f"the claim {self.lease_id} could not be renewed and is past its deadline",
            hint=f"git loopx todo show {self._todo_id}",
            about={"todo_id": self._todo_id, "epoch": self.epoch},
        )

    def _lose(self, error: NotYourClaim) -> None:
        if self._lost is None:
            self._lost = error
            self._stop.set()
            if self._on_lost is not None:
                self._on_lost(error)
