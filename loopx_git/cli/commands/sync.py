"""`git loopx sync`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CommandContext, command
from loopx_git.errors import UsageError


@command("sync", writes=True, example="git loopx sync\ngit loopx sync --publish")
@click.option("--publish", is_flag=True, help="Move this repository's own ledger to the remote.")
@click.option("--accept-tip", metavar="OID", help="After a rewrite: accept this tip (with --reason).")
@click.option("--reason", help="Why, with --accept-tip; kept in this clone.")
def main(context: CommandContext, publish: bool, accept_tip: str | None, reason: str | None) -> None:
    """Fetch the coordination ref and check what is new.

    After exit 16 "was rewritten": find out who moved the ref back or replaced it, and why; most often the old tip
    is brought back where it was. Only when the new history is meant to stay, --accept-tip makes this clone follow it:
    what the old one held and the new one lacks (claims, notes, whole todos) is gone from here on, and its holders
    get exit 12. It takes the full id that the remote shows now and a reason, checks that history, and changes
    nothing on the remote; every other clone decides for itself. Exit 14 "is older" mostly is a mirror that lags, and
    nothing is to be accepted: try again later.
    """
    if (accept_tip is None) != (reason is None):
        raise UsageError(
            "--accept-tip and --reason go together", hint="git loopx sync --accept-tip OID --reason TEXT"
        )
    if publish and accept_tip:
        raise UsageError("--publish and --accept-tip cannot be combined", hint="run one after the other")
    setup = context.client.setup
    if publish:
        done = setup.publish()
        lines = [
            f"the ledger {done['ledger'][:12]} is now {done['ref']} on {done['remote']}",
            "put this into .loopx/config.toml and commit it:",
            *(f"  {line}" for line in done["config"].splitlines()),
        ]
        context.emit("sync", done, lines)
        return
    done = setup.accept_tip(accept_tip, reason or "") if accept_tip else setup.sync()
    for warning in done["warnings"]:
        context.output.warn(warning)
    place = f"{done['ref']} on {done['remote']}" if done["remote"] else f"{done['ref']} in this repository"
    fetched = f"{done['fetched']} new operations" if done["fetched"] != 1 else "1 new operation"
    context.emit("sync", done, [f"{place} is at {done['tip'][:12]}: {fetched}"])
