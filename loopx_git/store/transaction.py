"""The compare-and-swap transaction, written without I/O.

A generator yields its requests and receives the results. `driver` carries them out; tests answer with chosen results,
faults and schedules. The order of the steps makes it safe: see docs/concurrency.md.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from loopx_git.core.change import ChangeSet
from loopx_git.errors import Contention, LoopXError, OutcomeUnknown, RemoteFailure
from loopx_git.store.base import Fetched, Pushed, PushKind

# -- what the generator may ask for; behind each the type of the answer


@dataclass(frozen=True, slots=True)
class KnownTip:
    """-> str | None: the last tip that was checked here."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """-> Fetched: read the remote ref. The driver checks what arrives and raises InvalidState for a foreign tip,
    so a tip that comes back is one to plan on."""


@dataclass(frozen=True, slots=True)
class Decide:
    """-> tuple[ChangeSet, ...], or the LoopXError of a refusal, on the state at `tip`, at this very moment."""

    tip: str | None


@dataclass(frozen=True, slots=True)
class Build:
    """-> str: commits of `changes` on `tip`, each with a fresh nonce; the id of the last. The pending record
    and the anchor are written before the answer comes."""

    tip: str | None
    changes: tuple[ChangeSet, ...]


@dataclass(frozen=True, slots=True)
class Push:
    """-> Pushed."""

    parent: str | None
    oid: str


@dataclass(frozen=True, slots=True)
class FindLanded:
    """-> str | None: which of all commits ever built for this request lies in the history of `tip`."""

    tip: str | None


@dataclass(frozen=True, slots=True)
class Wait:
    """-> None: wait `least` seconds and a random time up to `seconds`, but not past the time budget."""

    seconds: float
    least: float = 0.0


@dataclass(frozen=True, slots=True)
class Elapsed:
    """-> float: seconds since the transaction began, the wait for the lock included."""


@dataclass(frozen=True, slots=True)
class Forget:
    """-> None: drop the pending record and the anchor: the outcome is final."""


Step = KnownTip | Fetch | Decide | Build | Push | FindLanded | Wait | Elapsed | Forget


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one transaction, in seconds.

    `fresh_after`: a commit is rebuilt after that time (a quarter of the ttl), because its times are old. `patience`:
    the least wait before asking again a remote that is overloaded or cannot be read; it doubles up to
    `longest_patience`.
    """

    budget: float = 30.0
    fresh_after: float = 1800.0
    first_wait: float = 0.05
    longest_wait: float = 2.0
    patience: float = 1.0
    longest_patience: float = 8.0
    faults: int = 3
    faults_spread: float = 5.0


@dataclass(frozen=True, slots=True)
class Result:
    """How a transaction ended.

    `oid` is the commit that landed (None: nothing was written), `tip` the last tip seen. `confirmed` is False when
    the landing was found in history and not acknowledged: the caller then checks whether the tip still says so.
    """

    changes: tuple[ChangeSet, ...]
    tip: str | None
    oid: str | None = None
    confirmed: bool = True
    losses: int = 0
    pushes: int = 0


@dataclass(slots=True)
class _Attempts:
    """The state of one transaction over its tries."""

    connected: bool = False
    losses: int = 0
    pushes: int = 0
    unknown: bool = False
    slowed: int = 0
    rejections: list[float] = field(default_factory=list)
    said: str = ""


Steps = Generator[Step, Any, Result]


