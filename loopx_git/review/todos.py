"""`review check` of a pull request against the coordination ref: its diff is todos, and is judged as edits."""

from __future__ import annotations

from datetime import datetime

from loopx_git.core.change import Actor
from loopx_git.core.lease import Clocks
from loopx_git.errors import InvalidState
from loopx_git.format import layout
from loopx_git.ledger.adoption import plan_adoption
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.review.check import ReviewFinding
from loopx_git.store.repository import Repository

#: In whose name an adoption is tried; nothing is written.
_NOBODY, _REQUEST = Actor("review@localhost.invalid"), "0" * 32


def is_ledger(repository: Repository, commit: str) -> bool:
    """Whether a commit's tree is a ledger's."""
    return repository.file_at(commit, layout.FORMAT) is not None


def proposal_findings(repository: Repository, base: str, head: str, now: datetime) -> list[ReviewFinding]:
    """What merging head into base would leave to be adopted: an error for each edit that the rules refuse, a warning
    for one that somebody has to be asked for."""
    from loopx_git.store.objects import PygitObjects

    objects = PygitObjects(repository.common_dir)
    fork = objects.merge_base(base, head)
    if fork is None:
        raise InvalidState("head does not branch off the coordination ref", hint="git loopx propose add BRANCH TITLE")
    before = TreeSnapshot(objects.tree(fork))
    planned = plan_adoption(before, objects.tree(head), objects.changed(fork, head), _NOBODY, Clocks(now), _REQUEST)
    found = [
        ReviewFinding(
            "proposal", "error", head, edit.refused, "mend it on the branch: git loopx propose show BRANCH",
            edit.path, edit.todo, holder=edit.held,
        )
        for edit in planned.undone
    ]  # fmt: skip
    found += [
        ReviewFinding(
            "proposal", "warning", head, f"{edit.held} holds it: it is adopted only when somebody asks for it",
            "once it is reviewed: git loopx propose accept -h   or after the merge: git loopx adopt -h", edit.path,
            edit.todo, holder=edit.held,
        )
        for edit in planned.admitted if edit.held is not None
    ]  # fmt: skip
    return found
