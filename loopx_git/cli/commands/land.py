"""`git loopx land`."""

from __future__ import annotations

import os
import sys

import click

from loopx_git.cli.command_context import CommandContext, command, options
from loopx_git.cli.output import safe


@command("land", writes=True, example="git loopx land --todo-id fix-login --to main --note 'parser rewritten'")
@click.option("--todo-id", metavar="TODO", help="The todo (default: LOOPX_TODO, else the one that you hold).")
@click.option("--to", metavar="BRANCH", help="The branch (default: the one the todo records, else the current one).")
@click.option("--rev", default="HEAD", metavar="REVISION", help="The commit that lands (default: HEAD).")
@options("epoch", "note", note="A last note.")
@click.option("--validate", is_flag=True, help="Refuse a todo that has no check of its own.")
@click.option("--no-verify", is_flag=True, help="Do not run the pre-push hook.")
@click.option("--two-step", is_flag=True, help="For a remote without atomic pushes; says what is not guaranteed.")
def main(
    context: CommandContext, todo_id: str | None, to: str | None, rev: str, epoch: int | None, note: str | None,
    validate: bool, no_verify: bool, two_step: bool,
) -> None:  # fmt: skip
    """Push the code to its branch and complete the todo, in one atomic push: both happen, or neither.

    The todo's check and the pre-push hook run once, before. Exit 12: the claim is lost. 15: the code is not a
    fast-forward, or a check refused. 14: the remote refuses the push. Nothing has landed then.
    """

    def sink(chunk: bytes) -> None:
        sys.stderr.buffer.write(chunk)
        sys.stderr.flush()

    landed = context.client.land(
        todo_id or os.environ.get("LOOPX_TODO") or None, to=to, rev=rev, epoch=epoch, note=note,
        need_check=validate, two_step=two_step, verify=not no_verify, sink=sink,
    )  # fmt: skip
    for text in filter(None, (landed.warning, landed.caveat)):
        context.output.warn(text)
    ref, _, oid = landed.code.rpartition("@")
    words = "had landed already" if landed.already else "landed"
    line = f"{landed.view.id} completed; {oid[:12]} {words} on {safe(ref.removeprefix('refs/heads/'))}"
    payload = {**landed.view.as_json(), "code": landed.code, "already": landed.already,
               "atomic": not two_step, "caveat": landed.caveat or None}  # fmt: skip
    context.emit("land", payload, [line])
