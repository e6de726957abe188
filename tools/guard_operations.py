"""Which operation of git is seen by what: data, for the documentation and for the tests of it on real git."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Seen(StrEnum):
    """What becomes of an edit of a guarded path in an operation."""

    JUDGED = "judged"  # pre-commit runs: what no claim covers is refused
    MARKED = "marked"  # prepare-commit-msg alone runs: it goes through, and the commit says so
    CARRIED = "carried"  # nothing was edited here: every path is as in one of the parents
    UNSEEN = "unseen"  # no hook of ours runs: the commit names no claim


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its name, how it is typed, the hooks of ours that git runs for it, and whether it makes a
    commit that can be pushed."""

    name: str
    command: str
    hooks: tuple[str, ...]
    seen: Seen
    commits: bool = True


_COMMIT = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
_MERGE = ("pre-merge-commit", "prepare-commit-msg", "commit-msg")
_MESSAGE = ("prepare-commit-msg", "post-commit")

OPERATIONS: tuple[Operation, ...] = (
    Operation("commit", "git commit", _COMMIT, Seen.JUDGED),
    Operation("commit -a", "git commit -a", _COMMIT, Seen.JUDGED),
    Operation("commit path", "git commit PATH", _COMMIT, Seen.JUDGED),
    Operation("amend", "git commit --amend", _COMMIT, Seen.JUDGED),
    Operation("partial staging", "git add -p; git commit", _COMMIT, Seen.JUDGED),
    Operation("merge", "git merge, clean", _MERGE, Seen.CARRIED),
    Operation("merge conflict", "git merge, git commit", _COMMIT, Seen.JUDGED),
    Operation("squash merge", "git merge --squash; git commit", _COMMIT, Seen.JUDGED),
    Operation("pull", "git pull, with a clean merge", _MERGE, Seen.CARRIED),
    Operation("cherry-pick", "git cherry-pick", _MESSAGE, Seen.MARKED),
    Operation("revert", "git revert", _MESSAGE, Seen.MARKED),
    Operation("rebase", "git rebase", _MESSAGE, Seen.MARKED),
    Operation("rebase conflict", "git rebase --continue", _MESSAGE, Seen.MARKED),
    Operation("commit -n", "git commit --no-verify", _MESSAGE, Seen.MARKED),
    Operation("am", "git am", (), Seen.UNSEEN),
    Operation("stash", "git stash", (), Seen.UNSEEN, commits=False),
)

#: state of the claim -> (whether the edit is covered, in words).
CLAIMS: dict[str, tuple[bool, str]] = {
    "own": (True, "a live claim of this session covers the path"),
    "remote down": (True, "the same, and the remote cannot be reached"),
    "other": (False, "somebody else's live claim covers it"),
    "none": (False, "nobody's claim covers it"),
    "lapsed": (False, "this session's claim covers it and is past its deadline"),
}
PLACES = ("main", "linked", "submodule")
HOOKINGS = ("plain", "pre-commit", "husky", "lefthook", "hooksPath")


@dataclass(frozen=True, slots=True)
class Expected:
    """What happens: `local` is refused, trailer (it passes and names the claim), marked or plain (it passes);
    `push` is passes, refused, or nothing (there is nothing to push)."""

    local: str
    push: str


def expected(operation: Operation, claim: str) -> Expected:
    """What happens to an edit of a guarded path, in mode block."""
    covered = CLAIMS[claim][0]
    if not operation.commits:
        return Expected("plain", "nothing")
    match operation.seen:
        case Seen.CARRIED:
            return Expected("plain", "passes")
        case Seen.JUDGED:
            return Expected("trailer", "passes") if covered else Expected("refused", "nothing")
        case Seen.MARKED:
            return Expected("trailer", "passes") if covered else Expected("marked", "refused")
        case Seen.UNSEEN:
            # It names no claim, so nobody can tell under which it was made.
            return Expected("plain", "refused")
