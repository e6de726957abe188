"""`git loopx task-lease release`."""

from __future__ import annotations

import click

from loopx_git.cli.face import Face, command
from loopx_git.cli.show import lease_words


@command("release", writes=True, example="git loopx task-lease release todo_ab12cd34ef56@3")
@click.argument("lease")
def main(face: Face, lease: str) -> None:
    """Release a lease, named todo@epoch or by its todo."""
    view = face.client.task_lease.release(lease)
    face.emit("lease", {"lease": view.as_json()}, [f"{view.id}: {lease_words(view, face.client.moment().now)}"])
