"""A ledger that can be reached: reads at a tip, and jobs published under the clone's lock."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from loopx_git.core.change import Actor, Facts
from loopx_git.errors import InvalidState, NotInitialised
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.ledger.validation import Checker, Fault
from loopx_git.store import transaction as tx
from loopx_git.store.base import Fetched, Publisher
from loopx_git.store.driver import Driver, Job, TransactionContext, facts_of
from loopx_git.store.lock import locked
from loopx_git.store.pending import ANSWERS_FOR, Pending
from loopx_git.store.system import noted, system_errors

#: A landed record is dropped after so many seconds; until then `doctor` reports it.
_KEEP = 86400.0
#: The actor of jobs that only read.
_NOBODY = Actor("nobody")


@dataclass(frozen=True, slots=True)
class SubmitResult:
    """The result of a job.

    `facts` has one entry for each operation. `wrote` is False when nothing was written. `found`: an earlier run of
    the same command had landed.
    """

    facts: Sequence[Facts]
    tip: str | None
    oid: str | None = None
    wrote: bool = False
    found: bool = False
    confirmed: bool = True
    losses: int = 0
    notes: Sequence[str] = field(default_factory=tuple)


class Ledger:
    """One clone's access to one coordination ref.

    home         the folder for the lock and the records; None for stores in memory, which lock nothing
    memo         what was parsed already, shared by all snapshots of this process
    notes        what the caller should know besides an answer; callers append to it
    first_sight  when records dated in our future were first seen here
    wrote        whether something of this process stands in the ledger
    """

    def __init__(self, context: TransactionContext, home: str | None) -> None:
        self.context, self.home = context, home
        self.objects, self.publisher, self.memo = context.objects, context.publisher, context.memo
        self.notes, self.first_sight = context.notes, context.first_sight
        self.wrote = False

    @property
    def pending(self) -> Sequence[Pending]:
        """The records of commands that got no answer, oldest first."""
        return self.context.pending.all()

    @property
    def remaining(self) -> Mapping[str, float]:
        """Seconds left of the deadlines of this clone's own leases, by lease id; negative when one has passed."""
        return {} if self.context.deadlines is None else self.context.deadlines.remaining()

    @contextmanager
    def _lock(self, timeout: float) -> Iterator[None]:
        if self.home is None:
            yield
            return
        with system_errors(self.home), locked(self.home, timeout):
            yield

    def through(self, publisher: Publisher) -> Ledger:
        """The same ledger, published through another publisher of the same ref."""
        return Ledger(replace(self.context, publisher=publisher), self.home)

    # -- reading

    def snapshot(self, tip: str) -> TreeSnapshot:
        """The state at a commit."""
        return TreeSnapshot(self.objects.tree(tip), self.memo)

    def root(self, tip: str) -> str:
        """The first commit of the history that ends in `tip`: the ledger's name."""
        return self.objects.between(None, tip, 10**9)[0]

    def faults(self, tip: str, limit: int) -> Iterator[Fault]:
        """What is illegal in the newest `limit` commits up to `tip`, each replayed against the table."""
        return Checker(self.objects, self.memo).walk(None, tip, limit, self.context.progress)

    def tip(self) -> str | None:
        """The last tip that was checked here."""
        return self.publisher.known_tip()

    def refresh(self, timeout: float) -> Fetched:
        """Read the remote ref and check new commits, under the lock. An error is in the result."""
        started = self.context.clock.counting()
        job = Job(lambda *_: (), _NOBODY, "", "sync", tx.Limits(budget=timeout))
        with self._lock(timeout):
            driver = Driver(self.context, job, started, self._record(job))
            return driver.fetch()

    def need_tip(self, timeout: float) -> str:
        """The tip, freshly read. Raises RemoteFailure when it cannot be read, NotInitialised when there is none."""
        tip = self.refresh(timeout).read()
        if tip is None:
            raise not_initialised()
        return tip

    # -- writing

    def submit(self, job: Job) -> SubmitResult:
        """Publish one job, or raise its refusal.

        An identical command that landed earlier, and whose caller got no answer, is answered now and not repeated.
        """
        before = self.context.mended()
        try:
            return self._submit(job)
        except InvalidState:
            if self.context.mended() == before:
                raise
            # What was built and not pushed went with the damaged store: all of it is built again.
            return self._submit(job)

    def _submit(self, job: Job) -> SubmitResult:
        started = self.context.clock.counting()
        with self._lock(job.limits.budget):
            earlier = None if job.dry_run else self._look_up_pending(job, started)
            if earlier is not None and earlier.landed is not None:
                self.wrote = True
                noted(self.notes, partial(self._drop, earlier))
                facts = earlier.facts(earlier.landed)
                return SubmitResult(facts, self.tip(), earlier.landed, wrote=True, found=True, confirmed=False)
            driver = Driver(self.context, job, started, earlier or self._record(job))
            result = driver.run(resumed=earlier is not None)
            if result.oid is not None:
                self.wrote = True
                noted(self.notes, partial(self._drop, driver.record))
            noted(self.notes, self.publisher.tidy)
            known = [facts_of(change) for change in result.changes]
            return SubmitResult(
                known if result.oid is None else driver.record.facts(result.oid),
                result.tip,
                result.oid,
                wrote=result.oid is not None,
                found=result.oid is not None and not result.changes,
                confirmed=result.confirmed,
                losses=result.losses,
                notes=tuple(self.notes),
            )

    def _record(self, job: Job) -> Pending:
        context = self.context
        return Pending(
            request=context.entropy(16).hex(),
            fingerprint=job.fingerprint,
            agent=job.actor.name,
            command=job.command,
            created=context.clock.wall().timestamp(),
            pid=os.getpid(),
        )

    def _drop(self, record: Pending) -> None:
        self.context.publisher.release(record.request)
        self.context.pending.remove(record.request)

    def _look_up_pending(self, job: Job, started: float) -> Pending | None:
        """Find the outcome of earlier commands that got no answer: the record of the identical one, or None."""
        context = self.context
        context.pending.tidy()
        records = context.pending.all()
        if not records:
            return None
        now = context.clock.wall().timestamp()
        if any(record.landed is None for record in records):
            fetched = Driver(context, job, started, self._record(job)).fetch()
            if fetched.error is None:
                records = [kept for record in records if (kept := self._with_outcome(record, fetched.tip))]
        mine: Pending | None = None
        for record in records:
            if now - record.created > _KEEP and record.landed is not None:
                self._drop(record)
            elif record.fingerprint == job.fingerprint and abs(now - record.created) <= ANSWERS_FOR:
                mine = record
        return mine

    def _with_outcome(self, record: Pending, tip: str | None) -> Pending | None:
        """The record with its outcome as it is known now; None when it is certain that it did not land."""
        if record.landed is not None:
            return record
        found = record.built_in(self.objects, tip)
        if found is not None:
            landed = replace(record, landed=found)
            self.context.pending.write(landed)
            self.publisher.release(record.request)
            return landed
        if any(built.parent == tip for built in record.built):
            return record
        self._drop(record)
        return None


def not_initialised() -> NotInitialised:
    """The error of a place without a ledger."""
    return NotInitialised("there is no loopx ledger here yet", hint="git loopx init")
