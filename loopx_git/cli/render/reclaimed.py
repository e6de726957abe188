"""What a reclaim did, as lines and as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopx_git.cli.output import safe
from loopx_git.client.heartbeat import Reclaimed


def reclaimed_lines(done: Sequence[Reclaimed], *, dry_run: bool) -> list[str]:
    """A line a todo."""
    lines = []
    for item in done:
        if item.view is None:
            lines.append(f"{item.todo} left alone: {safe(item.refused or '')}")
            continue
        verb = "would be " if dry_run else ""
        if item.soft:
            lines.append(
                f"{item.todo} soft claim of {item.former} {verb}taken back ({item.why}): {safe(item.view.todo.title)}"
            )
            continue
        where = "taken over" if item.taken else f"returned to the pool, {item.view.todo.status.value}"
        lines.append(
            f"{item.todo} {verb}{where} (was {item.former}, attempts {item.view.todo.attempts}): "
            f"{safe(item.view.todo.title)}"
        )
    return lines or ["nothing has lapsed"]


def reclaimed_payload(done: Sequence[Reclaimed]) -> dict[str, Any]:
    """`reclaimed`: the claims that had lapsed. `soft_claims`: those of stale, retired or unregistered agents."""
    return {
        "reclaimed": [_reclaimed_json(item) for item in done if not item.soft],
        "soft_claims": [{"todo_id": item.todo, "agent": item.former, "why": item.why} for item in done if item.soft],
    }


def _reclaimed_json(item: Reclaimed) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "todo_id": item.todo,
        "former": item.former,
        "taken": item.taken,
        "refused": item.refused,
    }
    if item.view is not None:
        shown |= item.view.as_json()
    return shown
