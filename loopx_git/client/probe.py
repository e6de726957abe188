"""`doctor --probe`: which promises a remote keeps, tried on a throw-away ref.

The throw-away ref is the coordination ref's name with an ending, so that the server's rules for such names apply to
it. The coordination ref itself is never pushed to.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from loopx_git.client.base import BaseClient
from loopx_git.client.config import HERE
from loopx_git.client.doctor import Check
from loopx_git.errors import RemoteFailure, UsageError
from loopx_git.ledger.commits import Draft, Signature
from loopx_git.store.base import PushKind
from loopx_git.store.lock import locked
from loopx_git.store.process import Finished
from loopx_git.store.push_result import classify, refs_in

#: A ref that is not a branch. A coordination branch does not need one; the probe tells whether one could be used.
_CUSTOM = "refs/loopx/probe-"
_RECIPE = (
    "protect the coordination branch: allow pushes, forbid force-pushes and deletion (a branch rule of the host; on "
    "a bare repository: git config receive.denyNonFastForwards true   and: git config receive.denyDeletes true)"
)
_RECIPE_BESIDE = (
    "rules that forbid force-pushes and deletion are for branches: git config loopx.ref refs/heads/loopx/coord   or "
    "use our receive hook on the server: git loopx receive-check -h"
)


class Probe:
    """Tries one remote. It removes what it created there, or reports what could not be removed."""

    def __init__(self, client: BaseClient) -> None:
        self._connection = client.connection
        settings = self._connection.settings
        if settings.remote == HERE:
            raise UsageError("there is no remote to probe", hint="git remote add origin URL")
        self._publisher = self._connection.open_remote()
        self._remote = settings.remote
        name = self._connection.overrides.entropy(6).hex()
        self._beside = f"{settings.ref}-probe-"
        self._ref, self._second, self._custom = self._beside + name, f"{self._beside}{name}-2", _CUSTOM + name
        self._branch = settings.ref.startswith("refs/heads/")
        self._kind = "branch" if self._branch else "ref beside branches"
        self._recipe = _RECIPE if self._branch else _RECIPE_BESIDE
        #: Refs whose push landed, or may have landed, whether or not the remote shows them.
        self._taken: set[str] = set()

    def run(self) -> list[Check]:
        """The findings, in the order of the tries. A failure that makes the rest pointless ends them."""
        home = self._connection.repository.home
        os.makedirs(home, exist_ok=True)
        found: list[Check] = []
        with self._connection.within(), locked(home, self._connection.left):
            try:
                for check in self._tries():
                    found.append(check)
            except RemoteFailure as error:
                found.append(Check("reach", "fail", error.message, error.hint))
            finally:
                found += self._clean()
        return found

    def _commit(self, parent: str | None, text: str) -> str:
        who = Signature(*self._connection.committer)
        draft = Draft(
            {"probe": text.encode()}, "loopx doctor --probe\n", who, who, self._connection.overrides.clock.wall()
        )
        return self._publisher.objects.build(parent, draft)

    def _push(self, *args: str) -> Finished:
        pushed = self._publisher.raw_push(args, self._connection.left)
        for spec in args:
            source, _, ref = spec.partition(":")
            landed = not spec.startswith("--") and classify(pushed, ref).kind is PushKind.LANDED
            if source and ref and (landed or pushed.timed_out):
                # Also where no answer came in time: it may have arrived.
                self._taken.add(ref)
            elif landed:
                self._taken.discard(ref)
        return pushed

    def _at(self, ref: str) -> str | None:
        """The commit of a ref of the remote, as the remote shows it; never what a push said. RemoteFailure when the
        remote cannot be read."""
        looked = self._publisher.look(self._connection.left)
        if looked.code:
            raise RemoteFailure(f"the remote cannot be read any more: {looked.complaint}", hint="try again later")
        return refs_in(looked).get(ref)

    def _tries(self) -> Iterator[Check]:
        clock = self._connection.overrides.clock
        times = []
        for _ in range(3):
            started = clock.counting()
            listed = self._publisher.look(self._connection.left)
            times.append(clock.counting() - started)
            if listed.code:
                yield Check("reach", "fail", f"the remote cannot be read: {listed.complaint}", "git remote -v")
                return
        took = sorted(times)[1]
        yield Check("latency", "ok" if took < 2 else "warn", f"a look takes {took * 1000:.0f} ms")
        first = self._commit(None, "1")
        second, rival, other = self._commit(first, "2"), self._commit(first, "3"), self._commit(None, "4")
        started = clock.counting()
        pushed = self._push(f"--force-with-lease={self._ref}:", f"{first}:{self._ref}")
        if self._at(self._ref) != first:
            if pushed.code == 0:
                yield Check("create", "fail", f"{self._ref} was taken and is not shown: no client could read it",
                            "git config loopx.ref REF   (one that the remote shows)")  # a try  # fmt: skip
                return
            said = classify(pushed, self._ref).said or pushed.complaint
            allow = f"{self._beside}* and the coordination ref"
            way_out = f"allow this account to push {allow}, or: git config loopx.ref REF"
            yield Check("create", "fail", f"{self._ref} cannot be made there: {said}", way_out)
            return
        took = clock.counting() - started
        yield Check("create", "ok", f"a {self._kind} can be made, {self._beside}* ({took * 1000:.0f} ms)")
        self._push(f"--force-with-lease={self._ref}:{first}", f"{second}:{self._ref}")
        yield _verdict("fast-forward", self._at(self._ref) == second, "a fast-forward passes",
                            "a fast-forward is refused", "allow pushes to the coordination ref")  # a try  # fmt: skip
        self._push(f"--force-with-lease={self._ref}:{first}", f"{rival}:{self._ref}")
        self._push(f"--force-with-lease={self._ref}:", f"{other}:{self._ref}")
        yield _verdict("compare-and-swap", self._at(self._ref) == second,
                            "a push that expects another tip is refused",
                            "A PUSH THAT EXPECTS ANOTHER TIP PASSES: claims are not safe on this remote",
                            "use another remote: git config loopx.remote NAME")  # a try  # fmt: skip
        yield self._atomic(first, second)
        yield from self._harm(first, second)
        if not self._branch:
            return
        self._push(f"{first}:{self._custom}")
        yield _verdict("custom ref", self._at(self._custom) == first, "refs beside branches can be made",
                       "refs beside branches are not taken or not shown: the coordination ref must be a branch", "",
                       "warn")  # a try  # fmt: skip

    def _atomic(self, first: str, second: str) -> Check:
        """One ref that could be made and one whose lease is wrong: nothing must move."""
        lease = f"--force-with-lease={self._ref}:{first}"
        self._push("--atomic", lease, f"{first}:{self._second}", f"{first}:{self._ref}")
        return _verdict("atomic", self._at(self._second) is None and self._at(self._ref) == second,
                        "several refs move together or not at all: land is safe",
                        "several refs do not move as one: land cannot be used here",
                        "land needs --atomic; complete and merge one after the other", "warn")  # a try  # fmt: skip

    def _harm(self, first: str, second: str) -> Iterator[Check]:
        """What the remote should refuse: going back, and deletion."""
        self._push("--force", f"{first}:{self._ref}")
        yield _verdict("force", self._at(self._ref) == second, "a forced push is refused",
                       "a forced push passes: history can be rewritten", self._recipe, "warn")  # a try  # fmt: skip
        self._push(f":{self._ref}")
        yield _verdict("delete", self._at(self._ref) is not None, f"a {self._kind} cannot be deleted",
                       f"a {self._kind} can be deleted", self._recipe, "warn")  # a try  # fmt: skip

    def _clean(self) -> Iterator[Check]:
        refs = (self._ref, self._second, self._custom)
        looked = self._publisher.look(self._connection.left)
        shown, left = refs_in(looked), []
        for ref in refs:
            if ref not in self._taken and ref not in shown:
                continue
            # The answer to the push tells whether it is gone: the remote may not show it.
            pushed = self._push(f":{ref}")
            if classify(pushed, ref).kind is not PushKind.LANDED:
                left.append(ref)
        if looked.code and left:
            yield Check("clean-up", "warn", f"what may be left behind there: {', '.join(left)}",
                        f"git ls-remote {self._remote}")  # a try  # fmt: skip
        elif left:
            yield Check("clean-up", "warn", f"the remote lets nothing be deleted; left behind: {', '.join(left)}",
                        "its administrator may remove that ref")  # a try  # fmt: skip


def _verdict(name: str, holds: bool, good: str, bad: str, command: str, level: str = "fail") -> Check:
    return Check(name, "ok", good) if holds else Check(name, level, bad, command)
