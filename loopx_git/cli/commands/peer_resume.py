"""`git loopx peer resume`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CHECKS, CommandContext, command, options


@command("resume", example="git loopx peer resume codex-1")
@click.argument("name")
@options("dry_run", dry_run=CHECKS)
def main(context: CommandContext, name: str, dry_run: bool) -> None:
    """Let a paused peer claim again."""
    from loopx_git.client.views import peer_json
    from loopx_git.core.peer import PeerStatus

    peer, former = context.client.peer.set_status(name, PeerStatus.ACTIVE, dry_run=dry_run)
    same = former == PeerStatus.ACTIVE.value
    verb = "is already" if same else "would be" if dry_run else "is"
    payload = {"peer": peer_json(peer), "former": former, "dry_run": dry_run}
    context.emit("peer", payload, [f"peer {peer.agent} {verb} active again"])
