"""What every namespace of the client needs: read a tip, build views, submit commands."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from loopx_git.client import claims_writer
from loopx_git.client.connect import Connection, Overrides
from loopx_git.client.parameters import Caller
from loopx_git.client.views import LeaseView, Reading, TodoView
from loopx_git.core.change import Actor, Facts, place_of
from loopx_git.core.claim import state_of
from loopx_git.core.commands import AddTodo, Command, Init, OnTodo
from loopx_git.core.lease import Clocks, Lease, expires_at
from loopx_git.core.todo import Todo
from loopx_git.errors import (
    Contention,
    HeldByAnother,
    InvalidState,
    NotAllowed,
    NotFound,
    NotInitialised,
    NotYourClaim,
)
from loopx_git.store.lock import read_file, write_file

if TYPE_CHECKING:
    from loopx_git.ledger.snapshot import TreeSnapshot
    from loopx_git.store.base import Publisher
    from loopx_git.store.ledger import SubmitResult


#: How long a reader waits for another command of the clone, or for a slow remote, before it shows what it has.
_READ_WAIT = 10.0
#: For a person: state older than so many seconds is fetched again, and the fetch may take so many seconds.
PROMPT_AGE, _PROMPT_WAIT = 2.0, 3.0
#: A fetch that failed after `_SLOW` seconds or more is not repeated for `_NO_LOOK` seconds by a reader who has
#: something to show: while a remote hangs, not every read waits for it. A fetch that fails at once costs nothing.
_SLOW, _NO_LOOK = 0.5, 10.0
_REASON_MAX = 2000


class BaseClient:
    """Access to one repository's ledger, without the namespaces, which are built on it.

    `env` is the complete environment for git (PATH, HOME, ssh agent, ...) and has the LOOPX_* variables. `flags` has
    remote, ref, agent, session, timeout (seconds) where a caller gives them. Methods raise the errors of
    `loopx_git.errors`; a method that raises has written nothing.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        env: Mapping[str, str],
        flags: Mapping[str, Any] | None = None,
        overrides: Overrides | None = None,
    ) -> None:
        self.connection = Connection(os.fspath(folder), env, flags or {}, overrides)
        #: Set for a person who reads: PROMPT_AGE then replaces sync.max_age, unless that was set.
        self.prompt = False
        #: What was read last.
        self.reading: Reading | None = None

    def twin(self) -> BaseClient:
        """A second access to the same repository with the same settings, for another thread: object stores are
        not shared between threads."""
        connection = self.connection
        return BaseClient(connection.repository.cwd, connection.env, connection.flags, connection.overrides)

    # -- reading

    def read(self, *, fresh: bool = False, offline: bool = False) -> Reading:
        """The tip to read from.

        It fetches first when the last fetch is older than sync.max_age (for a person: PROMPT_AGE), always when
        `fresh`, never when `offline`. An unreachable remote is a warning; with `fresh` it raises RemoteFailure.
        """
        self.reading = self._read(fresh=fresh, offline=offline)
        return self.reading

    def _read(self, *, fresh: bool, offline: bool) -> Reading:
        self.connection.offline = offline
        ledger, settings = self.connection.ledger, self.connection.settings
        known, age = ledger.tip(), self._age()
        if offline:
            if known is None:
                raise NotInitialised("nothing was fetched here yet", hint="git loopx sync")
            return Reading(known, age)
        bound, wait = settings.max_age, _READ_WAIT
        if self.prompt and age <= bound and settings.origins["max_age"] == "default":
            bound, wait = min(PROMPT_AGE, bound), _PROMPT_WAIT
        if known is not None and not fresh and age <= bound:
            return Reading(known, age)
        if fresh or known is None:
            tip = ledger.need_tip(self.connection.left)
            self._remember(tip)
            return Reading(tip, 0.0, tuple(ledger.notes))
        failed = self._failed_look()
        if failed is not None:
            return Reading(known, age, (f"{failed}; {_old(age)}",))
        began = self.connection.overrides.clock.counting()
        try:
            fetched = ledger.refresh(min(self.connection.left, wait))
        except (Contention, InvalidState) as error:
            # A reader shows the last good state rather than nothing; a command that writes raises the error.
            return Reading(known, age, (f"{error.message}; {_old(age)}",))
        if fetched.error is not None:
            if self.connection.overrides.clock.counting() - began >= _SLOW:
                self._note_failed_look(fetched.error)
            warning = f"the remote cannot be read ({fetched.error}); {_old(age)}"
            return Reading(known, age, (warning,))
        assert fetched.tip is not None
        self._remember(fetched.tip)
        return Reading(fetched.tip, 0.0, tuple(ledger.notes))

    def read_known(self) -> Reading:
        """The tip as this process knows it, without a fetch. After a refusal it is fresh."""
        tip = self.connection.ledger.tip()
        return self.read(fresh=True) if tip is None else Reading(tip, 0.0)

    def snapshot(self, reading: Reading) -> TreeSnapshot:
        """The state at the tip of a reading."""
        return self.connection.ledger.snapshot(reading.tip)

    def clocks(self) -> Clocks:
        """The time now, as the rules need it."""
        return self.connection.clocks()

    def view(self, snapshot: TreeSnapshot, goal: str, todo: str, **more: Any) -> TodoView:
        """One todo with its lease, its state by the wall clock."""
        return self.view_of(snapshot, snapshot.todo(goal, todo), snapshot.lease(goal, todo), **more)

    def view_of(self, snapshot: TreeSnapshot, todo: Todo, lease: Lease | None, **more: Any) -> TodoView:
        """A todo and its record, both already read."""
        return TodoView(todo, self.lease_view(snapshot, lease or Lease(todo.id)), **more)

    def lease_view(self, snapshot: TreeSnapshot, lease: Lease) -> LeaseView:
        """A lease record, its state by the wall clock."""
        return LeaseView(lease, state_of(lease, snapshot, self.clocks()), expires_at(lease))

    # -- writing

    def submit(
        self, commands: Sequence[Command], actor: Actor, *, dry_run: bool = False, words: str = "",
        publisher: Publisher | None = None,
    ) -> SubmitResult:  # grouped by meaning  # fmt: skip
        """Publish a group of commands, all or nothing; the answer's `facts` has an entry for each.

        `publisher` replaces the ledger's own for this publication.
        """
        # Imported here: a command that only reads plans nothing.
        from loopx_git.ledger.group import plan_group
        from loopx_git.store.driver import Job
        from loopx_git.store.ledger import not_initialised
        from loopx_git.store.system import noted
        from loopx_git.store.transaction import Limits

        def decide(snapshot: TreeSnapshot | None, clocks: Clocks, request: str) -> Any:
            if snapshot is None and not isinstance(commands[0], Init):
                raise not_initialised()
            return plan_group(snapshot, commands, actor, clocks, request)

        self.connection.offline = False
        ledger = self.connection.ledger
        job = Job(
            decide=decide,
            actor=actor,
            fingerprint=fingerprint(commands, actor),
            command=words or type(commands[0]).__name__,
            limits=Limits(budget=self.connection.left),
            dry_run=dry_run,
        )
        place = ledger if publisher is None else ledger.through(publisher)
        try:
            answer = place.submit(job)
        except (HeldByAnother, NotAllowed, NotFound, NotYourClaim):
            # A refusal is given on a tip that was read just now; it stands also where that cannot be noted.
            if ledger.tip() is not None:
                noted(ledger.notes, self._stamp, what="refused")
            raise
        except InvalidState as error:
            from loopx_git.client.adoption import adopted_if_safe  # rare

            if dry_run or not adopted_if_safe(self.connection, error, actor):
                raise
            answer = place.submit(replace(job, limits=Limits(budget=self.connection.left)))
        if answer.tip is not None:
            remember = partial(self._remember, answer.tip)
            if answer.wrote:
                # What landed stands, whether or not this clone can note it.
                noted(ledger.notes, remember)
            else:
                remember()
        return answer

    def confirm(self, answer: SubmitResult, actor: Actor) -> None:
        """Raise NotYourClaim (12), with the epoch that was the caller's, when the claim has ended since it landed.

        That can happen when the landing was found in history and not acknowledged.
        """
        if answer.confirmed or answer.tip is None:
            return
        snapshot = self.connection.ledger.snapshot(answer.tip)
        for facts in answer.facts:
            goal, todo = place_of(facts)
            lease, former = snapshot.lease(goal, todo) or Lease(todo), facts["epoch"]
            if (lease.epoch, lease.holder) != (former, actor.name):
                raise NotYourClaim(
                    f"{todo} was yours under epoch {former} and no longer is: "
                    f"{lease.holder or 'nobody'} holds it (epoch {lease.epoch})",
                    hint=f"git loopx todo show {todo}",
                    about={"todo_id": todo, "holder": lease.holder, "epoch": lease.epoch, "former_epoch": former},
                )

    @property
    def notes(self) -> Sequence[str]:
        """Warnings beside the answer: a first contact, a renewal that failed."""
        return () if not self.connection.is_open else tuple(self.connection.ledger.notes)

    # -- bookkeeping of this clone

    def _age(self) -> float:
        try:
            stamp = os.stat(os.path.join(self.connection.repository.home, "fetched")).st_mtime
        except FileNotFoundError:
            return float("inf")
        return max(0.0, self.connection.overrides.clock.wall().timestamp() - stamp)

    @property
    def _failed_path(self) -> str:
        return os.path.join(self.connection.repository.home, "unreachable")

    def _failed_look(self) -> str | None:
        """Why the last slow fetch of this clone failed, if that was seconds ago and nothing was fetched since."""
        try:
            status = os.lstat(self._failed_path)
        except FileNotFoundError:
            return None
        now = self.connection.overrides.clock.wall().timestamp()
        ago = now - status.st_mtime
        if not 0.0 <= ago <= _NO_LOOK or now - self._age() > status.st_mtime:
            return None
        why = (read_file(self._failed_path, _REASON_MAX) or b"").decode("utf-8", "replace")
        return f"the remote could not be read {ago:.0f} s ago ({why})"

    def _note_failed_look(self, why: str) -> None:
        """Store the failure for the next readers of this clone. Where it cannot be stored, they look again."""
        now = self.connection.overrides.clock.wall().timestamp()
        with suppress(OSError, InvalidState):
            write_file(self._failed_path, why.encode("utf-8", "replace")[:_REASON_MAX])
            os.utime(self._failed_path, (now, now), follow_symlinks=False)

    def _stamp(self) -> None:
        path = os.path.join(self.connection.repository.home, "fetched")
        now = self.connection.overrides.clock.wall().timestamp()
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise InvalidState(f"cannot write {path}: {error.strerror}", hint=f"ls -l {path}") from None
        os.close(handle)
        os.utime(path, (now, now), follow_symlinks=False)

    def _remember(self, tip: str) -> None:
        """Store a tip that was just read or written. Only a tip that is known here counts as fetched."""
        if self.connection.ledger.tip() == tip:
            self._stamp()
        self._pin(tip)

    def _pin(self, tip: str) -> None:
        """At the first success: remember remote, ref, ledger and home."""
        connection = self.connection
        if connection.pin is None:
            root = connection.ledger.root(tip)
            connection.store_pin(connection.settings.ledger or root)
        elif connection.is_elsewhere:
            # The user agreed to a move: from now on coordination is there.
            connection.store_pin(connection.pin.ledger)
        claims_writer.refresh(connection, tip)


