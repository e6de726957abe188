"""The core's Snapshot of a tree of files: read lazily, cached by content."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

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


class TreeSnapshot:
    """The state in one tree. `memo` may be shared by snapshots of one process: it is keyed by content, so a
    folder that did not change between two commits is parsed once."""

    def __init__(self, tree: Tree, memo: dict[Hashable, Any] | None = None) -> None:
        version.check(tree.blob(layout.FORMAT))
        self.tree = tree
        self.memo: dict[Hashable, Any] = {} if memo is None else memo
        key = ("policy", tree.key(layout.POLICY))
        if key not in self.memo:
            self.memo[key] = policy_file.load(tree.blob(layout.POLICY), name=layout.POLICY)
        self.policy: Policy = self.memo[key]

    def goal_ids(self) -> Sequence[str]:
        return [name for name in self.tree.names(layout.GOALS) if ids.is_valid("goal", name)]

    def goal(self, goal: str) -> Goal | None:
        path = layout.goal(goal)
        data = self.tree.blob(path)
        return None if data is None else files.load_goal(data, goal, name=path)

    def _peer_names(self) -> Iterator[str]:
        for name in self.tree.names(layout.PEERS):
            if name.endswith(".md") and ids.is_valid("agent", name[:-3]):
                yield name[:-3]

    def peer(self, agent: str) -> Peer | None:
        exact = layout.peer(agent)
        data = self.tree.blob(exact) if ids.is_valid("agent", agent) else None
        if data is not None:
            return files.load_peer(data, agent, name=exact)
        for name in self._peer_names():
            if ids.folded(name) == ids.folded(agent):
                path = layout.peer(name)
                return files.load_peer(self.tree.blob(path) or b"", name, name=path)
        return None

    def peers(self) -> Iterable[Peer]:
        for name in self._peer_names():
            path = layout.peer(name)
            try:
                yield files.load_peer(self.tree.blob(path) or b"", name, name=path)
            except InvalidState:
                # Listed by `broken_peers`; one unreadable peer hides no other.
                continue

    def broken_peers(self) -> Iterable[InvalidState]:
        """What is stored under peers/ but cannot be read."""
        for name in self.tree.names(layout.PEERS):
            path = f"{layout.PEERS}/{name}"
            try:
                place = layout.parse(path)
                files.load_peer(self.tree.blob(path) or b"", place.name, name=path)
            except InvalidState as error:
                yield error

    def loop(self, name: str) -> Loop | None:
        path = layout.loop(name)
        data = self.tree.blob(path) if ids.is_valid("agent", name) else None
        return None if data is None else loop_record.load(data, name, path=path)

    def loops(self) -> Iterable[Loop]:
        for item in self._loops():
            if isinstance(item, Loop):
                yield item

    def broken_loops(self) -> Iterable[InvalidState]:
        """What is stored under loops/ but cannot be read."""
        for item in self._loops():
            if isinstance(item, InvalidState):
                yield item

    def _loops(self) -> Iterator[Loop | InvalidState]:
        for name in self.tree.names(layout.LOOPS):
            path = f"{layout.LOOPS}/{name}"
            try:
                yield loop_record.load(self.tree.blob(path) or b"", layout.parse(path).name, path=path)
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
        data, put_away = self.tree.blob(live), self.tree.blob(archived)
        if data is not None and put_away is not None:
            raise InvalidState(
                f"{todo} is both in todos and in the archive of {goal}",
                hint="git loopx verify",
                about={"todo_id": todo, "file": live},
            )
        if data is not None:
            return files.load_todo(data, goal, todo, archived=False, name=live)
        if put_away is not None:
            return files.load_todo(put_away, goal, todo, archived=True, name=archived)
        raise AssertionError(f"{todo} does not lie under {goal}")

    def lease(self, goal: str, todo: str) -> Lease | None:
        path = layout.lease(goal, todo)
        data = self.tree.blob(path)
        return None if data is None else record.load(data, todo, name=path)

    def ids_with_prefix(self, digits: str) -> Sequence[str]:
        found = set()
        for goal in self.goal_ids():
            for archived in (False, True):
                folder = f"{layout.todo_folder(goal, archived=archived)}/{digits[:2]}"
                for name in self.tree.names(folder):
                    if name.startswith("todo_" + digits) and ids.is_valid("todo", name.removesuffix(".md")):
                        found.add(name.removesuffix(".md"))
        return sorted(found)

    def all_ids(self) -> Sequence[str]:
        """Every todo id in the ledger, archived ones too, sorted; names only, no file is read."""
        found: set[str] = set()
        for goal in self.goal_ids():
            for archived in (False, True):
                folder = layout.todo_folder(goal, archived=archived)
                for name in self.tree.names(folder):
                    found.update(todo for _, todo in self._files(f"{folder}/{name}", ".md"))
        return sorted(found)

    def ids_with_alias(self, alias: str) -> Sequence[str]:
        wanted = ids.folded(alias)
        found = set()
        for goal in self.goal_ids():
            for archived in (False, True):
                for name, _ in self._aliases(goal, archived=archived).get(wanted, ()):
                    found.add(name)
        return sorted(found)

    def _aliases(self, goal: str, *, archived: bool) -> dict[str, list[tuple[str, str]]]:
        """Folded alias -> todos. Only files that mention the key are parsed."""

        def collect(folder: str) -> list[tuple[str, str]]:
            pairs = []
            for path, todo in self._files(folder, ".md"):
                data = self.tree.blob(path)
                if data is None or b"alias" not in data or b"\nalias:\n" in data:
                    continue
                try:
                    alias = files.load_todo(data, goal, todo, archived=archived, name=path).alias
                except InvalidState:
                    # An unreadable todo cannot be reached by its alias; `broken` lists it.
                    continue
                if alias is not None:
                    pairs.append((ids.folded(alias), todo))
            return pairs

        index: dict[str, list[tuple[str, str]]] = {}
        for folded, todo in self._per_shard(layout.todo_folder(goal, archived=archived), "alias", collect):
            index.setdefault(folded, []).append((todo, folded))
        return index

    def todos(self, goal: str, *, archived: bool = False) -> Iterable[Todo]:
        for item in self._todos(goal, archived=archived):
            if isinstance(item, Todo):
                yield item

    def _todos(self, goal: str, *, archived: bool) -> Iterator[Todo | InvalidState]:
        def collect(folder: str) -> list[Todo | InvalidState]:
            read: list[Todo | InvalidState] = []
            for path, todo in self._files(folder, ".md"):
                try:
                    data = self.tree.blob(path) or b""
                    read.append(files.load_todo(data, goal, todo, archived=archived, name=path))
                except InvalidState as error:
                    read.append(error)
            return read

        return self._per_shard(layout.todo_folder(goal, archived=archived), f"todos {goal}", collect)

    def leases(self, goal: str) -> Iterable[Lease]:
        for item in self.records(goal):
            if isinstance(item, Lease) and item.holder is not None:
                yield item

    def records(self, goal: str) -> Iterator[Lease | InvalidState]:
        """Every lease record of a goal, free ones too, unreadable ones as their error."""

        def collect(folder: str) -> list[Lease | InvalidState]:
            read: list[Lease | InvalidState] = []
            for path, todo in self._files(folder, ".json"):
                try:
                    read.append(record.load(self.tree.blob(path) or b"", todo, name=path))
                except InvalidState as error:
                    read.append(error)
            return read

        return self._per_shard(layout.lease_folder(goal), "leases", collect)

    def broken(self, goal: str) -> Iterable[InvalidState]:
        for archived in (False, True):
            for item in self._todos(goal, archived=archived):
                if isinstance(item, InvalidState):
                    yield item
        for record_item in self.records(goal):
            if isinstance(record_item, InvalidState):
                yield record_item

    def _files(self, folder: str, ending: str) -> Iterator[tuple[str, str]]:
        """(path, todo id) of the well-named files in one shard folder."""
        for name in self.tree.names(folder):
            todo = name.removesuffix(ending)
            if name.endswith(ending) and ids.is_valid("todo", todo):
                yield f"{folder}/{name}", todo

    def _per_shard(self, folder: str, what: str, collect: Callable[[str], list[Any]]) -> Iterator[Any]:
        for name in self.tree.names(folder):
            path = f"{folder}/{name}"
            key = (what, path, self.tree.key(path))
            if key not in self.memo:
                self.memo[key] = collect(path)
            yield from self.memo[key]


#: Largest blob that any file of this format may have.
BLOB_MAX = max(FILE_MAX, record.SIZE_MAX, policy_file.SIZE_MAX)
