"""`git loopx doctor`."""

from __future__ import annotations

from dataclasses import asdict

from loopx_git.cli.face import Face, command
from loopx_git.cli.output import safe
from loopx_git.errors import CheckFailed

_COLOURS = {"ok": "32", "warn": "33", "fail": "31"}


@command("doctor", example="git loopx doctor")
def main(face: Face) -> None:
    """Check the installation, the configuration and the remote. Exit 0: nothing failed. Exit 19: something did."""
    from loopx_git.client.doctor import Doctor

    checks = Doctor(face.client).run()
    lines = []
    for check in checks:
        lines.append(
            f"{face.output.paint(f'{check.level:4}', _COLOURS[check.level])}  {check.name:10}  {safe(check.text)}"
        )
        if check.command:
            lines.append(f"{'':18}next: {safe(check.command)}")
    failed = [check for check in checks if check.level == "fail"]
    face.emit("doctor", {"ok": not failed, "checks": [asdict(check) for check in checks]}, lines)
    if failed:
        raise CheckFailed(f"{len(failed)} checks failed", hint=failed[0].command or "see above")
