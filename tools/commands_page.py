"""docs/cli.md from the commands' own help, for `make pages`. A test compares them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from loopx_git.cli.main import ROOT, LazyGroup

_HEAD = """# Commands

`git loopx COMMAND -h` prints the same. This page is made from the program: `make pages`.

The options of the first block stand before a command's name or after it; after it, one that would have no effect is
refused. Every write takes `--dry-run`. With `--json` one object goes to standard output, an error as one object to
standard error; [exit codes](exit-codes.md).
"""


def page() -> str:
    """The whole page as markdown."""
    parts = [_HEAD]
    context = _context(ROOT, "git loopx")
    parts.append(f"\n```text\n{ROOT.get_help(context).rstrip()}\n```\n")
    for path, command in _commands(ROOT, context, ()):
        inner = _context(command, " ".join(path))
        usage = " ".join(command.collect_usage_pieces(inner))
        parts.append(f"\n## {' '.join(path)}\n\n`git loopx {' '.join(path)} {usage}`\n\n{_text(command)}\n")
        rows = [
            record
            for param in command.get_params(inner)
            if isinstance(param, click.Option)
            and param.name not in _SHARED
            and "--help" not in param.opts
            and (record := param.get_help_record(inner))
        ]
        if rows:
            parts.append("\n| option | |\n|---|---|\n")
            parts += [f"| `{name}` | {about} |\n" for name, about in map(_cells, rows)]
        parts.append(f"\n```sh\n{_example(command)}\n```\n")
    return "".join(parts)


_SHARED = {"folder", "agent", "session", "remote", "ref", "timeout", "color", "as_json"}


def _context(command: click.Command, name: str) -> click.Context:
    return click.Context(
        command, info_name=name, terminal_width=100, max_content_width=100, help_option_names=["-h", "--help"]
    )


def _cells(row: tuple[str, str]) -> tuple[str, str]:
    return row[0].replace("|", "\\|"), row[1].replace("|", "\\|")


def _text(command: click.Command) -> str:
    lines = (command.help or "").replace("\b\n", "").split("\n")
    return "\n".join(line.strip() for line in lines).strip()


def _example(command: click.Command) -> str:
    lines = (command.epilog or "").replace("\b\n", "").split("\n")
    return "\n".join(line.strip() for line in lines if line.strip() and line.strip() != "Example:")


def _commands(
    group: click.Group, context: click.Context, above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, LazyGroup):
            yield from _commands(command, context, (*above, name))
        elif command is not None:
            yield (*above, name), command


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())
