"""Existing commits: before a push, and over a range.

Each commit is judged by the claims that it names, as the pull-request check and the server's gate do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loopx_git.client.client import Client
from loopx_git.core.ids import OID
from loopx_git.coverage.changes import Code, CodeCommit
from loopx_git.coverage.history import ledger_of
from loopx_git.coverage.position import Positions
from loopx_git.coverage.verdict import CommitJudge, Group
from loopx_git.errors import InvalidState, UsageError
from loopx_git.guard.answer import Answer, examine
from loopx_git.guard.context import Context
from loopx_git.store.repository import Repository

ZERO = "0" * 40


def code_of(repository: Repository) -> Code:
    """The repository of code of a clone."""
    return Code(repository.top or repository.git_dir, repository.common_dir, repository.env)


def wanted(lines: str, remote: str, ref: str, since: str | None, code: Code) -> list[str]:
    """What `Code.commits` must list for a push: every commit that the remote does not have yet.

    `lines` is what git tells a pre-push hook: local ref, local oid, remote ref, remote oid. Deletions push nothing;
    the coordination ref has rules of its own. UsageError for anything else.
    """
    new, old = [], []
    for line in lines.splitlines():
        if not line.strip():
            continue
        parts = line.split(" ")
        if len(parts) != 4 or not OID.fullmatch(parts[1]) or not OID.fullmatch(parts[3]):
            raise UsageError(f"{line[:80]!r} is not a line of a pre-push hook", hint="git loopx guard status")
        _, oid, there, before = parts
        if oid == ZERO or there in (ref, "refs/loopx/tip"):
            continue
        new.append(oid)
        if before != ZERO and code.resolve(before) is not None:
            old.append(f"^{before}")
    if not new:
        return []
    old += before_since(since, code)
    return [*new, *old, *([] if not remote else ["--not", f"--remotes={remote}"])]


def resolve(spec: str, since: str | None, code: Code) -> list[str]:
    """`A..B` as arguments for `Code.commits`; UsageError when git knows no such thing."""
    old, dots, new = spec.partition("..")
    if not dots or not new or new.startswith("."):
        raise UsageError(
            f"{spec[:80]!r} is not a range", hint="git loopx guard check --range refs/remotes/origin/main..HEAD"
        )
    oids: list[str] = []
    for name in filter(None, (new, old)):
        found = code.resolve(name)
        if found is None:
            raise UsageError(f"there is no commit {name[:80]!r} here", hint="git log --oneline")
        oids.append(f"^{found}" if oids else found)
    return [*oids, *before_since(since, code)]


def before_since(since: str | None, code: Code) -> list[str]:
    """What leaves out the commits that the policy does not judge."""
    if since is None:
        return []
    if code.resolve(since) is None:
        raise InvalidState(f"guard.since names {since[:12]}, which is not here", hint="git fetch --unshallow")
    return [f"^{since}"]


def judge_selection(client: Client, context: Context, selection: Sequence[str], source: str) -> Answer:
    """The verdict on the selected commits."""
    if context.policy.mode == "off" or not selection:
        return Answer(context, source, [])
    code = code_of(client.connection.repository)
    found = code.commits(selection)
    if context.problem is not None or context.tip is None:
        return examine(context, dict.fromkeys(path for commit in found for path in commit.paths), source)
    names = [name for commit in found for name in commit.claims.claims]
    require = context.policy.require
    granted = ledger_of(client, context.tip).worth(
        names, context.claims, source, require=require, is_late=context.is_late
    )
    live = [claim for claim in context.claims if not claim.has_lapsed(context.now)]
    judge = CommitJudge(context.policy, granted, live, Positions(code, found))
    return Answer(context, source, gathered(found, judge))


def gathered(found: Iterable[CodeCommit], judge: CommitJudge) -> list[Group]:
    """The findings; each has the commits that it is about in its fields."""
    groups: dict[tuple[str, str], Group] = {}
    for commit in found:
        mark = f"{commit.oid[:12]} {commit.subject[:60]}"
        for group in judge.judge(commit):
            key = (group.rule, " ".join(claim.lease for claim in group.claims) + str(group.fields))
            whole = groups.setdefault(key, Group(group.rule, group.claims, {**group.fields, "commits": []}))
            whole.paths[:] = dict.fromkeys((*whole.paths, *group.paths))
            if mark not in whole.fields["commits"]:
                whole.fields["commits"].append(mark)
    return list(groups.values())
