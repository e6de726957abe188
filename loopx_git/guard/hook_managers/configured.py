"""Hooks that stand in git's configuration (git 2.54 and newer), where git runs them beside every other."""

from __future__ import annotations

import os
import shlex

from loopx_git.errors import InvalidState
from loopx_git.guard import script, shims
from loopx_git.guard.hook import NAMES
from loopx_git.guard.hook_managers import plain
from loopx_git.guard.hook_managers.folder import HooksFolder, Manager
from loopx_git.guard.record import InstalledFile, Record, decode, encode
from loopx_git.store.lock import read_file, write_file
from loopx_git.store.repository import Repository

#: The git from which hooks can stand in the configuration.
CONFIGURED_SINCE = (2, 54)
_EVENT = "hook.loopx-{}"


def is_here(repository: Repository) -> bool:
    """True when the configuration names hooks and this git runs them."""
    named = any(key.startswith("hook.") and key.endswith(".event") for _, key, _ in repository.config)
    return named and repository.git_release >= CONFIGURED_SINCE


def calling(repository: Repository, name: str) -> str:
    """The word by which git's configuration calls the guard for a hook; "" when it does not."""
    if not is_here(repository):
        return ""
    settings = {key: value for _, key, value in repository.config}
    for key, value in settings.items():
        if not (key.startswith("hook.") and key.endswith(".event")) or value != name:
            continue
        section = key.removesuffix(".event")
        if settings.get(f"{section}.enabled", "true").lower() in ("false", "no", "off", "0"):
            continue
        for command in script.parse(settings.get(f"{section}.command", "")):
            program = script.called(command.words, name)
            if program:
                return program
    return ""


def plan(place: HooksFolder, repository: Repository, record: Record) -> list[tuple[InstalledFile, bytes]]:
    """No file: the settings, to be made by `configure`."""
    path = os.path.join(repository.common_dir, "config")
    record.config_before = encode(read_file(path, 10_000_000))
    record.settings = [_EVENT.format(name) for name in NAMES]
    return []


def configure(repository: Repository, record: Record) -> None:
    """Write the hooks into the repository's own configuration, where git runs them beside every other."""
    for section in record.settings:
        name = section.removeprefix(_EVENT.format(""))
        command = f"{shlex.quote(shims.program())} guard hook {name}"
        for key, value in (("event", name), ("command", command)):
            _config(repository, [f"{section}.{key}", value])


def unconfigure(repository: Repository, record: Record) -> None:
    """Take them out again; a file that is otherwise as it was gets its former bytes."""
    if not record.settings:
        return
    path = os.path.join(repository.common_dir, "config")
    for section in record.settings:
        _config(repository, ["--remove-section", section])
    before, now = decode(record.config_before), read_file(path, 10_000_000)
    if before is not None and now is not None and now.split() == before.split():
        mode = os.stat(path).st_mode & 0o7777
        write_file(path, before)
        os.chmod(path, mode)


def _config(repository: Repository, args: list[str]) -> None:
    done = repository.git(["config", "--local", *args])
    if done.code:
        raise InvalidState(f"git cannot change its configuration: {done.complaint}", hint="git config --local --list")


MANAGER = Manager(plain.refuse, plan)
