"""`with client.hold(todo) as claim:` renews a claim in the background, and notices at once when it is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Unpack

from loopx_git.client.base import BaseClient
from loopx_git.client.lease_renewer import LeaseRenewer
from loopx_git.client.parameters import Taking
from loopx_git.client.take import take
from loopx_git.client.todos import Todos
from loopx_git.client.views import News, TodoView
from loopx_git.errors import NotYourClaim


class Hold:
    """A claim under its own session. A thread renews it after each third of its ttl.

    A claim that the caller's session already holds is kept and renewed. `resume` takes over from another session of
    the same agent. `checkpoint()` raises NotYourClaim once the claim is lost. `on_lost` is called at that moment,
    from the thread. After a renewal whose outcome is unknown the claim is kept until the holder's own deadline; then
    it counts as lost. Leaving the block releases the claim, unless it was completed. Entering the block raises what
    `todo.claim` raises.
    """

    def __init__(
        self,
        client: BaseClient,
        todo_id: str,
        *,
        on_lost: Callable[[NotYourClaim], None] | None = None,
        **how: Unpack[Taking],
    ) -> None:
        self._on_lost, self._agent_id = on_lost, how.get("agent_id")
        self._client, self._todo_id, self._how, self._todos = client, todo_id, how, Todos(client)
        self.session = f"h-{client.connection.overrides.entropy(8).hex()}"
        self._renewer: LeaseRenewer | None = None
        self._done = False
        self.view: TodoView | None = None

    # -- what the holder asks

    @property
    def lease_id(self) -> str:
        """todo@epoch of the claim."""
        assert self.view is not None
        return self.view.lease.id

    @property
    def epoch(self) -> int:
        """The epoch of the claim. It exists inside the block only."""
        assert self.view is not None
        return self.view.lease.lease.epoch

    @property
    def lost(self) -> NotYourClaim | None:
        """Why the claim is lost, or None while it is held."""
        return None if self._renewer is None else self._renewer.lost

    @property
    def news(self) -> Sequence[News]:
        """What others did to the todo, as of the last renewal: notes, and changes by an operator."""
        return () if self._renewer is None else self._renewer.news

    def checkpoint(self) -> None:
        """Raise NotYourClaim when the claim is lost. Call it before each step that cannot be undone."""
        if self._renewer is not None:
            self._renewer.checkpoint()

    def complete(self, note: str | None = None) -> TodoView:
        """Complete the todo. The claim is not renewed after that. Raises NotYourClaim when the claim is lost."""
        self.checkpoint()
        self._stop()
        view = self._todos.complete(
            self._todo_id, agent_id=self._agent_id, session=self.session, epoch=self.epoch, note=note
        )
        self._done = True
        return view

    # -- the block

    def __enter__(self) -> Hold:
        way_on = "client.hold('{todo}', resume=True)"
        taken = take(self._client, self._todo_id, session=self.session, way_on=way_on, **self._how)
        self.view, self.session = taken.view, taken.session
        self._todo_id = self.view.id
        self._renewer = LeaseRenewer(self._client, self.view.lease.lease, session=self.session, on_lost=self._on_lost)
        if self.view.lease.lease.ttl_s is not None:
            self._renewer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        if self._done or self._renewer is None or self._renewer.settled or self.lost is not None:
            return
        try:
            self._todos.release(self._todo_id, agent_id=self._agent_id, session=self.session, epoch=self.epoch)
        except NotYourClaim as lost:
            self._renewer.lose(lost)
            if kind is None:
                raise

    def _stop(self) -> None:
        if self._renewer is not None:
            self._renewer.stop()
