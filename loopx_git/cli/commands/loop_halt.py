"""`git loopx loop halt`."""

from __future__ import annotations

import click

from loopx_git.cli.face import CHECKS, Face, command, options
from loopx_git.cli.loop_lines import loop_line


@command("halt", example="git loopx loop halt nightly --reason 'the tests went red'")
@click.argument("name")
@click.option("--reason", metavar="TEXT", help="Why; shown to the person who approves.")
@options("dry_run", dry_run=CHECKS)
def main(face: Face, name: str, reason: str | None, dry_run: bool) -> None:
    """Stop a loop until somebody approves. It keeps its task."""
    view = face.client.loop.halt(name, reason=reason, dry_run=dry_run)
    face.emit("loop", lambda: {**view.as_json(), "dry_run": dry_run}, [loop_line(view, face.client.moment().now)])