class Namespace:
    """What every namespace of the client has: the client, and what most of its methods begin with."""

    def __init__(self, client: BaseClient) -> None:
        self._client = client

    def _state(self, *, fresh: bool, offline: bool) -> tuple[TreeSnapshot, Reading]:
        """The state to read, and how it was read."""
        reading = self._client.read(fresh=fresh, offline=offline)
        return self._client.snapshot(reading), reading

    def _publish(
        self, command: Command, words: str, *, dry_run: bool = False, **who: Unpack[Caller]
    ) -> tuple[Facts, TreeSnapshot]:
        """Publish one command: its facts, and the state with it (of a dry run: the state that it was planned on)."""
        actor = self._client.connection.actor(who.get("agent_id"), who.get("session"))
        answer = self._client.submit([command], actor, dry_run=dry_run, words=words)
        assert answer.tip is not None
        return answer.facts[0], self._client.connection.ledger.snapshot(answer.tip)


def _old(age: float) -> str:
    return "the age of this state is unknown" if age == float("inf") else f"this is {age:.0f} s old"


def fingerprint(commands: Sequence[Command], actor: Actor) -> str:
    """Equal for identical commands of one agent and session; random ids are ignored."""
    parts = []
    for command in commands:
        values = asdict(command)
        if isinstance(command, AddTodo):
            del values["id"]
        if isinstance(command, OnTodo):
            # The caller did not ask for these: whether the check had run, the random id of a new successor.
            del values["validated"]
            if command.successor_title is not None:
                del values["successor"]
        parts.append([type(command).__name__, values])
    text = json.dumps([parts, actor.name, actor.session], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
