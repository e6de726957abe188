"""`git loopx todo archive`."""

from __future__ import annotations

from typing import Any

from loopx_git.cli.face import Face, command, options, todo_argument
from loopx_git.cli.show import emit_outcome


@command("archive", example="git loopx todo archive todo_ab12cd34ef56")
@options("dry_run")
@todo_argument
def main(face: Face, todo: str, **given: Any) -> None:
    """Archive a todo that has ended. Its id and alias stay reserved."""
    view = face.client.todo.archive(todo, **given)
    emit_outcome(face, view, "archived", dry_run=given["dry_run"])
