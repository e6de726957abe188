"""`git loopx heartbeat status`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.cli.output import relative, safe
from loopx_git.cli.render.todo import lease_words
from loopx_git.client.views import peer_json
from loopx_git.core.times import format_time


@command("status", unused=ACTOR, example="git loopx heartbeat status")
@click.option("--goal-id", metavar="GOAL", help="Only this goal (default: all).")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(context: CommandContext, goal_id: str | None, fresh: bool, offline: bool) -> None:
    """Peers with their last sign of life and claims; lapsed claims; ready todos without a claim."""
    status = context.client.heartbeat.status(goal_id=goal_id, fresh=fresh, offline=offline)
    now = context.client.clocks().now
    width = max((len(item.peer.agent) for item in status.peers), default=1)
    lines = []
    for item in status.peers:
        mark = context.output.paint("stale", "33") if item.stale else item.peer.status.value
        held = [status.called.get(view.lease.todo, view.lease.todo) for view in item.holds]
        soft = [status.called.get(todo, todo) for todo in item.soft]
        holds = safe(", ".join(held) or "nothing") + (f"; softly {safe(', '.join(soft))}" if soft else "")
        lines.append(f"{item.peer.agent:{width}}  {mark:7}  seen {relative(item.seen, now)}, holds {holds}")
    lines += [f"lapsed: {view.id}  {lease_words(view.lease, now)}  {safe(view.todo.title)}" for view in status.lapsed]
    lines.append(f"{len(status.unclaimed)} ready and unclaimed, {len(status.lapsed)} lapsed")
    payload = {
        "peers": [
            {**peer_json(item.peer), "seen": format_time(item.seen), "stale": item.stale,
             "holds": [view.as_json() for view in item.holds], "soft_claims": list(item.soft)}
            for item in status.peers
        ],
        "lapsed": [{"todo_id": view.id, "lease": view.lease.as_json()} for view in status.lapsed],
        "unclaimed": [view.id for view in status.unclaimed],
    }  # fmt: skip
    context.emit("heartbeat", payload, lines, status.reading)