def transaction(limits: Limits, *, dry_run: bool = False, resumed: bool = False) -> Steps:
    """Decide, build, push; decide again on a moved tip. Raises the refusal or failure.

    `resumed`: commits of an earlier run of the same request may still land.
    """
    course = _Attempts(unknown=resumed)
    tip: str | None = yield KnownTip()
    fresh = False
    if tip is None or resumed:
        tip, landed = yield from _look(limits, course)
        fresh = True
        if landed is not None:
            return Result((), tip, landed, confirmed=False)
    while True:
        decided: tuple[ChangeSet, ...] | LoopXError = yield Decide(tip)
        refused = isinstance(decided, LoopXError)
        changes = () if isinstance(decided, LoopXError) else decided
        if refused or dry_run or not any(change.writes for change in changes):
            # Every answer that ends without a push is taken on a freshly read tip.
            if fresh:
                if not course.unknown:
                    yield Forget()
                if isinstance(decided, LoopXError):
                    raise decided
                return Result(changes, tip, losses=course.losses, pushes=course.pushes)
            tip, landed = yield from _look(limits, course)
            fresh = True
            if landed is not None:
                return Result((), tip, landed, confirmed=False, losses=course.losses, pushes=course.pushes)
            continue
        oid: str = yield Build(tip, changes)
        result = yield from _publish(limits, course, tip, oid, changes)
        if isinstance(result, Result):
            return result
        course.losses += result != tip
        tip, fresh = result, True


def _look(limits: Limits, course: _Attempts) -> Generator[Step, Any, tuple[str | None, str | None]]:
    """(tip, landed commit of this request or None). A tip that cannot be read is "cannot tell"."""
    fetched: Fetched = yield Fetch()
    while fetched.throttled and (yield from _slow_down(limits, course, fetched.retry_after)):
        fetched = yield Fetch()
    if fetched.error is not None:
        if course.connected or course.pushes:
            raise _unknown(course, fetched.error)
        raise _unreachable(fetched.error)
    course.connected = True
    landed: str | None = yield FindLanded(fetched.tip)
    return fetched.tip, landed


def _publish(
    limits: Limits, course: _Attempts, parent: str | None, oid: str, changes: tuple[ChangeSet, ...]
) -> Generator[Step, Any, Result | str | None]:
    """Push one commit until its outcome is known: the Result, or the tip to decide again on."""
    began: float = yield Elapsed()
    tries = 0
    while True:
        pushed: Pushed = yield Push(parent, oid)
        course.pushes += 1
        course.connected |= pushed.connected
        course.said = pushed.said
        if pushed.kind is PushKind.LANDED:
            return Result(changes, oid, oid, losses=course.losses, pushes=course.pushes)
        course.unknown |= pushed.sent and pushed.kind in (PushKind.UNKNOWN, PushKind.THROTTLED)
        if pushed.kind is PushKind.UNREACHABLE and not course.unknown:
            yield Forget()
            raise _not_sent(pushed)
        over, waited = False, pushed.kind is PushKind.THROTTLED or not pushed.sent
        if waited:
            over = not (yield from _slow_down(limits, course, pushed.retry_after))
            if not course.unknown:
                # Nothing of ours is on its way, so there is nothing to look for: the next push tells what has moved.
                if not over:
                    continue
                yield Forget()
                raise _overloaded(course)
        if pushed.kind in (PushKind.LOST, PushKind.REJECTED):
            # Others are pushing: wait first, then fetch, so that the next decision is on the newest tip.
            yield Wait(_backoff(limits, course.losses))
        fetched: Fetched = yield Fetch()
        now: float = yield Elapsed()
        if fetched.error is None:
            course.connected = True
            landed: str | None = yield FindLanded(fetched.tip)
            if landed is not None:
                mine = changes if landed == oid else ()
                return Result(mine, fetched.tip, landed, False, course.losses, course.pushes)
            if fetched.tip != parent:
                # Final: what we built needs `parent` as the tip, and the tip has gone on.
                course.unknown = False
                course.rejections.clear()
                if now >= limits.budget:
                    yield Forget()
                    raise _contention(course, now)
                return fetched.tip
        if pushed.kind is PushKind.DECLINED:
            if not course.unknown:
                yield Forget()
            raise _declined(pushed)
        if fetched.error is None and pushed.kind in (PushKind.LOST, PushKind.REJECTED, PushKind.BROKEN):
            # Only if the tip was read and had not moved: without a look it is not yet a fault of the server.
            course.rejections.append(now)
        fault = _fault(limits, course)
        over = over or now >= limits.budget or (fetched.lasting and not course.unknown)
        if fault is None and not over and fetched.error is not None:
            over = not (yield from _slow_down(limits, course, fetched.retry_after))
        if fault is not None or over:
            if not course.unknown and fault is None:
                # Every push was answered, or nothing was sent: nothing of ours is open.
                yield Forget()
            raise fault or _out_of_time(course, fetched)
        tries += 1
        if fetched.error is None and not waited:
            yield Wait(_backoff(limits, tries))
        if fetched.error is None and (now - began >= limits.fresh_after or pushed.kind is PushKind.BROKEN):
            # A fresh commit on the same parent: only one child of a parent can land, so this is safe.
            return parent


