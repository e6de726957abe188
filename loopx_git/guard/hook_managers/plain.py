"""git's hooks folder, also one that core.hooksPath names: a shim for each hook."""

from __future__ import annotations

import os

from loopx_git.errors import InvalidState, NotAllowed
from loopx_git.guard import shims
from loopx_git.guard.hook import NAMES
from loopx_git.guard.hook_managers.folder import HooksFolder, Manager
from loopx_git.guard.record import InstalledFile, Record, digest, missing_folders
from loopx_git.store.repository import Repository


def refuse(place: HooksFolder, repository: Repository, force: bool) -> None:
    """Raise NotAllowed for a folder that is tracked, or that is not this repository's."""
    if force:
        return
    if place.tracked:
        raise NotAllowed(
            f"the hooks in {place.folder} are part of the code here",
            hint="what writes into that folder: git loopx guard install --force",
            about={"folder": place.folder},
        )
    if place.foreign:
        raise NotAllowed(
            f"core.hooksPath names {place.folder}, which is outside of this repository and may serve others too",
            hint="what writes into that folder: git loopx guard install --force",
            about={"folder": place.folder},
        )


def plan(place: HooksFolder, repository: Repository, record: Record) -> list[tuple[InstalledFile, bytes]]:
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
        entry = InstalledFile(path, digest(data), kept)
        record.entries.append(entry)
        plan.append((entry, data))
    return plan


def _free_name(path: str) -> str:
    name, number = f"{os.path.basename(path)}.before-loopx", 1
    while os.path.lexists(os.path.join(os.path.dirname(path), name)):
        number += 1
        name = f"{os.path.basename(path)}.before-loopx-{number}"
    return name


MANAGER = Manager(refuse, plan)
