"""git's raw differences: asked for in one way, read by one reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loopx_git.errors import InvalidState
from loopx_git.store.process import Finished, git

#: Seconds for one question; a difference of 100,000 paths takes one.
LIMIT = 600.0
#: Most bytes of an answer: 100,000 paths as long as a path can be.
MOST = 512 * 1024 * 1024
#: A rename is a deletion and an addition: both names need the claim. `-z` gives names as they are. The settings of
#: submodules cannot hide a pointer that moved, nor a program be named for the comparison.
DIFF = (
    "--raw", "-z", "-r", "--no-renames", "--no-relative", "--ignore-submodules=none", "--no-ext-diff",
    "--no-textconv",
)  # fmt: skip
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def entries(text: str) -> Iterator[tuple[str, str]]:
    """(commit, path) of `--raw -z` output; the commit is "" where git was asked about one difference alone."""
    return ((commit, path) for commit, path, _ in contents(text))


def contents(text: str) -> Iterator[tuple[str, str, str]]:
    """As `entries`, and what the path has afterwards: mode and id, zeros where it is gone."""
    commit, parts = "", iter(text.split("\0"))
    for part in parts:
        # A line begins with a colon and its path follows it: no path can be taken for a commit.
        if part.startswith(":"):
            _, mode, _, oid, *_ = part.split(" ")
            yield commit, next(parts), f"{mode} {oid}"
        elif part:
            commit = part.strip()


def ask(args: Sequence[str], cwd: str, env: Mapping[str, str], stdin: bytes = b"") -> Finished:
    """One question to git. Raises InvalidState for an answer that is too large: a part of it would hide changes."""
    return git(args, cwd=cwd, env=env, timeout=LIMIT, stdin=stdin, most=MOST)


def told(args: Sequence[str], cwd: str, env: Mapping[str, str], stdin: bytes = b"") -> str:
    """The answer to a question that git has to be able to answer; InvalidState where it fails or is stopped."""
    done = ask(args, cwd, env, stdin)
    if done.code:
        raise InvalidState(f"git cannot answer (git {args[0]}): {done.complaint}", hint="git fsck")
    return done.text
