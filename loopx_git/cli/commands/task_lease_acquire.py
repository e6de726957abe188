"""`git loopx task-lease acquire`."""

from __future__ import annotations

import click

from loopx_git.cli.face import Face, command, duration, todo_argument
from loopx_git.cli.show import lease_words


@command("acquire", writes=True, example="git loopx task-lease acquire todo_ab12cd34ef56 --ttl 45m")
@click.option("--ttl", metavar="TIME", help="Time bound, such as 45m or none (default: the policy's).")
@click.option("--no-ttl", is_flag=True, help="The same as --ttl none.")
@todo_argument
def main(face: Face, todo: str, goal_id: str | None, ttl: str | None, no_ttl: bool) -> None:
    """Acquire the exclusive lease of a todo: the same as todo claim, answering with the lease."""
    view = face.client.task_lease.acquire(todo, ttl=duration("none" if no_ttl else ttl, "--ttl"))
    face.emit("lease", {"lease": view.as_json()}, [f"{view.id}: {lease_words(view, face.client.moment().now)}"])
