"""`doctor --probe`: which promises a remote keeps, tried on a throw-away ref and read back from the remote."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from loopx_git.client.config import HERE
from loopx_git.client.doctor import Check
from loopx_git.errors import UsageError
from loopx_git.store.base import Draft, Signature
from loopx_git.store.lock import locked
from loopx_git.store.outcome import classify
from loopx_git.store.process import Finished

if TYPE_CHECKING:
    from loopx_git.client.client import Client

PREFIX = "refs/heads/loopx/probe-"
_CUSTOM = "refs/loopx/probe-"
_RECIPE = (
    "protect the coordination branch: allow pushes, forbid force-pushes and deletion (a branch rule of the host; on "
    "a bare repository: git config receive.denyNonFastForwards true   and: git config receive.denyDeletes true)"
)  # fmt: skip


class Probe:
    """Tries one remote. What it makes there it removes again, or says what could not be removed."""

    def __init__(self, client: Client) -> None:
        self._connection = client.connection
        settings = self._connection.settings
        if settings.remote == HERE:
            raise UsageError("there is no remote to probe", hint="git remote add origin URL")
        self._publisher, self._objects = self._connection.open_remote()
        self._timeout = settings.timeout
        name = self._connection.hooks.entropy(6).hex()
        self._ref, self._second, self._custom = PREFIX + name, f"{PREFIX}{name}-2", _CUSTOM + name

    def run(self) -> list[Check]:
        """The findings, in the order of the tries; the first failure that makes the rest moot ends them."""
        home = self._connection.repository.home
        os.makedirs(home, exist_ok=True)
        found: list[Check] = []
        with locked(home, self._timeout):
            try:
                found += self._tries()
            finally:
                found += self._clean()
        return found

    def _commit(self, parent: str | None, text: str) -> str:
        who = Signature(*self._connection.committer)
        draft = Draft(
            {"probe": text.encode()}, "loopx doctor --probe\n", who, who, self._connection.hooks.clock.wall()
        )
        return self._objects.build(parent, draft)

    def _push(self, *args: str) -> Finished:
        return self._publisher.raw_push(args, self._timeout)

    def _at(self, ref: str) -> str | None:
        """Where a ref of the remote stands: what happened is read there, never from what a push said."""
        return self._publisher.listed(self._timeout).get(ref)

    def _tries(self) -> Iterator[Check]:
        clock = self._connection.hooks.clock
        times = []
        for _ in range(3):
            started = clock.counting()
            listed = self._publisher.look(self._timeout)
            times.append(clock.counting() - started)
            if listed.code:
                yield Check("reach", "fail", f"the remote cannot be read: {listed.complaint}", "git remote -v")
                return
        took = sorted(times)[1]
        yield Check("latency", "ok" if took < 2 else "warn", f"a look takes {took * 1000:.0f} ms")
        first = self._commit(None, "1")
        second, rival, other = self._commit(first, "2"), self._commit(first, "3"), self._commit(None, "4")
        started = clock.counting()
        pushed = self._push(f"--force-with-lease={self._ref}:", "--", f"{first}:{self._ref}")
        if self._at(self._ref) != first:
            said = classify(pushed, self._ref).said or pushed.complaint
            way_out = f"allow this account to push {PREFIX}* and the coordination ref, or: git config loopx.ref REF"
            yield Check("create", "fail", f"a branch cannot be made there: {said}", way_out)
            return
        yield Check("create", "ok", f"a branch can be made ({(clock.counting() - started) * 1000:.0f} ms)")
        self._push(f"--force-with-lease={self._ref}:{first}", "--", f"{second}:{self._ref}")
        yield self._verdict("fast-forward", self._at(self._ref) == second, "a fast-forward passes",
                            "a fast-forward is refused", "allow pushes to the coordination ref")  # fmt: skip
        self._push(f"--force-with-lease={self._ref}:{first}", "--", f"{rival}:{self._ref}")
        self._push(f"--force-with-lease={self._ref}:", "--", f"{other}:{self._ref}")
        yield self._verdict("compare-and-swap", self._at(self._ref) == second,
                            "a push that expects another tip is refused",
                            "A PUSH THAT EXPECTS ANOTHER TIP PASSES: claims are not safe on this remote",
                            "use another remote: git config loopx.remote NAME")  # fmt: skip
        yield self._atomic(first, second)
        yield from self._harm(first, second)
        self._push("--", f"{first}:{self._custom}")
        custom = self._at(self._custom) == first
        text = "can be made" if custom else "are not taken or not shown: the coordination ref must be a branch"
        yield Check("custom ref", "ok" if custom else "warn", f"refs beside branches {text}")

    def _verdict(self, name: str, holds: bool, good: str, bad: str, command: str) -> Check:
        return Check(name, "ok", good) if holds else Check(name, "fail", bad, command)

    def _atomic(self, first: str, second: str) -> Check:
        """One ref that could be made and one whose lease is wrong: nothing must move."""
        lease = f"--force-with-lease={self._ref}:{first}"
        self._push("--atomic", lease, "--", f"{first}:{self._second}", f"{first}:{self._ref}")
        if self._at(self._second) is None and self._at(self._ref) == second:
            return Check("atomic", "ok", "several refs move together or not at all: land is safe")
        return Check("atomic", "warn", "several refs do not move as one: land cannot be used here",
                     "land needs --atomic; complete and merge one after the other")  # fmt: skip

    def _harm(self, first: str, second: str) -> Iterator[Check]:
        """What the remote should refuse: going back, and deletion."""
        self._push("--force", "--", f"{first}:{self._ref}")
        forced = self._at(self._ref) != second
        yield Check("force", "warn", "a forced push passes: history can be rewritten", _RECIPE) if forced else Check(
            "force", "ok", "a forced push is refused")  # fmt: skip
        self._push("--", f":{self._ref}")
        gone = self._at(self._ref) is None
        yield Check("delete", "warn", "a branch can be deleted", _RECIPE) if gone else Check(
            "delete", "ok", "a branch cannot be deleted")  # fmt: skip

    def _clean(self) -> Iterator[Check]:
        listed = self._publisher.listed(self._timeout)
        for ref in (self._ref, self._second, self._custom):
            if ref in listed:
                self._push("--", f":{ref}")
        left = [ref for ref in (self._ref, self._second, self._custom) if self._at(ref) is not None]
        if left:
            yield Check("clean-up", "warn", f"the remote lets nothing be deleted; left behind: {', '.join(left)}",
                        "whoever administers it may remove that ref")  # fmt: skip
