"""The table of docs/guard.md: `make pages` renews it; a test compares."""

from __future__ import annotations

import sys
from pathlib import Path

from guard_operations import CLAIMS, OPERATIONS, expected

BEGIN, END = "<!-- operations: begin -->\n", "<!-- operations: end -->\n"
_LOCAL = {
    "refused": "refused",
    "trailer": "passes, names the claim",
    "marked": "passes, marked `unseen`",
    "plain": "passes",
}
_PUSH = {"passes": "passes", "refused": "refused", "nothing": "-"}


def table() -> str:
    """The rows: what runs, what becomes of an edit that a claim covers and of one that none covers, and the push."""
    covered = [name for name, (is_covered, _) in CLAIMS.items() if is_covered]
    open_ = [name for name, (is_covered, _) in CLAIMS.items() if not is_covered]
    lines = [
        "| operation | hooks of the guard | covered | not covered | push, covered | push, not covered |\n",
        "|---|---|---|---|---|---|\n",
    ]
    for operation in OPERATIONS:
        cells = []
        for names in (covered, open_):
            found = {expected(operation, name) for name in names}
            assert len(found) == 1, operation
            cells.append(found.pop())
        hooks = ", ".join(f"`{name}`" for name in operation.hooks) or "none"
        lines.append(
            f"| `{operation.command}` | {hooks} | {_LOCAL[cells[0].local]} | {_LOCAL[cells[1].local]} "
            f"| {_PUSH[cells[0].push]} | {_PUSH[cells[1].push]} |\n"
        )
    return "".join(lines)


def page(text: str) -> str:
    """The page with the table as the data has it now."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}{table()}{END}{tail}"


if __name__ == "__main__":
    file = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/guard.md")
    file.write_text(page(file.read_text("utf-8")), "utf-8")
