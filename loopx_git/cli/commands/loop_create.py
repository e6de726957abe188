"""`git loopx loop create`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CHECKS, CommandContext, command, options


@command("create", example="git loopx loop create nightly")
@click.argument("name")
@options("dry_run", dry_run=CHECKS)
def main(context: CommandContext, name: str, dry_run: bool) -> None:
    """Create a loop, and register it as a peer of kind `loop`."""
    view, created = context.client.loop.create(name, dry_run=dry_run)
    done = "would be created" if dry_run and created else "created" if created else "is there already"
    payload = {"name": name} if view is None else view.as_json()
    context.emit("loop", {**payload, "created": created, "dry_run": dry_run}, [f"loop {name} {done}"])
