"""`git loopx policy set`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CHECKS, CommandContext, command, options


@command("set", example="git loopx policy set claims.ttl 45m")
@click.argument("key")
@click.argument("value")
@options("dry_run", dry_run=CHECKS)
def main(context: CommandContext, key: str, value: str, dry_run: bool) -> None:
    """Set one key of the policy for everybody."""
    done = context.client.policy.set(key, value, dry_run=dry_run)
    same = done["value"] == done["former"]
    verb = "is already" if same else "would become" if dry_run else "is now"
    line = f"{key} {verb} {done['value']}" + ("" if same else f" (was {done['former']})")
    context.emit("policy", {**done, "dry_run": dry_run}, [line])
