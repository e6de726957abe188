"""`git loopx review check`."""

from __future__ import annotations

import os

import click

from loopx_git.cli.command_context import CommandContext, command
from loopx_git.cli.output import safe
from loopx_git.errors import CheckFailed


@command("check", example="git loopx review check --base refs/remotes/origin/main --head HEAD")
@click.option("--base", required=True, metavar="B", help="What the change is to be merged into.")
@click.option("--head", default="HEAD", show_default=True, metavar="H", help="The change.")
@click.option("--strict", is_flag=True, help="Every warning is an error.")
@click.option("--guarded", is_flag=True, help="A base without a policy is an error.")
@click.option("--rule-changes", type=click.Choice(["operators", "anyone"]), help="Who may change the rules.")
@click.option("--github", is_flag=True, help="Print annotations, and write a step summary.")
def main(
    context: CommandContext, base: str, head: str, strict: bool, guarded: bool, rule_changes: str | None, github: bool
) -> None:
    """Is every change of the range covered by a claim that the ledger granted? Policy and ledger are the base's.

    Exit 0: yes. Exit 19: no; each finding has file, commit, todo, holder and the way out.
    """
    from loopx_git.review.github import workflow_commands
    from loopx_git.review.verdict import review

    judge = review(context.folder, os.environ, base, head, context.flags(), context.overrides())
    verdict = judge.check(strict=strict, guarded=guarded, rule_changes=rule_changes)
    lines = []
    for finding in verdict.findings:
        place = f"  {finding.file}" if finding.file is not None else ""
        lines.append(safe(f"{finding.level:7}  {finding.rule:10}  {finding.commit[:10]}{place}: {finding.message}"))
        if finding.way_out:
            lines.append(safe(f"{'':21}next: {finding.way_out}"))
    if verdict.ok:
        lines.append(f"ok: {verdict.judged} commits, at the tip {verdict.claims.tip[:12] or '-'} of the ledger")
    if github:
        lines += workflow_commands(verdict.findings)
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if summary:
            from loopx_git.review.summary import summary_of

            with open(summary, "a", encoding="utf-8") as file:
                file.write(summary_of(verdict))
    context.emit("review", verdict.as_json, lines)
    if not verdict.ok:
        wrong = sum(1 for finding in verdict.findings if finding.level == "error")
        raise CheckFailed(
            f"{wrong} findings in {verdict.judged} commits",
            hint=next((item.way_out for item in verdict.findings if item.level == "error" and item.way_out), ""),
            about={"findings": wrong, "tip": verdict.claims.tip},
        )
