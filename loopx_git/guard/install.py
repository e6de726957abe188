"""`guard install` and `guard uninstall`: the only writer of hooks.

Every step is recorded first in `<git common dir>/loopx/guard-install.json`, so that an interrupted install can be
removed like a complete one. A hook that was there is renamed, runs before ours, and is restored byte for byte, with
its mode and its time.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from glob import escape as glob_escape
from glob import glob

from loopx_git.client import claims_file
from loopx_git.errors import InvalidState, NotAllowed
from loopx_git.guard import cached, naming
from loopx_git.guard.hook_managers import configured
from loopx_git.guard.hook_managers.found import MANAGERS, find
from loopx_git.guard.record import RECORD, SIZE_MAX, InstalledFile, Record, digest, record_of, store, undo_edit
from loopx_git.store.lock import read_file, write_file
from loopx_git.store.repository import Repository


@dataclass(frozen=True, slots=True)
class Installed:
    """What an install or uninstall did, for people: the kind, the files, and what is left to do by hand."""

    kind: str
    written: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


def install(repository: Repository, *, force: bool = False) -> Installed:
    """Install the guard's hooks, for each hook manager in its own way. A second install renews the first.

    Raises NotAllowed for what only --force may write into, with the lines to add by hand.
    """
    if record_of(repository) is not None:
        uninstall(repository)
    place = find(repository)
    manager = MANAGERS[place.kind]
    if os.path.lexists(place.folder) and not os.path.isdir(place.folder):
        raise InvalidState(
            f"core.hooksPath names {place.folder}, which is not a folder: git runs no hooks here",
            hint="git config --show-origin core.hooksPath",
            about={"folder": place.folder},
        )
    manager.refuse(place, repository, force)
    record = Record(place.kind.value)
    plan = manager.plan(place, repository, record)
    store(repository, record)
    try:
        _put(record, plan)
    except OSError as error:
        uninstall(repository)
        raise InvalidState(
            f"cannot write {error.filename}: {error.strerror}; everything is as it was", hint=f"ls -ld {place.folder}"
        ) from None
    configured.configure(repository, record)
    return Installed(
        place.kind.value, tuple(entry.path for entry in record.entries),
        kept=tuple(os.path.join(os.path.dirname(entry.path), entry.kept) for entry in record.entries if entry.kept),
        next=manager.advice,
    )  # fmt: skip


def _put(record: Record, plan: list[tuple[InstalledFile, bytes]]) -> None:
    for folder in reversed(record.folders):
        os.makedirs(folder, exist_ok=True)
    for entry, data in plan:
        if entry.kept is not None:
            os.rename(entry.path, os.path.join(os.path.dirname(entry.path), entry.kept))
        write_file(entry.path, data)
        os.chmod(entry.path, entry.mode)


def uninstall(repository: Repository) -> Installed:
    """Remove the guard and restore what was there. A file that somebody changed since stays, and is named."""
    record = record_of(repository)
    if record is None:
        raise NotAllowed("the guard is not installed here", hint="git loopx guard install")
    done: dict[str, list[str]] = {"removed": [], "restored": [], "left": []}
    for entry in record.entries:
        done[_undo(entry)].append(entry.path)
    configured.unconfigure(repository, record)
    for folder in record.folders:
        # One that is in use by now stays.
        with suppress(OSError):
            os.rmdir(folder)
    _forget(repository)
    return Installed(record.kind, removed=tuple(done["removed"]), restored=tuple(done["restored"]),
                     left=tuple(done["left"]))  # fmt: skip


def _forget(repository: Repository) -> None:
    """Remove what the guard keeps for itself, in every worktree of the clone."""
    homes = [repository.home, *glob(os.path.join(glob_escape(repository.common_dir), "worktrees", "*", "loopx"))]
    for home in homes:
        for name in (cached.NAME, naming.SEEN, claims_file.NAME, RECORD):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(home, name))
        with suppress(OSError):
            os.rmdir(home)


def _undo(entry: InstalledFile) -> str:
    """What became of one file: removed, restored, or left as somebody changed it."""
    kept = None if entry.kept is None else os.path.join(os.path.dirname(entry.path), entry.kept)
    at = entry.path
    if not _is(at, entry.wrote) and _is(f"{at}.legacy", entry.wrote):
        # The pre-commit framework was installed over ours and moved it.
        at = f"{at}.legacy"
    if entry.edited:
        return undo_edit(entry)
    if _is(at, entry.wrote):
        os.unlink(at)
    elif os.path.lexists(entry.path):
        # Somebody else's by now. The hook that was kept goes where a hook manager would put it: nowhere.
        return "left"
    if kept is not None and os.path.lexists(kept):
        os.rename(kept, at)
        return "restored"
    return "removed"


def _is(path: str, wanted: str) -> bool:
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    data = read_file(path, SIZE_MAX)
    return data is not None and digest(data) == wanted
