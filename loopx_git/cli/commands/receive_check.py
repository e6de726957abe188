"""`git loopx receive-check`."""

from __future__ import annotations

import os
import sys

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.errors import UsageError

#: Most bytes of updates that are read; a push of 1,000 refs has about 150,000.
_INPUT_MAX = 4_000_000


@command(
    "receive-check",
    unused=ACTOR,
    example="git loopx receive-check < updates    # hooks/pre-receive: exec git-loopx receive-check",
)
@click.argument("update", nargs=-1, metavar="[REF OLD NEW]")
@click.option("--rule-changes", type=click.Choice(["operators", "anyone"]), help="Who may change the rules.")
def main(context: CommandContext, update: tuple[str, ...], rule_changes: str | None) -> None:
    """The gate of a bare repository, as its pre-receive hook (updates on standard input) or its update hook.

    On the coordination ref only fast-forwards of legal operations pass, on guarded code branches only commits under a
    claim. Each refusal is one line on standard error. Exit 0: let it pass. Exit 19: refuse.
    """
    from loopx_git.client.config import seconds_of
    from loopx_git.review.receive import TOLD_MAX, Gate, updates_of
    from loopx_git.store.environment import judging
    from loopx_git.store.repository import open_repository

    if len(update) not in (0, 3):
        raise UsageError("receive-check takes REF OLD NEW, or nothing", hint='exec git-loopx receive-check "$@"')
    if update:
        lines = [f"{update[1]} {update[2]} {update[0]}"]
    else:
        lines = sys.stdin.buffer.read(_INPUT_MAX).decode("utf-8", "surrogateescape").split("\n")
        lines = [line for line in lines if line]
    repository = open_repository(context.folder, judging(os.environ))
    budget = seconds_of(context.values.get("timeout"), 60.0)
    gate = Gate(repository, os.environ, budget, rule_changes)
    refusals = gate.refusals(updates_of(lines))
    for told in (*gate.notes[:TOLD_MAX], *refusals):
        click.echo(str(told), err=True)
    if refusals:
        click.get_current_context().exit(19)
