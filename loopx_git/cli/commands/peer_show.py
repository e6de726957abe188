"""`git loopx peer show`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.cli.output import relative
from loopx_git.client.views import peer_json


@command("show", unused=ACTOR, instead="git loopx peer show NAME", example="git loopx peer show codex-1")
@click.argument("name")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(context: CommandContext, name: str, fresh: bool, offline: bool) -> None:
    """Show one peer and what it holds."""
    peer, reading = context.client.peer.show(name, fresh=fresh, offline=offline)
    found = context.client.todo.list(mine=True, agent_id=peer.agent, offline=True).todos
    held = [view for view in found if view.holder == peer.agent]
    softly = [view.id for view in found if peer.agent in view.todo.soft_claims]
    now = context.client.clocks().now
    lines = [
        f"{peer.agent}  {peer.kind.value}, {peer.status.value}",
        f"  capabilities  {', '.join(peer.capabilities) or '-'}",
        f"  registered    {relative(peer.created_at, now)} by {peer.created_by}",
        f"  holds         {', '.join(view.id for view in held) or 'nothing'}",
    ]
    if softly:
        lines.append(f"  soft claims   {', '.join(softly)}")
    payload = {"peer": peer_json(peer), "holds": [view.lease.id for view in held], "soft_claims": softly}
    context.emit("peer", payload, lines, reading)
