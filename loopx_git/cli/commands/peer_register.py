"""`git loopx peer register`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CHECKS, CommandContext, command, options
from loopx_git.client.views import peer_json


@command("register", example="git loopx peer register codex-1 --capability python --capability docs")
@click.argument("name")
@click.option("--kind", type=click.Choice(["agent", "human", "loop"]), help="What it is (default: agent).")
@click.option("--capability", multiple=True, metavar="NAME", help="What it can do; repeat it.")
@click.option("--new", is_flag=True, help="Refuse a name that is registered already.")
@options("dry_run", dry_run=CHECKS)
def main(
    context: CommandContext, name: str, kind: str | None, capability: tuple[str, ...], new: bool, dry_run: bool
) -> None:
    """Register a peer, or change one's kind and capabilities (those given replace the former ones)."""
    peer, created = context.client.peer.register(
        name, kind=kind, capabilities=capability or None, new=new, dry_run=dry_run
    )
    done = "would be registered" if dry_run else "registered" if created else "is registered"
    payload = {
        "peer": {"agent": name} if peer is None else peer_json(peer),
        "created": created,
        "dry_run": dry_run,
    }
    context.emit("peer", payload, [f"peer {name} {done}"])
