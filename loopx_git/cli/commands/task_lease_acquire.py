"""`git loopx task-lease acquire`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CommandContext, command, duration, todo_argument
from loopx_git.cli.render.todo import lease_words, told_lines


@command("acquire", writes=True, example="git loopx task-lease acquire todo_ab12cd34ef56 --ttl 45m")
@click.option("--ttl", metavar="TIME", help="Time bound, such as 45m or none (default: the policy's).")
@click.option("--no-ttl", is_flag=True, help="The same as --ttl none.")
@todo_argument
def main(context: CommandContext, todo: str, goal_id: str | None, ttl: str | None, no_ttl: bool) -> None:
    """Acquire the exclusive lease of a todo: the same as todo claim, answering with the lease. What this session
    holds already gets the --ttl that is given, as by a renewal."""
    from loopx_git.client.task_lease import acquire

    view = acquire(context.client, todo, goal_id=goal_id, ttl=duration("none" if no_ttl else ttl, "--ttl"))
    told = {name: view.facts[name] for name in ("former", "handover", "warnings") if view.facts.get(name)}
    lines = [f"{view.lease.id}: {lease_words(view.lease, context.client.clocks().now)}", *told_lines(view)]
    context.emit("lease", lambda: {"lease": view.lease.as_json(), **told}, lines)
