"""The ways of husky, lefthook and git's own configuration: where their users would write the guard's lines."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from loopx_git.errors import InvalidState, NotAllowed
from loopx_git.guard import shims
from loopx_git.guard.hook import NAMES
from loopx_git.guard.places import Kind, Place
from loopx_git.store.lock import read_file
from loopx_git.store.process import git
from loopx_git.store.repository import LOCAL_TIMEOUT, Repository

if TYPE_CHECKING:
    from loopx_git.guard.install import Entry, Record

BEGIN, END = "# loopx guard: begin", "# loopx guard: end"
LEFTHOOK_LOCAL = "lefthook-local.yml"
_EVENT = "hook.loopx-{}"


def refuse(place: Place, repository: Repository, *, force: bool) -> None:
    """NotAllowed for what is not ours to write into unasked; InvalidState for hooks that are switched off."""
    if os.path.lexists(place.folder) and not os.path.isdir(place.folder):
        raise InvalidState(
            f"core.hooksPath names {place.folder}, which is no folder: git runs no hooks here",
            hint="git config --show-origin core.hooksPath",
            about={"folder": place.folder},
        )
    if place.kind is Kind.LEFTHOOK and repository.top is not None:
        path = os.path.join(repository.top, LEFTHOOK_LOCAL)
        if os.path.lexists(path):
            raise NotAllowed(
                f"{path} is there already; put these lines into it:\n{lefthook_text()}",
                hint="git loopx guard status",
                about={"file": path},
            )
    if force:
        return
    if place.kind is Kind.HUSKY and place.tracked:
        lines = "\n".join(f'  .husky/{name}: git-loopx guard hook {name} "$@"' for name in NAMES)
        raise NotAllowed(
            f"husky's hooks are part of the code here; add to them:\n{lines}",
            hint="what writes these lines for you: git loopx guard install --force",
            about={"folder": ".husky"},
        )
    if place.kind is Kind.HUSKY:
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


def plan(place: Place, repository: Repository, record: Record) -> list[tuple[Entry, bytes]]:
    """The files to write, entered into the record."""
    from loopx_git.guard.install import Entry, digest, encode, missing_folders

    if place.kind is Kind.CONFIGURED:
        return _configured(repository, record)
    assert repository.top is not None
    wanted: list[tuple[str, bytes | None, bytes]] = []
    if place.kind is Kind.LEFTHOOK:
        wanted.append((os.path.join(repository.top, LEFTHOOK_LOCAL), None, lefthook_text().encode()))
    else:
        folder = os.path.join(repository.top, ".husky")
        record.folders = missing_folders(folder)
        for name in NAMES:
            path = os.path.join(folder, name)
            before = read_file(path, 1_000_000)
            wanted.append((path, before, _husky(name, before)))
    made = []
    for path, before, after in wanted:
        was = os.stat(path) if before is not None else None
        entry = Entry(
            path, digest(after), edited=True, before=encode(before), mode=was.st_mode & 0o7777 if was else 0o644,
            time=was.st_mtime_ns if was else None,
        )  # fmt: skip
        record.entries.append(entry)
        made.append((entry, after))
    return made


def _husky(name: str, before: bytes | None) -> bytes:
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


def lefthook_text() -> str:
    """lefthook-local.yml: lefthook merges it into its configuration, and it belongs to this clone alone."""
    lines = ["# loopx guard: `git loopx guard uninstall` takes this file away."]
    for name in NAMES:
        args = " {0}" if name in ("prepare-commit-msg", "pre-push") else ""
        lines += [f"{name}:", "  commands:", "    loopx-guard:", f"      run: git-loopx guard hook {name}{args}"]
        if name == "pre-push":
            lines.append("      use_stdin: true")
    return "\n".join(lines) + "\n"


def undo_edit(entry: Entry) -> str:
    """Give a file its former bytes; where somebody changed it since, take out our lines alone."""
    from loopx_git.guard.install import decode, digest
    from loopx_git.store.lock import write_file

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


# -- git's configuration


def _configured(repository: Repository, record: Record) -> list[tuple[Entry, bytes]]:
    from loopx_git.guard.install import encode

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
    from loopx_git.guard.install import decode
    from loopx_git.store.lock import write_file

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
    done = git(["config", "--local", *args], cwd=repository.cwd, env=repository.env, timeout=LOCAL_TIMEOUT)
    if done.code:
        raise InvalidState(f"git cannot change its configuration: {done.complaint}", hint="git config --local --list")


def advice(place: Place) -> tuple[str, ...]:
    """What is left to do by hand."""
    if place.kind is Kind.LEFTHOOK:
        return ("lefthook install",)
    return ()
