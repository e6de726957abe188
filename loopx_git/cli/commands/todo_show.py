"""`git loopx todo show`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command, todo_argument
from loopx_git.cli.render.todo import todo_lines


@command("show", unused=ACTOR, example="git loopx todo show todo_ab12cd34ef56\ngit loopx todo show fix-login --json")
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
@todo_argument
def main(context: CommandContext, todo: str, goal_id: str | None, fresh: bool, offline: bool) -> None:
    """Show one todo with its lease and notes. TODO is an id, a prefix of 4 digits or more, or an alias."""
    view, reading = context.client.todo.show(todo, goal_id=goal_id, fresh=fresh, offline=offline)
    context.emit("todo", view.as_json, todo_lines(context.output, view, context.client.clocks().now), reading)
