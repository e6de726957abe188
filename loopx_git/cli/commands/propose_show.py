"""`git loopx propose show`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CommandContext, command
from loopx_git.cli.output import safe


@command("show", example="git loopx propose show plans")
@click.argument("branch")
def main(context: CommandContext, branch: str) -> None:
    """What a branch proposes against the tip, and what the rules say to each edit. Nothing is written."""
    proposal = context.client.propose.show(branch)
    lines = []
    for edit in proposal.edits:
        held = f" (held by {edit.held})" if edit.held else ""
        said = f"refused: {edit.refused}" if edit.refused else "nothing to do" if not edit.commands else "fine"
        lines.append(safe(f"{edit.path}{held}: {said}"))
    context.emit("proposal", proposal.as_json, lines or ["it proposes nothing"])
