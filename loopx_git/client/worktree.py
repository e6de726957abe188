"""Where a command works: the folder it was started in, or a branch or worktree named after the todo."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from loopx_git.client.config import DEFAULT_REF
from loopx_git.errors import LoopXError, NotAllowed
from loopx_git.store.lock import make_folder, write_file
from loopx_git.store.process import Finished
from loopx_git.store.system import system_errors

if TYPE_CHECKING:
    from loopx_git.client.base import BaseClient
    from loopx_git.client.views import TodoView

#: In the git directory of a worktree that we made, below our folder there: without it a worktree is the user's.
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
    """Make the requested branch or worktree, or raise BadPlace and leave nothing behind.

    A branch that the todo records is used; otherwise a new branch begins at HEAD. What the user has checked out is
    never changed: a branch is checked out only in a worktree of this repository.
    """
    if not branch and not worktree:
        return Worktree(client.connection.repository.cwd)
    desk = _Desk(client, view)
    try:
        return desk.worktree() if worktree else desk.branch()
    except UnusableWorktree:
        withdraw(client, desk.place)
        raise
    except LoopXError as error:
        withdraw(client, desk.place)
        raise desk.bad(error.message, error.hint) from None


def withdraw(client: BaseClient, place: Worktree) -> bool:
    """Remove what was made for a run that did not start; False when a part has content and stays."""
    if place.new and not clear(client, place):
        return False
    if place.began is None:
        return True
    # Only while it stands where we made it: whatever was committed there meanwhile is somebody's work.
    done = _git(client, ["update-ref", "-d", f"refs/heads/{place.branch}", place.began])
    return done.code == 0


def clear(client: BaseClient, place: Worktree) -> bool:
    """Remove a worktree of ours if it has nothing uncommitted; True when it was removed."""
    if not place.made:
        return False
    status = _git(client, ["status", "--porcelain", "--ignored", "-uall"], folder=place.folder)
    if status.code or status.out:
        return False
    if _git(client, ["worktree", "remove", place.folder]).code:
        return False
    if place.above is not None:
        with suppress(OSError):
            # Not empty: another run has its worktree there.
            os.rmdir(place.above)
    return True


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


class _Desk:
    """One place being prepared; `place` is what there is of it so far."""

    def __init__(self, client: BaseClient, view: TodoView) -> None:
        self.client, self.view = client, view
        self.folder = os.path.join(worktrees(client), view.id)
        self.place = Worktree(client.connection.repository.cwd)

    def bad(self, why: str, hint: str) -> UnusableWorktree:
        return UnusableWorktree(why, hint=hint, about={"todo_id": self.view.id, "folder": self.place.folder})

    def branch(self) -> Worktree:
        """The todo's branch, made where it is missing."""
        client, recorded = self.client, self.view.todo.branch
        name = recorded or self._name()
        self.place = replace(self.place, branch=name)
        if self._oid(f"refs/heads/{name}") is not None:
            return self.place
        remote = client.connection.settings.remote
        start = self._oid(f"refs/remotes/{remote}/{name}") if recorded else None
        start = start or self._oid("HEAD")
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
                # Also of a git that failed half-way: what it leaves is ours to remove.
                self.place = replace(self.place, made=True, new=True)
            if done.code:
                raise self.bad(f"no worktree can be made at {folder}: {done.complaint}", "git worktree list")
            inside = self._inside("--absolute-git-dir")
            if not inside:
                raise self.bad(f"git does not know the worktree that it made at {folder}", "git worktree list")
            home = os.path.join(inside, "loopx")
            make_folder(home)
            write_file(os.path.join(home, _MARK), f"{self.view.id}\n".encode())
        return self.place

    def _standing(self, name: str) -> Worktree:
        """Use the folder that is where the worktree belongs, if it is a worktree of this repository on the todo's
        branch. Refuse anything else. The folder is never changed here."""
        folder, repository = self.folder, self.client.connection.repository
        look = f"look at it: ls -la {shlex.quote(folder)}"
        if os.path.islink(folder) or not os.path.isdir(folder):
            raise self.bad(f"{folder} cannot be used: it is not a folder", look)
        top, common = self._inside("--show-toplevel"), self._inside("--git-common-dir")
        mine = os.path.realpath(repository.common_dir)
        if not top or os.path.realpath(top) != os.path.realpath(folder) or os.path.realpath(common) != mine:
            raise self.bad(f"{folder} cannot be used: it is not a worktree of this repository", look)
        head = _git(self.client, ["symbolic-ref", "--quiet", "HEAD"], folder=folder).text.strip()
        if head != f"refs/heads/{name}":
            on = head.removeprefix("refs/heads/") or "no branch"
            raise self.bad(f"the worktree {folder} is on {on}, not on {name}", f"git -C {shlex.quote(folder)} status")
        made = os.path.isfile(os.path.join(self._inside("--absolute-git-dir"), "loopx", _MARK))
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

    def _oid(self, name: str) -> str | None:
        """The commit that a name stands for, or None."""
        found = _git(self.client, ["rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]).text.strip()
        return found if re.fullmatch("[0-9a-f]{40}", found) else None

    def _inside(self, what: str) -> str:
        """What git says of the folder, absolute; "" where it says nothing."""
        done = _git(self.client, ["rev-parse", "--path-format=absolute", what], folder=self.folder)
        return "" if done.code else done.text.removesuffix("\n")


def _git(client: BaseClient, args: list[str], *, folder: str | None = None) -> Finished:
    """A local git command in the user's repository, or in the worktree at `folder`; neither the folder nor the index
    that a hook names is meant."""
    return client.connection.repository.seen_from(folder).git(args, timeout=600)
