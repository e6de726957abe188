"""`git loopx loop resume`."""

from __future__ import annotations

import click

from loopx_git.cli.face import CHECKS, Face, command, options
from loopx_git.cli.loop_lines import loop_line


@command("resume", example="git loopx loop resume nightly")
@click.argument("name")
@options("dry_run", dry_run=CHECKS)
def main(face: Face, name: str, dry_run: bool) -> None:
    """Let a paused loop go on."""
    view = face.client.loop.resume(name, dry_run=dry_run)
    face.emit("loop", lambda: {**view.as_json(), "dry_run": dry_run}, [loop_line(view, face.client.moment().now)])
