"""`git loopx policy show`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command


@command("show", unused=ACTOR, example="git loopx policy show")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(context: CommandContext, fresh: bool, offline: bool) -> None:
    """Show every key with its value."""
    from loopx_git.core.policy import KEYS

    values, reading = context.client.policy.show(fresh=fresh, offline=offline)
    width = max(len(name) for name in values)
    lines = [f"{name:{width}}  {value:9}  {KEYS[name].about}" for name, value in values.items()]
    context.emit("policy", {"policy": values}, lines, reading)
