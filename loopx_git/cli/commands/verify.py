"""`git loopx verify`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.errors import CheckFailed


@command("verify", unused=ACTOR, example="git loopx verify\ngit loopx verify --signatures")
@click.option("--offline", is_flag=True, help="Check what was fetched last.")
@click.option("--signatures", is_flag=True, help="Every operation must be signed by its agent's key, too.")
def main(context: CommandContext, offline: bool, signatures: bool) -> None:
    """Replay the whole history against the rules. Exit 0: every commit is one legal operation. Exit 19: not."""
    verdict = context.client.history.verify(offline=offline, signatures=signatures)
    lines = [f"{item['commit'][:12]}  {item['rule']}: {item['message']}" for item in verdict.findings]
    if verdict.ok:
        lines.append(f"ok: {verdict.commits} operations on the ledger {verdict.ledger[:12]}, each of them legal")
    if not verdict.complete:
        context.output.warn("history is shallow here: the part before it was not checked")
    payload = {"ok": verdict.ok, "commits": verdict.commits, "findings": list(verdict.findings),
               "tip": verdict.tip, "ledger": verdict.ledger, "complete": verdict.complete}  # fmt: skip
    context.emit("verify", payload, [line for line in lines if line])
    if not verdict.ok:
        raise CheckFailed(
            f"{len(verdict.findings)} of {verdict.commits} operations break a rule",
            hint="git loopx log; nothing is granted on a tip that is not legal",
            about={"findings": len(verdict.findings)},
        )
