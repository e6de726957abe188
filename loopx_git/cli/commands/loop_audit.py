"""`git loopx loop audit`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.cli.output import safe
from loopx_git.cli.render.loops import loop_line
from loopx_git.errors import CheckFailed


@command("audit", unused=ACTOR, example="git loopx loop audit")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(context: CommandContext, offline: bool) -> None:
    """List the loops that hold a task and are halted or gone. Exit 0: none. Exit 19: some, each with its way out."""
    found, reading = context.client.loop.audit(offline=offline)
    now = context.client.clocks().now
    lines = []
    for view in found:
        name, task = view.loop.name, view.loop.current_task
        halted = view.trouble.startswith("halted")
        way = "git loopx loop approve -h" if halted else f"git loopx loop tick {name} --resume -- COMMAND"
        lines += [loop_line(view, now), f"  {safe(view.trouble)}", f"  next: {way}",
                  f"  what gives {task} back: git loopx todo release -h"]  # fmt: skip
    payload = {"ok": not found, "loops": [view.as_json() for view in found]}
    context.emit("loop_audit", payload, lines or ["ok: no loop is halted or gone with a task"], reading)
    if found:
        raise CheckFailed(
            f"{len(found)} loops hold a task and are halted or gone",
            hint=f"git loopx loop show {found[0].loop.name}",
            about={"loops": [view.loop.name for view in found]},
        )
