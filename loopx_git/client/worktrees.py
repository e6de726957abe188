"""The branches and worktrees of a run: prepared before the claim, for one runner at a time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from loopx_git.client.worktree import UnusableWorktree, Worktree, prepare, withdraw
from loopx_git.errors import About, Contention, NotAllowed, NotFound, UsageError
from loopx_git.store.lock import locked

if TYPE_CHECKING:
    from loopx_git.client.base import BaseClient
    from loopx_git.client.views import TodoView


class NonePrepared(NotAllowed):
    """The branch or worktree of every todo that is left cannot be prepared."""


class Worktrees:
    """Prepares the branch or worktree of one todo after the other, until one is claimed.

    `passed` has each todo that cannot be prepared, with the reason; the caller may keep it over many runs. `at` is
    what is ready; it belongs to this runner and its command until `close`.
    """

    def __init__(
        self, client: BaseClient, program: str, *, branch: bool, worktree: bool, passed: dict[str, UnusableWorktree],
        say: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._client, self._program, self._say = client, program, say
        self._branch, self._worktree = branch, worktree
        self.passed = passed
        #: Todos that another runner of this clone is at, as far as this pick goes.
        self._busy: set[str] = set()
        self._lock: AbstractContextManager[int] | None = None
        self.handle = -1
        self.at: Worktree | None = None

    @property
    def makes(self) -> bool:
        """Whether a place is made at all."""
        return self._branch or self._worktree

    # -- for the pick

    @property
    def without(self) -> frozenset[str]:
        return frozenset(self.passed) | self._busy

    def ready(self, view: TodoView) -> bool:
        try:
            self.must(view)
        except Contention:
            self._busy.add(view.id)
            return False
        except UnusableWorktree as error:
            self.passed[view.id] = error
            self._say(f"{view.id} is passed over: {error.message}; next: {error.hint}")
            return False
        return True

    def withdraw(self) -> None:
        place, self.at = self.at, None
        if place is not None and not withdraw(self._client, place):
            self._say(f"{place.folder} stays: there is something in it that is not committed")
        self.close()

    # -- for one todo

    def must(self, view: TodoView) -> None:
        """Prepare this todo. Raises BadPlace, or Contention while another runner of the clone works on it."""
        folder = os.path.join(self._client.connection.repository.home, "runs")
        lock = locked(folder, 0.0, f"run of {view.id} in this clone", name=view.id, stays=False)
        self.handle = lock.__enter__()
        self._lock = lock
        try:
            self.at = prepare(self._client, view, branch=self._branch, worktree=self._worktree)
            self._find_program(view, self.at)
        except BaseException:
            self.withdraw()
            raise

    def settled(self, view: TodoView) -> Worktree:
        """The place of the claimed todo. It is prepared again if the todo now records another branch."""
        assert self.at is not None
        recorded = view.todo.branch
        if self.at.branch is not None and recorded not in (None, self.at.branch):
            self.withdraw()
            self.must(view)
        return self.at

    def _find_program(self, view: TodoView, place: Worktree) -> None:
        """A command that is named by a path must be there, seen from where it will work."""
        if "/" not in self._program:
            return
        found = os.path.join(place.folder, self._program)
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return
        why = "is not there" if not os.path.exists(found) else "cannot be executed"
        raise UnusableWorktree(
            f"{self._program} {why} in {place.folder} (branch {place.branch})",
            hint=f"commit it on that branch, or name it by its full path; look: git log --oneline {place.branch}",
            about={"todo_id": view.id, "folder": place.folder},
        )

    def close(self) -> None:
        """Give the place free for another runner of this clone."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.__exit__(None, None, None)


def none_prepared(passed: dict[str, UnusableWorktree], why: NotFound | None = None, done: int = 0) -> NonePrepared:
    """The end of a run that passed todos over."""
    first = next(iter(passed.values()))
    more = f" and {len(passed) - 1} more" if len(passed) > 1 else ""
    worked = "no todo was worked on" if not done else f"{done} todos were worked on"
    about: About = {} if why is None else why.about
    about["passed_over"] = [
        {"todo_id": todo, "folder": error.about["folder"], "why": error.message} for todo, error in passed.items()
    ]
    return NonePrepared(
        f"{worked}; passed over, since its place cannot be prepared: {next(iter(passed))}{more}: {first.message}",
        hint=first.hint,
        about=about,
    )


def must_exist(client: BaseClient, program: str, *, here: bool) -> None:
    """Raise UsageError for a command that does not exist, before anything is claimed.

    `here`: it will run in the folder where the runner was started. Otherwise a relative path is looked up later.
    """
    connection = client.connection
    if "/" not in program:
        there = shutil.which(program, path=connection.env.get("PATH")) is not None
    else:
        found = os.path.join(connection.repository.cwd, program)
        there = not (here or os.path.isabs(program)) or (os.path.isfile(found) and os.access(found, os.X_OK))
    if not there:
        raise UsageError(f"there is no command {program!r}", hint="git loopx run --next -- COMMAND ARGUMENTS...")
