"""Commits that were made already: before a push, and over a range. Each is held against the claims that it names.

A commit that names none (no guard saw it: `am`, `commit-tree`, a hook that was switched off) is judged as if whoever
pushes made it now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from loopx_git.client.claims_file import tests_of
from loopx_git.client.client import Client
from loopx_git.core.claim import state_of
from loopx_git.core.ids import OID
from loopx_git.core.lease import Ended, Lease, LeaseState, Moment
from loopx_git.core.todo import Todo
from loopx_git.errors import InvalidState, UsageError
from loopx_git.format.snapshot import TreeSnapshot
from loopx_git.guard.desk import Desk
from loopx_git.guard.patterns import Index
from loopx_git.guard.range import Commit, commits, exists
from loopx_git.guard.report import Report
from loopx_git.guard.verdict import Bench, Claim, Group

#: Claims that ended so were carried to their end: what was made under them may still be pushed.
_CARRIED = frozenset({Ended.COMPLETED, Ended.SUPERSEDED})
ZERO = "0" * 40


class Named:
    """A claim that a commit names: the rule that speaks against it (None: it stands), and its scope."""

    def __init__(self, claim: Claim, rule: str | None, fields: Mapping[str, Any]) -> None:
        self.claim, self.rule, self.fields = claim, rule, fields


def wanted(lines: str, remote: str, ref: str, since: str | None, folder: str, env: Mapping[str, str]) -> list[str]:
    """What `range.commits` must list for a push: every commit that the remote does not have yet.

    `lines` is what git tells a pre-push hook: local ref, local oid, remote ref, remote oid. Deletions push nothing;
    the coordination ref has rules of its own. UsageError for anything else.
    """
    new, old = [], []
    for line in lines.splitlines():
        if not line.strip():
            continue
        parts = line.split(" ")
        if len(parts) != 4 or not OID.fullmatch(parts[1]) or not OID.fullmatch(parts[3]):
            raise UsageError(f"{line[:80]!r} is no line of a pre-push hook", hint="git loopx guard status")
        _, oid, there, before = parts
        if oid == ZERO or there in (ref, "refs/loopx/tip"):
            continue
        new.append(oid)
        if before != ZERO and exists(before, folder, env):
            old.append(f"^{before}")
    if not new:
        return []
    if since is not None:
        if not exists(since, folder, env):
            raise InvalidState(f"guard.since names {since[:12]}, which is not here", hint="git fetch --unshallow")
        old.append(f"^{since}")
    return [*new, *old, *([] if not remote else ["--not", f"--remotes={remote}"])]


def examine(client: Client, desk: Desk, selection: Sequence[str], source: str) -> Report:
    """The verdict on the selected commits."""
    if desk.policy.mode == "off" or not selection:
        return Report(desk, source, [])
    repository = client.connection.repository
    found = commits(selection, repository.top or repository.git_dir, repository.env)
    guarded = [path for commit in found for path in commit.paths if desk.policy.is_guarded(path)]
    if desk.problem is not None or not guarded or desk.tip is None:
        guarded = list(dict.fromkeys(guarded))
        return desk.examine(guarded, source)
    snapshot = client.connection.ledger.snapshot(desk.tip)
    return Report(desk, source, judge_commits(found, desk, snapshot, client.moment()))


def judge_commits(found: Iterable[Commit], desk: Desk, snapshot: TreeSnapshot, moment: Moment) -> list[Group]:
    """The findings; each has the commits that it is about in its fields."""
    bench = desk.bench()
    groups: dict[tuple[str, str], Group] = {}
    seen: set[tuple[tuple[str, str], str]] = set()
    for commit in found:
        named = [_look_up(todo, epoch, desk, snapshot, moment) for todo, epoch in commit.named]
        judge_path = _judge(named, bench)
        for path in commit.paths:
            if desk.policy.is_guarded(path):
                rule, claims, fields = judge_path(path)
            else:
                rule, claims, fields = "unguarded", (), {}
            key = (rule, " ".join(claim.lease for claim in claims) + str(fields))
            group = groups.get(key)
            if group is None:
                group = groups[key] = Group(rule, claims, {**fields, "commits": []})
            if (key, path) not in seen:
                seen.add((key, path))
                group.paths.append(path)
            mark = f"{commit.oid[:12]} {commit.subject[:60]}"
            if group.fields["commits"][-1:] != [mark]:
                group.fields["commits"].append(mark)
    return list(groups.values())


_Rule = Callable[[str], tuple[str, tuple[Claim, ...], Mapping[str, Any]]]


def _judge(named: Sequence[Named], bench: Bench) -> _Rule:
    """The rule for the paths of one commit."""
    standing = [item for item in named if item.rule is None]
    fallen = [item for item in named if item.rule is not None]
    good, bad = (Index((item, item.claim.tests) for item in part if item.claim.tests) for part in (standing, fallen))
    leases = {item.claim.lease for item in standing}

    def rule(path: str) -> tuple[str, tuple[Claim, ...], Mapping[str, Any]]:
        others = [claim for claim in bench.others_on(path) if claim.lease not in leases]
        if others:
            sibling = others[0].holder == bench.who.agent
            # Of a commit that names a claim it does not matter who pushes it.
            return "sibling" if sibling else "held", (others[0],), {"by_name": bool(named)}
        covering = good.find(path) or [item for item in standing if item.claim.tests is None]
        if covering:
            return "covered", tuple(item.claim for item in covering), {}
        broken = bad.find(path) or [item for item in fallen if item.claim.tests is None]
        if broken:
            return broken[0].rule or "", (), broken[0].fields
        found, claims = bench.rule(path)
        if named and found in ("unclaimed", "unidentified"):
            return "outside", (), named[0].fields
        return found, claims, {}

    return rule


def _look_up(todo: str, epoch: int, desk: Desk, snapshot: TreeSnapshot, moment: Moment) -> Named:
    """The claim `todo@epoch` as the ledger tells it."""
    goals = snapshot.goals_of(todo)
    record = snapshot.lease(goals[0], todo) if len(goals) == 1 else None
    if record is None or record.epoch < epoch:
        return Named(_claim(Lease(todo, epoch), None), "unknown", {"named": f"{todo}@{epoch}", "todo": todo})
    claim = _claim(record, snapshot.todo(goals[0], todo))
    fields = {
        "named": f"{todo}@{epoch}", "todo": todo, "epoch": record.epoch, "holder": record.holder or "nobody",
        "ended": record.ended.value if record.ended else "",
    }  # fmt: skip
    rule: str | None = None
    if record.epoch != epoch:
        rule = "stale"
    elif record.holder is None:
        rule = None if record.ended in _CARRIED else "ended"
    elif state_of(record, snapshot, moment) is LeaseState.LAPSED or _is_late_here(record, desk):
        rule = "lapsed"
    return Named(claim, rule, fields)


def _is_late_here(record: Lease, desk: Desk) -> bool:
    """Past the holder's own deadline, when the holder is who pushes."""
    mine = [claim for claim in desk.claims if claim.lease == record.id and desk.who.has(claim)]
    return bool(mine) and mine[0] not in desk.bench().live


def _claim(record: Lease, todo: Todo | None) -> Claim:
    return Claim({
        "todo": record.todo, "title": "" if todo is None else todo.title, "epoch": record.epoch,
        "holder": record.holder or "", "session": record.session, "ttl_s": record.ttl_s, "lapses_at": None,
        "late_at": None, "tests": tests_of(todo.scope) if todo is not None and todo.scope else None,
    })  # fmt: skip
