"""The object store over pygit2: commits and trees, read with suspicion, written without touching any index."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import pygit2

from loopx_git.core import ids
from loopx_git.errors import InvalidState
from loopx_git.ledger.commits import Commit, Draft, Signature, Unreadable
from loopx_git.ledger.snapshot import BLOB_MAX

_FILE, _FOLDER = 0o100644, 0o040000
#: Most entries of one folder, and the largest commit object in bytes, that are read.
ENTRIES_MAX = 200_000
#: Most entries in which two states that are compared may differ, and the deepest folder that is looked into.
CHANGED_MAX = 200_000
_DEEPEST = 50
COMMIT_MAX = 262_144
#: (commit content without signature) -> the signature to put into its header.
Signer = Callable[[bytes], str]
#: (what could not be read, the id of the object where one is known) -> whether the store is another one now.
Mend = Callable[[str, str | None], bool]
T = TypeVar("T")


def opened(git_dir: str) -> pygit2.Repository:
    """The repository, whatever its owner.

    git decides whether an owner is trusted: it was asked before, and it knows every form of safe.directory, while
    libgit2 knows some. The setting belongs to the whole process, which may not be ours alone, so it is restored.
    """
    settings = pygit2.settings
    before = settings.owner_validation
    settings.owner_validation = False
    try:
        return pygit2.Repository(git_dir)
    finally:
        settings.owner_validation = before


class PygitObjects:
    """Objects in one repository's object store. Its network, index and work tree are never used.

    `mend` is called when an object cannot be read. Without `mend` the store is not replaced.
    """

    def __init__(self, git_dir: str, signer: Signer | None = None, mend: Mend | None = None) -> None:
        self.git_dir, self.signer, self.mend = git_dir, signer, mend
        self.reopen()

    def reopen(self) -> None:
        """Open what is at the path now."""
        git_dir = self.git_dir
        try:
            self.repo = opened(git_dir)
        except (pygit2.GitError, KeyError) as error:
            raise InvalidState(
                f"the object store {git_dir} cannot be opened: {error}",
                hint="without a remote, loopx needs an ordinary sha1 repository: git loopx doctor",
                about={"file": git_dir},
            ) from None

    def also_in(self, folders: Sequence[str]) -> None:
        """Read objects in these directories, too: received objects are kept apart until they are accepted."""
        for folder in folders:
            self.repo.odb.add_disk_alternate(folder)

    def read(self, what: Callable[[], T], oid: str | None = None) -> T:
        """The result of `what`, which reads objects by their ids; it runs again when the store had to be mended.

        Raises Unreadable with the file when an object is damaged or missing (`oid`, where it is known).
        """
        try:
            return what()
        except (pygit2.GitError, KeyError, ValueError, OSError) as error:
            said = str(error.args[0]) if error.args else type(error).__name__
            # So that no pack of it stays open: see Mender.
            self.repo.free()
            if self.mend is not None and self.mend(said, oid):
                self.reopen()
                return what()
            file = os.path.join(self.git_dir, "objects")
            if oid is not None and os.path.lexists(loose := os.path.join(file, oid[:2], oid[2:])):
                file = loose
            raise Unreadable(
                f"{file}: {f'object {oid}' if oid else 'an object'} cannot be read: {said}",
                hint=f"git -C {self.git_dir} fsck" if self.mend is None else "git loopx sync",
                about={"file": file},
            ) from error

    def load(self, oid: pygit2.Oid) -> Any:
        """An object that must exist, because another one names it."""
        return self.read(lambda: self.repo[oid], str(oid))

    def tree(self, commit: str) -> GitTree:
        return GitTree(self, self.load(self._commit(commit).tree_id))

    def commit(self, oid: str) -> Commit:
        found = self._commit(oid)
        raw = found.raw_message
        try:
            message = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise _invalid(oid, "has a message that is not UTF-8") from None
        return Commit(
            oid=oid,
            parents=_parents(found.read_raw()),
            message=message,
            author=Signature(found.author.name, found.author.email),
            committer=Signature(found.committer.name, found.committer.email),
            time=_time(found.author.time),
        )

    def _commit(self, oid: str) -> pygit2.Commit:
        if not ids.OID.fullmatch(oid):
            raise _invalid(oid, "is not an object id")
        if oid not in self.repo:
            raise _invalid(oid, "is not in the object store")
        size = self.read(lambda: self.repo.odb.read_header(oid)[1], oid)
        if size > COMMIT_MAX:
            raise _invalid(oid, f"is larger than {COMMIT_MAX} bytes")
        found = self.read(lambda: self.repo[oid], oid)
        if not isinstance(found, pygit2.Commit):
            raise _invalid(oid, "is not a commit")
        return found

    def signature(self, oid: str) -> tuple[bytes, bytes] | None:
        found: tuple[bytes | None, bytes] = self._commit(oid).gpg_signature
        return None if found[0] is None else (found[0], found[1])

    def build(self, parent: str | None, draft: Draft) -> str:
        onto = draft.onto or parent
        base = None if onto is None else self.load(self._commit(onto).tree_id)
        nested: dict[str, Any] = {}
        for path, data in draft.files.items():
            *folders, name = path.split("/")
            level = nested
            for folder in folders:
                level = level.setdefault(folder, {})
            level[name] = data
        tree = self._write(base, nested)
        seconds = int(draft.time.timestamp())
        author, committer = (
            pygit2.Signature(who.name, who.email, seconds, 0, "utf-8") for who in (draft.author, draft.committer)
        )
        parents: list[str | pygit2.Oid] = [] if parent is None else [pygit2.Oid(hex=parent)]
        root = tree or self.repo.TreeBuilder().write()
        if self.signer is None:
            return str(self.repo.create_commit(None, author, committer, draft.message, root, parents))
        # The stubs call this an Oid; it is the commit's content as text.
        content = str(self.repo.create_commit_string(author, committer, draft.message, root, parents))
        signature = self.signer(content.encode("utf-8"))
        return str(self.repo.create_commit_with_signature(content, signature))

    def _write(self, base: pygit2.Tree | None, changes: Mapping[str, Any]) -> pygit2.Oid | None:
        """The tree with `changes` applied; None when nothing is left in it (git keeps no empty folders)."""
        builder = self.repo.TreeBuilder() if base is None else self.repo.TreeBuilder(base)
        for name, change in changes.items():
            if isinstance(change, dict):
                below = base[name] if base is not None and name in base else None
                folder = self.load(below.id) if isinstance(below, pygit2.Tree) else None
                written = self._write(folder, change)
                mode = _FOLDER
            else:
                written = None if change is None else self.repo.create_blob(change)
                mode = _FILE
            if written is not None:
                builder.insert(name, written, mode)
            elif builder.get(name) is not None:
                builder.remove(name)
        return builder.write() if len(builder) else None

    def changed(self, parent: str | None, oid: str) -> Sequence[str]:
        new = self.load(self._commit(oid).tree_id)
        old = None if parent is None else self.load(self._commit(parent).tree_id)
        found: list[str] = []
        self._differ(old, new, "", found, [CHANGED_MAX])
        return sorted(found)

    def merge_base(self, one: str, two: str) -> str | None:
        found = self.repo.merge_base(self._commit(one).id, self._commit(two).id)
        return None if found is None else str(found)

    def is_ancestor(self, old: str, new: str) -> bool:
        if old == new:
            return new in self.repo
        if old not in self.repo or new not in self.repo:
            return False
        return self.read(lambda: self.repo.descendant_of(new, old))

    def between(self, old: str | None, new: str, limit: int) -> Sequence[str]:
        """Follow first parents only. A commit with two parents is not an operation, and its check says so."""
        found: list[str] = []
        current: str | None = new
        while current is not None and current != old and len(found) < limit:
            found.append(current)
            parents = self._commit(current).parent_ids
            current = str(parents[0]) if parents and self._goes_on(str(parents[0])) else None
        return found[::-1]

    def _goes_on(self, parent: str) -> bool:
        """False where the history was cut on purpose; a commit that is missing otherwise is not a beginning."""
        if parent in self.repo:
            return True
        return not self.repo.is_shallow and self.read(lambda: self.repo[parent], parent) is not None

    def _differ(
        self, old: pygit2.Tree | None, new: pygit2.Tree | None, prefix: str, found: list[str], left: list[int]
    ) -> None:
        """Collect the paths that differ, entry by entry: names are compared as bytes, so none is overlooked.

        `left` counts down the entries that may differ: a few small trees can name more paths than can be read.
        """
        before = {entry.name: entry for entry in old} if old is not None else {}
        after = {entry.name: entry for entry in new} if new is not None else {}
        for name in before.keys() | after.keys():
            one, two = before.get(name), after.get(name)
            if one is not None and two is not None and one.id == two.id and one.filemode == two.filemode:
                continue
            left[0] -= 1
            if left[0] < 0 or prefix.count("/") > _DEEPEST:
                raise InvalidState(
                    f"a commit changes more than {CHANGED_MAX} entries, or too deep ones", hint="git loopx verify"
                )
            path = f"{prefix}{name}"
            folders = [self.load(item.id) if isinstance(item, pygit2.Tree) else None for item in (one, two)]
            if folders[0] is not None or folders[1] is not None:
                self._differ(folders[0], folders[1], path + "/", found, left)
            if any(item is not None and not isinstance(item, pygit2.Tree) for item in (one, two)):
                found.append(path)


class GitTree:
    """A commit's tree. A file must be plain (100644) and small; everything else raises InvalidState."""

    def __init__(self, objects: PygitObjects, root: pygit2.Tree) -> None:
        self.objects = objects
        self._folders: dict[str, pygit2.Tree | None] = {"": root}

    def _folder(self, path: str) -> pygit2.Tree | None:
        if path not in self._folders:
            entry = self._entry(path)
            is_folder = entry is not None and entry.filemode == _FOLDER
            self._folders[path] = self.objects.load(entry.id) if is_folder else None
        return self._folders[path]

    def _entry(self, path: str) -> Any:
        parent, _, name = path.rpartition("/")
        above = self._folder(parent)
        return above[name] if above is not None and name in above else None

    def blob(self, path: str) -> bytes | None:
        entry = self._entry(path)
        if entry is None:
            return None
        if entry.filemode != _FILE or not isinstance(entry, pygit2.Blob):
            raise InvalidState(
                f"{path} is not a plain file (mode {entry.filemode:o}); loopx reads nothing through it",
                hint="git loopx verify",
                about={"file": path},
            )
        # Read only the header: it has the size, so a large object is never loaded.
        objects, oid = self.objects, entry.id
        size = objects.read(lambda: objects.repo.odb.read_header(oid)[1], str(oid))
        if size > BLOB_MAX:
            raise InvalidState(
                f"{path} has {size} bytes; {BLOB_MAX} at most",
                hint="git loopx verify",
                about={"file": path},
            )
        return bytes(objects.load(oid).data)

    def names(self, folder: str) -> Sequence[str]:
        found = self._folder(folder)
        if found is None:
            return ()
        if len(found) > ENTRIES_MAX:
            raise InvalidState(f"{folder} has more than {ENTRIES_MAX} entries", hint="git loopx verify")
        return sorted(str(entry.name) for entry in found)

    def key(self, path: str) -> Hashable:
        entry = self._folder("") if path == "" else self._entry(path)
        # With the mode: the same bytes as a symbolic link are another state.
        return None if entry is None else (entry.filemode, str(entry.id))


def _parents(raw: bytes) -> tuple[str, ...]:
    """The parents as the commit itself names them: at the edge of a shallow history libgit2 hides them, and a cut
    would look like a root."""
    head = raw.split(b"\n\n", 1)[0].split(b"\n")
    return tuple(line[7:].decode("ascii", "replace") for line in head if line.startswith(b"parent "))


def _time(seconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.max.replace(tzinfo=UTC)


def _invalid(oid: str, why: str) -> InvalidState:
    return InvalidState(f"{oid[:64]} {why}", hint="git loopx verify", about={"commit": oid[:64]})
