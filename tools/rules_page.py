"""docs/rules.md from the table, for `make pages`. A test compares them."""

from __future__ import annotations

from collections.abc import Mapping

from loopx_git.core.table import (
    FORCEABLE,
    REASONS,
    Effect,
    HoldState,
    Operation,
    Verdict,
    look_up,
)
from loopx_git.core.todo import Status

HOLD_WORDS: Mapping[HoldState, str] = {
    HoldState.FREE: "nobody holds it",
    HoldState.WAS_MINE: "nobody holds it, and the caller names the epoch under which it ended",
    HoldState.SOFT: "nobody holds it, and the caller has a soft claim in a goal whose claims are soft",
    HoldState.MINE: "the caller's session holds it, in time",
    HoldState.LATE: "the caller's session holds it, past its own deadline",
    HoldState.SIBLING: "another session of the caller's agent holds it",
    HoldState.SIBLING_LAPSED: "another session of the caller's agent held it and let it lapse",
    HoldState.OTHER: "another agent holds it",
    HoldState.OTHER_LAPSED: "another agent held it and let it lapse",
    HoldState.STALE: "the caller names an epoch that is not the current one",
}

EFFECT_WORDS: Mapping[Effect, str] = {
    Effect.ACQUIRE: "lease: holder is the caller, epoch + 1",
    Effect.TAKEOVER: "lease: holder is the caller, epoch + 1, the former holder named in Loopx-Prev",
    Effect.ATTEMPT: "todo: attempts + 1",
    Effect.RENEW: "lease: renewed_at is now, seq + 1",
    Effect.END: "lease: emptied, the epoch stays",
    Effect.FENCE: "lease: epoch + 1",
    Effect.HANDOVER: "lease: holder is the receiver, session unbound, epoch + 1",
    Effect.BACK: "todo: in_progress goes back to open, or to the status given; reclaimed too often: needs_human",
    Effect.EDIT: "todo: the fields given",
    Effect.FINISH: "todo: the operation's terminal status",
    Effect.REOPEN: "todo: status open",
    Effect.MOVE: "todo: into the archive folder",
    Effect.SOFT_ADD: "todo: the caller among soft_claims",
    Effect.SOFT_REMOVE: "todo: the caller not among soft_claims",
    Effect.LEAVE: "todo: the caller not among soft_claims; the last of them puts in_progress back to open, or leaves "
    "the status given",
    Effect.NOTE: "todo: the note at its end, and nothing else",
}

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
