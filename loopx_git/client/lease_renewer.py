"""Renew a claim in the background, and notice at once when it is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from loopx_git.client.base import BaseClient
from loopx_git.client.news import news
from loopx_git.client.renewal import renew
from loopx_git.client.views import News
from loopx_git.core.lease import Ended, Lease, late_at, margin
from loopx_git.errors import About, Contention, InvalidState, LoopXError, NotYourClaim, OutcomeUnknown, RemoteFailure

#: Seconds between two renewals of a claim without a time bound, so that its peer does not go stale.
UNBOUND_EVERY = 3600.0
#: Endings that only the holder itself can have brought about without raising the epoch.
_OWN_ENDINGS = frozenset({Ended.RELEASED, Ended.COMPLETED, Ended.SUPERSEDED, Ended.CANCELLED})
#: Errors of a renewal or a look that do not mean that the claim is lost.
_UNKNOWN = (RemoteFailure, OutcomeUnknown, Contention)


class LeaseRenewer:
    """Renews one lease each third of its ttl from a thread: in a `with` block, or from `start` to `stop`.

    lease    the claim that the session holds
    look     seconds between two looks at the record (None: only renewals tell); an operator's forced release
             is then noticed long before the next renewal
    on_lost  called once, from the thread, with the reason

    A lease with less than half of its ttl left is renewed at once. A renewal whose outcome is unknown keeps the claim
    until the holder's own deadline; then it counts as lost. A claim that its own session has ended (completed,
    released) is `settled`, not lost.
    """

    def __init__(
        self,
        client: BaseClient,
        lease: Lease,
        *,
        session: str | None,
        look: float | None = None,
        on_lost: Callable[[NotYourClaim], None] | None = None,
    ) -> None:
        self._client, self.lease, self._session = client, lease, session
        self._look, self._on_lost = look, on_lost
        self._stop, self._guard = threading.Event(), threading.Lock()
        self._lost: NotYourClaim | None = None
        self._thread: threading.Thread | None = None
        self.settled = False
        self.news: tuple[News, ...] = ()
        self._every = UNBOUND_EVERY if lease.ttl_s is None else lease.ttl_s / 3
        self._until = self._now() + self._left()

    @property
    def lost(self) -> NotYourClaim | None:
        """Why the claim is lost; None while it is held, and after its own session ended it."""
        if self._lost is None and not self.settled and self._now() > self._until:
            self.lose(self._over("could not be renewed and is past its deadline", {"epoch": self.lease.epoch}))
        return self._lost

    def checkpoint(self) -> None:
        """Raise NotYourClaim when the claim is lost."""
        lost = self.lost
        if lost is not None:
            raise lost

    def __enter__(self) -> LeaseRenewer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the thread that renews."""
        self._thread = threading.Thread(target=self._run, name=f"loopx {self.lease.id}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread. The claim is not renewed after that."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def lose(self, error: NotYourClaim) -> None:
        """Store that the claim is lost. The first reason stays."""
        with self._guard:
            if self._lost is not None:
                return
            self._lost = error
        self._stop.set()
        if self._on_lost is not None:
            self._on_lost(error)

    def look(self, client: BaseClient | None = None) -> None:
        """Read the record on a fresh tip: whether the claim is still held, `settled` or `lost`.

        A tip that cannot be read tells nothing: the next renewal, or the deadline, decides.
        """
        try:
            record = self._record(client or self._client)
        except (*_UNKNOWN, InvalidState):
            return
        if (record.holder, record.session, record.epoch) != (self.lease.holder, self._session, self.lease.epoch):
            whose = f"{record.holder} holds it" if record.holder else "nobody holds it"
            over = self._over(
                f"is over: {whose} (epoch {record.epoch})", {"holder": record.holder, "epoch": record.epoch}
            )
            self._ended(client or self._client, over, record)

    # -- the thread

    def _run(self) -> None:
        client = self._client.twin()
        renew_at = self._now() + min(self._spread(self._every), max(0.0, self._left() - 1.5 * self._every))
        while True:
            wait = max(0.0, renew_at - self._now())
            looks = self._look is not None and self._look < wait
            if self._stop.wait(self._spread(self._look) if looks and self._look is not None else wait):
                return
            if looks:
                self.look(client)
            elif self._renew(client):
                renew_at = self._now() + self._spread(self._every)
            else:
                # An unknown outcome is not a loss: try again soon, until our own deadline.
                renew_at = self._now() + min(self._every, max(0.2, (self._until - self._now()) / 4))
            if self.settled or self.lost is not None:
                return

    def _renew(self, client: BaseClient) -> bool:
        """One renewal; False when it is not known what came of it."""
        began = self._now()
        # A renewal takes no longer than the claim lasts: `stop` waits for it.
        budget = max(1.0, min(self._client.connection.settings.timeout, self._until - began))
        client.connection.settings = replace(client.connection.settings, timeout=budget)
        try:
            tip = renew(client, self.lease.id, agent_id=self.lease.holder, session=self._session).tip
        except NotYourClaim as error:
            self._ended(client, error)
            return True
        except _UNKNOWN as error:
            note = f"a renewal did not go through: {error.message}"
            if note not in self._client.notes:
                self._client.connection.ledger.notes.append(note)
            return False
        except LoopXError as error:
            self.lose(NotYourClaim(error.message, hint=error.hint, about=error.about))
            return True
        # Each renewal finds the same news until the session writes: report it once.
        known = {item.commit for item in self.news}
        actor = client.connection.actor(self.lease.holder, self._session)
        heard = () if tip is None else news(client, self.lease.todo, actor, tip)
        self.news = (*self.news, *(item for item in heard if item.commit not in known))
        if self.lease.ttl_s is not None:
            self._until = began + self.lease.ttl_s - margin(self.lease.ttl_s)
        return True

    def _ended(self, client: BaseClient, error: NotYourClaim, record: Lease | None = None) -> None:
        """Decide whether the session ended the claim itself, or lost it."""
        try:
            known = record or self._record(client)
        except LoopXError:
            self.lose(error)
            return
        if known.holder is None and known.epoch == self.lease.epoch and known.ended in _OWN_ENDINGS:
            self.settled = True
            return
        self.lose(error)

    def _record(self, client: BaseClient) -> Lease:
        snapshot = client.snapshot(client.read(fresh=True))
        for goal in snapshot.goals_of(self.lease.todo):
            found = snapshot.lease(goal, self.lease.todo)
            if found is not None:
                return found
        return Lease(self.lease.todo)

    def _now(self) -> float:
        return self._client.connection.overrides.clock.counting()

    def _left(self) -> float:
        """Seconds until the holder's own deadline, as this clone stored it; else by the record and the wall clock."""
        connection, deadline = self._client.connection, late_at(self.lease)
        if deadline is None:
            return float("inf")
        stored = connection.ledger.remaining.get(self.lease.id)
        return (deadline - connection.overrides.clock.wall()).total_seconds() if stored is None else stored

    def _spread(self, seconds: float) -> float:
        """A little less, by chance, so that many holders do not renew at the same moment."""
        return seconds * (0.8 + 0.2 * self._client.connection.overrides.jitter())

    def _over(self, why: str, about: About) -> NotYourClaim:
        hint = f"git loopx todo show {self.lease.todo}"
        return NotYourClaim(
            f"the claim {self.lease.id} {why}", hint=hint, about={"todo_id": self.lease.todo, **about}
        )
