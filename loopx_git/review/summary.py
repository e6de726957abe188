"""The step summary of a check: what was found, as a table that no text can break out of."""

from __future__ import annotations

from loopx_git.review.escape import code, html
from loopx_git.review.verdict import Reviewed

ROWS_MAX = 100


def summary_of(verdict: Reviewed) -> str:
    """A markdown section."""
    word = "passed" if verdict.ok else "found something"
    lines = [f"### loopx review check {word}", ""]
    lines.append(
        f"{verdict.judged} commits judged at the ledger's tip {code(verdict.claims.tip[:12] or '-')}, "
        f"{len(verdict.findings)} findings."
    )
    if verdict.findings:
        lines += [
            "",
            "| level | rule | commit | file | todo | holder | what | way out |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for item in verdict.findings[:ROWS_MAX]:
            way_out = code(item.way_out) if item.way_out else "-"
            todo = "-" if item.todo is None else code(f"{item.todo}@{item.epoch}")
            lines.append(
                f"| {item.level} | {item.rule} | {code(item.commit[:10])} | {code(item.file) if item.file else '-'} "
                f"| {todo} | {html(item.holder or '-')} | {html(item.message)} | {way_out} |"
            )
        if len(verdict.findings) > ROWS_MAX:
            lines += ["", f"{len(verdict.findings) - ROWS_MAX} more are in the log."]
    return "\n".join(lines) + "\n"
