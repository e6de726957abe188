"""`git loopx todo cancel`."""

from __future__ import annotations

import click

from loopx_git.cli.face import Face, command, todo_argument
from loopx_git.cli.show import emit_outcome


@command("cancel", example="git loopx todo cancel todo_ab12cd34ef56 --note 'no longer needed'")
@click.option("--epoch", type=click.IntRange(0), help="The claim's epoch; any other current one refuses.")
@click.option("--note", help="A note for later readers.")
@click.option("--force", is_flag=True, help="Without the claim (with --reason; goes into history).")
@click.option("--reason", help="Why, with --force.")
@click.option("--dry-run", is_flag=True, help="Say what would happen, write nothing.")
@todo_argument
def main(
    face: Face,
    todo: str,
    goal_id: str | None,
    epoch: int | None,
    note: str | None,
    force: bool,
    reason: str | None,
    dry_run: bool,
) -> None:
    """End a todo that you hold, undone."""
    view = face.client.todo.cancel(
        todo, goal_id=goal_id, epoch=epoch, note=note, force=force, reason=reason, dry_run=dry_run
    )
    emit_outcome(face, view, "cancelled", dry_run=dry_run)
