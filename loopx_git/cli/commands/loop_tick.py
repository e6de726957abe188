"""`git loopx loop tick`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CommandContext, command
from loopx_git.cli.render.loops import tick_words
from loopx_git.cli.supervising import end_with, listening, seconds


@command("tick", writes=True, example="git loopx loop tick nightly -- ./agent.sh")
@click.argument("name")
@click.option("--task", metavar="TODO", help="When the loop has no task: this one, not the best that fits.")
@click.option("--goal-id", metavar="GOAL", help="Look for work in this goal only.")
@click.option("--resume", is_flag=True, help="Move the loop to this clone, and its task with it (epoch + 1).")
@click.option("--grace", default="10s", metavar="TIME", help="Between TERM and KILL (default 10s).")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
def main(
    context: CommandContext,
    name: str,
    task: str | None,
    goal_id: str | None,
    resume: bool,
    grace: str,
    argv: tuple[str, ...],
) -> None:
    """One tick: keep the task or find one, run the command on it, count, and release a task that has ended.

    The command gets the variables of `run`, and LOOPX_LOOP. A tick that lost a race, or has nothing to do, prints
    SKIP and the reason on standard error, and exits with 0. Exit: the command's code, or 128 and its signal. 12: the
    task was taken from the loop.
    """
    with listening() as inbox:
        ticked = context.client.loop.tick(
            name, argv, task=task, goal_id=goal_id, resume=resume, grace=seconds(grace, "--grace"), inbox=inbox
        )
    context.output.err.write(tick_words(ticked) + "\n")
    payload = {**ticked.loop.as_json(), "skipped": ticked.skipped or None, "task": ticked.task,
               "exit": None if ticked.status is None else ticked.code, "released": ticked.released}  # fmt: skip
    context.emit("loop", payload, [])
    end_with(ticked.code)
