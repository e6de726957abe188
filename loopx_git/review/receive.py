"""The server's gate: what a push to a bare repository would change, judged before any ref moves.

Objects are read where git has put them, in the quarantine; nothing is written and no ref moves. Every refusal is one
line.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from loopx_git.client.config import DEFAULT_REF, FILE, SIGNERS
from loopx_git.core import ids
from loopx_git.core.lease import Clocks
from loopx_git.core.times import format_time
from loopx_git.coverage.changes import CodeCommit
from loopx_git.coverage.history import Granted, LedgerHistory, Prover
from loopx_git.coverage.policy import GuardPolicy, is_match
from loopx_git.coverage.position import Positions
from loopx_git.errors import InvalidState, NotAllowed
from loopx_git.format import message
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.ledger.validation import Checker, is_operation
from loopx_git.review.check import ReviewFinding, findings
from loopx_git.review.policy import (
    BasePolicy,
    Tables,
    base_policy,
    holds_for,
    is_rule_file,
    not_an_operator,
    policy_of,
    restores,
    rule_changes,
    tables_at,
    why_unreadable,
)
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
    """Judges the updates of one push. The policy is that of the default branch as it stands before the push.

    `rule_changes` ("operators" or "anyone") says who may change the rules, whatever the policy says. `notes` are told
    to who pushes, whatever the verdict.
    """

    def __init__(
        self, repository: Repository, env: Mapping[str, str], budget: float, rule_changes: str | None = None
    ) -> None:
        from loopx_git.store.objects import PygitObjects

        self.repository, self.env = repository, env
        self.ends, self.budget = time.monotonic() + budget, budget
        self.objects: PygitObjects = PygitObjects(repository.common_dir)
        self.objects.also_in([path for path in _object_folders(env, repository.cwd) if os.path.isdir(path)])
        self.memo: dict[Hashable, Any] = {}
        self.notes: list[str] = []
        self.default, self.head = self._default_branch()
        name = f"{FILE} of {self.default}"
        nothing = BasePolicy(None, policy_of({}, name))
        self.base = nothing if self.head is None else base_policy(repository, self.head, name)
        self.tables: Tables = self.base.tables or {}
        self.policy, self.problem = self.base.policy, self.base.problem
        self.rule_changes = rule_changes or self.policy.rule_changes
        where = self.tables.get("coordination", {})
        self.ref, self.ledger = str(where.get("ref", DEFAULT_REF)), where.get("ledger")

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
        refs = self._refs()
        # A push to a symbolic ref moves the ref that it points at.
        updates = [replace(update, ref=refs.get(update.ref, update.ref)) for update in updates]
        found = [
            Refusal(update.ref, "a replacement would show other objects than those that are stored")
            for update in updates if update.ref.startswith("refs/replace/")
        ]  # fmt: skip
        found += self._unjudged(updates, [ref for ref in refs if ref.startswith("refs/heads/") and ref != self.ref])
        if found:
            return found[:TOLD_MAX]
        tip = self.repository.resolve(self.ref)
        for update in updates:
            if update.ref == self.ref:
                found += self._coordination(update)
                tip = update.new
        for update in updates:
            if update.ref != self.ref and self.policy.is_judged(update.ref, self.default):
                # A ledger that is refused grants nothing.
                found += self._code(update, None if found else tip)
        return found[:TOLD_MAX]

    # -- what nothing can be judged by

    def _unjudged(self, updates: Sequence[Update], code: Sequence[str]) -> list[Refusal]:
        """Why pushes of branches cannot be judged here at all. None of them passes then, but for the mending one.

        `code` names the branches of code that are here.
        """
        brought = [update for update in updates if update.ref.startswith("refs/heads/")]
        problem, command = self.problem, f"only a push passes that mends {FILE} and changes nothing else"
        if self.head is None or not self.default.startswith("refs/heads/"):
            first = not code and all(update.ref in (self.ref, self.default) for update in brought)
            if first and self.default.startswith("refs/heads/"):
                # The first push of a repository: there is nothing to judge code by yet.
                return []
            problem = f"HEAD names {self.default}, which is not a branch here, so no policy says what is judged"
            command = "on the server: git symbolic-ref HEAD refs/heads/BRANCH"
        elif not problem and self.policy.mode != "off" and (idle := self._idle([*code, *self._names(brought)])):
            problem = f"guard.branches ({', '.join(idle)}) matches no branch here"
            if len(idle) < len(self.policy.branches):
                self.notes.append(f"loopx: {problem}")
                problem = ""
        if not problem or (len(brought) == 1 and self._mends(brought[0], code)):
            return []
        return [Refusal(update.ref, f"{problem}; {command}") for update in brought]

    def _idle(self, refs: Sequence[str]) -> list[str]:
        """The entries of `branches` that match none of these."""
        return [entry for entry in self.policy.branches if not any(is_match(entry, ref) for ref in refs)]

    def _refs(self) -> dict[str, str]:
        """Every ref, and the one that it points at where it is a symbolic one, else itself. Raises InvalidState."""
        listed = self.repository.git(["for-each-ref", "--format=%(refname) %(symref)"], timeout=60)
        if listed.code:
            raise InvalidState(f"the refs here cannot be listed: {listed.complaint}", hint="git for-each-ref")
        pairs = [line.partition(" ") for line in listed.text.splitlines()]
        return {ref: target or ref for ref, _, target in pairs}

    @staticmethod
    def _names(updates: Sequence[Update]) -> list[str]:
        return [update.ref for update in updates if update.new != ABSENT]

    def _match(self, policy: GuardPolicy, refs: Sequence[str]) -> bool:
        return any(policy.is_judged(ref, self.default) for ref in refs)

    def _mends(self, update: Update, code: Sequence[str]) -> bool:
        """Whether an update of the default branch makes the policy serve again, and does nothing else."""
        if self.head is None or update.ref != self.default or ABSENT in (update.old, update.new):
            return False
        changes, _ = CodeRange(self.repository, update.old, update.new, None).changes(None)
        paths = [path for commit in changes for path in commit.paths]
        if not paths or not all(map(is_rule_file, paths)) or why_unreadable(self.repository, update.new):
            return False
        after = policy_of(tables_at(self.repository, update.new) or {}, FILE)
        # Who may do it is judged afterwards, as of every change of the rules.
        return not after.branches or self._match(after, code)

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
            found = self._identities(update, oids) + self._replays(update, old, oids) + self._ahead(update, oids)
        return found

    def _ahead(self, update: Update, oids: Sequence[str]) -> list[Refusal]:
        """Operations of a later time than this machine's: a claim dated ahead would outlive its lease."""
        known = update.new if update.old == ABSENT else update.old
        skew = TreeSnapshot(self.objects.tree(known), self.memo).policy.claims_skew
        limit = datetime.now(UTC) + timedelta(seconds=skew)
        return [
            Refusal(update.ref, f"commit {oid[:12]} (clock): it is dated {format_time(time)}, in the future here")
            for oid in oids if (time := self.objects.commit(oid).time) > limit
        ]  # fmt: skip

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
            if self.head is not None:
                why = "guard.mode is off" if self.tables else f"it has no {FILE}"
                self.notes.append(f"loopx: {update.ref}: not judged: {why}")
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
            names, "gate", clocks, self.policy.require, prove, Positions(code.code, changes)
        )
        late = [commit for commit in changes if commit.oid not in early]
        found = self._rules(update, changes, granted)
        for item in findings(late, granted, self.policy):
            if item.level == "error":
                found.append(_told(update, item))
            elif item.level == "warning":
                self.notes.append(f"{_told(update, item)} (guard.mode is {self.policy.mode}: it passes)")
        return found

    def _rules(self, update: Update, changes: Sequence[CodeCommit], granted: Granted) -> list[Refusal]:
        """Changes of the rules by somebody who may not, and rules that could not be read afterwards.

        Where the server says who pushes, that counts; elsewhere the holder of a claim that names the file.
        """
        changed = list(rule_changes(changes))
        unreadable = why_unreadable(self.repository, update.new) if changed and update.ref == self.default else ""
        if unreadable:
            return [Refusal(update.ref, f"the policy could not be read after it: {unreadable}")]
        if self.rule_changes == "anyone" or self.policy.mode != "block":
            return []
        if restores(self.repository, self.base, update.new, [path for _, path in changed]):
            return []
        pusher, is_operators = pusher_of(self.policy, self.env), holds_for(self.policy, granted)
        found = []
        for commit, path in changed:
            may = is_operators(commit, path) if pusher is None else pusher.operator is True
            if not may:
                why = f"commit {commit.oid[:12]} (config) {path}: {not_an_operator(self.policy)}"
                found.append(Refusal(update.ref, why))
        return found


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
