"""`git loopx todo reopen`."""

from __future__ import annotations

import click

from loopx_git.cli.face import Face, command, todo_argument
from loopx_git.cli.show import emit_outcome


@command("reopen", example="git loopx todo reopen todo_ab12cd34ef56 --note 'the bug is back'")
@click.option("--note", help="A note for later readers.")
@click.option("--dry-run", is_flag=True, help="Say what would happen, write nothing.")
@todo_argument
def main(face: Face, todo: str, goal_id: str | None, note: str | None, dry_run: bool) -> None:
    """Reopen a todo that has ended, is blocked, or needs a human, and that is not held."""
    view = face.client.todo.reopen(todo, goal_id=goal_id, note=note, dry_run=dry_run)
    emit_outcome(face, view, "reopened", dry_run=dry_run)
