"""Validation of history: every commit is one legal operation on its parent's state."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from loopx_git.core.change import Op
from loopx_git.core.todo import Todo
from loopx_git.errors import InternalError, InvalidState
from loopx_git.format import message
from loopx_git.ledger.commits import Commit, Objects, Progress, Unreadable
from loopx_git.ledger.inverse import Finding
from loopx_git.ledger.manual_edits import edits
from loopx_git.ledger.replay import check_adoption, check_step
from loopx_git.ledger.snapshot import TreeSnapshot

#: How many of the newest commits a clone's first fetch checks; the rest is left to `verify`.
FIRST_CHECK = 1000
#: Snapshots and parsed folders of long runs are dropped past so many.
_MEMO_MAX = 200_000
#: Most commits that the merges of one foreign run may bring along.
_MERGED_MAX = 1000
_REPORT = "this is a bug of loopx-git; nothing was written; please report it with this message"


@dataclass(frozen=True, slots=True)
class Fault:
    """A commit that breaks a rule."""

    commit: str
    rule: str
    message: str

    def error(self) -> InvalidState:
        """The fault as an error of exit 16."""
        return InvalidState(
            f"commit {self.commit} on the coordination ref is not a legal operation ({self.rule}): {self.message}",
            hint="nothing is planned on it; see: git loopx verify, and: git loopx log",
            about={"commit": self.commit, "rule": self.rule},
        )


class ForeignTip(InvalidState):
    """The tip is not a legal operation.

    `good` is the last commit before the foreign ones (None: there is none). `forged`: one of them claims to be an
    operation.
    """

    def __init__(self, fault: Fault, tip: str, good: str | None, *, forged: bool) -> None:
        super().__init__(
            f"commit {fault.commit} on the coordination ref is not a legal operation ({fault.rule}): {fault.message}",
            hint="nothing is planned on it; look: git loopx verify   what would be taken over: "
            "git loopx adopt --dry-run   who takes it over: git loopx adopt -h",
            about={"commit": fault.commit, "rule": fault.rule},
        )
        self.tip, self.good, self.forged = tip, good, forged


@dataclass(slots=True)
class ForeignRun:
    """Commits since `good` that are not operations, until an adoption ends them.

    `state` is the snapshot of `good`, `last` the newest foreign commit.
    """

    good: str | None = None
    state: TreeSnapshot | None = None
    last: str = ""
    faults: list[Fault] = field(default_factory=list)

    def clear(self) -> None:
        """Forget the foreign commits: an adoption ended them."""
        self.good = self.state = None
        self.last = ""
        self.faults.clear()


class Checker:
    """Checks commits in order, each against the state before it."""

    def __init__(self, objects: Objects, memo: dict[Hashable, Any]) -> None:
        self.objects, self.memo = objects, memo

    def walk(self, old: str | None, new: str, limit: int, progress: Progress | None = None) -> Iterator[Fault]:
        """The faults of the commits after `old` up to `new` (the newest `limit` of them), oldest first.

        Where history is cut (a shallow clone, `limit`), the state at the oldest commit's parent is taken as it is.
        Foreign commits before a legal adoption are not faults: the adoption restored what the rules do not allow.
        Raises Unreadable when an object of history cannot be read here.
        """
        oids = self.objects.between(old, new, limit)
        requests: dict[str, int] = {}
        before: TreeSnapshot | None = None
        run = ForeignRun()
        for number, oid in enumerate(oids):
            if progress is not None:
                progress(number + 1, len(oids))
            after: TreeSnapshot | None = None
            try:
                commit = self.objects.commit(oid)
                if number == 0:
                    before = self._state_before(commit)
                    if before is None and commit.parents:
                        before = TreeSnapshot(self.objects.tree(oid), self.memo)
                        continue
                after = TreeSnapshot(self.objects.tree(oid), self.memo)
                finding = self._finding(commit, before, after, requests, number, run)
            except Unreadable:
                raise
            except InvalidState as error:
                finding = Finding("format", error.message)
            if finding is not None:
                if not run.faults:
                    run.good, run.state = commit.parents[0] if commit.parents else None, before
                run.faults.append(Fault(oid, finding.rule, finding.message))
            if run.faults:
                run.last = oid
            if after is not None:
                before = after
            if len(self.memo) > _MEMO_MAX:
                self.memo.clear()
        yield from run.faults

    def _state_before(self, commit: Commit) -> TreeSnapshot | None:
        if not commit.parents:
            return None
        try:
            return TreeSnapshot(self.objects.tree(commit.parents[0]), self.memo)
        except Unreadable:
            raise
        except InvalidState:
            # The parent is not here (a shallow history): there is nothing to compare this commit with.
            return None

    def _finding(
        self,
        commit: Commit,
        before: TreeSnapshot | None,
        after: TreeSnapshot,
        requests: dict[str, int],
        number: int,
        run: ForeignRun,
    ) -> Finding | None:
        if len(commit.parents) > 1:
            return Finding("parents", "it has more than one parent; an operation is never a merge")
        said = message.load(commit.message)
        named = commit.author.name if "@" not in said.agent else commit.author.email
        if named != said.agent:
            return Finding("author", f"its author is {named}, its Loopx-Agent {said.agent}")
        if requests.get(said.request, number - 1) != number - 1:
            return Finding("request", f"the request {said.request} is in history twice")
        requests[said.request] = number
        if said.op is Op.ADOPT and run.good is not None and run.state is not None:
            finding = self._smuggled(run) or self._adoption(commit, run, after, said)
            if finding is None:
                run.clear()
            return finding
        changed = self.objects.changed(commit.parents[0] if commit.parents else None, commit.oid)
        return check_step(before, after, changed, said, commit.time)

    def _adoption(
        self, commit: Commit, run: ForeignRun, after: TreeSnapshot, said: message.Message
    ) -> Finding | None:
        assert run.good is not None and run.state is not None
        theirs = self.objects.changed(run.good, run.last)
        ours = self.objects.changed(run.good, commit.oid)
        return check_adoption(run.state, self.objects.tree(run.last), after, (theirs, ours), said, commit.time)

    def _smuggled(self, run: ForeignRun) -> Finding | None:
        """The other parents of a merge may bring files, not operations: operations of another line would replace
        those that were granted."""
        assert run.good is not None
        seen: set[str] = set()
        line = self.objects.between(run.good, run.last, 10**9)
        waiting = [parent for oid in line for parent in self.objects.commit(oid).parents[1:]]
        while waiting:
            oid = waiting.pop()
            if oid in seen or self.objects.is_ancestor(oid, run.good):
                continue
            seen.add(oid)
            commit = self.objects.commit(oid)
            if is_operation(commit) or len(seen) > _MERGED_MAX:
                return Finding(
                    "adopt", f"the foreign commits merge {oid}, an operation of another line of the ledger"
                )
            waiting += commit.parents
        return None


def check_own(objects: Objects, memo: dict[Hashable, Any], good: str | None, oid: str) -> None:
    """Raise InternalError when the commits that this program built after `good` (None: from the first) are not legal.

    `oid` is the last of them. They are read back from their bytes, so a value that cannot be read again is found
    before the push.
    """
    for fault in Checker(objects, memo).walk(good, oid, 10**9):
        raise InternalError(
            f"the commit that was built breaks a rule ({fault.rule}): {fault.message}; nothing was pushed",
            hint=_REPORT,
            about={"rule": fault.rule},
        )


def check_proposed(
    objects: Objects, memo: dict[Hashable, Any], parent: str, oid: str, wanted: Sequence[Todo]
) -> None:
    """Check a proposal that was built on `parent`. A proposal is not an operation.

    Raises InternalError when the commit does not read back as the todos that were `wanted`, or is not a valid edit.
    """
    after = TreeSnapshot(objects.tree(oid), memo)
    try:
        found = edits(TreeSnapshot(objects.tree(parent), memo), after.tree, objects.changed(parent, oid), "proposed")
        why = next((f"{edit.path}: {edit.refused}" for edit in found if edit.refused), "")
        for todo in wanted:
            if not why and after.todo(todo.goal, todo.id) != todo:
                why = f"{todo.id} is not read back as it was written"
    except InvalidState as error:
        why = error.message
    if why:
        raise InternalError(
            f"the proposal that was built breaks a rule: {why}; nothing was pushed", hint=_REPORT, about={"rule": why}
        )


def our_fault(error: Exception) -> InternalError:
    """An unexpected exception as an InternalError."""
    text = f"{type(error).__name__}: {error}"
    return InternalError(f"what was to be written could not be made ({text[:300]}); nothing was pushed", hint=_REPORT)


def poses(commit: Commit) -> bool:
    """True when a commit has a line that looks like an operation's trailer, well-formed or not."""
    return re.search(r"^\s*Loopx-(?!Claim\b)", commit.message, re.MULTILINE | re.IGNORECASE) is not None


