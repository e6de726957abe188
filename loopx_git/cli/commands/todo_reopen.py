"""`git loopx todo reopen`."""

from __future__ import annotations

from typing import Any

from loopx_git.cli.face import Face, command, options, todo_argument
from loopx_git.cli.show import emit_outcome


@command("reopen", example="git loopx todo reopen todo_ab12cd34ef56 --note 'the bug is back'")
@options("note", "dry_run")
@todo_argument
def main(face: Face, todo: str, **given: Any) -> None:
    """Reopen a todo that has ended, is blocked, or needs a human, and that is not held."""
    view = face.client.todo.reopen(todo, **given)
    emit_outcome(face, view, "reopened", dry_run=given["dry_run"])
