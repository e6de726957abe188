"""A report as one HTML page that loads nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from loopx_git.review.escape import html, plain
from loopx_git.review.markdown import mermaid
from loopx_git.review.report import Report

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>loopx review report</title>
<style>body{font:15px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}
td,th{border:1px solid #bbb;padding:.2em .6em;text-align:left;vertical-align:top}code,pre{font-family:monospace}
.error{color:#a00}.ok{color:#060}</style>
</head>
<body>
"""


def page(report: Report) -> str:
    """The whole page."""
    verdict = "every change is covered by a claim" if report.ok else "not every change is covered by a claim"
    parts = [_HEAD, f'<h1 class="{"ok" if report.ok else "error"}">loopx: {verdict}</h1>\n']
    parts.append(
        f"<p>{report.commits} commits, {len(report.todos)} todos, {len(report.paths)} paths; "
        f"{_code(report.base[:12])} to {_code(report.head[:12])}, "
        f"at the ledger&#39;s tip {_code(report.tip[:12] or '-')}.</p>\n"
    )
    if report.findings:
        parts.append("<h2>Unclaimed, and what else to look at</h2>\n")
        rows = (
            (html(item.level), html(item.rule), _code(item.commit[:10]), _code(item.file or "-"),
             _code(f"{item.todo}@{item.epoch}") if item.todo else "-", html(item.holder or "-"),
             html(item.message, 400), _code(item.way_out or "-", 400))
            for item in report.findings
        )  # fmt: skip
        parts.append(_table(("level", "rule", "commit", "file", "todo", "holder", "what", "way out"), rows))
    for todo in report.todos:
        parts.append(f"<h2>{_code(todo.id)} {html(todo.title, 400)}</h2>\n")
        holder = f"held by {html(todo.holder)}" if todo.holder else "free"
        took = f", {html(todo.took)} from claim to completion" if todo.took else ""
        claims = ", ".join(_code(claim) for claim in todo.claims)
        parts.append(
            f"<p>{html(todo.status)}, {holder} (epoch {todo.epoch}){took}; taken over {todo.takeovers} times, "
            f"reclaimed {todo.reclaims} times. Commits name {claims}.</p>\n"
        )
        events = (
            (html(event.time), html(event.what) + (f" ({event.count} times)" if event.count > 1 else ""),
             html(event.agent), str(event.epoch))
            for event in todo.events
        )  # fmt: skip
        parts.append(_table(("when", "what", "who", "epoch"), events))
    parts.append("<h2>Path by path</h2>\n")
    paths = (
        (_code(item.path, 400), str(len(item.commits)), ", ".join(_code(claim) for claim in item.claims) or "-",
         ", ".join(html(rule) for rule in item.wrong) or "ok")
        for item in report.paths
    )  # fmt: skip
    parts.append(_table(("path", "commits", "covered by", ""), paths))
    if report.graph.edges:
        text = "\n".join(html(line, 400) for line in mermaid(report.graph))
        parts.append(f"<h2>Neighbours</h2>\n<pre>{text}</pre>\n")
    parts.append("</body>\n</html>\n")
    return "".join(parts)


def _code(text: str, limit: int = 200) -> str:
    # No joiners in here: what stands in it is copied.
    return f"<code>{escape(plain(text, limit))}</code>"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Cells are HTML already."""
    lines = ["<table>\n<tr>", *(f"<th>{cell}</th>" for cell in head), "</tr>\n"]
    for row in rows:
        lines += ["<tr>", *(f"<td>{cell}</td>" for cell in row), "</tr>\n"]
    return "".join([*lines, "</table>\n"])
