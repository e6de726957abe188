"""`git loopx todo complete`."""

from __future__ import annotations

import click

from loopx_git.cli.face import Face, command, todo_argument
from loopx_git.cli.show import outcome_lines


@command("complete", example="git loopx todo complete todo_ab12cd34ef56 --note 'merged as #12'")
@click.option("--epoch", type=click.IntRange(0), help="The claim's epoch; any other current one refuses.")
@click.option("--note", help="A last note.")
@click.option("--dry-run", is_flag=True, help="Say what would happen, write nothing.")
@todo_argument
def main(face: Face, todo: str, goal_id: str | None, epoch: int | None, note: str | None, dry_run: bool) -> None:
    """Complete a todo that you hold. Ends the claim in the same commit."""
    view = face.client.todo.complete(todo, goal_id=goal_id, epoch=epoch, note=note, dry_run=dry_run)
    payload = {**view.as_json(), "dry_run": dry_run}
    face.emit("todo", payload, outcome_lines(view, "completed", face.client.moment().now))
