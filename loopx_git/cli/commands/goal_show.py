"""`git loopx goal show`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.cli.output import relative, safe
from loopx_git.client.views import goal_json


@command("show", unused=ACTOR, example="git loopx goal show main")
@click.argument("goal", required=False)
@click.option(
    "--format", "form", type=click.Choice(["text", "md"]), default="text", help="text, or md with every claim."
)
@click.option("--fresh", is_flag=True, help="Fetch first.")
@click.option("--offline", is_flag=True, help="Never fetch.")
def main(context: CommandContext, goal: str | None, form: str, fresh: bool, offline: bool) -> None:
    """Show one goal (default: the only one, else main); as markdown with all its todos and claims."""
    view, reading = context.client.goal.show(goal, fresh=fresh, offline=offline)
    shown, now = view.goal, context.client.clocks().now
    todos = context.client.todo.list(goal_id=shown.id, status=("all",), offline=True).todos
    soft = [view for view in todos if view.todo.soft_claims]
    if form == "md":
        from loopx_git.cli.render.markdown import goal_page

        lines = goal_page(shown, todos, now)
    else:
        lines = [
            f"{shown.id}  {safe(shown.title)}",
            f"  status   {shown.status.value}",
            f"  claims   {shown.claims.value if shown.claims else 'as the policy says'}",
            f"  created  {relative(shown.created_at, now)} by {shown.created_by}",
        ]
        lines += [f"  {name:12} {count}" for name, count in sorted(view.counts.items())]
        waiting = sum(1 for one in todos if one.waits)
        lines += [f"  waiting      {waiting} of these"] if waiting else []
        lines += [f"  soft claims  {one.id}: {safe(', '.join(one.todo.soft_claims))}" for one in soft]
    softly = [{"todo_id": one.id, "agents": list(one.todo.soft_claims)} for one in soft]
    context.emit("goal", lambda: {"goal": goal_json(shown, view.counts), "soft_claims": softly}, lines, reading)
