"""The server's gate: what a push to a bare repository would change, judged before any ref moves.

Objects are read where git has put them, in the quarantine; nothing is written and no ref moves. Every refusal is one
line.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from loopx_git.client.config import DEFAULT_REF, FILE, SIGNERS
from loopx_git.core import ids
from loopx_git.core.lease import Clocks
from loopx_git.coverage.history import LedgerHistory, Prover
from loopx_git.errors import InvalidState, NotAllowed
from loopx_git.format import message
from loopx_git.ledger.validation import Checker, is_operation
from loopx_git.review.check import ReviewFinding, findings
from loopx_git.review.policy import Tables, policy_of, tables_at
from loopx_git.review.pusher import pusher_of
from loopx_git.review.range import CodeRange
from loopx_git.store.repository import Repository

if TYPE_CHECKING:
    from loopx_git.store.objects import PygitObjects

ABSENT = "0" * 40
#: Most operations of one push, and most refusals that are told.
OPERATIONS_MAX = 10_000
TOLD_MAX = 20
_REQUEST = re.compile(r"^Loopx-Request: ([0-9a-f]{32})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Update:
    """One ref of a push: the former id and the new one; ABSENT for none."""

    old: str
    new: str
    ref: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a ref must not move, in one line."""

    ref: str
    message: str

    def __str__(self) -> str:
        line = "".join(char if char.isprintable() else "?" for char in f"loopx: {self.ref}: {self.message}")
        return line if len(line) <= 400 else line[:397] + "..."


