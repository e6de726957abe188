"""`git loopx todo cancel`."""

from __future__ import annotations

from typing import Any

from loopx_git.cli.face import Face, command, options, todo_argument
from loopx_git.cli.show import emit_outcome


@command("cancel", example="git loopx todo cancel todo_ab12cd34ef56 --note 'no longer needed'")
@options("epoch", "note", "force", "reason", "dry_run")
@todo_argument
def main(face: Face, todo: str, **given: Any) -> None:
    """End a todo that you hold, undone."""
    view = face.client.todo.cancel(todo, **given)
    emit_outcome(face, view, "cancelled", dry_run=given["dry_run"])
