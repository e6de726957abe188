"""The commits of a range of code, in a repository that may be shallow. `coverage.changes` reads them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from loopx_git.core import ids
from loopx_git.coverage.changes import Code, CodeCommit
from loopx_git.coverage.raw import DIFF, entries
from loopx_git.errors import InvalidState, NotFound
from loopx_git.store.process import Finished
from loopx_git.store.repository import Repository

#: How far a shallow history is deepened, step by step; None: all of it.
_DEEPER: tuple[int | None, ...] = (50, 500, None)


class CodeRange:
    """The commits reachable from `head` and not from `base`, in a repository that may be shallow.

    Reading alone: what is fetched to deepen a shallow history brings objects, and moves no ref.
    """

    def __init__(self, repository: Repository, base: str, head: str, remote: str | None) -> None:
        self.repository, self.remote = repository, remote
        self.code = Code(repository.cwd, repository.common_dir, repository.env)
        self.base, self.head = self._need(base), self._need(head)
        self._deepen()

    def _git(self, args: Sequence[str]) -> Finished:
        return self.code.git(args)

    def _need(self, name: str) -> str:
        found = self.code.resolve(name)
        if found is None and ids.OID.fullmatch(name) and self.remote is not None:
            # A whole history stays whole.
            self._fetch(["--depth=1"] if os.path.exists(self._shallow()) else [], [name])
            found = self.code.resolve(name)
        if found is None:
            raise NotFound(
                f"{name[:80]!r} names no commit here", hint=f"git fetch {self.remote or 'origin'}   then say it again"
            )
        return found

    def _fetch(self, depth: Sequence[str], oids: Sequence[str]) -> Finished:
        options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=", "--no-recurse-submodules"]
        return self._git(["fetch", *options, *depth, "--", self.remote or "origin", *oids])

    def bring(self, oid: str) -> None:
        """Fetch a commit, where the history is whole and the remote gives it."""
        if self.remote is not None and not os.path.exists(self._shallow()):
            self._fetch([], [oid])

    def _deepen(self) -> None:
        if not self._is_cut():
            return
        for depth in _DEEPER if self.remote is not None else ():
            self._fetch(["--unshallow"] if depth is None else [f"--deepen={depth}"], [self.base, self.head])
            if not self._is_cut():
                return
        raise InvalidState(
            "history is shallow here, and what lies between base and head is not complete",
            hint=f"git fetch --unshallow {self.remote or 'origin'}   (in a checkout action: fetch-depth: 0)",
            about={"base": self.base, "head": self.head},
        )

    def _shallow(self) -> str:
        """The file that lists the edges of a shallow history."""
        path = self.code.told(["rev-parse", "--git-path", "shallow"]).removesuffix("\n")
        return os.path.join(self.repository.cwd, path)

    def _is_cut(self) -> bool:
        """True when a commit of the range may be missing: an edge of a shallow history lies in it."""
        path = self._shallow()
        if not os.path.exists(path):
            return False
        with open(path, encoding="ascii") as file:
            edges = set(file.read().split())
        inside = set(self.code.told(["rev-list", f"{self.base}..{self.head}", "--"]).split())
        met = self._git(["merge-base", self.base, self.head]).code == 0
        return bool(inside & edges) or not met

    # -- the commits

    def changes(self, since: str | None) -> tuple[list[CodeCommit], frozenset[str]]:
        """(every commit of the range, parents first, with its own changes; those that the policy's cut-off leaves
        out)."""
        early = self._early(since)
        found = self.code.commits(self._walk(), ["--no-walk=unsorted"])
        return self._with_hidden(found, early)

    def _walk(self) -> list[str]:
        walk = ["rev-list", "--topo-order", "--reverse", f"{self.base}..{self.head}", "--"]
        return self.code.told(walk).split()

    def _early(self, since: str | None) -> frozenset[str]:
        """The commits of the range that the policy's cut-off leaves out."""
        if since is None:
            return frozenset()
        if self.code.resolve(since) is None and self.remote is not None:
            self._fetch(["--depth=1"], [since])
        if self.code.resolve(since) is None:
            raise InvalidState(
                f"guard.since names {since}, which is not here",
                hint=f"git fetch {self.remote or 'origin'} {since}",
                about={"commit": since},
            )
        whole = set(self.code.told(["rev-list", f"{self.base}..{self.head}", "--"]).split())
        late = set(self.code.told(["rev-list", f"{self.base}..{self.head}", f"^{since}", "--"]).split())
        return frozenset(whole - late)

    def _with_hidden(
        self, found: list[CodeCommit], early: frozenset[str]
    ) -> tuple[list[CodeCommit], frozenset[str]]:  # fmt: skip
        """A second net, where a merge could not be made again: whatever the range as a whole changes and no commit of
        it did is laid at the door of its newest merge."""
        merges = [number for number, commit in enumerate(found) if commit.is_merge]
        if not merges:
            return found, early
        met = self._git(["merge-base", "--all", self.base, self.head])
        if met.code not in (0, 1):
            raise InvalidState(f"git cannot say where base and head met: {met.complaint}", hint="git fsck")
        bases = met.text.split()
        if len(bases) != 1:
            return found, early
        told = {path for commit in found for path in commit.paths}
        net = entries(self.code.told(["diff-tree", *DIFF, bases[0], self.head]))
        hidden = tuple(path for _, path in net if path not in told)
        if hidden:
            newest = found[merges[-1]]
            found[merges[-1]] = newest._replace(paths=(*newest.paths, *hidden))
            early -= {newest.oid}
        return found, early
