"""From a folder to an open ledger: repository, settings, pin, publisher."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from loopx_git.client import claims_file, identity, location
from loopx_git.client.config import HERE, Settings, resolve
from loopx_git.core.change import Actor
from loopx_git.core.lease import Clocks
from loopx_git.errors import InvalidState
from loopx_git.store.clock import Clock, SystemClock
from loopx_git.store.environment import (
    at,
    has_conditions,
    scrubbed,
    signing_settings,
    transport_settings,
    with_config,
)
from loopx_git.store.repository import OwnRepository, Repository, config_of, open_repository
from loopx_git.version import __version__

if TYPE_CHECKING:
    from loopx_git.ledger.commits import Progress
    from loopx_git.store.coord import Mender
    from loopx_git.store.ledger import Ledger
    from loopx_git.store.local import LocalPublisher
    from loopx_git.store.remote import RemotePublisher


@dataclass(frozen=True, slots=True)
class Overrides:
    """What a caller may replace: the progress line, failpoints for tests, the clock."""

    progress: Progress | None = None
    failpoint: Callable[[str], None] = lambda name: None
    clock: Clock = field(default_factory=SystemClock)
    entropy: Callable[[int], bytes] = secrets.token_bytes
    jitter: Callable[[], float] = lambda: secrets.randbelow(1_000_000) / 1_000_000


class Connection:
    """One command's access. It opens lazily, so a usage error starts no git and loads no pygit2."""

    def __init__(
        self, folder: str, env: Mapping[str, str], flags: Mapping[str, Any], overrides: Overrides | None = None
    ) -> None:
        self.overrides = overrides or Overrides()
        self.env, self.flags = dict(env), dict(flags)
        self.repository: Repository = open_repository(folder, {**self.env, "LC_MESSAGES": "C", "LANGUAGE": "C"})
        self.settings: Settings = resolve(self.repository, flags, env)
        self.committer = self.repository.committer()
        self._ledger: Ledger | None = None
        self._active: Mapping[str, datetime] | None = None
        #: Whether nothing may be fetched now, not even to replace a damaged coord.git.
        self.offline = False
        self._notes: list[str] = []
        self._menders: list[Mender] = []
        # Each thread has its own: what runs beside a command has another budget.
        self._budget = threading.local()

    # -- the time budget of one command

    @contextmanager
    def within(self) -> Iterator[None]:
        """One command: its time budget (`left`) starts here. A command inside another one shares its budget."""
        if getattr(self._budget, "ends", None) is not None:
            yield
            return
        self._budget.ends = self.overrides.clock.counting() + self.settings.timeout
        try:
            yield
        finally:
            self._budget.ends = None

    def begin_again(self) -> None:
        """Start the time budget again: the time until now was spent on a command of the user's."""
        if getattr(self._budget, "ends", None) is not None:
            self._budget.ends = self.overrides.clock.counting() + self.settings.timeout

    @property
    def left(self) -> float:
        """Seconds left for the next step: the rest of the budget, or one second when it is over, so that a step can
        end.
        """
        timeout = self.settings.timeout
        ends: float | None = getattr(self._budget, "ends", None)
        if ends is None:
            return timeout
        return min(timeout, max(1.0, round(ends - self.overrides.clock.counting(), 1)))

    def actor(self, agent: str | None = None, session: str | None = None) -> Actor:
        """The configured actor, or the one named."""
        settings = self.settings
        if agent is not None and agent != settings.agent:
            settings = replace(settings, agent=agent, session=session)
        elif session is not None:
            settings = replace(settings, session=session)
        return identity.actor(self.repository, settings, self.committer[1], self.overrides.entropy)

    def clocks(self) -> Clocks:
        """The wall clock now, the first sight of records from the future, and each agent's newest operation."""
        ledger, clock = self.ledger, self.overrides.clock
        if self._active is None:
            from loopx_git.store.activity import Activity  # with the ledger, as below

            def reach(tip: str) -> int | None:
                return ledger.snapshot(tip).policy.peers_stale_after

            self._active = Activity(ledger.objects, ledger.tip, clock.wall, reach)
        return Clocks(clock.wall(), ledger.first_sight, active=self._active)

    @property
    def ledger(self) -> Ledger:
        """The ledger, opened at the first use. Raises InvalidState when the clone is pinned to another one."""
        if self._ledger is None:
            self._ledger = self._open()
        return self._ledger

    @property
    def is_open(self) -> bool:
        """True once the ledger was asked for."""
        return self._ledger is not None

    @property
    def pin(self) -> location.Location | None:
        """Where this clone has seen the ledger, or None before the first success."""
        return location.load(self.repository)

    @property
    def is_elsewhere(self) -> bool:
        """True where the remote's home is not the pinned one."""
        pin = self.pin
        return pin is not None and pin.home != location.home_of(self.repository, self.settings.remote)

    def _open(self) -> Ledger:
        # Imported here and in what it calls: a usage error loads no transaction and no pygit2.
        from loopx_git.ledger.commits import Signature
        from loopx_git.store.driver import TransactionContext
        from loopx_git.store.ledger import Ledger
        from loopx_git.store.local_clocks import Deadlines, FirstSight
        from loopx_git.store.pending import PendingFolder

        if self.repository.object_format != "sha1":
            raise InvalidState(
                f"this repository uses {self.repository.object_format}; loopx works with sha1 for now",
                hint="use a sha1 repository: git init --object-format=sha1",
            )
        pin = location.check(self.repository, self.settings)
        warning = location.copied(self.repository, self.settings, pin)
        if warning is not None:
            self._notes.append(warning)
        publisher = self._publisher()
        context = TransactionContext(
            objects=publisher.objects,
            publisher=publisher,
            pending=PendingFolder(self.repository.home),
            clock=self.overrides.clock,
            entropy=self.overrides.entropy,
            jitter=self.overrides.jitter,
            committer=Signature(*self.committer),
            program=__version__,
            ledger=self.settings.ledger or (None if pin is None else pin.ledger),
            deadlines=Deadlines(self.repository.home, self.overrides.clock),
            first_sight=FirstSight(self.repository.home, self.overrides.clock),
            failpoint=self.overrides.failpoint,
            progress=self.overrides.progress,
            notes=self._notes,
            mended=lambda: sum(mender.times for mender in self._menders),
        )
        return Ledger(context, self.repository.home)

    def _publisher(self) -> LocalPublisher | RemotePublisher:
        from loopx_git.store.local import LocalPublisher
        from loopx_git.store.objects import PygitObjects

        repository, settings = self.repository, self.settings
        if settings.remote == HERE:
            env = with_config(scrubbed(self.env), signing_settings(repository.config))
            return LocalPublisher(PygitObjects(repository.common_dir, self._signer(env)), repository, settings.ref)
        return self.open_remote()

    def open_remote(self) -> RemotePublisher:
        """coord.git and the publisher on it, for the remote that the settings name."""
        from loopx_git.store.coord import Mender
        from loopx_git.store.objects import PygitObjects
        from loopx_git.store.remote import RemotePublisher

        repository, settings = self.repository, self.settings
        clean = scrubbed(self.env)
        path = os.path.join(repository.home, "coord.git")
        urls = repository.urls(settings.remote)
        conditions = has_conditions(repository.config)

        def env_in(place: str) -> Mapping[str, str]:
            seen = config_of(place, at(place, clean)) if conditions else None
            return with_config(clean, transport_settings(repository.config, settings.remote, *urls, seen))

        def publisher_in(place: str, mender: Mender | None = None) -> RemotePublisher:
            env = env_in(place)
            objects = PygitObjects(place) if mender is None else PygitObjects(place, self._signer(env), mender.mend)
            own = OwnRepository(place, env)
            return RemotePublisher(objects, own, settings.ref, depth=settings.depth, mender=mender)

        mender = Mender(
            path=path,
            env=clean,
            left=lambda: self.left,
            fetch=lambda place: publisher_in(place).fetch(self.left),
            deepen=lambda place: publisher_in(place).deepen(self.left),
            remembered=lambda: claims_file.tip(repository.home),
            offline=lambda: self.offline,
            notes=self._notes,
        )
        self._menders.append(mender)
        mender.ready()
        return publisher_in(path, mender)

    def _signer(self, env: Mapping[str, str]) -> Any:
        if not self.settings.sign:
            return None
        from loopx_git.store.signing import signer  # few sign

        return signer(self.repository, env)

    def reviewed(self, path: str) -> tuple[bytes | None, str]:
        """(a file of the remote's default branch as last fetched, the revision that was read).

        Without a remote it is the default branch here. None: the branch, or the file on it, does not exist.
        """
        names, remote = ["refs/heads/main", "refs/heads/master", "HEAD"], self.settings.remote
        if remote != HERE:
            names = [f"refs/remotes/{remote}/{name}" for name in ("HEAD", "main", "master")]
        for name in names:
            commit = self.repository.resolve(name)
            if commit is not None:
                return self.repository.file_at(commit, path), name
        return None, "no code branch"

    def store_pin(self, ledger: str) -> None:
        """Store where coordination is, at the first success."""
        settings = self.settings
        home = location.home_of(self.repository, settings.remote)
        pin = location.Location(settings.remote, settings.ref, ledger, home)
        if location.load(self.repository) != pin:
            location.store(self.repository, pin)
