"""`git loopx todo complete`."""

from __future__ import annotations

import click

from loopx_git.cli.face import Face, command, todo_argument
from loopx_git.cli.show import emit_outcome


@command("complete", example="git loopx todo complete todo_ab12cd34ef56 --note 'merged as #12'")
@click.option("--epoch", type=click.IntRange(0), help="The claim's epoch; any other current one refuses.")
@click.option("--note", help="A last note.")
@click.option("--successor", metavar="TODO", help="The todo that carries on.")
@click.option("--successor-title", metavar="TITLE", help="Make a new todo that continues the work.")
@click.option("--dry-run", is_flag=True, help="Say what would happen, write nothing.")
@todo_argument
def main(
    face: Face, todo: str, goal_id: str | None, epoch: int | None, note: str | None, successor: str | None,
    successor_title: str | None, dry_run: bool,
) -> None:  # fmt: skip
    """Complete a todo that you hold. Ends the claim in the same commit.

    A todo with a `validate` command is completed only when that passes; what it prints goes to standard error.
    """
    import sys

    def sink(chunk: bytes) -> None:
        sys.stderr.buffer.write(chunk)
        sys.stderr.flush()

    view = face.client.todo.complete(
        todo, goal_id=goal_id, epoch=epoch, note=note, successor=successor, successor_title=successor_title,
        dry_run=dry_run, sink=sink,
    )  # fmt: skip
    linked = bool(view.todo.successor) and not view.facts.get("unchanged")
    emit_outcome(
        face, view, "completed", dry_run=dry_run, more=[f"  carried on by {view.todo.successor}"] if linked else ()
    )
