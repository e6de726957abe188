"""Where a command works: the folder it was started in, or a branch or worktree named after the todo.

A branch or worktree is prepared before the claim, for one runner of the clone at a time.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace

from loopx_git.client import tree_settings
from loopx_git.client.base import BaseClient
from loopx_git.client.config import DEFAULT_REF
from loopx_git.client.views import TodoView
from loopx_git.errors import About, Contention, LoopXError, NotAllowed, NotFound, UsageError
from loopx_git.store.lock import locked, make_folder, write_file
from loopx_git.store.process import Finished
from loopx_git.store.system import system_errors

#: The file that marks a worktree as ours, in our folder in its git directory. Without it a worktree is the user's.
_MARK = "made-for"


class UnusableWorktree(NotAllowed):
    """The branch or worktree of one todo cannot be prepared. Nothing was claimed or changed."""


@dataclass(frozen=True, slots=True)
class Worktree:
    """The folder that the command runs in and its branch, if one was asked for.

    made    the folder is a worktree of ours, now or in an earlier run: it goes at the end, if it is clean
    new     it was made for this very run
    above   the folder of all worktrees, if that was made with it
    began   the commit at which the branch was made for this very run; None: it was there before
    """

    folder: str
    branch: str | None = None
    made: bool = False
    new: bool = False
    above: str | None = None
    began: str | None = None


def prepare(client: BaseClient, view: TodoView, *, branch: bool, worktree: bool) -> Worktree:
    """Make the requested branch or worktree, or raise UnusableWorktree and leave nothing behind.

    A branch that the todo records is used; otherwise a new branch begins at HEAD. What the user has checked out is
    never changed: a branch is checked out only in a worktree of this repository.
    """
    if not branch and not worktree:
        return Worktree(client.connection.repository.cwd)
    begun = _Preparation(client, view)
    try:
        return begun.worktree() if worktree else begun.branch()
    except LoopXError as error:
        withdraw(client, begun.place)
        if isinstance(error, UnusableWorktree):
            raise
        raise begun.bad(error.message, error.hint) from None


def withdraw(client: BaseClient, place: Worktree) -> bool:
    """Remove what was made for a run that did not start; False when a part has content and stays."""
    if place.new and not clear(client, place):
        return False
    if place.began is None:
        return True
    # Only while it is where we made it: a commit made there meanwhile is somebody's work.
    done = _git(client, ["update-ref", "-d", f"refs/heads/{place.branch}", place.began])
    return done.code == 0


def clear(client: BaseClient, place: Worktree) -> bool:
    """Remove a worktree of ours if it has nothing uncommitted; True when it was removed."""
    if not place.made:
        return False
    git_dir = _inside(client, place.folder, "--absolute-git-dir")
    ours = tree_settings.unchanged(place.folder, git_dir) if git_dir else []
    status = _git(client, ["status", "--porcelain", "-z", "--ignored", "-uall"], folder=place.folder)
    if status.code or {entry for entry in status.text.split("\0") if entry} - _untracked(ours):
        return False
    tree_settings.take_away(place.folder, ours)
    if _git(client, ["worktree", "remove", place.folder]).code:
        return False
    if place.above is not None:
        with suppress(OSError):
            # Not empty: another run has its worktree there.
            os.rmdir(place.above)
    return True


def _untracked(names: list[str]) -> set[str]:
    """What `git status` says of files that it does not track, ignored or not."""
    return {f"{mark} {name}" for name in names for mark in ("??", "!!")}


def worktrees(client: BaseClient) -> str:
    """The folder for worktrees: git config loopx.worktrees, else <repository>.loopx beside the repository."""
    repository = client.connection.repository
    chosen = repository.value("loopx.worktrees")
    common = repository.common_dir
    main = os.path.dirname(common) if os.path.basename(common) == ".git" else common.removesuffix(".git")
    if chosen is None:
        return f"{main}.loopx"
    if chosen == "~" or chosen.startswith("~/"):
        chosen = client.connection.env.get("HOME", "~") + chosen[1:]
    return os.path.normpath(os.path.join(main, chosen))


class _Preparation:
    """One branch or worktree being prepared; `place` is what there is of it so far."""

    def __init__(self, client: BaseClient, view: TodoView) -> None:
        self.client, self.view, self.repository = client, view, client.connection.repository
        self.folder = os.path.join(worktrees(client), view.id)
        self.place = Worktree(self.repository.cwd)

    def bad(self, why: str, hint: str) -> UnusableWorktree:
        return UnusableWorktree(why, hint=hint, about={"todo_id": self.view.id, "folder": self.place.folder})

    def branch(self) -> Worktree:
        """The todo's branch, made where it is missing."""
        client, recorded = self.client, self.view.todo.branch
        name = recorded or self._name()
        self.place = replace(self.place, branch=name)
        if self.repository.resolve(f"refs/heads/{name}") is not None:
            return self.place
        remote = client.connection.settings.remote
        start = self.repository.resolve(f"refs/remotes/{remote}/{name}") if recorded else None
        start = start or self.repository.resolve("HEAD")
        if start is None:
            raise self.bad(f"the branch {name} cannot be made: HEAD has no commit yet", "git commit")
        done = _git(client, ["branch", "--no-track", "--", name, start])
        if done.code:
            raise self.bad(f"the branch {name} cannot be made: {done.complaint}", "git branch --list --all")
        self.place = replace(self.place, began=start)
        return self.place

    def worktree(self) -> Worktree:
        """A worktree on the todo's branch: the one that is there, or a new one."""
        folder, name = self.folder, self.view.todo.branch or self._name()
        self.place = replace(self.place, folder=folder)
        if os.path.lexists(folder):
            return self._standing(name)
        self._free(name)
        self.branch()
        with system_errors(folder):
            above = os.path.dirname(folder)
            try:
                if not os.path.isdir(above):
                    os.makedirs(above, exist_ok=True)
                    self.place = replace(self.place, above=above)
            except OSError as error:
                raise self.bad(
                    f"no worktree can be made at {folder}: {error.strerror}", "git config loopx.worktrees DIR"
                ) from None
            done = _git(self.client, ["worktree", "add", "--quiet", folder, name])
            if os.path.isdir(folder):
                # Also after a git that failed half-way: what it leaves is ours to remove.
                self.place = replace(self.place, made=True, new=True)
            if done.code:
                raise self.bad(f"no worktree can be made at {folder}: {done.complaint}", "git worktree list")
            inside = self._inside("--absolute-git-dir")
            if not inside:
                raise self.bad(f"git does not know the worktree that it made at {folder}", "git worktree list")
            home = os.path.join(inside, "loopx")
            make_folder(home)
            write_file(os.path.join(home, _MARK), f"{self.view.id}\n".encode())
            tree_settings.bring(self.repository, folder, inside)
        return self.place

    def _standing(self, name: str) -> Worktree:
        """Use the folder that is where the worktree belongs, if it is a worktree of this repository on the todo's
        branch. Refuse anything else. A folder of the user's is never changed here."""
        folder = self.folder
        look = f"look at it: ls -la {shlex.quote(folder)}"
        if os.path.islink(folder) or not os.path.isdir(folder):
            raise self.bad(f"{folder} cannot be used: it is not a folder", look)
        top, common = self._inside("--show-toplevel"), self._inside("--git-common-dir")
        mine = os.path.realpath(self.repository.common_dir)
        if not top or os.path.realpath(top) != os.path.realpath(folder) or os.path.realpath(common) != mine:
            raise self.bad(f"{folder} cannot be used: it is not a worktree of this repository", look)
        head = _git(self.client, ["symbolic-ref", "--quiet", "HEAD"], folder=folder).text.strip()
        if head != f"refs/heads/{name}":
            on = head.removeprefix("refs/heads/") or "no branch"
            raise self.bad(f"the worktree {folder} is on {on}, not on {name}", f"git -C {shlex.quote(folder)} status")
        git_dir = self._inside("--absolute-git-dir")
        made = os.path.isfile(os.path.join(git_dir, "loopx", _MARK))
        if made:
            tree_settings.bring(self.repository, folder, git_dir)
        return replace(self.place, branch=name, made=made)

    def _free(self, name: str) -> None:
        """Neither the folder nor the branch may belong to a worktree already."""
        for entry in _git(self.client, ["worktree", "list", "--porcelain"]).text.split("\n\n"):
            found = dict(line.partition(" ")[::2] for line in entry.splitlines())
            where = found.get("worktree", "")
            if where and os.path.realpath(where) == os.path.realpath(self.folder):
                raise self.bad(
                    f"{where} is registered as a worktree, and the folder is gone",
                    "bring it back, or, if it is gone for good: git worktree prune",
                )
            if found.get("branch") == f"refs/heads/{name}":
                raise self.bad(f"the branch {name} is checked out at {where}", "git worktree list")

    def _name(self) -> str:
        """`loopx/` and the alias, or the id where the alias makes no good branch name."""
        for part in filter(None, (self.view.todo.alias, self.view.id)):
            name = f"loopx/{part}"
            taken = {DEFAULT_REF, self.client.connection.settings.ref}
            if f"refs/heads/{name}" in taken:
                continue
            if _git(self.client, ["check-ref-format", "--branch", name]).code == 0:
                return name
        raise self.bad(f"{self.view.id} makes no branch name", f"git loopx todo update {self.view.id} --branch NAME")

    def _inside(self, what: str) -> str:
        return _inside(self.client, self.folder, what)


