"""`git loopx demo`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.errors import CheckFailed


@command("demo", unused=(*ACTOR, "folder", "remote", "ref", "timeout"), example="git loopx demo")
@click.option("--keep", is_flag=True, help="Keep the temporary folder and say where it is.")
@click.option("--budget", type=click.FloatRange(5, 600), default=90.0, show_default=True, help="Seconds at most.")
def main(context: CommandContext, keep: bool, budget: float) -> None:
    """Eight agents in eight clones race for two dozen todos; one is killed; a proof at the end.

    Works in a temporary folder only. Exit 0 when the proof holds, 19 when it does not.
    """
    import shutil
    import tempfile

    from loopx_git.cli.demo.proof import prove
    from loopx_git.cli.demo.stage import Stage

    folder = tempfile.mkdtemp(prefix="loopx-demo-")
    stage = Stage(folder, lambda text: None if context.output.as_json else context.output.emit("", {}, [text]))
    try:
        stage.set_up()
        stage.run(budget)
        before = stage.client("operator").read(fresh=True).tip
        refusal = stage.late_write()
        statements, figures = prove(stage, before, refusal)
    finally:
        stage.end()
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    lines = ["", "agent     claimed  completed  races lost"]
    lines += [
        f"{name:9} {row['claimed']:7}  {row['completed']:9}  {row['lost']:10}"
        for name, row in figures["agents"].items()
    ]
    lines += ["", f"pushes tried again because another agent was faster: {figures['pushes_retried']}"]
    lines += ["", *(f"{'ok ' if item.holds else 'NO '} {item.text}" for item in statements)]
    if keep:
        lines.append(f"kept: {folder}")
    proved = all(item.holds for item in statements)
    payload = {
        "ok": proved, **figures, "folder": folder if keep else None,
        "proof": [{"holds": item.holds, "text": item.text} for item in statements],
    }  # fmt: skip
    context.emit("demo", payload, lines)
    if not proved:
        raise CheckFailed("the proof does not hold", hint="keep the repositories: git loopx demo --keep")
