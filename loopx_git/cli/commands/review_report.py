"""`git loopx review report`."""

from __future__ import annotations

import json
import os

import click

from loopx_git.cli.command_context import CommandContext, command


@command("report", example="git loopx review report --base refs/remotes/origin/main --head HEAD --format markdown")
@click.option("--base", required=True, metavar="B", help="What the change is to be merged into.")
@click.option("--head", default="HEAD", show_default=True, metavar="H", help="The change.")
@click.option("--format", "form", type=click.Choice(["markdown", "html", "json"]), default="markdown",
              show_default=True, help="For a comment, as a page, or for programs.")  # fmt: skip
def main(context: CommandContext, base: str, head: str, form: str) -> None:
    """The todos behind a range: who held them when, path by path, and what is unclaimed."""
    from loopx_git.review.report import report
    from loopx_git.review.verdict import review

    found = report(review(context.folder, os.environ, base, head, context.flags(), context.overrides()))
    if form == "markdown":
        from loopx_git.review.markdown import markdown

        text = markdown(found)
    elif form == "html":
        from loopx_git.review.page import page

        text = page(found)
    else:
        text = json.dumps(found.as_json(), indent=1) + "\n"
    context.emit("report", found.as_json, text.rstrip("\n").split("\n"))
