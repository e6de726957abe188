"""`git loopx todo add`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CHECKS, CommandContext, command, options, text_of
from loopx_git.cli.render.todo import emit_outcome
from loopx_git.errors import UsageError


@command("add", example="git loopx todo add 'fix: the login bug' --scope 'src/login/**' --priority 1")
@click.argument("title_argument", metavar="[TITLE]", required=False)
@click.option("--title", help="The same as the argument.")
@click.option("--goal-id", metavar="GOAL", help="The goal (default: the only one, else main).")
@click.option("--alias", help="A short name of its own, such as fix-login.")
@click.option("--priority", type=click.IntRange(0, 4), default=2, show_default=True, help="0 is the highest.")
@click.option("--body", help="The description.")
@click.option("--body-file", metavar="FILE", help="Read the description from FILE ('-': standard input).")
@click.option("--scope", multiple=True, metavar="PATTERN", help="Paths that the work touches; repeat it.")
@click.option("--requires", multiple=True, metavar="CAPABILITY", help="What the agent must be able to do.")
@click.option("--exclude", multiple=True, metavar="AGENT", help="An agent that may not take it.")
@click.option("--depends-on", multiple=True, metavar="TODO", help="A todo that must be completed first.")
@click.option("--label", multiple=True, help="A label.")
@click.option("--resume-after", metavar="TIME", help="Not before this UTC time or date, or in 2h, 1d.")
@click.option("--branch", help="The branch of the work.")
@click.option("--validate", metavar="COMMAND", help="A command that must pass before it is completed.")
@options("dry_run", dry_run=CHECKS)
def main(
    context: CommandContext, title_argument: str | None, title: str | None, goal_id: str | None, alias: str | None,
    priority: int, body: str | None, body_file: str | None, scope: tuple[str, ...], requires: tuple[str, ...],
    exclude: tuple[str, ...], depends_on: tuple[str, ...], label: tuple[str, ...], resume_after: str | None,
    branch: str | None, validate: str | None, dry_run: bool,
) -> None:  # fmt: skip
    """Add a todo. It needs no agent; the git identity signs for it."""
    from loopx_git.cli.values import time_of, words_of

    if (title_argument is None) == (title is None):
        problem = "the title is missing" if title is None else "the title is given twice"
        raise UsageError(problem, hint="git loopx todo add 'what to do'")
    view = context.client.todo.add(
        title_argument or title or "", goal_id=goal_id, alias=alias, priority=priority,
        body=text_of(body, body_file, "--body") or "", scope=scope, requires=requires, excluded=exclude,
        depends_on=depends_on, labels=label,
        resume_after=time_of(resume_after, "--resume-after", context.client.connection.overrides.clock.wall),
        branch=branch,
        validate=words_of(validate, "--validate"),
        dry_run=dry_run,
    )  # fmt: skip
    emit_outcome(context, view, "added", dry_run=dry_run)
