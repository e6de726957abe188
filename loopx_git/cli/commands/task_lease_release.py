"""`git loopx task-lease release`."""

from __future__ import annotations

from loopx_git.cli.command_context import CommandContext, command, lease_argument, needed_lease
from loopx_git.cli.render.todo import lease_words


@command("release", writes=True, example="git loopx task-lease release todo_ab12cd34ef56@3")
@lease_argument
def main(context: CommandContext, lease: str | None) -> None:
    """Release a lease, named todo@epoch or by its todo."""
    view = context.client.task_lease.release(needed_lease(lease))
    context.emit(
        "lease", lambda: {"lease": view.as_json()}, [f"{view.id}: {lease_words(view, context.client.clocks().now)}"]
    )
