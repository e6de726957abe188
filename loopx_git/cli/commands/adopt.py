"""`git loopx adopt`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CommandContext, command, options
from loopx_git.cli.output import safe


@command("adopt", example="git loopx adopt --dry-run\ngit loopx adopt")
@click.option("--discard", is_flag=True, help="Adopt nothing: restore the last good state.")
@options("dry_run")
def main(context: CommandContext, discard: bool, dry_run: bool) -> None:
    """Adopt what was merged or edited on the coordination ref outside the operations, as far as the rules allow.

    New todos and edited fields are adopted; leases, policy, peers and what breaks a rule are restored.
    """
    done = context.client.setup.adopt(dry_run=dry_run, discard=discard)
    verb = ("would take over", "would undo") if dry_run else ("took over", "undid")
    lines = [safe(f"{verb[0]}  {item['path']}") for item in done["admitted"]]
    lines += [safe(f"{verb[1]}  {item['path']}: {item['reason']}") for item in done["undone"]]
    if not done["adopted"]:
        lines.append("nothing to adopt: the tip is a legal operation")
    context.emit("adopt", {**done, "dry_run": dry_run}, lines)
