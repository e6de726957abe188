"""A report about a range for its reviewer: the todos behind it, who held them when, and what is unclaimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from loopx_git.core.snapshot import Snapshot
from loopx_git.core.times import format_duration, parse_time
from loopx_git.coverage.changes import CodeCommit
from loopx_git.coverage.history import LedgerStep, trails_of
from loopx_git.coverage.trailers import split
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.review.check import ReviewFinding
from loopx_git.review.verdict import Review, Reviewed

#: Most nodes and edges of the diagram: within what forges draw.
NODES_MAX, EDGES_MAX = 60, 120


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a todo; `count` renewals in a row are one event."""

    time: str
    what: str
    agent: str
    epoch: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class TodoReport:
    """A todo that commits of the range name. `took` is from its first claim to its completion, in words;
    `takeovers` counts claims that ended in somebody else's hands, `reclaims` those that were taken back."""

    id: str
    title: str
    status: str
    holder: str | None
    epoch: int
    claims: Sequence[str]
    events: Sequence[Event]
    takeovers: int
    reclaims: int
    took: str | None


@dataclass(frozen=True, slots=True)
class PathReport:
    """A path that the range changes: by which commits, under which claims, and what is wrong with it."""

    path: str
    commits: Sequence[str]
    claims: Sequence[str]
    wrong: Sequence[str]


@dataclass(frozen=True, slots=True)
class Graph:
    """The neighbourhood of the todos: (id, title, status, is it named by the range) and (from, to, kind)."""

    nodes: Sequence[tuple[str, str, str, bool]] = ()
    edges: Sequence[tuple[str, str, str]] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """All that a page shows; the renderers read nothing else."""

    base: str
    head: str
    tip: str
    commits: int
    ok: bool
    todos: Sequence[TodoReport] = ()
    paths: Sequence[PathReport] = ()
    findings: Sequence[ReviewFinding] = ()
    graph: Graph = field(default_factory=Graph)

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command line."""
        shown = asdict(self)
        shown["findings"] = [finding.as_json() for finding in self.findings]
        for item in shown["paths"]:
            item["path"] = item["path"].encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        return shown


def report(review: Review) -> Report:
    """The report of a range, with the verdict over it."""
    verdict = review.check()
    todos: list[TodoReport] = []
    graph = Graph()
    if verdict.claims.tip:
        ledger = review.client.connection.ledger
        snapshot = ledger.snapshot(verdict.claims.tip)
        named = _named(verdict.changes)
        for todo, (goal, steps) in trails_of(ledger.objects, ledger.memo, named, verdict.claims.tip).items():
            todos.append(_todo(snapshot, goal, todo, steps, named[todo]))
        graph = neighbourhood(snapshot, [item.id for item in todos])
    return Report(
        verdict.base, verdict.head, verdict.claims.tip, len(verdict.changes), verdict.ok, todos,
        _paths(verdict), verdict.findings, graph,
    )  # fmt: skip


def _named(changes: Sequence[CodeCommit]) -> dict[str, list[str]]:
    """Todo -> the claims of it that commits name."""
    found: dict[str, list[str]] = {}
    for change in changes:
        for claim in change.claims.claims:
            claims = found.setdefault(split(claim)[0], [])
            if claim not in claims:
                claims.append(claim)
    return found


def _todo(
    snapshot: TreeSnapshot, goal: str, todo: str, steps: Sequence[LedgerStep], claims: Sequence[str]
) -> TodoReport:
    stored, lease = snapshot.todo(goal, todo), snapshot.lease(goal, todo)
    found = events(steps)
    claimed = next((event.time for event in found if event.what in ("claimed", "taken over", "resumed")), None)
    done = next((event.time for event in reversed(found) if event.what == "completed"), None)
    took = None
    if claimed is not None and done is not None:
        took = format_duration(int((parse_time(done) - parse_time(claimed)).total_seconds()))
    return TodoReport(
        todo, stored.title, stored.state.value, None if lease is None else lease.holder,
        0 if lease is None else lease.epoch, tuple(claims), tuple(found),
        sum(1 for event in found if event.what == "taken over"),
        sum(1 for event in found if event.what == "reclaimed"), took,
    )  # fmt: skip


_WORDS = {
    "add": "added", "release": "released", "complete": "completed", "supersede": "superseded", "cancel": "cancelled",
    "reopen": "reopened", "transfer": "handed over", "archive": "archived", "reclaim": "reclaimed",
    "adopt": "adopted", "update": "updated", "soft": "soft claim",
}  # fmt: skip


def events(steps: Sequence[LedgerStep]) -> list[Event]:
    """The steps as a reader follows them; renewals in a row are one."""
    found: list[Event] = []
    former: LedgerStep | None = None
    for step in steps:
        before = None if former is None else former.lease
        what = _WORDS.get(step.op, step.op)
        if step.op == "claim":
            held = before is not None and before.holder is not None
            other = before is not None and before.holder != step.lease.holder
            what = "claimed" if not held else "taken over" if other else "resumed"
        elif before is not None and step.lease.seq > before.seq and step.lease.epoch == before.epoch:
            touched = former is not None and step.todo != former.todo
            what = what if touched and step.op != "renew" else "renewed"
        elif step.op == "renew":
            what = "renewed"
        if found and what == "renewed" and found[-1].what == "renewed" and found[-1].agent == step.agent:
            found[-1] = Event(found[-1].time, "renewed", step.agent, step.lease.epoch, found[-1].count + 1)
        else:
            found.append(Event(step.time, what, step.agent, step.lease.epoch))
        former = step
    return found


def _paths(verdict: Reviewed) -> list[PathReport]:
    commits: dict[str, list[str]] = {}
    claims: dict[str, list[str]] = {}
    for change in verdict.changes:
        for path in change.paths:
            commits.setdefault(path, []).append(change.oid)
            known = claims.setdefault(path, [])
            known += [name for name in change.claims.claims if name not in known and _covers(verdict, name, path)]
    wrong: dict[str, list[str]] = {}
    for finding in verdict.findings:
        if finding.file is not None and finding.rule != "config":
            rules = wrong.setdefault(finding.file, [])
            if finding.rule not in rules:
                rules.append(finding.rule)
    return [PathReport(path, commits[path], claims[path], wrong.get(path, ())) for path in sorted(commits)]


def _covers(verdict: Reviewed, name: str, path: str) -> bool:
    known = verdict.claims.named.get(name)
    return known is not None and known.claim is not None and known.claim.covers(path)


def neighbourhood(snapshot: Snapshot, todos: Sequence[str]) -> Graph:
    """The todos and what they are linked with in one step: dependencies both ways, successors."""
    linked: dict[str, None] = dict.fromkeys(todos)
    edges: dict[tuple[str, str, str], None] = {}
    known = {}
    for goal in snapshot.goal_ids():
        for archived in (False, True):
            for todo in snapshot.todos(goal, archived=archived):
                known[todo.id] = todo
    for todo in known.values():
        links = [(todo.id, other, "needs") for other in todo.depends_on]
        links += [(todo.id, todo.successor, "goes on in")] if todo.successor is not None else []
        for one, two, kind in links:
            if (one in todos or two in todos) and two in known:
                edges[one, two, kind] = None
                linked |= {one: None, two: None}
    shown = [todo for todo in linked if todo in known][:NODES_MAX]
    nodes = [(todo, known[todo].title, known[todo].state.value, todo in todos) for todo in shown]
    kept = [edge for edge in edges if edge[0] in shown and edge[1] in shown][:EDGES_MAX]
    return Graph(nodes, kept, len(linked) - len(nodes))
