"""The commits of a range of code and what each of them changed itself. GitPython walks; git compares."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from loopx_git.core import ids
from loopx_git.errors import InvalidState, NotFound
from loopx_git.format import code_claim
from loopx_git.review.check import Change
from loopx_git.review.merges import Merges
from loopx_git.store.process import Finished, git
from loopx_git.store.repository import Repository

if TYPE_CHECKING:
    from git import Commit

#: Options of every comparison: no rename is guessed (both names need the claim), nothing of the user's runs.
_PLAIN = ("--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--no-relative")
#: Files of one merge that are looked into; past so many each counts as changed by the merge.
_MERGE_MAX = 300
#: How far a shallow history is deepened, step by step; None: all of it.
_DEEPER: tuple[int | None, ...] = (50, 500, None)


class CodeRange:
    """The commits reachable from `head` and not from `base`, in a repository that may be shallow.

    Reading alone: what is fetched to deepen a shallow history brings objects, and moves no ref.
    """

    def __init__(self, repository: Repository, base: str, head: str, remote: str | None) -> None:
        self.repository, self.remote = repository, remote
        self.base, self.head = self._need(base), self._need(head)
        self._deepen()

    def _git(self, args: Sequence[str], timeout: float = 60, stdin: bytes = b"") -> Finished:
        env = {**self.repository.env, "GIT_NO_REPLACE_OBJECTS": "1", "GIT_TERMINAL_PROMPT": "0"}
        return git(args, cwd=self.repository.cwd, env=env, timeout=timeout, stdin=stdin)

    def _resolve(self, name: str) -> str | None:
        done = self._git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"])
        return done.text.strip() if done.code == 0 else None

    def _need(self, name: str) -> str:
        found = self._resolve(name)
        if found is None and ids.OID.fullmatch(name) and self.remote is not None:
            self._fetch(["--depth=1"], [name])
            found = self._resolve(name)
        if found is None:
            raise NotFound(
                f"{name[:80]!r} names no commit here", hint=f"git fetch {self.remote or 'origin'}   then say it again"
            )
        return found

    def _fetch(self, depth: Sequence[str], oids: Sequence[str]) -> Finished:
        options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=", "--no-recurse-submodules"]
        return self._git(["fetch", *options, *depth, "--", self.remote or "origin", *oids], 300)

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

    def _is_cut(self) -> bool:
        """True when a commit of the range may be missing: an edge of a shallow history lies in it."""
        path = self._git(["rev-parse", "--git-path", "shallow"]).text.strip()
        path = os.path.join(self.repository.cwd, path)
        if not os.path.exists(path):
            return False
        with open(path, encoding="ascii") as file:
            edges = set(file.read().split())
        inside = set(self._git(["rev-list", f"{self.base}..{self.head}", "--"]).text.split())
        met = self._git(["merge-base", self.base, self.head]).code == 0
        return bool(inside & edges) or not met

    # -- the commits

    def changes(self, since: str | None) -> list[Change]:
        """Every commit of the range, parents first, with its own changes."""
        early = self._early(since)
        commits = list(self._walk())
        plain = self._plain_changes([commit.hexsha for commit in commits if len(commit.parents) < 2])
        with Merges(self.repository) as self.merges:
            return self._with_hidden(self._changes(commits, plain, early))

    def _changes(
        self, commits: Sequence[Commit], plain: Mapping[str, tuple[str, ...]], early: set[str]
    ) -> list[Change]:
        found: list[Change] = []
        for commit in commits:
            merge = len(commit.parents) > 1
            message = commit.message
            text = message.decode("utf-8", "replace") if isinstance(message, bytes) else message
            found.append(
                Change(
                    commit=commit.hexsha,
                    subject=text.split("\n")[0][:200],
                    author=str(commit.author.name or ""),
                    paths=self._merge_changes(commit) if merge else plain.get(commit.hexsha, ()),
                    claims=code_claim.load(text),
                    merge=merge,
                    early=commit.hexsha in early,
                )
            )
        return found

    def _walk(self) -> Iterator[Commit]:
        from git import Repo

        with Repo(self.repository.top or self.repository.git_dir, search_parent_directories=True) as repo:
            repo.git.update_environment(GIT_NO_REPLACE_OBJECTS="1", GIT_TERMINAL_PROMPT="0")
            # All of it, before the repository's readers are closed.
            yield from list(repo.iter_commits(f"{self.base}..{self.head}", topo_order=True, reverse=True))

    def _early(self, since: str | None) -> set[str]:
        """The commits of the range that the policy's cut-off leaves out."""
        if since is None:
            return set()
        if self._resolve(since) is None and self.remote is not None:
            self._fetch(["--depth=1"], [since])
        if self._resolve(since) is None:
            raise InvalidState(
                f"guard.since names {since}, which is not here",
                hint=f"git fetch {self.remote or 'origin'} {since}",
                about={"commit": since},
            )
        whole = set(self._git(["rev-list", f"{self.base}..{self.head}", "--"]).text.split())
        late = set(self._git(["rev-list", f"{self.base}..{self.head}", f"^{since}", "--"]).text.split())
        return whole - late

    def _plain_changes(self, oids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Commit -> the paths that differ from its parent (all of them, for a root)."""
        if not oids:
            return {}
        done = self._git(
            ["diff-tree", "--stdin", "-r", "-z", "--root", "--raw", *_PLAIN], 600, "\n".join(oids).encode() + b"\n"
        )
        if done.code:
            raise InvalidState(f"the commits cannot be compared: {done.complaint}", hint="git fsck")
        found: dict[str, list[str]] = {}
        current: list[str] = []
        parts = iter(done.text.split("\0"))
        for part in parts:
            # A line of --raw begins with a colon and its path follows it: no path can be taken for a commit.
            if part.startswith(":"):
                current.append(next(parts))
            elif part:
                current = found.setdefault(part.strip(), [])
        return {oid: tuple(paths) for oid, paths in found.items()}

    def _merge_changes(self, commit: Commit) -> tuple[str, ...]:
        """The paths that a merge changed itself: where it is not what git would have merged, and in conflicts where
        it has lines that no parent has."""
        oid = commit.hexsha
        merged = self.merges.merged([parent.hexsha for parent in commit.parents])
        if merged is None:
            names = self._combined(oid)
            return tuple(names if len(names) > _MERGE_MAX else (name for name in names if self._is_own(oid, name)))
        differing = self.merges.differing(merged.tree, oid)
        own = [name for name in differing if name not in merged.conflicts]
        unsettled = [name for name in differing if name in merged.conflicts]
        combined = set(self._combined(oid)) if unsettled else set()
        if len(unsettled) > _MERGE_MAX:
            return tuple(differing)
        return tuple(sorted([*own, *(name for name in unsettled if name in combined and self._is_own(oid, name))]))

    def _combined(self, oid: str) -> list[str]:
        """The paths in which a merge differs from every parent."""
        listed = self._git(["diff-tree", "-c", "-r", "-z", "--no-commit-id", "--name-only", *_PLAIN, oid])
        if listed.code:
            raise InvalidState(f"the merge {oid} cannot be compared: {listed.complaint}", hint="git fsck")
        return listed.text.split("\0")[:-1]

    def _is_own(self, oid: str, name: str) -> bool:
        args = ["diff-tree", "--cc", "-r", "-p", "--no-commit-id", *_PLAIN, oid, "--", f":(top,literal){name}"]
        done = self._git(args)
        return done.code != 0 or bool(done.out.strip())

    def _with_hidden(self, changes: list[Change]) -> list[Change]:
        """A second net, where a merge could not be made again: whatever the range as a whole changes and no commit of
        it did is laid at the door of its newest merge."""
        merges = [number for number, change in enumerate(changes) if change.merge]
        bases = self._git(["merge-base", "--all", self.base, self.head]).text.split()
        if not merges or len(bases) != 1:
            return changes
        net = self._git(["diff-tree", "-r", "-z", "--name-only", *_PLAIN, bases[0], self.head]).text.split("\0")[:-1]
        told = {path for change in changes for path in change.paths}
        hidden = tuple(path for path in net if path not in told)
        if hidden:
            from dataclasses import replace

            newest = changes[merges[-1]]
            changes[merges[-1]] = replace(newest, paths=(*newest.paths, *hidden), early=False)
        return changes
