"""Whether a commit was made before its claim's todo was completed.

The completion names the commits at which the work stood. What is reachable from one of them was there. So was a
commit that a rebase or a squash made anew: it brings to each path what a commit on the way to them had brought.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loopx_git.coverage.changes import Code, CodeCommit

#: How many commits that are not here are asked of the remote.
_FETCHED_MAX = 20


class Positions:
    """The commits of one range, against the commits at which todos were completed. `fetch` brings a commit that is
    not here, where it can be had."""

    def __init__(
        self, code: Code, commits: Sequence[CodeCommit], fetch: Callable[[str], object] | None = None
    ) -> None:
        self._code, self._commits, self._fetch = code, commits, fetch
        self._here: dict[str, bool] = {}
        self._lines: dict[tuple[str, ...], tuple[frozenset[str], frozenset[tuple[str, str]]]] = {}
        self._own: dict[str, dict[str, str]] | None = None

    def __call__(self, ends: tuple[str, ...], commit: CodeCommit, paths: Sequence[str]) -> bool | None:
        """True: what the commit does to these paths was there at the completion. False: it was not. None: that cannot
        be told here."""
        known = tuple(oid for oid in ends if self._is_here(oid))
        if not known:
            return None
        reached, brought = self._line(known)
        if commit.oid in reached:
            return True
        own = self._brought_by(commit.oid)
        if paths and all((path, own.get(path, "")) in brought for path in paths):
            return True
        return False if len(known) == len(ends) else None

    def _is_here(self, oid: str) -> bool:
        if oid not in self._here:
            here = self._has(oid)
            if not here and self._fetch is not None and len(self._here) < _FETCHED_MAX:
                self._fetch(oid)
                here = self._has(oid)
            self._here[oid] = here
        return self._here[oid]

    def _has(self, oid: str) -> bool:
        return self._code.git(["cat-file", "-e", f"{oid}^{{commit}}"]).code == 0

    def _line(self, ends: tuple[str, ...]) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
        """The commits on the way from the range's base to these, and every (path, content) that they brought."""
        found = self._lines.get(ends)
        if found is None:
            inside = {commit.oid for commit in self._commits}
            edges = {up for commit in self._commits for up in commit.parents if up not in inside}
            wanted = "".join(f"{oid}\n" for oid in (*ends, *(f"^{oid}" for oid in edges)))
            oids = self._code.told(["rev-list", "--stdin", "--ignore-missing"], wanted.encode()).split()
            brought = frozenset((path, content) for _, path, content in self._code.brought(oids))
            found = self._lines[ends] = frozenset(oids), brought
        return found

    def _brought_by(self, oid: str) -> dict[str, str]:
        """Path -> content of what one commit of the range changed; {} for a merge."""
        if self._own is None:
            self._own = {}
            for commit, path, content in self._code.brought([commit.oid for commit in self._commits]):
                self._own.setdefault(commit, {})[path] = content
        return self._own.get(oid, {})
