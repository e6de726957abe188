"""`git loopx propose add`."""

from __future__ import annotations

from typing import Any

import click

from loopx_git.cli.command_context import CommandContext, command, text_of


@command("add", writes=True, example="git loopx propose add plans 'fix: the login bug' --scope 'src/login/**'")
@click.argument("branch")
@click.argument("title")
@click.option("--goal-id", "goal", metavar="GOAL", help="The goal (default: the only one, else main).")
@click.option("--alias", help="A short name of its own.")
@click.option("--priority", type=click.IntRange(0, 4), default=2, show_default=True, help="0 is the highest.")
@click.option("--body", help="The description.")
@click.option("--body-file", metavar="FILE", help="Read the description from FILE ('-': standard input).")
@click.option("--scope", multiple=True, metavar="PATTERN", help="Paths that the work touches; repeat it.")
@click.option("--depends-on", multiple=True, metavar="TODO", help="A todo that must be completed first.")
@click.option("--label", "labels", multiple=True, help="A label.")
@click.option("--resume-after", metavar="TIME", help="Not before this UTC time or date, or in 2h, 1d.")
def main(
    context: CommandContext, branch: str, title: str, body: str | None, body_file: str | None,
    resume_after: str | None, **fields: Any,
) -> None:  # fmt: skip
    """Put a new todo on a branch off the coordination ref, as a plain file, for a pull request."""
    from loopx_git.cli.values import time_of

    text = text_of(body, body_file, "--body") or ""
    fields["resume_after"] = time_of(resume_after, "--resume-after", context.client.connection.overrides.clock.wall)
    done = context.client.propose.add(branch, title, body=text.strip("\n"), **fields)
    context.emit("proposal", done, [f"{done['todo']} is proposed on {done['branch']}"])
