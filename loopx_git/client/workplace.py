"""Where a command works: the folder it was started in, or a branch or worktree named after the todo."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopx_git.client.config import DEFAULT_REF
from loopx_git.errors import InvalidState, NotAllowed
from loopx_git.store.process import git

if TYPE_CHECKING:
    from loopx_git.client.client import Client
    from loopx_git.client.views import TodoView


@dataclass(frozen=True, slots=True)
class Workplace:
    """The folder that the command runs in, its branch if one was asked for, and whether the folder is a worktree
    that we made."""

    folder: str
    branch: str | None = None
    made: bool = False


def prepare(client: Client, view: TodoView, *, branch: bool, worktree: bool) -> Workplace:
    """Make what was asked for. The branch that the todo records is gone on with; a new one begins at HEAD. What
    the user has checked out is never touched: only a worktree is a place where the branch is checked out."""
    repository = client.connection.repository
    if not branch and not worktree:
        return Workplace(repository.cwd)
    name = view.todo.branch or branch_name(client, view)
    if _git(client, ["rev-parse", "--verify", "--quiet", f"refs/heads/{name}^{{commit}}"]) is None:
        start = "HEAD"
        remote = client.connection.settings.remote
        if view.todo.branch and _git(client, ["rev-parse", "--verify", "--quiet", f"refs/remotes/{remote}/{name}"]):
            start = f"refs/remotes/{remote}/{name}"
        _must(client, ["branch", "--no-track", "--", name, start], f"the branch {name} cannot be made")
    if not worktree:
        return Workplace(repository.cwd, name)
    folder = os.path.join(worktrees(client), view.id)
    if not os.path.isdir(folder):
        try:
            os.makedirs(os.path.dirname(folder), exist_ok=True)
        except OSError as error:
            raise NotAllowed(
                f"no worktree can be made at {folder}: {error.strerror}", hint="git config loopx.worktrees DIR"
            ) from None
        _must(client, ["worktree", "add", "--quiet", folder, name], f"no worktree can be made at {folder}")
    return Workplace(folder, name, True)


def branch_name(client: Client, view: TodoView) -> str:
    """`loopx/` and the alias, or the id where the alias makes no good branch name."""
    for part in filter(None, (view.todo.alias, view.id)):
        name = f"loopx/{part}"
        taken = {DEFAULT_REF, client.connection.settings.ref}
        if f"refs/heads/{name}" not in taken and _git(client, ["check-ref-format", "--branch", name]) is not None:
            return name
    raise InvalidState(f"{view.id} makes no branch name", hint="git loopx todo update TODO --branch NAME")


def worktrees(client: Client) -> str:
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


def clear(client: Client, place: Workplace) -> bool:
    """Remove a worktree of ours, if there is nothing in it that is not committed; True when it is gone."""
    if not place.made:
        return False
    status = _git(client, ["-C", place.folder, "status", "--porcelain", "--ignored", "-uall"])
    if status != "":
        return False
    return _git(client, ["worktree", "remove", place.folder]) is not None


def _git(client: Client, args: list[str]) -> str | None:
    """What a local git command says, or None when it fails."""
    repository = client.connection.repository
    done = git(args, cwd=repository.cwd, env=repository.env, timeout=120)
    return None if done.code else done.text.strip("\n")


def _must(client: Client, args: list[str], what: str) -> None:
    repository = client.connection.repository
    done = git(args, cwd=repository.cwd, env=repository.env, timeout=600)
    if done.code:
        raise NotAllowed(f"{what}: {done.complaint}", hint="git worktree list; git branch")
