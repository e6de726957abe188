"""husky: marked lines in `.husky/NAME`, which is part of the code more often than not."""

from __future__ import annotations

import os

from loopx_git.errors import NotAllowed
from loopx_git.guard.hook import NAMES
from loopx_git.guard.hook_managers.folder import HooksFolder, Manager, is_below
from loopx_git.guard.record import BEGIN, END, InstalledFile, Record, edit, missing_folders
from loopx_git.store.lock import read_file
from loopx_git.store.repository import Repository


def is_here(top: str, folder: str) -> bool:
    """True when the folder of hooks is husky's."""
    return is_below(folder, os.path.join(top, ".husky"))


def refuse(place: HooksFolder, repository: Repository, force: bool) -> None:
    """Raise NotAllowed, with the lines to add by hand, for hooks that are tracked."""
    if place.tracked and not force:
        lines = "\n".join(f'  .husky/{name}: git-loopx guard hook {name} "$@"' for name in NAMES)
        raise NotAllowed(
            f"husky's hooks are part of the code here; add to them:\n{lines}",
            hint="what writes these lines for you: git loopx guard install --force",
            about={"folder": ".husky"},
        )


def plan(place: HooksFolder, repository: Repository, record: Record) -> list[tuple[InstalledFile, bytes]]:
    """Our lines in the script of each hook."""
    folder = os.path.join(repository.top or "", ".husky")
    record.folders = missing_folders(folder)
    made = []
    for name in NAMES:
        path = os.path.join(folder, name)
        before = read_file(path, 1_000_000)
        made.append(edit(record, path, before, _script(name, before)))
    return made


def _script(name: str, before: bytes | None) -> bytes:
    """The script with our lines: at its end, but before all of pre-push, whose input only one can read: it is read
    once, and handed on."""
    run = f'git-loopx guard hook {name} "$@" || exit $?'
    if name == "pre-push":
        ours = [
            BEGIN, "loopx_pushed=$(cat)", f"printf '%s\\n' \"$loopx_pushed\" | {run}", "exec 0<<EOF", "$loopx_pushed",
            "EOF", END,
        ]  # fmt: skip
        head, rest = _shebang(before or b"")
        return head + ("\n".join(ours) + "\n").encode() + rest
    text = before or b""
    gap = b"" if not text or text.endswith(b"\n") else b"\n"
    return text + gap + f"{BEGIN}\n{run}\n{END}\n".encode()


def _shebang(text: bytes) -> tuple[bytes, bytes]:
    if not text.startswith(b"#!"):
        return b"", text
    line, newline, rest = text.partition(b"\n")
    return line + (newline or b"\n"), rest


MANAGER = Manager(refuse, plan)
