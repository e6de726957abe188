"""`git loopx todo archive`."""

from __future__ import annotations

import click

from loopx_git.cli.face import Face, command, todo_argument
from loopx_git.cli.show import emit_outcome


@command("archive", example="git loopx todo archive todo_ab12cd34ef56")
@click.option("--dry-run", is_flag=True, help="Say what would happen, write nothing.")
@todo_argument
def main(face: Face, todo: str, goal_id: str | None, dry_run: bool) -> None:
    """Archive a todo that has ended. Its id and alias stay reserved."""
    view = face.client.todo.archive(todo, goal_id=goal_id, dry_run=dry_run)
    emit_outcome(face, view, "archived", dry_run=dry_run)
