"""`git loopx heartbeat suggest`."""

from __future__ import annotations

from dataclasses import asdict

import click

from loopx_git.cli.command_context import CommandContext, command
from loopx_git.cli.output import safe


@command(
    "suggest",
    unused=("session",),
    example="git loopx heartbeat suggest\ngit loopx heartbeat suggest --agent codex-1",
)
@click.option("--goal-id", metavar="GOAL", help="Only this goal (default: all).")
@click.option("--per-agent", type=click.IntRange(1, 100), default=1, show_default=True, help="Todos an agent.")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(context: CommandContext, goal_id: str | None, per_agent: int, fresh: bool, offline: bool) -> None:
    """Which agent should take which todo, as claim commands that can all be run at once. With --agent: what that
    agent can take."""
    agent = context.values.get("agent")
    found, reading = context.client.heartbeat.suggest(
        goal_id=goal_id, per_agent=per_agent, fresh=fresh, offline=offline, agent_id=agent
    )
    commands = [f"git loopx todo claim {item.todo} --agent {item.agent}" for item in found]
    lines = [
        f"{command}    # {item.priority} {safe(item.title)}" for command, item in zip(commands, found, strict=True)
    ]
    payload = {
        "suggestions": [{**asdict(item), "command": command} for command, item in zip(commands, found, strict=True)]
    }
    context.emit("suggestions", payload, lines or ["nothing to suggest"], reading)
