"""What an install recorded before each step: enough to restore everything, byte for byte."""

from __future__ import annotations

import base64
import hashlib
import os
from dataclasses import dataclass, field
from typing import Any

from loopx_git.store.lock import read_file, write_file
from loopx_git.store.repository import Repository
from loopx_git.store.state_file import parsed, save

RECORD = "guard-install.json"
#: The lines of ours in a file that others edit, too.
BEGIN, END = "# loopx guard: begin", "# loopx guard: end"
SIZE_MAX = 20_000_000


@dataclass(slots=True)
class InstalledFile:
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
    entries: list[InstalledFile] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    config_before: str | None = None


def record_of(repository: Repository) -> Record | None:
    """The record, or None while nothing is installed."""
    return parsed(os.path.join(repository.home, RECORD), SIZE_MAX, _record)


def _record(raw: Any) -> Record:
    return Record(**{**raw, "entries": [InstalledFile(**item) for item in raw["entries"]]})


def store(repository: Repository, record: Record) -> None:
    """Write the record of an install."""
    plain: dict[str, Any] = {
        "kind": record.kind, "folders": record.folders, "settings": record.settings,
        "config_before": record.config_before,
        "entries": [{name: getattr(entry, name) for name in InstalledFile.__slots__} for entry in record.entries],
    }  # fmt: skip
    save(os.path.join(repository.home, RECORD), plain, indent=1)


def digest(data: bytes) -> str:
    """The SHA-256 of some bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def missing_folders(folder: str) -> list[str]:
    """The folders that must be made for this one to be, the innermost first."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def edit(record: Record, path: str, before: bytes | None, after: bytes) -> tuple[InstalledFile, bytes]:
    """Record the edit of a file: (the entry, the bytes to write)."""
    was = os.stat(path) if before is not None else None
    entry = InstalledFile(
        path, digest(after), edited=True, before=encode(before), mode=was.st_mode & 0o7777 if was else 0o644,
        time=was.st_mtime_ns if was else None,
    )  # fmt: skip
    record.entries.append(entry)
    return entry, after


def undo_edit(entry: InstalledFile) -> str:
    """Restore a file's former bytes. If somebody changed it since, remove only our lines."""
    now, before = read_file(entry.path, 1_000_000), decode(entry.before)
    if now is None:
        return "removed"
    if digest(now) == entry.wrote:
        if before is None:
            os.unlink(entry.path)
            return "removed"
        write_file(entry.path, before)
        os.chmod(entry.path, entry.mode)
        if entry.time is not None:
            os.utime(entry.path, ns=(entry.time, entry.time))
        return "restored"
    begin, end = now.find(BEGIN.encode()), now.find(END.encode())
    if begin < 0 or end < begin:
        return "left"
    write_file(entry.path, now[:begin] + now[end + len(END) + 1 :])
    os.chmod(entry.path, entry.mode)
    return "restored"


def encode(data: bytes | None) -> str | None:
    """Bytes as they stand in the record."""
    return None if data is None else base64.b64encode(data).decode("ascii")


def decode(text: str | None) -> bytes | None:
    """Bytes from the record; the inverse of `encode`."""
    return None if text is None else base64.b64decode(text)
