"""The paths that a commit in the making would change: the index against HEAD, and nothing of the work tree."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from loopx_git.errors import InvalidState
from loopx_git.store.process import git

#: A diff of 100,000 paths takes a second.
TIMEOUT = 60.0
#: A rename is a deletion and an addition: both names need the claim. `-z` gives names as they are. The settings of
#: submodules cannot hide a pointer that moved, nor a program be named for the comparison.
DIFF = (
    "--raw", "-z", "-r", "--no-renames", "--no-relative", "--ignore-submodules=none", "--no-ext-diff",
    "--no-textconv",
)  # fmt: skip
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def staged(folder: str, env: Mapping[str, str], others: Sequence[str] = ()) -> list[str]:
    """The paths, sorted. `env` is the hook's own: it says which index (a partial commit has one of its own).

    `others` are the further parents of a merge. A path that is as in one of them was merely carried over, and only
    what differs from every parent was edited here.
    """
    names = changed("HEAD", folder, env)
    for parent in others:
        if not names:
            break
        names &= changed(parent, folder, env)
    return sorted(names)


def other_parents(git_dir: str, env: Mapping[str, str], *, merging: bool = False) -> list[str]:
    """The further parents of the merge that is going on here; [] when there is none.

    Before a clean merge is committed (`merging`) git has not written MERGE_HEAD yet; it names them in its
    environment.
    """
    from loopx_git.core.ids import OID
    from loopx_git.store.lock import read_file

    data = read_file(os.path.join(git_dir, "MERGE_HEAD"), 65536)
    if data is not None:
        named = data.decode("ascii", "replace").split()
    else:
        named = [name.removeprefix("GITHEAD_") for name in env if name.startswith("GITHEAD_")] if merging else []
    return [oid for oid in named if OID.fullmatch(oid)]


def changed(parent: str, folder: str, env: Mapping[str, str]) -> set[str]:
    """The paths that differ between a commit or tree and the index."""
    done = git(["diff-index", "--cached", *DIFF, parent, "--"], cwd=folder, env=env, timeout=TIMEOUT)
    if done.code and parent == "HEAD":
        born = git(["rev-parse", "--verify", "--quiet", "HEAD"], cwd=folder, env=env, timeout=TIMEOUT)
        if born.code:
            return changed(EMPTY_TREE, folder, env)
    if done.code:
        raise InvalidState(f"git cannot compare the index with {parent}: {done.complaint}", hint="git status")
    return {path for _, path in entries(done.out)}


def entries(raw: bytes) -> list[tuple[str, str]]:
    """(modes and ids, path) of `--raw -z` output."""
    parts = raw.decode("utf-8", "surrogateescape").split("\0")
    return list(zip(parts[::2], parts[1::2], strict=False))
