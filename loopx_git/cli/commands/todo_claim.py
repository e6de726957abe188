"""`git loopx todo claim`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CommandContext, command, duration, options, todos_argument
from loopx_git.cli.render.todo import emit_outcome, outcome_lines


@command("claim", example="git loopx todo claim todo_ab12cd34ef56 --agent codex-1 --ttl 45m")
@click.option("--ttl", metavar="TIME", help="Time bound, such as 45m or none (default: the policy's).")
@click.option("--no-ttl", is_flag=True, help="The same as --ttl none.")
@click.option("--resume", is_flag=True, help="Take over from another session of the same agent.")
@click.option(
    "--soft", is_flag=True, help="Only declare an interest: it blocks no agent, and many agents may have one."
)
@options("dry_run")
@todos_argument
def main(
    context: CommandContext, todos: list[str], goal_id: str | None, ttl: str | None, no_ttl: bool, resume: bool,
    soft: bool, dry_run: bool,
) -> None:  # fmt: skip
    """Claim a todo for this session, or several, all or nothing.

    Exit 0: it is yours. Exit 11: somebody else holds it.
    """
    views = context.client.todo.claim_all(
        todos, goal_id=goal_id, ttl=duration("none" if no_ttl else ttl, "--ttl"), resume=resume, soft=soft,
        dry_run=dry_run,
    )  # fmt: skip
    done = ["claimed softly" if view.facts.get("soft") else "claimed" for view in views]
    if len(views) == 1:
        emit_outcome(context, views[0], done[0], dry_run=dry_run)
        return
    now = context.client.clocks().now
    lines = [line for view, verb in zip(views, done, strict=True) for line in outcome_lines(view, verb, now)]
    context.emit("claims", lambda: {"claims": [view.as_json() for view in views], "dry_run": dry_run}, lines)
