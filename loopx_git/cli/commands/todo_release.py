"""`git loopx todo release` and `git loopx todo unclaim`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CommandContext, command, options, todo_argument
from loopx_git.cli.render.todo import emit_outcome
from loopx_git.errors import UsageError


@command("release", example="git loopx todo release todo_ab12cd34ef56 --note 'parser done, tests missing'")
@options("epoch")
@click.option("--status", help="Leave the todo in this status (default: open, if it was in_progress).")
@click.option("--note", help="A note for the next holder.")
@click.option("--force", is_flag=True, help="End somebody else's claim (with --reason; goes into history).")
@options("reason")
@click.option("--soft", is_flag=True, help="Take back a soft claim.")
@options("dry_run")
@todo_argument
def main(
    context: CommandContext, todo: str, goal_id: str | None, epoch: int | None, status: str | None, note: str | None,
    force: bool, reason: str | None, soft: bool, dry_run: bool,
) -> None:  # fmt: skip
    """Release a claim. Another agent's claim takes --force --reason; its epoch rises.

    If you have a lease and a soft claim: in a goal with soft claims the soft claim is removed, else the lease is
    released.
    """
    if soft:
        if force or reason or status or note or epoch is not None:
            raise UsageError("--soft takes back a soft claim and does nothing else", hint="leave out the rest")
        view = context.client.todo.unsoft(todo, goal_id=goal_id, dry_run=dry_run)
    else:
        view = context.client.todo.release(
            todo, goal_id=goal_id, epoch=epoch, status=status, note=note, force=force, reason=reason,
            dry_run=dry_run,
        )  # fmt: skip
    emit_outcome(context, view, "completed" if status == "completed" else "released", dry_run=dry_run)
