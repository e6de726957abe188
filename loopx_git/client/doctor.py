"""`client.doctor`: what is wrong with an installation, and the command that repairs it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from loopx_git.client import location
from loopx_git.client.base import BaseClient
from loopx_git.client.config import HERE
from loopx_git.core import resolve
from loopx_git.core.times import format_time
from loopx_git.errors import InvalidState, LoopXError
from loopx_git.ledger.validation import check_state
from loopx_git.store.coord import KEPT, set_aside
from loopx_git.store.remote import LOOSE_MAX, loose_objects
from loopx_git.version import __version__

GIT_LEAST = (2, 31)


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: `level` is ok, warn or fail; `command` repairs it ("": there is nothing to repair)."""

    name: str
    level: str
    text: str
    command: str = ""


class Doctor:
    """Runs every check. A check that raises has failed, with that error's hint."""

    def __init__(self, client: BaseClient) -> None:
        self._client, self._connection = client, client.connection

    def run(self) -> list[Check]:
        """Every check's results, in a fixed order."""
        checks = (
            self._program,
            self._git,
            self._repository,
            self._location,
            self._remote,
            self._reach,
            self._clock,
            self._agent,
            self._pending,
            self._packing,
            self._state,
        )
        found: list[Check] = []
        for check in checks:
            try:
                found += check()
            except LoopXError as error:
                found.append(Check(check.__name__.removeprefix("_"), "fail", error.message, error.hint))
        return found

    def _program(self) -> Iterator[Check]:
        version = ".".join(str(part) for part in sys.version_info[:3])
        yield Check("program", "ok", f"loopx-git {__version__} on Python {version}")

    def _git(self) -> Iterator[Check]:
        repository = self._connection.repository
        text = repository.git_version
        if repository.git_release < GIT_LEAST:
            yield Check("git", "fail", f"{text}; loopx needs 2.31 or newer", "install a newer git")
            return
        yield Check("git", "ok", text)

    def _repository(self) -> Iterator[Check]:
        repository = self._connection.repository
        kind = "a work tree" if repository.top else "bare"
        yield Check("repository", "ok", f"{repository.common_dir} ({kind}, {repository.object_format})")
        name, email = self._connection.committer
        if email == "loopx@localhost.invalid":
            text = f"no git identity; commits are made as {name} <{email}>"
            yield Check("repository", "warn", text, "git config user.name NAME   and: git config user.email EMAIL")

    def _location(self) -> Iterator[Check]:
        settings = self._connection.settings
        pin = location.check(self._connection.repository, settings)
        place = "this repository" if settings.remote == HERE else f"the remote {settings.remote}"
        where = f"{settings.ref} on {place} (remote: {settings.origins['remote']}, ref: {settings.origins['ref']})"
        yield Check("location", "ok", where)
        if pin is None:
            yield Check("location", "warn", "this clone has not met its ledger yet", "git loopx sync")
        else:
            yield Check("location", "ok", f"ledger {pin.ledger[:12]}, home {pin.home}")
        if settings.ledger is None:
            yield Check("location", "warn", ".loopx/config.toml does not pin the ledger", "git loopx init")

    def _remote(self) -> Iterator[Check]:
        settings, repository = self._connection.settings, self._connection.repository
        if settings.remote == HERE:
            return
        for what in ("url", "pushurl"):
            count = len(repository.values(f"remote.{settings.remote}.{what}"))
            if count > 1:
                text = f"{settings.remote} has {count} values of {what}; the first is used"
                yield Check("remote", "warn", text, f"git remote get-url --all {settings.remote}")

    def _reach(self) -> Iterator[Check]:
        started = self._connection.overrides.clock.counting()
        reading = self._client.read(fresh=True)
        took = self._connection.overrides.clock.counting() - started
        yield Check("reach", "ok", f"the tip is {reading.tip[:12]}, read in {took:.1f} s")

    def _clock(self) -> Iterator[Check]:
        tip = self._connection.ledger.tip()
        if tip is None:
            return
        newest = self._connection.ledger.objects.commit(tip).time
        now = self._client.clocks().now
        skew = self._connection.ledger.snapshot(tip).policy.claims_skew
        ahead = (newest - now).total_seconds()
        if ahead > skew:
            text = f"the newest operation is dated {ahead:.0f} s in the future of this clock: {format_time(newest)}"
            yield Check("clock", "fail", f"{text}; one of the clocks is wrong", "timedatectl status")
        else:
            yield Check("clock", "ok", f"not behind the newest operation ({format_time(newest)})")

    def _agent(self) -> Iterator[Check]:
        settings, tip = self._connection.settings, self._connection.ledger.tip()
        if settings.agent is None:
            way = resolve.WHO_ACTS if tip is None else resolve.who_acts(self._connection.ledger.snapshot(tip))
            yield Check("agent", "warn", "no agent is set here", way)
            return
        peer = None if tip is None else self._connection.ledger.snapshot(tip).peer(settings.agent)
        if peer is None:
            text = f"{settings.agent} ({settings.origins['agent']}) is not a registered peer"
            yield Check("agent", "fail", text, f"git loopx peer register {settings.agent}")
        else:
            yield Check("agent", "ok", f"{peer.agent} ({settings.origins['agent']}), {peer.status.value}")

    def _pending(self) -> Iterator[Check]:
        records = self._connection.ledger.pending
        for record in records:
            state = "landed, and its caller got no answer" if record.landed else "its outcome is open"
            text = f"'{record.command}' by {record.agent} (pid {record.pid}): {state}"
            yield Check("pending", "warn", text, "run that same command again, or: git loopx sync")
        if not records:
            yield Check("pending", "ok", "no command is waiting for its outcome")

    def _packing(self) -> Iterator[Check]:
        repository, settings = self._connection.repository, self._connection.settings
        here = settings.remote == HERE
        path = repository.common_dir if here else os.path.join(repository.home, "coord.git")
        loose = loose_objects(path)
        level = "warn" if loose > 2 * LOOSE_MAX else "ok"
        command = f"git -C {path} gc" if level == "warn" else ""
        yield Check("packing", level, f"about {loose} loose objects", command)
        kept = [] if here else set_aside(path)
        if kept:
            copies = "1 damaged copy" if len(kept) == 1 else f"{len(kept)} damaged copies"
            text = f"{copies} of coord.git set aside (the newest {KEPT} are kept): {', '.join(kept)}"
            hint = (
                f"look at the newest: git -C {shlex.quote(kept[-1])} fsck   what nobody needs any more may be deleted"
            )
            yield Check("packing", "warn", text, hint)

    def _state(self) -> Iterator[Check]:
        tip = self._connection.ledger.tip()
        if tip is None:
            return
        wrong: list[InvalidState] = check_state(self._connection.ledger.snapshot(tip))
        for error in wrong[:20]:
            yield Check("state", "fail", error.message, error.hint or "git loopx verify")
        if not wrong:
            yield Check("state", "ok", "every file at the tip can be read")
