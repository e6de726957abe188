"""What git alone would have made of a merge, to find what the person changed.

The merge is repeated in a temporary repository that reads the user's objects. Nothing is written in the user's
repository, and its attributes and configuration are not used. A merge that is not committed yet becomes a commit
there, and is judged like every other.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from glob import escape, glob
from types import TracebackType
from typing import NamedTuple

from loopx_git.coverage.raw import DIFF, ask, entries
from loopx_git.errors import InvalidState
from loopx_git.store.environment import at, scrubbed
from loopx_git.store.process import Finished

#: Files of one merge that are looked into; past so many each counts as changed by the merge.
_FILES_MAX = 300
#: Nobody gets to see the commits that are made here.
_NOBODY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "loopx"), ("EMAIL", "loopx@localhost.invalid"), ("DATE", "1000000000 +0000"))
}


class Merged(NamedTuple):
    """A merge made by git alone: its tree, and the paths that it could not settle."""

    tree: str
    conflicts: frozenset[str]


class Merges:
    """A context that makes merges again. `cwd`, `common_dir` and `env` are those of the user's repository."""

    def __init__(self, cwd: str, common_dir: str, env: Mapping[str, str]) -> None:
        self.cwd, self.common_dir, self.env = cwd, common_dir, env
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._path = ""

    def __enter__(self) -> Merges:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:  # fmt: skip
        if self._folder is not None:
            self._folder.cleanup()

    def changes(self, commit: str, parents: Sequence[str]) -> list[str]:
        """The paths that a merge changed itself: where it differs from git's merge, and in conflicts where it has new
        lines.
        """
        merged = self._merged(parents)
        if merged is None:
            names = self._combined(commit)
            return names if len(names) > _FILES_MAX else [name for name in names if self._is_own(commit, name)]
        differing = self._paths("diff-tree", *DIFF, merged.tree, f"{commit}^{{tree}}")
        unsettled = [name for name in differing if name in merged.conflicts]
        if len(unsettled) > _FILES_MAX:
            return differing
        combined = set(self._combined(commit)) if unsettled else set()
        innocent = {name for name in unsettled if name not in combined or not self._is_own(commit, name)}
        return [name for name in differing if name not in innocent]

    def of_index(self, git_dir: str, parents: Sequence[str]) -> list[str] | None:
        """The same for the index of a merge that is not committed yet; None while it cannot be: unsettled paths."""
        self._open()
        index = os.path.join(self.cwd, self.env.get("GIT_INDEX_FILE") or os.path.join(git_dir, "index"))
        # git would note in the index that its trees are written: a copy is ours.
        for path in (index, *glob(os.path.join(escape(git_dir), "sharedindex.*"))):
            with suppress(FileNotFoundError):
                shutil.copyfile(path, os.path.join(self._path, os.path.basename(path)))
        copied = os.path.join(self._path, os.path.basename(index))
        done = self._git(["write-tree", "--missing-ok"], GIT_INDEX_FILE=copied)
        return None if done.code else self.changes(self._commit(done.text.strip(), parents), parents)

    def _merged(self, parents: Sequence[str]) -> Merged | None:
        """What git makes of the parents, one after the other; None where git is too old to say."""
        tree, before, conflicts = "", parents[0], frozenset[str]()
        for number, parent in enumerate(parents[1:]):
            if number:
                before = self._commit(tree, [before, parents[number]])
            args = ["merge-tree", "--write-tree", "--name-only", "-z", "--no-messages", "--allow-unrelated-histories"]
            done = self._git([*args, before, parent])
            if done.code not in (0, 1) or not done.out:
                return None
            tree, *names = done.text.rstrip("\0").split("\0")
            conflicts |= {name for name in names if name}
        return Merged(tree.strip(), conflicts)

    def _commit(self, tree: str, parents: Sequence[str]) -> str:
        done = self._git(["commit-tree", tree, *(word for parent in parents for word in ("-p", parent))], **_NOBODY)
        if done.code:
            raise InvalidState(f"the merge cannot be looked at: {done.complaint}", hint="git fsck")
        return done.text.strip()

    def _combined(self, commit: str) -> list[str]:
        """The paths in which a merge differs from every parent."""
        return self._paths("diff-tree", "-c", "--no-commit-id", *DIFF, commit)

    def _is_own(self, commit: str, name: str) -> bool:
        args = ["--literal-pathspecs", "diff-tree", "--cc", "-p", "-r", "--no-commit-id", "--no-renames"]
        done = self._git([*args, "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", commit, "--", name])
        return done.code != 0 or bool(done.out.strip())

    def _paths(self, *args: str) -> list[str]:
        done = self._git(args)
        if done.code:
            raise InvalidState(f"a merge cannot be compared: {done.complaint}", hint="git fsck")
        return [path for _, path in entries(done.text)]

    def _open(self) -> None:
        if self._folder is not None:
            return
        self._folder = tempfile.TemporaryDirectory(prefix="loopx-merges-")
        self._path = os.path.join(self._folder.name, "merges.git")
        args = ["init", "--quiet", "--bare", "--template=", "--object-format=sha1", self._path]
        made = ask(args, self._folder.name, scrubbed(self.env))
        if made.code:
            raise InvalidState(f"no temporary repository can be made: {made.complaint}", hint="look at TMPDIR")

    def _git(self, args: Sequence[str], **variables: str) -> Finished:
        self._open()
        env = at(self._path, scrubbed(self.env))
        return ask(args, self._path, {**env, **self._objects(), **variables})

    def _objects(self) -> dict[str, str]:
        """Where objects are: the user's repository, and what a push has brought that is not accepted yet."""
        named = [os.path.join(self.common_dir, "objects"), self.env.get("GIT_OBJECT_DIRECTORY", "")]
        named += self.env.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "").split(os.pathsep)
        return {
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(
                os.path.join(self.cwd, path) for path in named if path
            )
        }