def _backoff(limits: Limits, losses: int) -> float:
    """The window of a full-jitter wait: it grows with the losses, up to a bound."""
    return min(limits.longest_wait, limits.first_wait * float(2 ** min(losses, 10)))


def _slow_down(limits: Limits, course: _Attempts, told: float | None) -> Generator[Step, Any, bool]:
    """Wait as long as the remote says, else longer each time; False, at once, when no time for a try is left then."""
    now: float = yield Elapsed()
    left = limits.budget - now - limits.patience
    least = max(limits.patience, told or 0.0)
    if told is None:
        longest = min(limits.longest_patience, limits.patience * float(2 ** min(course.slowed, 10)))
        least = max(least, min(longest, left / 2))
    if least >= left:
        return False
    course.slowed += 1
    yield Wait(min(least, left - least), least)
    return True


def _contention(course: _Attempts, now: float) -> Contention:
    return Contention(
        f"lost {course.losses + 1} races in {now:.1f} s: others keep moving the coordination ref",
        hint="run the same command again, or give it longer: --timeout 120",
        about={"losses": course.losses + 1},
    )


def _fault(limits: Limits, course: _Attempts) -> RemoteFailure | None:
    times = course.rejections
    if len(times) >= limits.faults and times[-1] - times[0] >= limits.faults_spread:
        return RemoteFailure(
            f"the remote refused {len(times)} pushes although the coordination ref did not move: a fault of the "
            f"server, not a lost race ({course.said})",
            hint="look for a stale .lock file beside that ref on the server, or for a full disk there",
        )
    return None


def _out_of_time(course: _Attempts, fetched: Fetched) -> LoopXError:
    if course.rejections and not course.unknown and fetched.error is None:
        return RemoteFailure(
            f"the remote refused the push although the coordination ref did not move ({course.said})",
            hint="look for a stale .lock file beside that ref on the server, or for a full disk there",
        )
    if not course.connected or (not course.unknown and fetched.error is not None):
        # Nothing ever connected, or every push was answered with a refusal: nothing of ours is open.
        return _unreachable(fetched.error or course.said)
    if not course.unknown:
        return _overloaded(course)
    return _unknown(course, fetched.error or course.said)


def _unknown(course: _Attempts, said: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"it is not known whether this was written: the connection broke ({said})",
        hint="run the same command again: it finds out, and does nothing twice",
        about={"pushes": course.pushes},
    )


def _not_sent(pushed: Pushed) -> RemoteFailure:
    if "error: 413" in pushed.said:
        hint = "raise the largest size of a request at that server, or at the proxy before it"
    else:
        hint = "check the remote and your access: git ls-remote; then run the same command again"
    return RemoteFailure(f"the remote did not take the push, nothing was written: {pushed.said}", hint=hint)


def _overloaded(course: _Attempts) -> RemoteFailure:
    return RemoteFailure(
        f"the remote does not take the push now, nothing was written: {course.said}",
        hint="run the same command again later, or give it longer: --timeout 120",
    )


def _unreachable(said: str) -> RemoteFailure:
    return RemoteFailure(
        f"the coordination ref cannot be read: {said}",
        hint="check the remote and your access: git ls-remote; then run the same command again",
    )


def _declined(pushed: Pushed) -> RemoteFailure:
    return RemoteFailure(
        f"the remote does not permit this push: {pushed.said}",
        hint="allow pushes to the coordination ref for this account, or: git config loopx.ref REF",
    )
