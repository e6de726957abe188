"""`git loopx peer list`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.client.views import peer_json


@command("list", unused=ACTOR, example="git loopx peer list")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(context: CommandContext, fresh: bool, offline: bool) -> None:
    """List peers."""
    peers, reading = context.client.peer.list(fresh=fresh, offline=offline)
    width = max((len(peer.agent) for peer in peers), default=1)
    lines = [
        f"{peer.agent:{width}}  {peer.kind.value:5}  {peer.status.value:7}  {', '.join(peer.capabilities) or '-'}"
        for peer in peers
    ]
    context.emit("peers", lambda: {"peers": [peer_json(peer) for peer in peers]}, lines or ["no peers"], reading)