def _inside(client: BaseClient, folder: str, what: str) -> str:
    """What git says of the folder, absolute; "" where it says nothing."""
    done = _git(client, ["rev-parse", "--path-format=absolute", what], folder=folder)
    return "" if done.code else done.text.removesuffix("\n")


def _git(client: BaseClient, args: list[str], *, folder: str | None = None) -> Finished:
    """A local git command in the user's repository, or in the worktree at `folder`, whatever a hook set."""
    return client.connection.repository.seen_from(folder).git(args, timeout=600)


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
    ) -> None:  # grouped by meaning  # fmt: skip
        self._client, self._program, self._say = client, program, say
        self._branch, self._worktree = branch, worktree
        self.passed = passed
        #: Todos that another runner of this clone works on.
        self._busy: set[str] = set()
        self._lock: AbstractContextManager[int] | None = None
        self.handle = -1
        self.at: Worktree | None = None

    @property
    def makes(self) -> bool:
        """Whether a place is made at all."""
        return self._branch or self._worktree

    # -- for the choice of the next todo

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
        """Prepare this todo. Raises UnusableWorktree, or Contention while another runner of the clone works on it."""
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
        """Raise UnusableWorktree when the command is named by a path that is not in the place where it will work."""
        if "/" not in self._program:
            return
        found = os.path.join(place.folder, self._program)
        if _is_program(found):
            return
        why = "is not there" if not os.path.exists(found) else "cannot be executed"
        raise UnusableWorktree(
            f"{self._program} {why} in {place.folder} (branch {place.branch})",
            hint=f"commit it on that branch, or name it by its full path; look: git log --oneline {place.branch}",
            about={"todo_id": view.id, "folder": place.folder},
        )

    def close(self) -> None:
        """Let another runner of this clone have the todo."""
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
        there = not (here or os.path.isabs(program)) or _is_program(found)
    if not there:
        raise UsageError(f"there is no command {program!r}", hint="git loopx run --next -- COMMAND ARGUMENTS...")


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
