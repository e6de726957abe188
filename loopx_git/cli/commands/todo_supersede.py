"""`git loopx todo supersede`."""

from __future__ import annotations

import click

from loopx_git.cli.face import Face, command, todo_argument
from loopx_git.cli.show import emit_outcome


@command("supersede", example="git loopx todo supersede todo_ab12cd34ef56 --by-title 'rewrite the parser'")
@click.option("--by", metavar="TODO", help="The todo that continues the work.")
@click.option("--by-title", metavar="TITLE", help="Make a new todo that continues the work.")
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
    by: str | None,
    by_title: str | None,
    epoch: int | None,
    note: str | None,
    force: bool,
    reason: str | None,
    dry_run: bool,
) -> None:
    """End a todo that you hold, because another one continues the work."""
    view = face.client.todo.supersede(
        todo,
        goal_id=goal_id,
        by=by,
        by_title=by_title,
        epoch=epoch,
        note=note,
        force=force,
        reason=reason,
        dry_run=dry_run,
    )
    emit_outcome(face, view, "superseded", dry_run=dry_run)
