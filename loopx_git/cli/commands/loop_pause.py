"""`git loopx loop pause`."""

from __future__ import annotations

import click

from loopx_git.cli.face import CHECKS, Face, command, options
from loopx_git.cli.loop_lines import loop_line


@command("pause", example="git loopx loop pause nightly")
@click.argument("name")
@options("dry_run", dry_run=CHECKS)
def main(face: Face, name: str, dry_run: bool) -> None:
    """Pause a loop: its ticks are skipped, and it keeps its task."""
    view = face.client.loop.pause(name, dry_run=dry_run)
    face.emit("loop", lambda: {**view.as_json(), "dry_run": dry_run}, [loop_line(view, face.client.moment().now)])
