"""The settings of coding agents in a worktree of `run`: git brings the files that it tracks, and these it does not.

`guard.agent_settings` notes in the git folder of a work tree into which files there it wrote the agent's hook. Those
that a new worktree lacks are copied there, beside a `.gitignore` that keeps them, and itself, out of the commits made
there. They go with the worktree, as long as nobody has changed them.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from loopx_git.store.lock import make_folder, read_file, write_file
from loopx_git.store.state_file import load, save

if TYPE_CHECKING:
    from loopx_git.store.repository import Repository

#: In the folder of ours of a work tree: the settings that have our hook, by their path below the top.
NOTED = "agent-settings.json"
#: In that of a worktree of `run`: the files that were brought, by their path, with their digest.
_BROUGHT = "brought.json"
_SIZE_MAX = 4_000_000
_IGNORE = ".gitignore"


def bring(repository: Repository, folder: str, git_dir: str) -> None:
    """Copy the settings of the work tree where the runner was started, or else of the main one, to the worktree at
    `folder`. A file that is there stays as it is."""
    noted = os.path.join(git_dir, "loopx", _BROUGHT)
    former = load(noted) or {}
    brought = {name: former[name] for name in unchanged(folder, git_dir)}
    for name, data in _settings(repository):
        path = os.path.join(folder, *name.split("/"))
        if os.path.lexists(path) or not _is_plain(folder, os.path.dirname(path)):
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_file(path, data)
        brought[name] = _digest(data)
        ignore = f"{name.rpartition('/')[0]}/{_IGNORE}"
        if ignore in brought or not os.path.lexists(os.path.join(folder, ignore)):
            lines = [_IGNORE, *(os.path.basename(each) for each in brought if _is_beside(each, ignore))]
            text = "".join(f"/{line}\n" for line in dict.fromkeys(lines)).encode()
            write_file(os.path.join(folder, ignore), text)
            brought[ignore] = _digest(text)
    if brought != former:
        make_folder(os.path.dirname(noted))
        save(noted, brought)


def unchanged(folder: str, git_dir: str) -> list[str]:
    """The files that were brought and are as they were, by their path below `folder`."""
    brought = load(os.path.join(git_dir, "loopx", _BROUGHT)) or {}
    found = []
    for name, digest in brought.items():
        data = read_file(os.path.join(folder, *name.split("/")), _SIZE_MAX)
        if data is not None and _digest(data) == digest:
            found.append(name)
    return found


def take_away(folder: str, names: list[str]) -> None:
    """Remove these files, and the folders that are empty without them."""
    for name in names:
        os.unlink(os.path.join(folder, *name.split("/")))
    for above in sorted({name.rpartition("/")[0] for name in names}, key=len, reverse=True):
        parts = above.split("/")
        with suppress(OSError):
            # Not empty: the branch has files there.
            for length in range(len(parts), 0, -1):
                os.rmdir(os.path.join(folder, *parts[:length]))


def _settings(repository: Repository) -> list[tuple[str, bytes]]:
    """The settings that have our hook, (path below the top, bytes)."""
    main = os.path.dirname(repository.common_dir)
    for top, git_dir in ((repository.top, repository.git_dir), (main, repository.common_dir)):
        noted = load(os.path.join(git_dir, "loopx", NOTED))
        if top is None or not noted:
            continue
        found = []
        for name in sorted(noted):
            parts = name.split("/")
            path = os.path.join(top, *parts)
            inside = len(parts) > 1 and not {"", ".", "..", ".git"} & set(parts)
            data = read_file(path, _SIZE_MAX) if inside and _is_plain(top, path) else None
            if data is not None:
                found.append((name, data))
        if found:
            return found
    return []


def _is_plain(top: str, path: str) -> bool:
    """Whether no part of the path is a link."""
    return os.path.realpath(path) == os.path.join(os.path.realpath(top), os.path.relpath(path, top))


def _is_beside(name: str, ignore: str) -> bool:
    return name.rpartition("/")[0] == ignore.rpartition("/")[0] and name != ignore


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
