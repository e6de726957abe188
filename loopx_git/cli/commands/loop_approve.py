"""`git loopx loop approve`."""

from __future__ import annotations

import click

from loopx_git.cli.face import CHECKS, Face, command, options
from loopx_git.cli.loop_lines import loop_line


@command("approve", example="git loopx loop approve nightly")
@click.argument("name")
@options("dry_run", dry_run=CHECKS)
def main(face: Face, name: str, dry_run: bool) -> None:
    """Let a halted loop continue with its task. A loop cannot approve itself."""
    view = face.client.loop.approve(name, dry_run=dry_run)
    face.emit("loop", lambda: {**view.as_json(), "dry_run": dry_run}, [loop_line(view, face.client.moment().now)])
