"""The findings of a review: what the verdict says of each commit, a row a path, for people and programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from loopx_git.coverage.changes import CodeCommit
from loopx_git.coverage.history import Granted
from loopx_git.coverage.policy import GuardPolicy
from loopx_git.coverage.verdict import CommitJudge, Who, fields_of, says

CONFIG = ".loopx/config.toml"
_NOBODY = Who(None, None)


@dataclass(frozen=True, slots=True)
class ReviewFinding:
    """One finding: `level` is error, warning or notice; `way_out` is what to do about it."""

    rule: str
    level: str
    commit: str
    message: str
    way_out: str = ""
    file: str | None = None
    todo: str | None = None
    epoch: int | None = None
    holder: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command line."""
        shown = asdict(self)
        if self.file is not None:
            shown["file"] = self.file.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        return shown


def findings(
    commits: Sequence[CodeCommit], granted: Granted, policy: GuardPolicy, *, strict: bool = False
) -> Iterator[ReviewFinding]:
    """The findings over these commits, in their order."""
    if policy.mode == "off":
        return
    level = "error" if policy.mode == "block" or strict else "warning"
    judge = CommitJudge(policy, granted.named, granted.live, granted.position)
    for commit in commits:
        for group in judge.judge(commit):
            if group.allowed:
                continue
            message, _, way_out = says(group, _NOBODY)
            fields = fields_of(group, _NOBODY)
            about = {key: fields.get(key) for key in ("todo", "epoch", "holder")}
            for path in group.paths:
                yield ReviewFinding(group.rule, level, commit.oid, message, way_out, path, **about)
