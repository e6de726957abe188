"""`git loopx guard check`."""

from __future__ import annotations

import os
import sys

import click

from loopx_git.cli.command_context import CommandContext, command
from loopx_git.cli.output import safe
from loopx_git.errors import About, CheckFailed, UsageError


@command("check", example="git loopx guard check\ngit loopx guard check src/login/form.py\n"
         "git loopx guard check --range refs/remotes/origin/main..HEAD")  # fmt: skip
@click.option("--staged", is_flag=True, help="What a commit of the index would change (the default).")
@click.option("--push", is_flag=True, help="The commits of a push: the lines of a pre-push hook on standard input, "
              "or what the pre-commit framework says, or else HEAD.")  # fmt: skip
@click.option("--to", metavar="REMOTE", help="Where --push goes.")
@click.option("--range", "span", metavar="A..B", help="The commits of a range.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
def main(
    context: CommandContext, staged: bool, push: bool, to: str | None, span: str | None, paths: tuple[str, ...]
) -> None:
    """May these paths be changed here, by this session, now?

    Exit 0: yes, or the policy only warns. Exit 19: no.
    """
    from loopx_git.guard import check

    if sum((staged, push, span is not None, bool(paths))) > 1 or (to is not None and not push):
        raise UsageError("--staged, --push, --range and paths exclude each other", hint="git loopx guard check -h")
    client = context.client
    if push:
        remote, lines = _pushed(context, to)
        report = check.check_push(client, remote, lines)
    elif span is not None:
        report = check.check_range(client, span)
    elif paths:
        report = check.check_paths(client, paths, os.path.abspath(context.values.get("folder") or "."))
    else:
        report = check.check_staged(client)
    if report.effect == "warned":
        context.output.warn(f"{report.headline}; next: {report.command}")
    body = [safe(line) for line in report.lines()]
    context.emit("guard", report.as_json, body if report.effect != "allowed" else [*body, report.headline])
    if report.effect == "denied":
        about: About = {}
        for first in report.as_json()["findings"][:1]:
            about = {
                "todo_id": first["todo_id"],
                "holder": first["holder"],
                "epoch": first["epoch"],
                "rule": first["rule"],
            }
        raise CheckFailed(report.headline, hint=report.command, about=about)


def _pushed(context: CommandContext, to: str | None) -> tuple[str, str]:
    """(remote, lines of a pre-push hook), from the source that says what is pushed."""
    from loopx_git.guard import check

    told = check.framework_lines(os.environ)
    if told is not None:
        return told
    lines = (
        "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    )
    client = context.client
    return to or client.connection.settings.remote, lines or check.upstream_lines(client.connection.repository)
