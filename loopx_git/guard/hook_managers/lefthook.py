"""lefthook: commands in `lefthook-local.yml`, which is this clone's alone."""

from __future__ import annotations

import os

from loopx_git.errors import NotAllowed
from loopx_git.guard.hook import NAMES
from loopx_git.guard.hook_managers import plain
from loopx_git.guard.hook_managers.folder import HooksFolder, Manager, beginning
from loopx_git.guard.record import InstalledFile, Record, edit
from loopx_git.store.repository import Repository

LOCAL = "lefthook-local.yml"
_FILES = tuple(f"{dot}lefthook.{ending}" for dot in ("", ".") for ending in ("yml", "yaml", "toml", "json"))


def is_here(top: str, folder: str) -> bool:
    """True when lefthook is configured and a hook runs it."""
    configured = any(os.path.exists(os.path.join(top, name)) for name in _FILES)
    return configured and any(b"lefthook" in beginning(os.path.join(folder, name)) for name in NAMES)


def refuse(place: HooksFolder, repository: Repository, force: bool) -> None:
    """Raise NotAllowed, with the lines to add by hand, when the file exists."""
    path = os.path.join(repository.top or "", LOCAL)
    if os.path.lexists(path):
        raise NotAllowed(
            f"{path} is there already; put these lines into it:\n{text()}",
            hint="git loopx guard status",
            about={"file": path},
        )
    plain.refuse(place, repository, force)


def plan(place: HooksFolder, repository: Repository, record: Record) -> list[tuple[InstalledFile, bytes]]:
    """The file."""
    return [edit(record, os.path.join(repository.top or "", LOCAL), None, text().encode())]


def text() -> str:
    """lefthook-local.yml: lefthook merges it into its configuration, and it belongs to this clone alone."""
    lines = ["# loopx guard: `git loopx guard uninstall` takes this file away."]
    for name in NAMES:
        args = " {0}" if name in ("prepare-commit-msg", "commit-msg", "pre-push") else ""
        lines += [f"{name}:", "  commands:", "    loopx-guard:", f"      run: git-loopx guard hook {name}{args}"]
        if name == "pre-push":
            lines.append("      use_stdin: true")
    return "\n".join(lines) + "\n"


MANAGER = Manager(refuse, plan, ("lefthook install",))
