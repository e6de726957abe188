"""`git loopx task-lease transfer`."""

from __future__ import annotations

import click

from loopx_git.cli.face import Face, command
from loopx_git.cli.show import lease_words


@command("transfer", writes=True, example="git loopx task-lease transfer todo_ab12cd34ef56@3 --to codex-2")
@click.argument("lease")
@click.option("--to", required=True, metavar="AGENT", help="The receiving agent.")
def main(face: Face, lease: str, to: str) -> None:
    """Hand a lease over to another agent; the epoch rises and its next write binds its session."""
    view = face.client.task_lease.transfer(lease, to)
    face.emit("lease", {"lease": view.as_json()}, [f"{view.id}: {lease_words(view, face.client.moment().now)}"])
