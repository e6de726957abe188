"""The entry point: a lazy command tree, and the one place that turns errors into exit codes."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from loopx_git.cli.command_context import HELP, root_options
from loopx_git.cli.commands.registry import COMMANDS, GROUPS
from loopx_git.cli.output import Output, not_printed, wants_color
from loopx_git.cli.streams import unprinted
from loopx_git.errors import InternalError, Interrupted, LoopXError, UsageError


class LazyGroup(click.Group):
    """A group whose commands are imported when they are run; its help comes from the registry alone."""

    def __init__(self, *args: Any, known: Mapping[str, tuple[str, str]], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.known = known

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of the registry."""
        return list(self.known)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import one command; None for an unknown name."""
        if name not in self.known:
            return None
        module, _ = self.known[name]
        if module in GROUPS:
            return _group(module, name)
        loaded: click.Command = importlib.import_module(f"loopx_git.cli.commands.{module}").main
        return loaded

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name. Raises UsageError with the nearest names for an unknown one."""
        if args and not args[0].startswith("-") and args[0] not in self.known:
            from loopx_git.cli.did_you_mean import unknown_command

            raise unknown_command(args[0], ctx.command_path, self.known)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the section of commands in the help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self.known.items()])


def _group(key: str, name: str) -> click.Group:
    about, known = GROUPS[key]
    return LazyGroup(name, known=known, help=about, context_settings=HELP, no_args_is_help=True,
                     invoke_without_command=False)  # fmt: skip


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from loopx_git.version import __version__

        click.echo(f"loopx-git {__version__}")
        context.exit(0)


@root_options
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
              help="Print the version.")  # fmt: skip
def _root(**values: Any) -> None:
    """Claims, leases and fencing for many agents on one git repository."""


ROOT = LazyGroup(
    "git loopx", known=COMMANDS, callback=_root, params=_root.__click_params__[::-1],  # type: ignore[attr-defined]
    help=_root.__doc__,
    no_args_is_help=True, context_settings=HELP,
    epilog="\b\nExample:\n  git loopx init\n  git loopx peer register codex-1\n  git loopx todo add 'fix the bug'",
)  # fmt: skip


def main(argv: list[str]) -> int:
    """Run one command line and return its exit code; every error ends here."""
    as_json = "--json" in (argv[: argv.index("--")] if "--" in argv else argv)
    argv = _loop_claim(argv)
    try:
        ended = ROOT.main(args=argv, prog_name="git loopx", complete_var="_GIT_LOOPX_COMPLETE", standalone_mode=False)
        if (lost := unprinted()) is not None:
            raise not_printed(lost)
        # Without its own exit, click hands back the code of a command that asked for one.
        return ended if isinstance(ended, int) else 0
    except LoopXError as error:
        return _report(error, as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "", err=True)
        return 2
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        return _report(UsageError(error.format_message(), hint=f"{_path_of(argv)} -h"), as_json)
    except (KeyboardInterrupt, click.Abort):
        return _report(Interrupted("interrupted", hint="run the same command again: it finds out"), as_json)
    except UnicodeEncodeError as error:
        hint = "LC_ALL=C.UTF-8 git loopx ..."
        return _report(UsageError(f"this locale cannot spell {error.object!a}", hint=hint), as_json)
    except Exception as error:
        if os.environ.get("LOOPX_TRACEBACK"):
            raise
        from loopx_git.store.system import is_system, of_system

        if is_system(error):
            return _report(of_system(error, os.curdir), as_json)
        text = f"{type(error).__name__}: {error}"
        hint = "this is a bug of loopx-git; LOOPX_TRACEBACK=1 shows where; please report it"
        return _report(InternalError(text, hint=hint), as_json)
    return 0


def _loop_claim(argv: list[str]) -> list[str]:
    """`--claim-loop-task NAME --task T [--project P]` at the top level is `loop claim NAME ...`."""
    flag = "--claim-loop-task"
    spelt = next((word for word in argv if word == flag or word.startswith(flag + "=")), None)
    before = argv[: argv.index(spelt)] if spelt is not None else []
    if spelt is None or "--" in before or (before and before[0] in COMMANDS):
        return argv
    place = argv.index(spelt)
    rest = argv[:place] + argv[place + 1 :]
    if "=" in spelt:
        return ["loop", "claim", *rest, "--", spelt.partition("=")[2]]
    named = place < len(rest) and not rest[place].startswith("-")
    name = [rest.pop(place)] if named else []
    return ["loop", "claim", *rest, *(["--", *name] if name else [])]


def _path_of(argv: list[str]) -> str:
    """The command that a command line is for, as far as its words name one: an option that stands before the
    command's name is mostly one of that command."""
    path, known = "git loopx", COMMANDS
    for word in argv:
        if word == "--":
            break
        if word in known:
            path = f"{path} {word}"
            module, _ = known[word]
            if module not in GROUPS:
                break
            known = GROUPS[module][1]
    return path


def _report(error: LoopXError, as_json: bool) -> int:
    Output(as_json=as_json, color=wants_color(None, os.environ, sys.stderr)).error(error)
    return error.code


def run() -> None:
    """The console script."""
    sys.exit(main(sys.argv[1:]))
