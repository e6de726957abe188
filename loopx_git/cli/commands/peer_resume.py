"""`git loopx peer resume`."""

from __future__ import annotations

import click

from loopx_git.cli.face import CHECKS, Face, command, options


@command("resume", example="git loopx peer resume codex-1")
@click.argument("name")
@options("dry_run", dry_run=CHECKS)
def main(face: Face, name: str, dry_run: bool) -> None:
    """Let a paused peer claim again."""
    from loopx_git.client.views import peer_json
    from loopx_git.core.peer import PeerStatus

    peer, former = face.client.peer.set_status(name, PeerStatus.ACTIVE, dry_run=dry_run)
    same = former == PeerStatus.ACTIVE.value
    verb = "is already" if same else "would be" if dry_run else "is"
    payload = {"peer": peer_json(peer), "former": former, "dry_run": dry_run}
    face.emit("peer", payload, [f"peer {peer.agent} {verb} active again"])
