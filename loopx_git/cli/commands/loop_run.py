"""`git loopx loop run`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CommandContext, command
from loopx_git.cli.render.loops import tick_words
from loopx_git.cli.supervising import STOPS, listening, pause, seconds
from loopx_git.client.tick import HALTED, NOTHING
from loopx_git.errors import Contention, LoopXError, OutcomeUnknown, RemoteFailure


@command("run", writes=True, example="git loopx loop run nightly --interval 5m -- ./agent.sh\n"
         "git loopx loop run nightly --interval 1s --max 20 --until-idle -- ./agent.sh")  # fmt: skip
@click.argument("name")
@click.option("--interval", default="60s", metavar="TIME", help="Between two ticks, with jitter (default 60s).")
@click.option("--max", "most", type=click.IntRange(1), metavar="N", help="At most N ticks.")
@click.option("--until-idle", is_flag=True, help="End when no todo is ready or held by another.")
@click.option("--halt-after", type=click.IntRange(1), metavar="N", help="Halt the loop after N failures in a row.")
@click.option("--goal-id", metavar="GOAL", help="Look for work in this goal only.")
@click.option("--resume", is_flag=True, help="Move the loop to this clone first.")
@click.option("--grace", default="10s", metavar="TIME", help="Between TERM and KILL (default 10s).")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
def main(
    context: CommandContext, name: str, interval: str, most: int | None, until_idle: bool, halt_after: int | None,
    goal_id: str | None, resume: bool, grace: str, argv: tuple[str, ...],
) -> None:  # fmt: skip
    """Run ticks with an interval and jitter between them, until a signal or a bound ends the run.

    A remote that cannot be reached is a warning; the next tick tries again. Exit 0, or 12, 15 or 16 as for one
    tick; a command that fails does not end the loop (see --halt-after).
    """
    every, ticks, failures = seconds(interval, "--interval"), 0, 0
    with listening() as inbox:
        while True:
            ticks += 1
            try:
                ticked = context.client.loop.tick(
                    name, argv, goal_id=goal_id, resume=resume, grace=seconds(grace, "--grace"), inbox=inbox
                )
            except (RemoteFailure, Contention, OutcomeUnknown) as error:
                _say(context, error)
            else:
                resume = False
                context.output.err.write(tick_words(ticked) + "\n")
                context.output.err.flush()
                failures = failures + 1 if ticked.code else 0
                if halt_after is not None and failures >= halt_after:
                    context.client.loop.halt(
                        name, reason=f"{failures} failures in a row, the last with {ticked.code}"
                    )
                    context.say(f"halted after {failures} failures; look: git loopx loop show {name}")
                    break
                if ticked.told in STOPS or ticked.skipped == HALTED or (until_idle and ticked.skipped == NOTHING):
                    break
            if ticks == most or pause(inbox, every * (0.5 + context.client.connection.overrides.jitter())):
                break
    view, reading = context.client.loop.show(name)
    context.emit("loop", lambda: {**view.as_json(), "ticks": ticks}, [], reading)


def _say(context: CommandContext, error: LoopXError) -> None:
    context.say(f"this tick failed and is tried again: {error.message}")
