"""`guard install` and `guard uninstall`: the only writer of hooks, and what it found stays what it was.

Everything that is done is written down first, in `<git common dir>/loopx/guard-install.json`, so that an interrupted
install can be taken away like a whole one. A hook that was there is renamed, runs before ours, and comes back byte
for byte, with its mode and its time.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from glob import escape as glob_escape
from glob import glob
from typing import Any

from loopx_git.client import claims_file
from loopx_git.errors import InvalidState, NotAllowed
from loopx_git.guard import cached, hook, runners, shims
from loopx_git.guard.hook import NAMES
from loopx_git.guard.places import Kind, Place, find
from loopx_git.store.lock import make_folder, read_file, write_file
from loopx_git.store.repository import Repository

RECORD = "guard-install.json"
_SIZE_MAX = 20_000_000


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


@dataclass(slots=True)
class Entry:
    """One file: what was written (sha256), the name under which a foreign hook is kept, or, for a file that was
    edited, its former bytes in base64 (`before`; None: it was not there) and its former time (ns)."""

    path: str
    wrote: str = ""
    kept: str | None = None
    edited: bool = False
    before: str | None = None
    mode: int = 0o755
    time: int | None = None


@dataclass(slots=True)
class Record:
    """All that an install did. `folders` are those that it made, `settings` the keys of git's configuration."""

    kind: str
    entries: list[Entry] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    config_before: str | None = None


def record_of(repository: Repository) -> Record | None:
    """What is written down, or None while nothing is installed."""
    path = os.path.join(repository.home, RECORD)
    data = read_file(path, _SIZE_MAX)
    if data is None:
        return None
    try:
        raw = json.loads(data)
        return Record(**{**raw, "entries": [Entry(**item) for item in raw["entries"]]})
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidState(
            f"{path} cannot be read: {error}", hint=f"look at it, then move it away: {path}", about={"file": path}
        ) from None


def _store(repository: Repository, record: Record) -> None:
    make_folder(repository.home)
    plain: dict[str, Any] = {
        "kind": record.kind, "folders": record.folders, "settings": record.settings,
        "config_before": record.config_before,
        "entries": [{name: getattr(entry, name) for name in Entry.__slots__} for entry in record.entries],
    }  # fmt: skip
    write_file(os.path.join(repository.home, RECORD), (json.dumps(plain, indent=1) + "\n").encode())


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def install(repository: Repository, *, force: bool = False) -> Installed:
    """Put the guard's hooks in place, each manager in its own way. NotAllowed tells what --force would write into,
    and what can be done by hand instead. A second install renews the first."""
    if record_of(repository) is not None:
        uninstall(repository)
    place = find(repository)
    runners.refuse(place, repository, force=force)
    record = Record(place.kind.value)
    plan: list[tuple[Entry, bytes]] = runners.plan(place, repository, record) if _is_managed(place) else []
    if not _is_managed(place):
        plan = _shims(place, record)
    _store(repository, record)
    try:
        _put(record, plan)
    except OSError as error:
        uninstall(repository)
        raise InvalidState(
            f"cannot write {error.filename}: {error.strerror}; everything is as it was", hint=f"ls -ld {place.folder}"
        ) from None
    runners.configure(repository, record)
    return Installed(
        place.kind.value, tuple(entry.path for entry in record.entries),
        kept=tuple(os.path.join(os.path.dirname(entry.path), entry.kept) for entry in record.entries if entry.kept),
        next=runners.advice(place),
    )  # fmt: skip


def _put(record: Record, plan: list[tuple[Entry, bytes]]) -> None:
    for folder in reversed(record.folders):
        os.makedirs(folder, exist_ok=True)
    for entry, data in plan:
        if entry.kept is not None:
            os.rename(entry.path, os.path.join(os.path.dirname(entry.path), entry.kept))
        write_file(entry.path, data)
        os.chmod(entry.path, entry.mode)


def _is_managed(place: Place) -> bool:
    return place.kind in (Kind.HUSKY, Kind.LEFTHOOK, Kind.CONFIGURED)


def _shims(place: Place, record: Record) -> list[tuple[Entry, bytes]]:
    """A shim for each hook. Where the pre-commit framework has its own in place, ours is what the framework calls
    its legacy hook: it runs that first, with the same arguments and input."""
    record.folders = missing_folders(place.folder)
    # What others get to see names no path of this machine.
    program = "git-loopx" if place.tracked or place.foreign else shims.program()
    plan = []
    for name in NAMES:
        path = os.path.join(place.folder, f"{name}.legacy" if name in place.framework else name)
        kept = None
        if os.path.lexists(path):
            if os.path.isdir(path):
                raise InvalidState(f"{path} is a folder", hint=f"ls -l {path}")
            kept = _free_name(path)
        data = shims.text(name, kept=kept or "", path=program)
        entry = Entry(path, digest(data), kept)
        record.entries.append(entry)
        plan.append((entry, data))
    return plan


def missing_folders(folder: str) -> list[str]:
    """The folders that must be made for this one to be, the innermost first."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def _free_name(path: str) -> str:
    name, number = f"{os.path.basename(path)}.before-loopx", 1
    while os.path.lexists(os.path.join(os.path.dirname(path), name)):
        number += 1
        name = f"{os.path.basename(path)}.before-loopx-{number}"
    return name


def uninstall(repository: Repository) -> Installed:
    """Take the guard away and give back what was there. What somebody changed since is left alone, and named."""
    record = record_of(repository)
    if record is None:
        raise NotAllowed("the guard is not installed here", hint="git loopx guard install")
    done: dict[str, list[str]] = {"removed": [], "restored": [], "left": []}
    for entry in record.entries:
        done[_undo(entry)].append(entry.path)
    runners.unconfigure(repository, record)
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
        for name in (cached.NAME, hook.SEEN, claims_file.NAME, RECORD):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(home, name))
        with suppress(OSError):
            os.rmdir(home)


def _undo(entry: Entry) -> str:
    """What became of one file: removed, restored, or left as somebody changed it."""
    kept = None if entry.kept is None else os.path.join(os.path.dirname(entry.path), entry.kept)
    at = entry.path
    if not _is(at, entry.wrote) and _is(f"{at}.legacy", entry.wrote):
        # The pre-commit framework was installed over ours and moved it.
        at = f"{at}.legacy"
    if entry.edited:
        return runners.undo_edit(entry)
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
    data = read_file(path, _SIZE_MAX)
    return data is not None and digest(data) == wanted


def encode(data: bytes | None) -> str | None:
    """Bytes as they stand in the record."""
    return None if data is None else base64.b64encode(data).decode("ascii")


def decode(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
