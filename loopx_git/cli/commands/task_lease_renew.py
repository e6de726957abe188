"""`git loopx task-lease renew`."""

from __future__ import annotations

import click

from loopx_git.cli.face import Face, command, duration
from loopx_git.cli.show import lease_words


@command("renew", example="git loopx task-lease renew todo_ab12cd34ef56@3")
@click.argument("lease")
@click.option("--ttl", metavar="TIME", help="A new time bound (default: as it was).")
def main(face: Face, lease: str, ttl: str | None) -> None:
    """Renew a lease, named todo@epoch or by its todo. Exit 12: it is not yours any more."""
    view = face.client.task_lease.renew(lease, ttl=duration(ttl, "--ttl"))
    face.emit("lease", {"lease": view.as_json()}, [f"{view.id}: {lease_words(view, face.client.moment().now)}"])
