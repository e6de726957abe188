"""`git loopx guard hook`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CommandContext, command


@command("hook", example="git loopx guard hook pre-commit")
@click.argument("name")
@click.argument("args", nargs=-1)
def main(context: CommandContext, name: str, args: tuple[str, ...]) -> None:
    """What the shims in the hooks folder run: the guard's part of a git hook. Not for people."""
    from loopx_git.cli import hook

    raise click.exceptions.Exit(hook.main(name, args))
