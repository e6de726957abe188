"""`git loopx completion`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import ACTOR, CommandContext, command

#: How git hands the words over: it calls `_git_loopx` for `git loopx ...` when its own completion is loaded.
_BASH = """
_git_loopx() { local COMP_WORDS=("git-loopx" "${COMP_WORDS[@]:2}") COMP_CWORD=$((COMP_CWORD - 1));
  _git_loopx_completion git-loopx; }
"""


@command(
    "completion",
    unused=(*ACTOR, "folder", "remote", "ref", "timeout"),
    example="git loopx completion bash >> ~/.bashrc",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def main(context: CommandContext, shell: str) -> None:
    """Print the completion script of a shell: commands, options, and the ids and aliases of the local state."""
    from click.shell_completion import get_completion_class

    from loopx_git.cli.main import ROOT

    made = get_completion_class(shell)
    assert made is not None
    script = made(ROOT, {}, "git-loopx", "_GIT_LOOPX_COMPLETE").source()
    if shell == "bash":
        script += _BASH
    context.emit("completion", {"shell": shell, "script": script}, script.rstrip().splitlines())
