"""The driver: carries out the steps of the transaction for real."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from loopx_git.core.change import Actor, ChangeSet, Facts, PutLease
from loopx_git.core.lease import Clocks
from loopx_git.errors import Contention, InternalError, InvalidState, LoopXError, NotAllowed, RemoteFailure
from loopx_git.format import message
from loopx_git.ledger.commits import Draft, Objects, Progress, Signature
from loopx_git.ledger.encode import encode, message_of
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.ledger.tree import Tree
from loopx_git.ledger.validation import (
    FIRST_CHECK,
    Checker,
    Fault,
    ForeignTip,
    adopts,
    check_own,
    is_operation,
    our_fault,
    poses,
)
from loopx_git.store import transaction as tx
from loopx_git.store.activity import Activity
from loopx_git.store.base import Fetched, Publisher
from loopx_git.store.clock import Clock
from loopx_git.store.local_clocks import Deadlines
from loopx_git.store.pending import Built, Pending, PendingFolder, with_built
from loopx_git.store.system import is_system, noted

#: Decides on the state at a tip (None: no ledger yet) at a moment, for a request; raises to refuse.
Decider = Callable[[TreeSnapshot | None, Clocks, str], tuple[ChangeSet, ...]]

#: Decides on foreign commits: the last good state, the foreign tree, the paths that differ, the moment, the request.
Adopter = Callable[[TreeSnapshot, Tree, Sequence[str], Clocks, str], ChangeSet]


@dataclass(frozen=True, slots=True)
class Job:
    """One group of operations to publish, all or nothing.

    `fingerprint` is equal for identical commands. `command` is the command line, for people. `limits.budget`
    (seconds) includes the wait for the lock. `adopt` decides instead while the tip is foreign.
    """

    decide: Decider
    actor: Actor
    fingerprint: str
    command: str
    limits: tx.Limits = field(default_factory=tx.Limits)
    dry_run: bool = False
    adopt: Adopter | None = None


@dataclass(slots=True)
class TransactionContext:
    """What the driver works with. Everything is passed in, so that tests can replace it."""

    objects: Objects
    publisher: Publisher
    pending: PendingFolder
    clock: Clock
    entropy: Callable[[int], bytes]
    jitter: Callable[[], float]
    committer: Signature
    program: str
    ledger: str | None = None
    memo: dict[Hashable, Any] = field(default_factory=dict)
    deadlines: Deadlines | None = None
    first_sight: Mapping[str, datetime] = field(default_factory=dict)
    failpoint: Callable[[str], None] = lambda name: None
    progress: Progress | None = None
    notes: list[str] = field(default_factory=list)
    #: How often the store was replaced because it was damaged.
    mended: Callable[[], int] = lambda: 0


#: What a call of git gets at least, in seconds, also when the budget is over: the last look at what was sent.
_LEAST = 0.2
#: Commits that are checked before the progress is kept.
_CHUNK = 500


class Driver:
    """One transaction being carried out."""

    def __init__(self, context: TransactionContext, job: Job, started: float, record: Pending) -> None:
        self.context, self.job, self.started, self.record = context, job, started, record
        self.clocks, self.decided_at = Clocks(context.clock.wall()), context.clock.counting()
        self.movers: list[str] = []
        self.foreign: ForeignTip | None = None

    def run(self, *, resumed: bool) -> tx.Result:
        """Drive the generator to its end."""
        steps = tx.transaction(self.job.limits, dry_run=self.job.dry_run, resumed=resumed)
        answer: Any = None
        try:
            while True:
                step = steps.send(answer)
                answer = self._do(step)
        except StopIteration as stop:
            result: tx.Result = stop.value
        except Contention as error:
            error.about["moved_by"] = list(dict.fromkeys(self.movers))[-20:]
            names = ", ".join(error.about["moved_by"][-5:])
            if names:
                error.message += f" (last: {names})"
            raise
        if result.oid is not None:
            self.context.failpoint("landed")
            if result.confirmed and result.tip is not None:
                noted(self.context.notes, partial(self.context.publisher.accept, result.tip))
            noted(self.context.notes, partial(self._note_deadlines, result.changes))
        return result

    def _note_deadlines(self, changes: Sequence[ChangeSet]) -> None:
        """Remember until when what was just acquired or renewed is ours by our own clock."""
        deadlines, actor = self.context.deadlines, self.job.actor
        if deadlines is None:
            return
        for change in changes:
            for write in change.writes:
                if isinstance(write, PutLease) and write.lease.holder in (actor.name, None):
                    deadlines.note(write.lease, self.decided_at)

    def _do(self, step: tx.Step) -> Any:
        context = self.context
        match step:
            case tx.KnownTip():
                return context.publisher.known_tip()
            case tx.Fetch():
                fetched = self.fetch()
                context.failpoint("fetched")
                return fetched
            case tx.Decide(tip):
                return self._decide(tip)
            case tx.Build(tip, changes):
                oid = self._build(tip, changes)
                context.failpoint("built")
                return oid
            case tx.Push(parent, oid):
                context.failpoint("pushing")
                try:
                    pushed = context.publisher.push(parent, oid, self._share(0.5, 0.6))
                except (NotAllowed, RemoteFailure):
                    # Refused for good, or before anything was sent: nothing is open, so nothing of ours stays behind.
                    self._do(tx.Forget())
                    raise
                context.failpoint("pushed")
                return pushed
            case tx.FindLanded(tip):
                return self.record.built_in(context.objects, tip)
            case tx.Wait(seconds, least):
                context.clock.sleep(max(0.0, min(least + seconds * context.jitter(), self._left())))
                return None
            case tx.Elapsed():
                return context.clock.counting() - self.started
            case tx.Forget():
                context.publisher.release(self.record.request)
                context.pending.remove(self.record.request)
                return None
        raise InternalError(f"unknown step {step!r}")

    def _left(self) -> float:
        return self.job.limits.budget - (self.context.clock.counting() - self.started)

    def _share(self, part: float, most: float = 1.0) -> float:
        """The time that one call of git gets: this part of what is left, or two seconds where `most` of it has so
        many. The budget is a total: the calls together take no longer."""
        left = self._left()
        return max(_LEAST, min(left * most, max(2.0, left * part)))

    def fetch(self) -> Fetched:
        """Read the remote ref, and check every new commit before anything is planned on it."""
        context = self.context
        fetched = context.publisher.fetch(self._share(0.8))
        if fetched.error is not None:
            return fetched
        known, tip = context.publisher.known_tip(), fetched.tip
        if tip is None:
            if known is not None or context.ledger is not None:
                raise InvalidState(
                    f"the coordination ref is gone, though the ledger {context.ledger or known} is known here",
                    hint="check where coordination lives: git loopx config show; a pinned ledger is never begun anew",
                    about={"ledger": context.ledger, "last_tip": known},
                )
            return fetched
        self.foreign = None
        if tip != known:
            try:
                self._check(known, tip)
            except ForeignTip as foreign:
                if self.job.adopt is None:
                    raise
                self.foreign = foreign
                return fetched
            context.publisher.accept(tip)
        return fetched

    def _check(self, known: str | None, tip: str) -> None:
        context = self.context
        if known is not None and tip != known and context.objects.is_ancestor(tip, known):
            # A mirror or a cache that lags shows the same as a ref that was set back: neither is news.
            raise RemoteFailure(
                f"the remote shows {tip}, which is older than {known}, the last tip seen here; nothing was changed",
                hint="try again later; if it stays so, the ref was set back: see git loopx sync -h",
                about={"tip": tip, "last_tip": known},
            )
        if known is not None and not context.objects.is_ancestor(known, tip):
            raise InvalidState(
                f"the coordination ref was rewritten: {tip} does not descend from {known}, the last tip seen here",
                hint="find out who did it and why; for the audited way out see: git loopx sync -h",
                about={"tip": tip, "last_tip": known},
            )
        checker = Checker(context.objects, context.memo)
        limit = FIRST_CHECK if known is None else 10**9
        oids = context.objects.between(known, tip, limit)
        if known is not None and context.objects.commit(oids[0]).parents[:1] != (known,):
            fault = Fault(
                tip, "parents", f"its line of first parents does not pass through {known}, the last tip seen"
            )
            raise fault.error()
        base = known
        for start in range(0, len(oids), _CHUNK):
            last = oids[min(start + _CHUNK, len(oids)) - 1]
            faults = list(checker.walk(base, last, limit if base is None else 10**9, context.progress))
            if faults and (last != tip or base is None):
                # The adoption that makes them good may come later, or they may begin before what was looked at.
                last = tip
                faults = list(checker.walk(base, tip, 10**9, context.progress))
            if faults and base is not None and adopts(context.objects.commit(faults[0].commit)):
                # It adopts commits before `known` that this clone once accepted, perhaps its own. They are checked
                # again, as by a clone that reads the ledger for the first time.
                faults = list(checker.walk(None, tip, FIRST_CHECK, context.progress))
            if faults:
                parents = context.objects.commit(faults[0].commit).parents
                good = parents[0] if parents else None
                if known is None:
                    self._check_root(tip)
                run = [context.objects.commit(oid) for oid in context.objects.between(good, tip, 10**9)]
                raise ForeignTip(faults[0], tip, good, forged=any(poses(commit) for commit in run))
            base = last
            if known is not None:
                # What is checked stays checked, also when the rest takes longer than this command has.
                context.publisher.accept(last)
            if last == tip:
                break
        for oid in oids[-50:]:
            commit = context.objects.commit(oid)
            self.movers.append(message.load(commit.message).agent if is_operation(commit) else commit.author.name)
        if known is None:
            if context.objects.commit(oids[0]).parents:
                context.notes.append(
                    f"first contact: the newest {len(oids)} operations were checked; the rest: git loopx verify"
                )
            self._check_root(tip)

    def _check_root(self, tip: str) -> None:
        """A clone that meets a ledger for the first time must meet the one that is pinned."""
        context = self.context
        root = context.objects.between(None, tip, 10**9)[0]
        if context.ledger is not None and root != context.ledger and not context.objects.commit(root).parents:
            raise InvalidState(
                f"this is another ledger: its root is {root}, and {context.ledger} is pinned here",
                hint="check which remote coordination lives on: git remote -v; then: git config loopx.remote NAME",
                about={"ledger": context.ledger, "root": root},
            )

    def _decide(self, tip: str | None) -> tuple[ChangeSet, ...] | LoopXError:
        context = self.context
        try:
            foreign = self.foreign is not None
            snapshot = None if tip is None or foreign else self._snapshot(tip)
            # Time is sampled at every try, so that nothing is born expired; a holder's deadline counts from here,
            # which is before its push.
            self.decided_at = context.clock.counting()
            remaining = {} if context.deadlines is None else context.deadlines.remaining()
            self.clocks = Clocks(context.clock.wall(), context.first_sight, remaining, self._activity(tip, snapshot))
            if self.foreign is not None and self.job.adopt is not None:
                return (self._adopt(self.foreign, self.job.adopt),)
            with self._sound(tip):
                return self.job.decide(snapshot, self.clocks, self.record.request)
        except LoopXError as refusal:
            return refusal

    def _snapshot(self, oid: str) -> TreeSnapshot:
        return TreeSnapshot(self.context.objects.tree(oid), self.context.memo)

    def _activity(self, tip: str | None, snapshot: TreeSnapshot | None) -> Mapping[str, datetime]:
        if tip is None or snapshot is None:
            return {}
        known = snapshot
        return Activity(
            self.context.objects, lambda: tip, self.context.clock.wall, lambda _: known.policy.peers_stale_after
        )

    @contextmanager
    def _sound(self, tip: str | None, *, builds: bool = False) -> Iterator[None]:
        """Turn an error of our own code into InternalError, and drop the record of the request: commits of earlier
        tries need a tip that is past, so they cannot land. With `builds`, any error drops the record."""
        try:
            yield
        except Exception as error:
            if is_system(error):
                raise
            known = isinstance(error, LoopXError)
            if (builds or not known) and all(earlier.parent != tip for earlier in self.record.built):
                self._do(tx.Forget())
            if known:
                raise
            raise our_fault(error) from error

    def _adopt(self, foreign: ForeignTip, decide: Adopter) -> ChangeSet:
        objects = self.context.objects
        if foreign.good is None:
            raise foreign
        good = self._snapshot(foreign.good)
        changed = objects.changed(foreign.good, foreign.tip)
        return decide(good, objects.tree(foreign.tip), changed, self.clocks, self.record.request)

    def _build(self, tip: str | None, changes: Sequence[ChangeSet]) -> str:
        with self._sound(tip, builds=True):
            parent, facts = self._built(tip, changes)
        self.record = with_built(self.record, Built(parent, tip, tuple(facts)))
        # The record is written before the anchor and removed after it: a death in between leaves no anchor that
        # nobody knows of.
        self.context.pending.write(self.record)
        self.context.publisher.anchor(self.record.request, parent)
        return parent

    def _built(self, tip: str | None, changes: Sequence[ChangeSet]) -> tuple[str, list[Facts]]:
        """The last commit of the group, checked, and the facts of each operation."""
        context, parent = self.context, tip
        author = author_of(self.job.actor, context.committer)
        facts = []
        for change in changes:
            facts.append(facts_of(change))
            if not change.writes:
                continue
            onto = parent if self.foreign is None else self.foreign.good
            files = encode(change, None if onto is None else self._snapshot(onto))
            text = message.dump(
                message_of(
                    change,
                    request=self.record.request,
                    nonce=context.entropy(16).hex(),
                    program=context.program,
                )
            )
            draft = Draft(files, text, author, context.committer, self.clocks.now, onto)
            parent = context.objects.build(parent, draft)
        assert parent is not None
        # Before anything of it is remembered or sent: what every other clone would refuse is not pushed.
        check_own(context.objects, context.memo, tip if self.foreign is None else self.foreign.good, parent)
        return parent, facts


def facts_of(change: ChangeSet) -> Facts:
    """The facts that answer the caller of a change set, in plain values; the pending record keeps them."""
    said = Facts(op=change.op.value, todo=change.todo, goal=change.goal, epoch=change.epoch)
    return {**change.facts, **said}


def author_of(actor: Actor, committer: Signature) -> Signature:
    """The agent as a commit's author; an actor without an agent is the git identity itself."""
    if actor.is_agent:
        return Signature(actor.name, f"{actor.name}@agents.loopx.invalid")
    return Signature(committer.name, actor.name)
