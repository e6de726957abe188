"""The core's Snapshot of a tree of files: read lazily, cached by content."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from loopx_git.core import ids
from loopx_git.core.lease import Lease
from loopx_git.core.loop import Loop
from loopx_git.core.peer import Goal, Peer
from loopx_git.core.policy import Policy
from loopx_git.core.todo import FILE_MAX, Todo
from loopx_git.errors import InvalidState
from loopx_git.format import files, layout, loop_record, policy_file, version
from loopx_git.format import lease_record as record
from loopx_git.ledger.tree import Tree

T = TypeVar("T")


class TreeSnapshot:
    """The state in one tree. `memo` may be shared by snapshots of one process: it is keyed by content, so a file or
    folder that did not change between two commits is parsed once."""

    def __init__(self, tree: Tree, memo: dict[Hashable, Any] | None = None) -> None:
        version.check(tree.blob(layout.FORMAT))
        self.tree = tree
        self.memo: dict[Hashable, Any] = {} if memo is None else memo
        self.policy: Policy = self._read(layout.POLICY, policy_file.load) or Policy()

    def _read(self, path: str, load: Callable[..., T], *given: str, **more: bool) -> T | None:
        """What `load` makes of a file; None when there is no file. An error is not kept."""
        key = (path, self.tree.key(path))
        if key not in self.memo:
            data = self.tree.blob(path)
            if data is None:
                return None
            self.memo[key] = load(data, *given, name=path, **more)
        found: T = self.memo[key]
        return found

    def _each(self, files: Iterable[tuple[str, str]], load: Callable[..., T], *given: str, **more: bool) -> list[Any]:
        """What `load` makes of each file (path, id), or the error of one that cannot be read."""
        read: list[T | InvalidState | None] = []
        for path, name in files:
            try:
                read.append(self._read(path, load, *given, name, **more))
            except InvalidState as error:
                read.append(error)
        return read

    def _files(self, folder: str, ending: str, kind: str = "todo") -> Iterator[tuple[str, str]]:
        """(path, id) of the well-named files in one folder."""
        for name in self.tree.names(folder):
            item = name.removesuffix(ending)
            if name.endswith(ending) and ids.is_valid(kind, item):
                yield f"{folder}/{name}", item

    def goal_ids(self) -> Sequence[str]:
        return [name for name in self.tree.names(layout.GOALS) if ids.is_valid("goal", name)]

    def goal(self, goal: str) -> Goal | None:
        return self._read(layout.goal(goal), files.load_goal, goal)

    def peer(self, agent: str) -> Peer | None:
        exact = self._read(layout.peer(agent), files.load_peer, agent) if ids.is_valid("agent", agent) else None
        if exact is not None:
            return exact
        for path, name in self._files(layout.PEERS, ".md", "agent"):
            if ids.folded(name) == ids.folded(agent):
                return self._read(path, files.load_peer, name)
        return None

    def peers(self) -> Iterable[Peer]:
        read = self._each(self._files(layout.PEERS, ".md", "agent"), files.load_peer)
        return [item for item in read if isinstance(item, Peer)]

    def loop(self, name: str) -> Loop | None:
        return self._read(layout.loop(name), loop_record.load, name) if ids.is_valid("agent", name) else None

    def loops(self) -> Iterable[Loop]:
        read = self._each(self._files(layout.LOOPS, ".json", "agent"), loop_record.load)
        return [item for item in read if isinstance(item, Loop)]

    def broken_names(self) -> Iterator[InvalidState]:
        """What is stored under peers/ and loops/ but cannot be read, one error a file."""
        for folder, load in ((layout.PEERS, files.load_peer), (layout.LOOPS, loop_record.load)):
            for name in self.tree.names(folder):
                path = f"{folder}/{name}"
                try:
                    self._read(path, load, layout.parse(path).name)
                except InvalidState as error:
                    yield error

    def goals_of(self, todo: str) -> Sequence[str]:
        return [
            goal
            for goal in self.goal_ids()
            if self.tree.key(layout.todo(goal, todo)) is not None
            or self.tree.key(layout.todo(goal, todo, archived=True)) is not None
        ]

    def todo(self, goal: str, todo: str) -> Todo:
        live, archived = (layout.todo(goal, todo, archived=flag) for flag in (False, True))
        in_archive = self.tree.key(archived) is not None
        if in_archive and self.tree.key(live) is not None:
            raise InvalidState(
                f"{todo} is both in todos and in the archive of {goal}",
                hint="git loopx verify",
                about={"todo_id": todo, "file": live},
            )
        found = self._read(archived if in_archive else live, files.load_todo, goal, todo, archived=in_archive)
        if found is None:
            raise AssertionError(f"{todo} does not lie under {goal}")
        return found

    def lease(self, goal: str, todo: str) -> Lease | None:
        return self._read(layout.lease(goal, todo), record.load, todo)

    def _todo_folders(self) -> Iterator[str]:
        for goal in self.goal_ids():
            yield layout.todo_folder(goal, archived=False)
            yield layout.todo_folder(goal, archived=True)

    def ids_with_prefix(self, digits: str) -> Sequence[str]:
        found: set[str] = set()
        for folder in self._todo_folders():
            found.update(todo for _, todo in self._files(f"{folder}/{digits[:2]}", ".md"))
        return sorted(todo for todo in found if todo.startswith("todo_" + digits))

    def all_ids(self) -> Sequence[str]:
        """Every todo id in the ledger, archived ones too, sorted; names only, no file is read."""
        found: set[str] = set()
        for folder in self._todo_folders():
            for name in self.tree.names(folder):
                found.update(todo for _, todo in self._files(f"{folder}/{name}", ".md"))
        return sorted(found)

    def ids_with_alias(self, alias: str) -> Sequence[str]:
        wanted = ids.folded(alias)
        found: set[str] = set()
        for goal in self.goal_ids():
            for archived in (False, True):
                found.update(todo for folded, todo in self._aliases(goal, archived=archived) if folded == wanted)
        return sorted(found)

    def _aliases(self, goal: str, *, archived: bool) -> Iterator[tuple[str, str]]:
        """(folded alias, todo id). Only files that mention the key are parsed."""

        def collect(folder: str) -> list[tuple[str, str]]:
            named = []
            for path, todo in self._files(folder, ".md"):
                data = self.tree.blob(path)
                if data is not None and b"alias" in data and b"\nalias:\n" not in data:
                    named.append((path, todo))
            # An unreadable todo cannot be reached by its alias; `broken` lists it.
            read = self._each(named, files.load_todo, goal, archived=archived)
            return [(ids.folded(item.alias), item.id) for item in read if isinstance(item, Todo) and item.alias]

        return self._per_shard(layout.todo_folder(goal, archived=archived), "alias", collect)

    def todos(self, goal: str, *, archived: bool = False) -> Iterable[Todo]:
        return (item for item in self._todos(goal, archived=archived) if isinstance(item, Todo))

    def _todos(self, goal: str, *, archived: bool) -> Iterator[Todo | InvalidState]:
        def collect(folder: str) -> list[Todo | InvalidState]:
            return self._each(self._files(folder, ".md"), files.load_todo, goal, archived=archived)

        return self._per_shard(layout.todo_folder(goal, archived=archived), "todos", collect)

    def leases(self, goal: str) -> Iterable[Lease]:
        return (item for item in self.records(goal) if isinstance(item, Lease) and item.holder is not None)

    def records(self, goal: str) -> Iterator[Lease | InvalidState]:
        """Every lease record of a goal, free ones too, unreadable ones as their error."""

        def collect(folder: str) -> list[Lease | InvalidState]:
            return self._each(self._files(folder, ".json"), record.load)

        return self._per_shard(layout.lease_folder(goal), "leases", collect)

    def broken(self, goal: str) -> Iterable[InvalidState]:
        stored = (self._todos(goal, archived=False), self._todos(goal, archived=True), self.records(goal))
        return (item for items in stored for item in items if isinstance(item, InvalidState))

    def _per_shard(self, folder: str, what: str, collect: Callable[[str], list[T]]) -> Iterator[T]:
        for name in self.tree.names(folder):
            path = f"{folder}/{name}"
            key = (what, path, self.tree.key(path))
            if key not in self.memo:
                self.memo[key] = collect(path)
            yield from self.memo[key]


#: Largest blob that any file of this format may have.
BLOB_MAX = max(FILE_MAX, record.SIZE_MAX, policy_file.SIZE_MAX)