class Gate:
    """Judges the updates of one push. The policy is that of the default branch as it stands before the push."""

    def __init__(self, repository: Repository, env: Mapping[str, str], budget: float) -> None:
        from loopx_git.store.objects import PygitObjects

        self.repository, self.env = repository, env
        self.ends, self.budget = time.monotonic() + budget, budget
        self.objects: PygitObjects = PygitObjects(repository.common_dir)
        self.objects.also_in([path for path in _object_folders(env, repository.cwd) if os.path.isdir(path)])
        self.memo: dict[Hashable, Any] = {}
        self.default, self.head = self._default_branch()
        self.tables: Tables = (self.head and tables_at(repository, self.head)) or {}
        where = self.tables.get("coordination", {})
        self.ref, self.ledger = str(where.get("ref", DEFAULT_REF)), where.get("ledger")
        self.policy = policy_of(self.tables, f"{FILE} of {self.default}")

    def _git(self, *args: str) -> str | None:
        done = self.repository.git(args, timeout=60)
        return done.text.strip() if done.code == 0 else None

    def _default_branch(self) -> tuple[str, str | None]:
        name = self._git("symbolic-ref", "--quiet", "HEAD") or "HEAD"
        return name, self.repository.resolve(name)

    def refusals(self, updates: Sequence[Update]) -> list[Refusal]:
        """Every reason against the push, the coordination ref's first.

        Claims on code are judged at the ledger's tip as it will be after the push.
        """
        found: list[Refusal] = []
        tip = self.repository.resolve(self.ref)
        for update in updates:
            if update.ref == self.ref:
                found += self._coordination(update)
                tip = update.new
        guarded = {self._full(name) for name in self.policy.branches} or {self.default}
        for update in updates:
            if update.ref in guarded and update.ref != self.ref:
                # A ledger that is refused grants nothing.
                found += self._code(update, None if found else tip)
        return found[:TOLD_MAX]

    @staticmethod
    def _full(branch: str) -> str:
        return branch if branch.startswith("refs/") else f"refs/heads/{branch}"

    # -- the coordination ref

    def _coordination(self, update: Update) -> list[Refusal]:
        def refuse(text: str) -> list[Refusal]:
            return [Refusal(update.ref, text)]

        if update.new == ABSENT:
            return refuse("the coordination ref is never deleted")
        old = None if update.old == ABSENT else update.old
        try:
            if old is None:
                return self._created(update)
            if not self.objects.is_ancestor(old, update.new):
                return refuse(
                    f"{update.new[:12]} does not descend from the tip {old[:12]}: the ref is never rewritten"
                )
            oids = self.objects.between(old, update.new, OPERATIONS_MAX + 1)
            if len(oids) > OPERATIONS_MAX:
                return refuse(f"one push brings {OPERATIONS_MAX} operations at most")
            if self.objects.commit(oids[0]).parents[:1] != (old,):
                return refuse(f"its line of first parents does not pass through the tip {old[:12]}")
            return self._operations(update, old, oids)
        except InvalidState as error:
            return refuse(error.message)

    def _created(self, update: Update) -> list[Refusal]:
        oids = self.objects.between(None, update.new, OPERATIONS_MAX + 1)
        if len(oids) > OPERATIONS_MAX:
            return [Refusal(update.ref, f"one push brings {OPERATIONS_MAX} operations at most")]
        if self.ledger is not None and oids[0] != self.ledger:
            return [Refusal(update.ref, f"the ledger {self.ledger[:12]} is pinned here, not {oids[0][:12]}")]
        return self._operations(update, None, oids)

    def _operations(self, update: Update, old: str | None, oids: Sequence[str]) -> list[Refusal]:
        checker = Checker(self.objects, self.memo)
        faults = list(checker.walk(old, update.new, 10**9, self._progress))
        if faults and old is not None and self._adopts(oids):
            # The commits that are adopted may have been here before.
            faults = list(checker.walk(None, update.new, 10**9, self._progress))
        found = [
            Refusal(update.ref, f"commit {fault.commit[:12]} ({fault.rule}): {fault.message}") for fault in faults
        ]
        if not found:
            found = self._identities(update, oids) + self._replays(update, old, oids)
        return found

    def _adopts(self, oids: Sequence[str]) -> bool:
        commits = [self.objects.commit(oid) for oid in oids]
        return any(is_operation(commit) and message.load(commit.message).op == "adopt" for commit in commits)

    def _identities(self, update: Update, oids: Sequence[str]) -> list[Refusal]:
        pusher = pusher_of(self.policy, self.env)
        found = []
        prove = self._prover(fresh=True)
        for oid in oids:
            commit = self.objects.commit(oid)
            if pusher is not None and is_operation(commit):
                why = pusher.why_not(message.load(commit.message))
                if why:
                    found.append(Refusal(update.ref, f"commit {oid[:12]} (identity): {why}"))
            if prove is not None and (unproven := prove(oid)):
                found.append(Refusal(update.ref, f"commit {oid[:12]} (signature): {unproven}"))
        return found

    def _prover(self, *, fresh: bool) -> Prover | None:
        """What proves an operation's agent, where the policy asks for it. `fresh`: a key that has expired signs
        nothing that is pushed now, whatever time the commit bears."""
        if not self.policy.signed or self.head is None:
            return None
        from loopx_git.store.signatures import Verifier

        signers = self.repository.file_at(self.head, SIGNERS)
        return Verifier(self.objects, self.env, signers, now=datetime.now(UTC) if fresh else None).why_not

    def _replays(self, update: Update, old: str | None, oids: Sequence[str]) -> list[Refusal]:
        """A request that is in the ledger already was made once, and must not be made again."""
        if old is None:
            return []
        new = {match[1]: oid for oid in oids if (match := _REQUEST.search(self.objects.commit(oid).message))}
        for number, oid in enumerate(reversed(self.objects.between(None, old, 10**9))):
            if number % 1000 == 0:
                self._progress(number, 0)
            match = _REQUEST.search(self.objects.commit(oid).message)
            if match is not None and match[1] in new:
                at = new[match[1]]
                return [Refusal(update.ref, f"commit {at[:12]} (request): it repeats the request of {oid[:12]}")]
        return []

    def _progress(self, done: int, total: int) -> None:
        if time.monotonic() > self.ends:
            raise NotAllowed(
                f"the push could not be judged within {self.budget:.0f} s",
                hint="push less at once, or raise --timeout",
            )

    # -- code branches

    def _code(self, update: Update, tip: str | None) -> list[Refusal]:
        def refuse(text: str) -> list[Refusal]:
            return [Refusal(update.ref, text)]

        if self.policy.mode == "off" or self.head is None or not self.tables:
            return []
        if update.new == ABSENT:
            return refuse("a guarded branch is not deleted")
        base = self.head if update.old == ABSENT else update.old
        code = CodeRange(self.repository, base, update.new, None)
        if update.old != ABSENT and self._git("merge-base", "--is-ancestor", update.old, update.new) is None:
            return refuse(
                f"{update.new[:12]} does not descend from {update.old[:12]}: a guarded branch is not rewritten"
            )
        if tip is None:
            return refuse(f"the ledger on {self.ref} cannot be read, so nothing is covered by it")
        changes, early = code.changes(self.policy.since)
        self._progress(0, 0)
        names = [name for commit in changes for name in commit.claims.claims]
        prove, clocks = self._prover(fresh=False), Clocks(datetime.now(UTC))
        granted = LedgerHistory(self.objects, self.memo, tip).granted(
            names, "gate", clocks, self.policy.require, prove
        )
        late = [commit for commit in changes if commit.oid not in early]
        return [_told(update, item) for item in findings(late, granted, self.policy) if item.level == "error"]


def _told(update: Update, item: ReviewFinding) -> Refusal:
    place = "" if item.file is None else f" {item.file.encode('utf-8', 'surrogateescape').decode('utf-8', 'replace')}"
    holder = f" (held by {item.holder})" if item.holder else ""
    return Refusal(update.ref, f"commit {item.commit[:12]} ({item.rule}){place}: {item.message}{holder}")


def _object_folders(env: Mapping[str, str], cwd: str) -> list[str]:
    """Where git says that objects lie beside the repository's own: the quarantine, and alternates of the push."""
    named = [env.get("GIT_QUARANTINE_PATH", ""), env.get("GIT_OBJECT_DIRECTORY", "")]
    named += env.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "").split(os.pathsep)
    return [os.path.join(cwd, path) for path in dict.fromkeys(named) if path]


def updates_of(lines: Sequence[str]) -> list[Update]:
    """The updates that git gives a pre-receive hook, a line each: old, new, ref."""
    found = []
    for line in lines:
        parts = line.rstrip("\n").split(" ", 2)
        if len(parts) != 3 or not all(ids.OID.fullmatch(part) for part in parts[:2]):
            raise InvalidState(
                f"{line[:120]!r} is not an update of a ref", hint="run it as a pre-receive or update hook"
            )
        found.append(Update(*parts))
    return found
