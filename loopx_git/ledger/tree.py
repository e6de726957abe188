"""Trees of small files, and changes over one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol


class Tree(Protocol):
    """Files under '/'-separated paths. Implementations refuse symlinks, gitlinks, odd modes and oversize
    blobs with InvalidState when they meet one."""

    def blob(self, path: str) -> bytes | None:
        """The file's bytes, or None when there is none."""

    def names(self, folder: str) -> Sequence[str]:
        """The names directly in a folder, sorted; empty when there is no such folder."""

    def key(self, path: str) -> Hashable:
        """A value that changes whenever anything at or below the path changes; None when nothing is there."""


class OverlayTree:
    """A tree with some files replaced: the state after a change set that is not committed yet."""

    def __init__(self, base: Tree, files: Mapping[str, bytes | None]) -> None:
        self.base = base
        self.files = dict(files)

    def blob(self, path: str) -> bytes | None:
        return self.files[path] if path in self.files else self.base.blob(path)

    def names(self, folder: str) -> Sequence[str]:
        names = set(self.base.names(folder))
        prefix = folder + "/" if folder else ""
        for path, data in self.files.items():
            if not path.startswith(prefix):
                continue
            name, _, rest = path[len(prefix) :].partition("/")
            if data is not None:
                names.add(name)
            elif not rest or not self.names(prefix + name):
                # The file itself, or the last one in its folder: there are no empty folders.
                names.discard(name)
        return sorted(names)

    def key(self, path: str) -> Hashable:
        over = tuple(
            sorted(
                (item for item in self.files.items() if not path or (item[0] + "/").startswith(path + "/")),
                key=lambda item: item[0],
            )
        )
        if not over:
            return self.base.key(path)
        gone = self.files.get(path) is None and not self.names(path)
        return None if gone else (self.base.key(path), over)
