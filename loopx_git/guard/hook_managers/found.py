"""Which hook manager serves a repository, and where its hooks are."""

from __future__ import annotations

import os
from collections.abc import Mapping

from loopx_git.errors import InvalidState
from loopx_git.guard.hook_managers import configured, framework, husky, lefthook, plain
from loopx_git.guard.hook_managers.folder import HooksFolder, Manager, ManagerKind, is_below
from loopx_git.store.repository import Repository

MANAGERS: Mapping[ManagerKind, Manager] = {
    ManagerKind.PLAIN: plain.MANAGER,
    ManagerKind.HUSKY: husky.MANAGER,
    ManagerKind.LEFTHOOK: lefthook.MANAGER,
    ManagerKind.FRAMEWORK: framework.MANAGER,
    ManagerKind.CONFIGURED: configured.MANAGER,
}


def find(repository: Repository) -> HooksFolder:
    """The place as git itself resolves it, from wherever core.hooksPath was set."""
    folder = repository.hooks_folder()
    top = repository.top
    inside_git = is_below(folder, repository.common_dir) or is_below(folder, repository.git_dir)
    inside_tree = top is not None and is_below(folder, top) and not inside_git
    theirs = framework.hooks_in(folder)
    kind = _kind(repository, folder, theirs)
    # Our own calls of git switch hooks off at command scope.
    paths = [value for scope, key, value in repository.config if key == "core.hookspath" and scope != "command"]
    looked_at = os.path.join(top or "", ".husky") if kind is ManagerKind.HUSKY else folder
    return HooksFolder(
        kind, folder, inside_tree and is_tracked(repository, looked_at), not (inside_git or inside_tree),
        paths[-1] if paths else None, theirs,
    )  # fmt: skip


def _kind(repository: Repository, folder: str, theirs: frozenset[str]) -> ManagerKind:
    top = repository.top
    if top is not None and husky.is_here(top, folder):
        return ManagerKind.HUSKY
    if theirs:
        return ManagerKind.FRAMEWORK
    if top is not None and lefthook.is_here(top, folder):
        return ManagerKind.LEFTHOOK
    return ManagerKind.CONFIGURED if configured.is_here(repository) else ManagerKind.PLAIN


def is_tracked(repository: Repository, path: str) -> bool:
    """Whether git tracks a file, or anything in a folder."""
    done = repository.git(["--literal-pathspecs", "ls-files", "-z", "--", path], at_top=True)
    if done.code:
        raise InvalidState(f"git cannot say whether it tracks {path}: {done.complaint}", hint="git status")
    return bool(done.out)
