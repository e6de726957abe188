"""`git loopx task-lease inspect`."""

from __future__ import annotations

import click

from loopx_git.cli.face import Face, command
from loopx_git.cli.show import lease_words


@command("inspect", example="git loopx task-lease inspect todo_ab12cd34ef56")
@click.argument("lease")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(face: Face, lease: str, fresh: bool, offline: bool) -> None:
    """Show a lease record and its state by the wall clock."""
    view = face.client.task_lease.inspect(lease, fresh=fresh, offline=offline)
    face.emit("lease", {"lease": view.as_json()}, [f"{view.id}: {lease_words(view, face.client.moment().now)}"])
