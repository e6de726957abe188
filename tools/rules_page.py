"""docs/rules.md from the table, for `make pages`. A test compares them."""

from __future__ import annotations

from loopx_git.core.table import (
    EFFECT_WORDS,
    FORCEABLE,
    HOLD_WORDS,
    REASONS,
    HoldState,
    Operation,
    Verdict,
    look_up,
)
from loopx_git.core.todo import Status

_HEAD = """# Rules

State x operation x actor -> what happens. This page is made from `loopx_git/core/table.py`, the very table that
the planner, `verify` and the tests read. A number is an exit code; a word is what is written; `=` means that nothing
needs doing (exit 0, nothing written). What a row cannot know (dependencies, capabilities, limits, scopes, the peer)
is checked once the row grants, and refuses with 15.

## How the actor stands to the lease record

"""


def page() -> str:
    """The whole page as markdown."""
    parts = [_HEAD, "| hold | meaning |\n|---|---|\n"]
    parts += [f"| {hold.value} | {words} |\n" for hold, words in HOLD_WORDS.items()]
    parts.append("\n## What a grant writes\n\n| word | effect |\n|---|---|\n")
    parts += [f"| {effect.value} | {words} |\n" for effect, words in EFFECT_WORDS.items()]
    for operation in Operation:
        parts.append(f"\n## {operation.value}\n\n{_table(operation, False)}")
        if operation in FORCEABLE:
            parts.append(
                f"\n### {operation.value}, by an operator with --force --reason\n\n{_table(operation, True)}"
            )
    parts.append("\n## Why not\n\n| reason | exit | message | next |\n|---|---|---|---|\n")
    parts += [
        f"| {name} | {reason.code} | {reason.message} | {reason.hint or '-'} |\n" for name, reason in REASONS.items()
    ]
    return "".join(parts)


def _table(operation: Operation, forced: bool) -> str:
    holds = list(HoldState)
    lines = ["| status | " + " | ".join(hold.value for hold in holds) + " |\n", "|---" * (len(holds) + 1) + "|\n"]
    for status in Status:
        cells = " | ".join(_cell(operation, status, hold, forced) for hold in holds)
        lines.append(f"| {status.value} | {cells} |\n")
    return "".join(lines)


def _cell(operation: Operation, status: Status, hold: HoldState, forced: bool) -> str:
    row = look_up(operation, status, hold, forced)
    if row.verdict is Verdict.REFUSE:
        return f"{row.code} {row.reason}"
    if row.verdict is Verdict.NOTHING:
        return f"= {row.reason}"
    return ", ".join(effect.value for effect in row.effects)


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())
