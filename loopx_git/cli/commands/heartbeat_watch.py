"""`git loopx heartbeat watch`."""

from __future__ import annotations

from itertools import count

import click

from loopx_git.cli.command_context import CommandContext, command, duration
from loopx_git.cli.render.reclaimed import reclaimed_lines, reclaimed_payload
from loopx_git.cli.streams import lost
from loopx_git.errors import Contention, Interrupted, RemoteFailure, UsageError


@command("watch", example="git loopx heartbeat watch --interval 5m")
@click.option("--interval", metavar="TIME", default="5m", show_default=True, help="Between two rounds, with jitter.")
@click.option("--rounds", type=click.IntRange(1), help="End after so many (default: never).")
@click.option("--take", is_flag=True, help="Claim what has lapsed, instead of returning it to the pool.")
@click.option("--goal-id", metavar="GOAL", help="Only this goal (default: all).")
def main(context: CommandContext, interval: str, rounds: int | None, take: bool, goal_id: str | None) -> None:
    """Run reclaim again and again. Several watchers do no harm: each reclaim is a compare-and-swap of its own.

    An unreachable remote is a warning and the next round tries again.
    """
    seconds = duration(interval, "--interval")
    if not isinstance(seconds, int) or seconds < 1:
        raise UsageError("--interval takes at least 1s", hint="--interval 5m")
    number = 0
    try:
        for number in count(1):
            _round(context, take, goal_id, number)
            if lost() is not None or number == rounds:
                # Done, or nobody reads it any more.
                return
            hooks = context.client.connection.overrides
            hooks.clock.sleep(seconds * (0.75 + 0.5 * hooks.jitter()))
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted in round {number}; what was reclaimed before stands", hint="git loopx heartbeat status"
        ) from None


def _round(context: CommandContext, take: bool, goal_id: str | None, number: int) -> None:
    """Reclaim once. A remote that does not answer is said, and asked again in the next round."""
    try:
        done = context.client.heartbeat.reclaim(take=take, goal_id=goal_id)
    except (RemoteFailure, Contention) as error:
        context.output.warn(error.message)
        return
    payload = {"round": number, **reclaimed_payload(done)}
    if done or context.output.as_json:
        context.emit("reclaimed", payload, reclaimed_lines(done, dry_run=False))
