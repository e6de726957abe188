"""A report as markdown for a comment on a pull request. Whatever stands in a todo, only our own markup acts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loopx_git.review.escape import code, html, label
from loopx_git.review.report import Graph, Report, TodoReport

#: Rows and characters of one comment; forges take 65,536 characters.
TODOS_MAX, EVENTS_MAX, PATHS_MAX, FINDINGS_MAX = 20, 20, 100, 50
TOTAL_MAX = 60_000
#: By which a job finds its own comment again.
MARK = "<!-- loopx review report -->"


def markdown(report: Report) -> str:
    """The whole comment."""
    verdict = "every change is covered by a claim" if report.ok else "not every change is covered by a claim"
    lines = [
        MARK,
        f"### loopx: {verdict}",
        "",
        f"{report.commits} commits, {len(report.todos)} todos, {len(report.paths)} paths; {code(report.base[:12])} "
        f"to {code(report.head[:12])}, at the ledger's tip {code(report.tip[:12] or '-')}.",
    ]
    lines += _findings(report)
    for todo in report.todos[:TODOS_MAX]:
        lines += _todo(todo)
    lines += _rest(len(report.todos) - TODOS_MAX, "todos")
    lines += _paths(report)
    lines += graph(report.graph)
    return _cut(lines)


def _cut(lines: Iterable[str]) -> str:
    """Whole lines up to the limit; a fence that is open is never left so, for the diagram is the last part."""
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > TOTAL_MAX:
            kept += ["", "The rest is left out: the report is too long for a comment."]
            break
        kept.append(line)
    if sum(line.startswith("```") for line in kept) % 2:
        kept.insert(-2, "```")
    return "\n".join(kept) + "\n"


def _rest(count: int, what: str) -> list[str]:
    return ["", f"{count} more {what} are left out."] if count > 0 else []


def _findings(report: Report) -> list[str]:
    if not report.findings:
        return []
    lines = ["", "#### Unclaimed, and what else to look at", ""]
    lines += [
        "| level | rule | commit | file | todo | holder | what | way out |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for item in report.findings[:FINDINGS_MAX]:
        todo = "-" if item.todo is None else code(f"{item.todo}@{item.epoch}")
        file = code(item.file) if item.file else "-"
        lines.append(
            f"| {item.level} | {item.rule} | {code(item.commit[:10])} | {file} | {todo} "
            f"| {html(item.holder or '-')} | {html(item.message)} | {code(item.way_out) if item.way_out else '-'} |"
        )
    return lines + _rest(len(report.findings) - FINDINGS_MAX, "findings")


def _todo(todo: TodoReport) -> list[str]:
    holder = f"held by {html(todo.holder)} (epoch {todo.epoch})" if todo.holder else f"free (epoch {todo.epoch})"
    took = f", {html(todo.took)} from claim to completion" if todo.took else ""
    lines = ["", f"#### {code(todo.id)} {html(todo.title)}", ""]
    lines.append(
        f"{html(todo.status)}, {holder}{took}; taken over {todo.takeovers} times, reclaimed {todo.reclaims} times. "
        f"Commits name {', '.join(code(claim) for claim in todo.claims)}."
    )
    lines += ["", "| when | what | who | epoch |", "|---|---|---|---|"]
    for event in todo.events[-EVENTS_MAX:]:
        times = f" ({event.count} times)" if event.count > 1 else ""
        lines.append(f"| {html(event.time)} | {html(event.what)}{times} | {html(event.agent)} | {event.epoch} |")
    return lines + _rest(len(todo.events) - EVENTS_MAX, "earlier events")


def _paths(report: Report) -> list[str]:
    if not report.paths:
        return []
    lines = ["", "#### Path by path", "", "| path | commits | covered by | |", "|---|---|---|---|"]
    for item in report.paths[:PATHS_MAX]:
        wrong = ", ".join(html(rule) for rule in item.wrong) or "ok"
        claims = ", ".join(code(claim) for claim in item.claims) or "-"
        lines.append(f"| {code(item.path)} | {len(item.commits)} | {claims} | {wrong} |")
    return lines + _rest(len(report.paths) - PATHS_MAX, "paths")


def graph(drawn: Graph) -> list[str]:
    """The diagram, in a fence that nothing in it can close: labels are of letters, digits and spaces."""
    if not drawn.edges:
        return []
    lines = ["", "#### Neighbours", "", "```mermaid", *mermaid(drawn), "```"]
    return lines + _rest(drawn.left_out, "neighbours")


def mermaid(drawn: Graph) -> Sequence[str]:
    """The diagram's own lines."""
    names = {node[0]: f"n{number}" for number, node in enumerate(drawn.nodes)}
    lines = ["graph LR"]
    for todo, title, status, named in drawn.nodes:
        shown = f"{todo[5:9]} {label(title)} {label(status)}"
        lines.append(f'  {names[todo]}{"([" if named else "["}"{shown}"{"])" if named else "]"}')
    for one, two, kind in drawn.edges:
        lines.append(f"  {names[one]} -->|{kind}| {names[two]}")
    return lines
