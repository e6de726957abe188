"""`git loopx doctor`."""

from __future__ import annotations

from dataclasses import asdict

import click

from loopx_git.cli.command_context import CommandContext, command
from loopx_git.cli.output import safe
from loopx_git.errors import CheckFailed

_COLOURS = {"ok": "32", "warn": "33", "fail": "31"}


@command("doctor", example="git loopx doctor\ngit loopx doctor --probe")
@click.option("--probe", is_flag=True, help="Try on a throw-away ref what the remote allows and refuses.")
def main(context: CommandContext, probe: bool) -> None:
    """Check the installation, the configuration and the remote. Exit 0: nothing failed. Exit 19: something did."""
    from loopx_git.client.doctor import Doctor

    if probe:
        from loopx_git.client.probe import Probe

        checks = Probe(context.client).run()
    else:
        checks = Doctor(context.client).run()
    lines = []
    for check in checks:
        lines.append(
            f"{context.output.paint(f'{check.level:4}', _COLOURS[check.level])}  {check.name:16}  {safe(check.text)}"
        )
        if check.command:
            lines.append(f"{'':24}next: {safe(check.command)}")
    failed = [check for check in checks if check.level == "fail"]
    context.emit("doctor", {"ok": not failed, "checks": [asdict(check) for check in checks]}, lines)
    if failed:
        raise CheckFailed(f"{len(failed)} checks failed", hint=failed[0].command or "see above")
