"""The stores that the contract tests run against, and git by plumbing beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memory_store import MemoryObjects, MemoryPublisher, MemoryRemote
from servers import clean_env

from loopx_git.ledger.commits import Objects
from loopx_git.store.base import Publisher
from loopx_git.store.coord import ensure_coord
from loopx_git.store.environment import scrubbed, transport_settings, with_config
from loopx_git.store.local import LocalPublisher
from loopx_git.store.objects import PygitObjects
from loopx_git.store.process import git
from loopx_git.store.remote import RemotePublisher
from loopx_git.store.repository import OwnRepository, open_repository

REF = "refs/heads/loopx/coord"
ENV = {
    **clean_env(),
    "GIT_AUTHOR_NAME": "T",
    "GIT_AUTHOR_EMAIL": "t@example.org",
    "GIT_COMMITTER_NAME": "T",
    "GIT_COMMITTER_EMAIL": "t@example.org",
}


def run(folder: Path | str, *args: str, stdin: bytes = b"") -> str:
    """What git prints; it must succeed."""
    done = git(args, cwd=str(folder), env=ENV, timeout=120, stdin=stdin)
    assert done.code == 0, f"git {' '.join(args)}: {done.complaint}"
    return done.text.rstrip("\n")


@dataclass
class Store:
    """One clone's objects and publisher. `folder` is the git directory that keeps the objects; None in memory."""

    objects: Objects
    publisher: Publisher
    folder: Path | None


class Place:
    """One remote, with as many clones as a test wants. `kind` is memory, local, path or file."""

    def __init__(self, kind: str, root: Path) -> None:
        self.kind, self.root = kind, root
        self.memory, self.shared = MemoryRemote(), MemoryObjects()
        self.remote = root / "remote.git"
        if kind != "memory":
            bare = [] if kind == "local" else ["--bare"]
            run(root, "init", "-q", "-b", "main", *bare, str(self.remote))
        if kind == "local":
            (self.remote / ".git/loopx").mkdir()

    @property
    def git_dir(self) -> Path:
        return self.remote / ".git" if self.kind == "local" else self.remote

    def clone(self, name: str) -> Store:
        """A clone; the same name twice is the same clone, opened anew."""
        if self.kind == "memory":
            return Store(self.shared, MemoryPublisher(self.memory), None)
        if self.kind == "local":
            objects = PygitObjects(str(self.git_dir))
            publisher = LocalPublisher(objects, open_repository(str(self.remote), ENV), REF)
            return Store(objects, publisher, self.git_dir)
        folder = self.root / name / "loopx" / "coord.git"
        ensure_coord(str(folder), scrubbed(ENV))
        url = str(self.remote) if self.kind == "path" else f"file://{self.remote}"
        env = with_config(scrubbed(ENV), transport_settings([], "origin", url, None))
        objects = PygitObjects(str(folder))
        return Store(objects, RemotePublisher(objects, OwnRepository(str(folder), env), REF), folder)

    def tip(self) -> str | None:
        """Where the remote's ref stands, as git says it."""
        if self.kind == "memory":
            return self.memory.tip
        return run(self.git_dir, "for-each-ref", "--format=%(objectname)", REF) or None
