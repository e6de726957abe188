"""`git loopx propose edit`."""

from __future__ import annotations

from typing import Any

import click

from loopx_git.cli.command_context import CommandContext, command, text_of
from loopx_git.errors import UsageError


@command("edit", writes=True, example="git loopx propose edit plans fix-login --title 'fix: the login bug, for good'")
@click.argument("branch")
@click.argument("todo")
@click.option("--status", help="open, in_progress, blocked or needs_human.")
@click.option("--note", help="Append a note.")
@click.option("--title", help="A new title.")
@click.option("--alias", help="A new alias.")
@click.option("--priority", type=click.IntRange(0, 4), help="A new priority; 0 is the highest.")
@click.option("--body", help="A new description.")
@click.option("--body-file", metavar="FILE", help="Read the description from FILE ('-': standard input).")
@click.option("--scope", multiple=True, metavar="PATTERN", help="The new scope; repeat it.")
@click.option("--depends-on", multiple=True, metavar="TODO", help="The new dependencies; repeat it.")
@click.option("--label", "labels", multiple=True, help="The new labels; repeat it.")
@click.option("--resume-after", metavar="TIME", help="Not before this UTC time or date, or in 2h, 1d.")
def main(
    context: CommandContext, branch: str, todo: str, status: str | None, note: str | None, body: str | None,
    body_file: str | None, resume_after: str | None, **given: Any,
) -> None:  # fmt: skip
    """Edit a todo on a branch off the coordination ref, for a pull request. It needs no claim."""
    from loopx_git.cli.values import time_of

    fields = {name: value for name, value in given.items() if value not in (None, ())}
    text = text_of(body, body_file, "--body")
    if text is not None:
        fields["body"] = text.strip("\n")
    if resume_after is not None:
        fields["resume_after"] = time_of(
            resume_after, "--resume-after", context.client.connection.overrides.clock.wall
        )
    if not (fields or status or note):
        raise UsageError("this names nothing to change", hint="--title TEXT, or another field")
    done = context.client.propose.edit(branch, todo, status=status, note=note, **fields)
    context.emit("proposal", done, [f"an edit of {done['todo']} is proposed on {done['branch']}"])
