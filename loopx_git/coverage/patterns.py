"""Which patterns match a path, for very many paths and patterns, with the standard library alone.

A test is (folder, expression or None, pattern), as `client.claims_file.tests_of` makes it: the pattern is tried
only on paths below its folder, by its regular expression where that is right and quick, else by `core.scope`.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    _Test = tuple[Any, Callable[[str], object] | None, str]

#: `core.scope.MAX_SEARCHED`, which would cost an import at every edit; a test compares them.
LONGEST = 200


class Index:
    """Keys by the patterns that lead to them."""

    def __init__(self, entries: Iterable[tuple[Any, Sequence[Sequence[str | None]]]]) -> None:
        self._by_folder: dict[str, list[tuple[int, Any, str | None, str]]] = {}
        self._near: dict[str, tuple[Sequence[_Test] | None, Sequence[Any]]] = {}
        for rank, (key, tests) in enumerate(entries):
            for folder, source, pattern in tests:
                self._by_folder.setdefault(folder or "", []).append((rank, key, source, pattern or ""))

    def find(self, path: str) -> Sequence[Any]:
        """The keys of which some pattern matches, in the order in which they were given."""
        if not self._by_folder:
            return ()
        folder = path.rpartition("/")[0]
        near = self._near.get(folder)
        if near is None:
            near = self._near[folder] = self._candidates(folder)
        tests, every = near
        return every if tests is None else _hits(tests, path)

    def any(self, path: str) -> bool:
        """Whether some pattern matches."""
        return bool(self.find(path))

    def _candidates(self, folder: str) -> tuple[Sequence[_Test] | None, Sequence[Any]]:
        """What may match in this folder, compiled: the tests; or None and the keys, where each matches everything."""
        places, at = [""], 0
        while folder and at >= 0:
            at = folder.find("/", at + 1)
            places.append(folder if at < 0 else folder[:at])
        found = [item for place in places for item in self._by_folder.get(place, ())]
        found.sort(key=lambda item: item[0])
        if all(source == "" for _, _, source, _ in found):
            return None, tuple(dict.fromkeys(key for _, key, _, _ in found))
        tests = [
            (key, None if source is None else re.compile(source).search, pattern) for _, key, source, pattern in found
        ]
        return tests, ()


def _hits(near: Sequence[_Test], path: str) -> list[Any]:
    line = path.replace("\n", "\0") if "\n" in path else path
    found: list[Any] = []
    for key, search, pattern in near:
        if found and found[-1] is key:
            continue
        if search is None or len(path) > LONGEST:
            from loopx_git.core.scope import matches

            hit: object = matches((pattern,), path)
        else:
            hit = search(line)
        if hit:
            found.append(key)
    return found
