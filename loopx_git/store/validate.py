"""Validation of history: every commit is one legal operation on its parent's state."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from loopx_git.errors import InvalidState
from loopx_git.format import message
from loopx_git.format.replay import Finding, check_step
from loopx_git.format.snapshot import TreeSnapshot
from loopx_git.store.base import Commit, Objects, Progress

#: How many of the newest commits a clone's first fetch checks; the rest is left to `verify`.
FIRST_CHECK = 1000
#: Snapshots and parsed folders of long runs are dropped past so many.
_MEMO_MAX = 200_000


@dataclass(frozen=True, slots=True)
class Fault:
    """A commit that breaks a rule."""

    commit: str
    rule: str
    message: str

    def error(self) -> InvalidState:
        return InvalidState(
            f"commit {self.commit} on the coordination ref is not a legal operation ({self.rule}): {self.message}",
            hint="nothing is planned on it; see: git loopx verify, and: git loopx log",
            about={"commit": self.commit, "rule": self.rule},
        )


class Checker:
    """Checks commits one after the other, keeping the former state at hand."""

    def __init__(self, objects: Objects, memo: dict[Hashable, Any]) -> None:
        self.objects, self.memo = objects, memo

    def walk(self, old: str | None, new: str, limit: int, progress: Progress | None = None) -> Iterator[Fault]:
        """The faults of the commits after `old` up to `new` (the newest `limit` of them), oldest first.

        Where history is cut (a shallow clone, `limit`), the oldest commit's parent is taken as it is.
        """
        oids = self.objects.between(old, new, limit)
        requests: dict[str, int] = {}
        before: TreeSnapshot | None = None
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
                finding = self._finding(commit, before, after, requests, number)
            except InvalidState as error:
                finding = Finding("format", error.message)
            if finding is not None:
                yield Fault(oid, finding.rule, finding.message)
            if after is not None:
                before = after
            if len(self.memo) > _MEMO_MAX:
                self.memo.clear()

    def _state_before(self, commit: Commit) -> TreeSnapshot | None:
        if not commit.parents:
            return None
        try:
            return TreeSnapshot(self.objects.tree(commit.parents[0]), self.memo)
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
        changed = self.objects.changed(commit.parents[0] if commit.parents else None, commit.oid)
        return check_step(before, after, changed, said, commit.time)


def check_state(snapshot: TreeSnapshot) -> list[InvalidState]:
    """What is wrong with the state as it stands: unreadable files, one id under two goals, claims and records
    that disagree. Each makes one todo unusable and no other."""
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
                    wrong.append(InvalidState(f"{todo.id} lies under two goals", about={"todo_id": todo.id}))
    wrong += snapshot.broken_peers()
    wrong += snapshot.broken_loops()
    return wrong
