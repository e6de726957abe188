"""`git loopx agent-hook`."""

from __future__ import annotations

import os

import click

from loopx_git.cli.command_context import CommandContext, command
from loopx_git.cli.output import safe
from loopx_git.errors import UsageError
from loopx_git.guard.agents import AGENTS


@command("agent-hook", example="git loopx agent-hook install --for claude\n"
         "echo '{\"tool_name\": \"Edit\", \"tool_input\": {\"path\": \"a\"}}' | git loopx agent-hook")  # fmt: skip
@click.argument("action", required=False, type=click.Choice(["install", "uninstall"]))
@click.option("--for", "whose", type=click.Choice([*AGENTS]), help="Whose settings to write, or whose input.")
@click.option("--format", "style", type=click.Choice(["auto", *AGENTS]), default="auto",
              show_default=True, help="Whose input to expect.")  # fmt: skip
@click.option("--shared", is_flag=True, help="Write the settings that are part of the code, not those of this clone.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, write nothing.")
def main(
    context: CommandContext, action: str | None, whose: str | None, style: str, shared: bool, dry_run: bool
) -> None:
    """Allow or deny a coding agent's edit before it is made: its tool call as JSON on standard input.

    Exit 0: allowed. Exit 2: denied; the reason and the next command are on standard error. Any other exit code would
    let the edit pass, so an error of ours is exit 2 as well.

    install and uninstall write into the work tree: the agent reads its settings from there (docs/agents.md says
    which file). Nothing else there is touched.
    """
    if action is None:
        from loopx_git.guard import agent_hook

        if whose is not None and style not in ("auto", whose):
            raise UsageError(f"--for {whose} and --format {style} are two agents", hint="leave out one: --format")
        if shared or dry_run:
            raise UsageError(f"{'--shared' if shared else '--dry-run'} goes with install and uninstall",
                             hint="git loopx agent-hook install --for claude")  # fmt: skip
        names = ("agent", "session", "folder", "remote", "ref", "timeout")
        settings = {**{name: context.values.get(name) for name in names}, "for": whose or style}
        raise click.exceptions.Exit(agent_hook.main(settings, os.environ))
    from loopx_git.guard import agent_settings

    if whose is None:
        raise UsageError("whose settings?", hint=f"git loopx agent-hook {action} --for claude")
    repository = context.client.connection.repository
    top = repository.top
    if top is None:
        raise UsageError("a bare repository has no agents at work", hint="cd into a work tree")
    home = os.path.join(repository.git_dir, "loopx")
    done = agent_settings.change(top, whose, shared=shared, remove=action == "uninstall", dry_run=dry_run, home=home)
    if done["what"] == "written" and not dry_run:
        done["notes"].append("that file lies in the work tree: commit it, or keep it out: .git/info/exclude")
    would = "would be " if dry_run and done["what"] != "unchanged" else ""
    lines = [f"{would}{done['what']}: {safe(done['file'])}", *(f"note: {note}" for note in done["notes"])]
    context.emit("agent_hook", {"agent": whose, "dry_run": dry_run, **done}, lines)
