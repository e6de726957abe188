"""Trees, objects, publishers and pending records in memory: the reference implementation, and what tests race without
processes. It passes the same contract tests as the stores of the product."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager

from loopx_git.errors import InvalidState, NotAllowed
from loopx_git.ledger.commits import Commit, Draft
from loopx_git.store.base import CodePush, Fetched, Pushed, PushKind
from loopx_git.store.pending import Pending, PendingFolder
from loopx_git.store.repository import Repository


class MemoryTree:
    """A tree in a mapping path -> bytes: the reference implementation."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self._folders: dict[str, set[str]] = {}
        for path in self.files:
            parts = path.split("/")
            for depth in range(len(parts)):
                self._folders.setdefault("/".join(parts[:depth]), set()).add(parts[depth])

    def blob(self, path: str) -> bytes | None:
        return self.files.get(path)

    def names(self, folder: str) -> Sequence[str]:
        return sorted(self._folders.get(folder, ()))

    def key(self, path: str) -> Hashable:
        if path in self.files:
            return self.files[path]
        below = [item for item in self.files.items() if not path or item[0].startswith(path + "/")]
        return tuple(sorted(below)) or None


class MemoryObjects:
    """Commits in a dictionary. Clones of one remote may share it: an id names the same commit everywhere."""

    def __init__(self) -> None:
        self._commits: dict[str, tuple[Commit, MemoryTree]] = {}

    def _get(self, oid: str) -> tuple[Commit, MemoryTree]:
        if oid not in self._commits:
            raise InvalidState(f"{oid} is not in the object store", about={"commit": oid})
        return self._commits[oid]

    def tree(self, commit: str) -> MemoryTree:
        return self._get(commit)[1]

    def commit(self, oid: str) -> Commit:
        return self._get(oid)[0]

    def signature(self, oid: str) -> tuple[bytes, bytes] | None:
        return None

    def build(self, parent: str | None, draft: Draft) -> str:
        onto = draft.onto or parent
        files = {} if onto is None else dict(self.tree(onto).files)
        for path, data in draft.files.items():
            if data is None:
                files.pop(path, None)
            else:
                files[path] = data
        content = repr((parent, sorted(files.items()), draft.message, draft.author, draft.committer, draft.time))
        oid = hashlib.sha1(content.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
        parents = () if parent is None else (parent,)
        time = draft.time.replace(microsecond=0)
        commit = Commit(oid, parents, draft.message, draft.author, draft.committer, time)
        self._commits[oid] = (commit, MemoryTree(files))
        return oid

    def changed(self, parent: str | None, oid: str) -> Sequence[str]:
        old = {} if parent is None else self.tree(parent).files
        new = self.tree(oid).files
        return sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))

    def merge_base(self, one: str, two: str) -> str | None:
        shared = set(self.between(None, one, len(self._commits)))
        return next((oid for oid in reversed(self.between(None, two, len(self._commits))) if oid in shared), None)

    def is_ancestor(self, old: str, new: str) -> bool:
        return new in self._commits and (old == new or old in self.between(None, new, len(self._commits)))

    def between(self, old: str | None, new: str, limit: int) -> Sequence[str]:
        found: list[str] = []
        current: str | None = new
        while current is not None and current != old and len(found) < limit:
            found.append(current)
            parents = self.commit(current).parents
            current = parents[0] if parents else None
        return found[::-1]


class MemoryRemote:
    """The ref that everybody races for, and the other branches beside it, by name."""

    def __init__(self) -> None:
        self.tip: str | None = None
        self.branches: dict[str, MemoryRemote] = {}


class MemoryPublisher:
    """One clone's view of a MemoryRemote."""

    def __init__(self, remote: MemoryRemote) -> None:
        self.remote = remote
        self.anchors: dict[str, str] = {}
        self._known: str | None = None

    def of_branch(self, ref: str) -> MemoryPublisher:
        return MemoryPublisher(self.remote.branches.setdefault(ref, MemoryRemote()))

    def landing(self, code: CodePush, repository: Repository) -> AbstractContextManager[MemoryPublisher]:
        raise NotAllowed("a ledger in memory has no branches of code")

    def code_push(self, code: CodePush, repository: Repository) -> Callable[[float], None]:
        raise NotAllowed("a ledger in memory has no branches of code")

    def known_tip(self) -> str | None:
        return self._known

    def fetch(self, timeout: float) -> Fetched:
        return Fetched(self.remote.tip)

    def deepen(self, timeout: float) -> None:
        """History is always whole here."""

    def branches_elsewhere(self, timeout: float) -> bool:
        return any(branch.tip is not None for branch in self.remote.branches.values())

    def accept(self, tip: str) -> None:
        self._known = tip

    def push(self, parent: str | None, oid: str, timeout: float) -> Pushed:
        if self.remote.tip == oid:
            return Pushed(PushKind.LANDED, said="[up to date]")
        if self.remote.tip != parent:
            return Pushed(PushKind.LOST, said="[rejected] (stale info)")
        self.remote.tip = oid
        return Pushed(PushKind.LANDED)

    def anchor(self, request: str, oid: str) -> None:
        self.anchors[request] = oid

    def release(self, request: str) -> None:
        self.anchors.pop(request, None)

    def tidy(self) -> None:
        """Nothing piles up here."""


class NoPending(PendingFolder):
    """Pending records of a store in memory."""

    def __init__(self) -> None:
        self.records: dict[str, Pending] = {}

    def write(self, record: Pending) -> None:
        """Keep a record in memory."""
        self.records[record.request] = record

    def remove(self, request: str) -> None:
        """Forget a record."""
        self.records.pop(request, None)

    def tidy(self) -> None:
        """Nothing is left behind here."""

    def all(self) -> list[Pending]:
        """Every record, oldest first."""
        return sorted(self.records.values(), key=lambda record: record.created)
