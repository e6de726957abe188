"""Where the hooks of a repository are, and what a hook manager can be asked: to refuse, and to plan."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from loopx_git.guard.record import InstalledFile, Record
from loopx_git.store.lock import read_file
from loopx_git.store.repository import Repository


class ManagerKind(StrEnum):
    """Whose way of running hooks is served."""

    PLAIN = "plain"
    HUSKY = "husky"
    LEFTHOOK = "lefthook"
    FRAMEWORK = "pre-commit"
    CONFIGURED = "configured"


@dataclass(frozen=True, slots=True)
class HooksFolder:
    """Where the hooks of a repository are. `tracked` and `foreign` tell why --force is asked for: the folder's files
    are part of the code, or the folder serves other repositories too."""

    kind: ManagerKind
    folder: str
    tracked: bool
    foreign: bool
    hooks_path: str | None
    framework: frozenset[str]


@dataclass(frozen=True, slots=True)
class Manager:
    """One way of running hooks.

    `refuse` raises NotAllowed for files that need --force. `plan` records what is to be written. `advice` is left to
    do by hand.
    """

    refuse: Callable[[HooksFolder, Repository, bool], None]
    plan: Callable[[HooksFolder, Repository, Record], list[tuple[InstalledFile, bytes]]]
    advice: tuple[str, ...] = ()


def is_below(path: str, folder: str) -> bool:
    """True for the folder itself and for what is inside it; links are resolved."""
    path, folder = os.path.realpath(path), os.path.realpath(folder)
    return path == folder or path.startswith(folder + os.sep)


def beginning(path: str) -> bytes:
    """The beginning of a hook; empty for what is not a plain file."""
    if not os.path.isfile(path):
        return b""
    return (read_file(os.path.realpath(path), 10_000_000) or b"")[:20_000]
