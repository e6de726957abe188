"""What git would have made of a merge by itself, to tell what the person who merged did.

The merge is made again in a repository of our own, thrown away at the end, that reads the objects of the user's:
nothing is written there, and no attribute or configuration of it plays a part.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from loopx_git.errors import InvalidState
from loopx_git.store.environment import at, scrubbed
from loopx_git.store.process import Finished, git
from loopx_git.store.repository import Repository


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge made by git alone: its tree, and the paths that it could not settle."""

    tree: str
    conflicts: frozenset[str]


class Merges:
    """A context that makes merges again. Opened at the first one."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._path = ""

    def __enter__(self) -> Merges:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:  # fmt: skip
        if self._folder is not None:
            self._folder.cleanup()

    def merged(self, parents: Sequence[str]) -> Merged | None:
        """What git makes of two parents; None for more of them, or where git is too old to say."""
        if len(parents) != 2:
            return None
        args = ["merge-tree", "--write-tree", "--name-only", "-z", "--no-messages", "--allow-unrelated-histories"]
        done = self._git([*args, *parents])
        if done.code not in (0, 1) or not done.out:
            return None
        tree, *conflicts = done.text.split("\0")
        return Merged(tree.strip(), frozenset(name for name in conflicts if name))

    def differing(self, tree: str, commit: str) -> list[str]:
        """The paths in which a commit differs from a tree that was made here."""
        done = self._git(["diff-tree", "-r", "-z", "--name-only", "--no-renames", tree, f"{commit}^{{tree}}"])
        if done.code:
            raise InvalidState(f"the merge {commit} cannot be compared: {done.complaint}", hint="git fsck")
        return done.text.split("\0")[:-1]

    def _git(self, args: Sequence[str]) -> Finished:
        env = scrubbed(self.repository.env)
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="loopx-merges-")
            self._path = os.path.join(self._folder.name, "merges.git")
            made = git(
                ["init", "--quiet", "--bare", "--template=", "--object-format=sha1", self._path],
                cwd=self._folder.name,
                env=env,
                timeout=30,
            )
            if made.code:
                raise InvalidState(f"no temporary repository can be made: {made.complaint}", hint="look at TMPDIR")
        return git(args, cwd=self._path, env={**at(self._path, env), **self._objects()}, timeout=120)

    def _objects(self) -> dict[str, str]:
        """Where objects are: the user's repository, and what a push has brought that is not accepted yet."""
        outer, cwd = self.repository.env, self.repository.cwd
        named = [os.path.join(self.repository.common_dir, "objects"), outer.get("GIT_OBJECT_DIRECTORY", "")]
        named += outer.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "").split(os.pathsep)
        return {
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(os.path.join(cwd, path) for path in named if path)
        }