def adopts(commit: Commit) -> bool:
    """True when a commit says that it adopts foreign commits."""
    return is_operation(commit) and message.load(commit.message).op is Op.ADOPT


def is_operation(commit: Commit) -> bool:
    """True when a commit says that it is an operation of a ledger."""
    try:
        message.load(commit.message)
    except InvalidState:
        return False
    return True


def check_state(snapshot: TreeSnapshot) -> list[InvalidState]:
    """What is wrong with the state: unreadable files, one id in two goals, claims and records that disagree.

    Each error makes one todo unusable and no other.
    """
    wrong: list[InvalidState] = []
    for goal in snapshot.goal_ids():
        try:
            if snapshot.goal(goal) is None:
                wrong.append(InvalidState(f"the goal {goal} has no goal.md", about={"goal": goal}))
        except InvalidState as error:
            wrong.append(error)
        wrong += snapshot.broken(goal)
        holders = {lease.todo: lease.holder for lease in snapshot.leases(goal)}
        for archived in (False, True):
            for todo in snapshot.todos(goal, archived=archived):
                holder = holders.pop(todo.id, None)
                if todo.claimed_by != holder:
                    wrong.append(
                        InvalidState(
                            f"{todo.id} says claimed_by {todo.claimed_by}, its lease record says {holder}",
                            about={"todo_id": todo.id},
                        )
                    )
                if len(snapshot.goals_of(todo.id)) > 1:
                    wrong.append(InvalidState(f"{todo.id} is in two goals", about={"todo_id": todo.id}))
    return [*wrong, *snapshot.broken_names()]
