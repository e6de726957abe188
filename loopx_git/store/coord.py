"""coord.git, a clone's own copy of the coordination history: made, checked, and made anew when it is damaged.

It is a cache. The remote has all of it, except the last checked tip and the commits whose outcome is open. So damage
never stops a command: a new repository is fetched beside the damaged one, takes over those two as far as they can be
read, and replaces it. The damaged one is kept.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import pygit2

from loopx_git.core import ids
from loopx_git.errors import InvalidState, RemoteFailure
from loopx_git.store.base import Fetched
from loopx_git.store.lock import held, locked, make_folder, read_file
from loopx_git.store.objects import opened
from loopx_git.store.pending import PendingFolder
from loopx_git.store.process import Finished
from loopx_git.store.repository import OwnRepository
from loopx_git.store.system import system_errors

FETCHED = "refs/loopx/fetched"
TIP = "refs/loopx/tip"
PENDING = "refs/loopx/pending/"
#: Damaged ones that are kept, the newest: enough to look at, and no disk is filled by a failing one.
KEPT = 3
_BROKEN = ".broken-"
_SMALL = 1_000_000
_CONFIG_LINE = re.compile(r"\s*(\[[^\]\n]+\].*|[#;].*|[A-Za-z][A-Za-z0-9-]*\s*(=.*)?)?", re.ASCII)
_HEAD = re.compile(r"(ref:\s*refs/\S.*|[0-9a-f]{40})\s*", re.ASCII)
_PACKED = re.compile(r"#.*|\^[0-9a-f]{40}|([0-9a-f]{40}) (refs/\S+)", re.ASCII)
#: (file, what a line of it looks like, whether it must be there).
_FILES = (("HEAD", _HEAD, True), ("config", _CONFIG_LINE, True), ("packed-refs", _PACKED, False))


def ensure_coord(path: str, env: Mapping[str, str]) -> None:
    """Create coord.git if it is absent: built under another name, then renamed, so that it is whole or absent."""
    if os.path.lexists(path):
        return
    make_folder(os.path.dirname(path))
    # A whole one, of a command that was killed between the two renames.
    aside = _anew(path)
    if not os.path.isdir(aside):
        aside = f"{path}.{os.getpid()}.tmp"
        _make(aside, env)
    try:
        os.rename(aside, path)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        if not os.path.isdir(os.path.join(path, "objects")):
            raise InvalidState(f"cannot create {path}: {error.strerror}", hint=f"ls -l {path}") from None


def _anew(path: str) -> str:
    return f"{path}.anew"


def _make(aside: str, env: Mapping[str, str]) -> None:
    shutil.rmtree(aside, ignore_errors=True)
    done = OwnRepository(aside, env).make()
    if done.code:
        raise InvalidState(f"cannot create {aside}: {done.complaint}", hint="git loopx doctor")


# -- looking at it


def damage(path: str) -> str | None:
    """What is wrong with the few files that every command needs, or None. It starts no process."""
    # A link can lead into a repository of the user's: what is written through it would land there.
    if not os.path.isdir(path) or os.path.islink(path):
        return f"{path} is not a folder"
    for name in ("objects", "refs"):
        if not os.path.isdir(os.path.join(path, name)):
            return f"{path}/{name} is not a folder"
    for name, form, needed in _FILES:
        text = _text(os.path.join(path, name))
        if text is None:
            return f"{path}/{name} cannot be read"
        lines = text.splitlines()
        if (needed and not lines) or not all(form.fullmatch(line) for line in lines):
            return f"{path}/{name} is garbage"
    for name, oid in _loose(path):
        if oid is None:
            return f"{path}/{name} is garbage"
    return None


def _text(path: str) -> str | None:
    """A small file; "" where it is absent, None where it cannot be read."""
    try:
        data = read_file(path, _SMALL)
    except (InvalidState, OSError):
        return None
    return "" if data is None else data.decode("utf-8", "replace")


def _loose(path: str) -> Iterator[tuple[str, str | None]]:
    """(name, id; None where the file is not a ref) of every ref of ours that is a file of its own."""
    top = os.path.join(path, "refs", "loopx")
    for folder, _, names in os.walk(top):
        for name in sorted(names):
            if not name.endswith(".lock"):
                whole = os.path.join(folder, name)
                text = (_text(whole) or "").strip()
                yield os.path.relpath(whole, path), text if ids.OID.fullmatch(text) else None


def refs_of(path: str) -> dict[str, str]:
    """Our refs in coord.git as far as they can be read, by name."""
    found = {}
    for line in (_text(os.path.join(path, "packed-refs")) or "").splitlines():
        match = _PACKED.fullmatch(line)
        if match is not None and match[2]:
            found[match[2]] = match[1]
    return {**found, **{name: oid for name, oid in _loose(path) if oid is not None}}


def set_aside(path: str) -> list[str]:
    """The damaged ones that are kept, oldest first."""
    folder, name = os.path.split(path)
    with_time = [entry for entry in os.listdir(folder) if entry.startswith(name + _BROKEN)]
    return [os.path.join(folder, entry) for entry in sorted(with_time)]


# -- making it anew


@dataclass(slots=True)
class Mender:
    """Makes coord.git anew.

    `fetch` fetches into the repository at a path. `remembered` is the last tip, from another file of this clone.
    `left`: the seconds that the next step has. `offline`: no fetch is allowed now. `notes` receives what was done.
    """

    path: str
    env: Mapping[str, str]
    left: Callable[[], float]
    fetch: Callable[[str], Fetched]
    deepen: Callable[[str], None]
    remembered: Callable[[], str | None]
    offline: Callable[[], bool]
    notes: list[str] = field(default_factory=list)
    #: How often it was made anew, or found made anew by another command.
    times: int = 0
    _opened: tuple[int, int] = (0, 0)

    def ready(self) -> None:
        """Make sure that coord.git exists and is usable."""
        ensure_coord(self.path, self.env)
        found = self._look()
        if found is not None:
            self._anew(found)

    def _look(self) -> str | None:
        found = damage(self.path)
        if found is not None:
            return found
        repo = None
        try:
            repo = opened(self.path)
            for name in (TIP, FETCHED):
                ref = repo.references.get(name)
                if ref is not None and not isinstance(repo[ref.target], pygit2.Commit):
                    return f"{self.path}: {name} is not a commit"
        except (pygit2.GitError, KeyError, ValueError, OSError) as error:
            return f"{self.path}: {error}"
        finally:
            # libgit2 shares the packs of one path within a process, as long as anybody has them open: a new pack of
            # the same name would be read from the damaged file.
            if repo is not None:
                repo.free()
        self._opened = self._identity()
        return None

    def _identity(self) -> tuple[int, int]:
        status = os.stat(self.path)
        return status.st_dev, status.st_ino

    def mend(self, why: str, oid: str | None = None) -> bool:
        """Mend after a failed read (`oid`: which object). True when coord.git was replaced."""
        if self.offline():
            return False
        with self._lock():
            if self._identity() == self._opened:
                found = self._look() or self._unreadable(oid) or self._fsck()
                if found is None:
                    return False
                self._rebuild(f"{why}; {found}" if why not in found else found)
            else:
                self._look()
            self.times += 1
        return True

    def _lock(self) -> AbstractContextManager[object]:
        home = os.path.dirname(self.path)
        return nullcontext() if held(home) else locked(home, self.left())

    def _unreadable(self, oid: str | None) -> str | None:
        if oid is None:
            return None
        done = self._in(self.path, ["cat-file", "-p", oid])
        return None if done.code == 0 or done.timed_out else f"{self.path}: {oid} cannot be read"

    def _fsck(self) -> str | None:
        """What git finds wrong with the whole; None also when that takes longer than this command has."""
        done = self._in(self.path, ["fsck", "--no-dangling", "--no-progress", "--no-reflogs"])
        if done.code == 0 or done.timed_out:
            return None
        return f"{self.path}: {(done.complaint or done.text).splitlines()[0][:200]}"

    def _anew(self, found: str) -> None:
        if self.offline():
            raise InvalidState(
                f"{found}; it is only a copy of what the remote has, and nothing may be fetched now",
                hint="git loopx sync",
                about={"file": self.path},
            )
        with self._lock():
            # Another command may have been faster.
            now = self._look()
            if now is not None:
                self._rebuild(now)
            self.times += 1

    def _rebuild(self, found: str) -> None:
        """Fetch everything anew beside it, take over what only this clone knows, and change places."""
        aside = f"{self.path}.{os.getpid()}.tmp"
        with system_errors(self.path):
            try:
                lost = self._fill(aside, found)
                shutil.rmtree(_anew(self.path), ignore_errors=True)
                os.rename(aside, _anew(self.path))
            except BaseException:
                shutil.rmtree(aside, ignore_errors=True)
                raise
            kept = self._name()
            os.rename(self.path, kept)
            os.rename(_anew(self.path), self.path)
            self._thin_out()
        problem = self._look()
        if problem is not None:
            raise InvalidState(f"{problem}; it was fetched anew just now", hint="git loopx doctor")
        self.notes.append(f"{found}: it was set aside as {kept} and fetched anew")
        if lost:
            self.notes.append(
                f"the commits of {len(lost)} operations whose outcome was open could not be read from it: run the "
                f"same commands again, they find out ({', '.join(lost)})"
            )

    def _fill(self, aside: str, found: str) -> list[str]:
        """Fill a new repository; what could not be taken over, as words for a person."""
        _make(aside, self.env)
        fetched = self.fetch(aside)
        if fetched.error is not None:
            raise RemoteFailure(
                f"{found}; it has to be fetched anew, and the remote cannot be read: {fetched.error}",
                hint="check the remote and your access: git ls-remote; then run the same command again",
            )
        refs = refs_of(self.path) if os.path.isdir(self.path) else {}
        tip = refs.get(TIP) or self.remembered()
        if tip is not None and not self._has(aside, tip):
            self.deepen(aside)
            if not self._has(aside, tip) and not self._salvage(aside, tip):
                raise InvalidState(
                    f"{found}; what the remote shows now lacks {tip}, the last tip seen here, so nothing was fetched "
                    "anew",
                    hint=f"try again later; if it stays so: look at it, then move it away: {self.path}",
                    about={"file": self.path, "last_tip": tip, "tip": fetched.tip},
                )
        if tip is not None:
            self._set(aside, TIP, tip)
        lost = []
        for name, oid in refs.items():
            if name.startswith(PENDING):
                if self._has(aside, oid) or self._salvage(aside, oid):
                    self._set(aside, name, oid)
                else:
                    lost.append(self._words(name.removeprefix(PENDING)))
        return lost

    def _words(self, request: str) -> str:
        """The command of a request, for people; its id where the record cannot be read.

        The next command that needs the record reports that.
        """
        try:
            records = PendingFolder(os.path.dirname(self.path)).all()
        except InvalidState:
            records = []
        return next((f"'{item.command}' by {item.agent}" for item in records if item.request == request), request)

    def _in(self, repository: str, args: list[str], *, stdin: bytes = b"", borrow: bool = False) -> Finished:
        """Run git in one of the two repositories; `borrow` adds the objects of the damaged one."""
        variables = {}
        if borrow:
            # Quoted, as git takes it: a colon in the path would begin another one.
            place = os.path.join(self.path, "objects").replace("\\", "\\\\").replace('"', '\\"')
            variables["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = f'"{place}"'
        return OwnRepository(repository, self.env).git(args, self.left(), stdin=stdin, **variables)

    def _has(self, aside: str, oid: str) -> bool:
        return self._in(aside, ["cat-file", "-e", f"{oid}^{{commit}}"]).code == 0

    def _set(self, aside: str, name: str, oid: str) -> None:
        done = self._in(aside, ["update-ref", name, oid])
        if done.code:
            raise InvalidState(f"{aside}: {name} cannot be set: {done.complaint}", hint="git loopx doctor")

    def _salvage(self, aside: str, oid: str) -> bool:
        """Bring a commit with its history over from the damaged one; True when it is here whole. Each object is
        named by its content again on the way, and what was fetched is not read from the damaged one."""
        wanted = "\n".join([oid, *(f"^{known}" for known in refs_of(aside).values()), ""]).encode("ascii")
        packed = self._in(aside, ["pack-objects", "--revs", "--stdout", "--quiet"], stdin=wanted, borrow=True)
        if packed.code or self._in(aside, ["index-pack", "--stdin", "--fix-thin"], stdin=packed.out).code:
            return False
        return self._in(aside, ["rev-list", "--objects", "--quiet", oid, "--not", "--all"]).code == 0

    def _name(self) -> str:
        name = self.path + _BROKEN + time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        number, free = 1, name
        while os.path.lexists(free):
            number += 1
            free = f"{name}-{number}"
        return free

    def _thin_out(self) -> None:
        for old in set_aside(self.path)[:-KEPT]:
            if os.path.isdir(old) and not os.path.islink(old):
                # A folder that cannot be removed does no harm: the next command tries again.
                shutil.rmtree(old, ignore_errors=True)
            else:
                os.unlink(old)
