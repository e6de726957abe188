"""What every command shares: the common options, the client, the output."""

from __future__ import annotations

import functools
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from loopx_git.cli.output import Output, ago, not_printed, safe, wants_color
from loopx_git.cli.streams import unprinted
from loopx_git.errors import LoopXError, UsageError

if TYPE_CHECKING:
    from loopx_git.client.client import Client
    from loopx_git.client.connect import Overrides
    from loopx_git.client.views import Reading
    from loopx_git.core.times import Unset

#: What `--json` prints, or the function that makes it.
Payload = Mapping[str, Any] | Callable[[], Mapping[str, Any]]


def _one_agent(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> str | None:
    """The agent that the three spellings name. Raises UsageError for two different ones."""
    names = list(dict.fromkeys(given))
    if len(names) > 1:
        raise UsageError(
            f"--agent, --agent-id and --claimed-by are one option, and two agents are named: {', '.join(names)}",
            hint=f"leave out one: --agent {names[0]}",
        )
    return names[0] if names else None


#: The common options: parameter, spellings, click settings.
_COMMON: tuple[tuple[str, tuple[str, ...], dict[str, Any]], ...] = (
    ("folder", ("-C",), {"metavar": "DIR", "help": "Work as if started in DIR."}),
    ("agent", ("--agent", "--agent-id", "--claimed-by"),
     {"metavar": "NAME", "help": "The agent that acts.", "multiple": True, "callback": _one_agent}),
    ("session", ("--session",), {"metavar": "ID", "help": "The session that acts (default: one a worktree)."}),
    ("remote", ("--remote",), {"metavar": "NAME", "help": "The remote that coordination lives on."}),
    ("ref", ("--ref",), {"metavar": "REF", "help": "The full name of the coordination ref."}),
    ("timeout", ("--timeout",), {"metavar": "TIME", "help": "Time budget (default 30s)."}),
    ("color", ("--color",), {"type": click.Choice(["auto", "always", "never"]), "help": "Colour the text."}),
    ("as_json", ("--json",), {"is_flag": True, "default": None, "help": "Print one JSON object."}),
)  # fmt: skip

#: Of these, who acts and where: two different values, one before the command and one after it, are not one command.
_ONE = {
    param: spellings for param, spellings, _ in _COMMON if param in ("folder", "agent", "session", "remote", "ref")
}

#: Who acts, for commands that act for nobody.
ACTOR = ("agent", "session")

#: Flags that are repeated, one word each: parameter -> spelling.
_REPEATED = {
    "scope": "--scope", "requires": "--requires", "exclude": "--exclude", "depends_on": "--depends-on",
    "label": "--label", "labels": "--label", "capability": "--capability",
}  # fmt: skip


def _two(param: str, before: str, after: str) -> UsageError:
    """The error of an option that stands before the command and after it with two values."""
    flags = ", ".join(_ONE[param])
    what = f"{flags} are one option" if "," in flags else f"{flags} is given twice"
    return UsageError(
        f"{what}, and the two values differ: {before[:80]}, {after[:80]}",
        hint=f"leave out one: {_ONE[param][0]} {shlex.quote(before[:80])}",
    )


class CommandContext:
    """One command's run: its client (opened when first used) and its output."""

    def __init__(self, values: Mapping[str, Any], after: Collection[str] = ()) -> None:
        self.values = values
        #: The common options that stand after the command's name.
        self.after = after
        self.settle()
        self._client: Client | None = None
        #: Whether the command is one that writes and was not a dry run; whether it is one that always writes.
        self.changes = self.writes = False

    def settle(self) -> None:
        """Make the output from the current values."""
        self.output = Output(
            as_json=bool(self.values.get("as_json")),
            color=wants_color(self.values.get("color"), os.environ, sys.stdout),
        )

    def refuse(self, unused: Sequence[str], *, why: str = "", instead: str = "") -> None:
        """Raise UsageError for a common option that this command was given and does not use."""
        for param, spellings, _ in _COMMON:
            if param in unused and param in self.after:
                path = click.get_current_context().command_path
                raise UsageError(
                    f"{path} has no use for {spellings[0]}{why}", hint=instead or f"leave out {spellings[0]}"
                )

    @property
    def client(self) -> Client:
        """The client, opened at the first use. Raises what opening a repository raises, such as InvalidState."""
        if self._client is None:
            from loopx_git.client.client import Client

            self._client = Client(self.folder, os.environ, self.flags(), self.overrides())
            # A person takes what a text says for what is true now; a program is told the age and decides itself.
            self._client.prompt = not self.output.as_json
        return self._client

    @property
    def folder(self) -> str:
        """Where the command works."""
        return self.values.get("folder") or "."

    def flags(self) -> dict[str, Any]:
        """The settings that were given on the command line."""
        return {name: self.values.get(name) for name in ("agent", "session", "remote", "ref", "timeout")}

    def overrides(self) -> Overrides:
        """The progress line, and the hooks of tests and drills."""
        from loopx_git.client.connect import Overrides

        def progress(done: int, total: int) -> None:
            if total >= 50 and done % 10 == 0:
                self.output.progress(f"checking operation {done} of {total}")
            if done == total:
                self.output.end_progress()

        overrides = Overrides(progress=progress)
        if "LOOPX_NOW" in os.environ or "LOOPX_FAILPOINT" in os.environ:
            from loopx_git.cli.testing import with_testing

            overrides = with_testing(overrides, os.environ)
        return overrides

    def say(self, text: str) -> None:
        """Print one line of progress, next to the output of the command that runs."""
        self.output.err.write(f"loopx: {safe(text)}\n")
        self.output.err.flush()

    def emit(self, kind: str, payload: Payload, lines: list[str], reading: Reading | None = None) -> None:
        """Print the result; a read adds how old it is. A `payload` that is a function is called only for `--json`."""
        warnings = [] if reading is None else list(reading.warnings)
        for warning in dict.fromkeys([*warnings, *(self._client.notes if self._client is not None else ())]):
            self.output.warn(warning)
        if reading is not None:
            self.changes = False
        if self.output.as_json:
            values = payload() if callable(payload) else payload
            if reading is not None:
                age = None if reading.age == float("inf") else round(reading.age, 1)
                values = {**values, "age_s": age, "tip": reading.tip}
            self.output.emit(kind, values, ())
        else:
            self.output.emit(kind, {}, lines)
        if reading is not None and not self.output.as_json and not reading.warnings:
            self._tell_age(reading.age)

    def _tell_age(self, age: float) -> None:
        """One line beside a text that may no longer be true. A warning of the reading has said it already."""
        from loopx_git.client.base import PROMPT_AGE

        if age > PROMPT_AGE:
            when = "the age of this state is unknown" if age == float("inf") else f"as of {ago(age)}"
            self.output.err.write(f"{when}: --fresh asks again\n")

    def close(self) -> None:
        """Handle output that could not be printed.

        A write that landed is not a failure because its answer was lost. A read whose answer was lost raises
        InvalidState. A reader that closed the pipe (`| head`) is not an error.
        """
        error = unprinted()
        if error is None:
            return
        wrote = self._client is not None and self._client.connection.is_open and self._client.connection.ledger.wrote
        if not (wrote or self.changes or self.writes):
            raise not_printed(error)
        self.output.warn(f"written, but not printed: {error.strerror} (standard output)")


def command(
    name: str, *, example: str, unused: Sequence[str] = (), instead: str = "", writes: bool = False
) -> Callable[[Callable[..., None]], click.Command]:
    """A click command whose function gets a Face first. `example` closes its help. `unused` are the common options
    that it has no use for (ACTOR: it acts for nobody): after its name they are refused, with `instead` as what was
    meant; before it they are the setting of a whole session, as a variable is. `writes` marks one that changes
    something and has no `--dry-run`."""

    def wrap(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def run(*args: Any, **values: Any) -> None:
            context = click.get_current_context()
            given = {param: values.pop(param, None) for param, _, _ in _COMMON}
            command = CommandContext(given, {param for param, value in given.items() if value is not None})
            command.refuse(unused, instead=instead)
            if values.get("fresh") and values.get("offline"):
                raise UsageError("--fresh asks the remote and --offline does not", hint="leave out one of the two")
            for level in (context.parent, context.parent.parent if context.parent else None):
                for key, value in (level.params if level is not None else {}).items():
                    if given.get(key) is None:
                        given[key] = value
                    elif key in _ONE and value not in (None, given[key]):
                        raise _two(key, str(value), str(given[key]))
            if values.get("claimed_by") not in (None, given["agent"]) and given["agent"] is not None:
                raise _two("agent", str(given["agent"]), str(values["claimed_by"]))
            command.settle()
            command.changes, command.writes = values.get("dry_run") is False, writes
            _warn_of_joined(command, values)
            try:
                function(command, *args, **values)
            except LoopXError as error:
                from loopx_git.cli.next_command import repeated

                error.hint = repeated(error.hint, {name: given[name] for name in _ONE})
                raise
            except Exception as error:
                from loopx_git.store.system import is_system, of_system

                if os.environ.get("LOOPX_TRACEBACK") or isinstance(error, BrokenPipeError) or not is_system(error):
                    raise
                client = command._client
                raise of_system(
                    error, command.folder if client is None else client.connection.repository.home
                ) from error
            command.close()

        made: Any = run
        taken = {opt for param in getattr(function, "__click_params__", []) for opt in param.opts}
        for param, spellings, settings in reversed(_COMMON):
            free = [spelling for spelling in spellings if spelling not in taken]
            made = click.option(*free, param, **{**settings, "hidden": param in unused})(made)
        epilog = "\b\nExample:\n" + "\n".join(f"  {line}" for line in example.splitlines())
        return click.command(name, epilog=epilog, context_settings=HELP)(made)

    return wrap


def _warn_of_joined(command: CommandContext, values: Mapping[str, Any]) -> None:
    """A flag that is repeated takes one word at a time; a comma or a blank mostly stands for two."""
    for name, flag in _REPEATED.items():
        for value in values.get(name) or ():
            parts = [part for part in re.split(r"[,\s]+", str(value)) if part]
            if "{" in value and name == "scope":
                # The patterns of git do not expand braces: this one would match next to nothing.
                command.output.warn(f"{flag} {shlex.quote(value)}: braces are not expanded; repeat {flag} for each")
            elif len(parts) > 1 and "{" not in value:
                repeated = " ".join(f"{flag} {shlex.quote(part)}" for part in parts)
                command.output.warn(f"{flag} {shlex.quote(value)} is one word; for {len(parts)} of them: {repeated}")


def root_options(function: Callable[..., None]) -> Callable[..., None]:
    """The common options before the command's name."""
    for param, spellings, settings in reversed(_COMMON):
        function = click.option(*spellings, param, **settings)(function)
    return function


HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


#: Options of several commands, said once: parameter -> click settings.
_SHARED: dict[str, dict[str, Any]] = {
    "epoch": {"type": click.IntRange(0), "help": "The claim's epoch; any other current one refuses."},
    "note": {"help": "A note for later readers."},
    "force": {"is_flag": True, "help": "Without the claim (with --reason; goes into history)."},
    "reason": {"help": "Why, with --force."},
    "dry_run": {"is_flag": True, "help": "Say what would happen, write nothing."},
}
#: The help of a --dry-run that tells only whether the command would be refused.
CHECKS = "Check everything, write nothing."


def options(*names: str, **helps: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the shared options of these names; `helps` says an option in other words (`note="A last note."`)."""

    def wrap(function: Callable[..., None]) -> Callable[..., None]:
        for name in reversed(names):
            settings = {**_SHARED[name], **({"help": helps[name]} if name in helps else {})}
            function = click.option("--" + name.replace("_", "-"), name, **settings)(function)
        return function

    return wrap


def todo_argument(function: Callable[..., None]) -> Callable[..., None]:
    """The todo, positional or as --todo-id; and its goal."""

    @functools.wraps(function)
    def run(command: CommandContext, *args: Any, todo: str | None, todo_id: str | None, **values: Any) -> None:
        if (todo is None) == (todo_id is None):
            raise UsageError(
                "name one todo" if todo is None else "the todo is named twice",
                hint=f"{click.get_current_context().command_path} TODO",
            )
        function(command, *args, todo=todo_id if todo is None else todo, **values)

    made: Any = run
    made = click.option("--goal-id", "goal_id", metavar="GOAL", help="The todo's goal, to be checked.")(made)
    made = click.option("--todo-id", metavar="TODO", help="The same as the argument.")(made)
    return click.argument("todo", required=False, shell_complete=complete_todo)(made)  # type: ignore[no-any-return]


def lease_argument(function: Callable[..., None]) -> Callable[..., None]:
    """A lease, positional (todo@epoch, or its todo) or as --todo-id; None when neither is given."""

    @functools.wraps(function)
    def run(command: CommandContext, *args: Any, lease: str | None, todo_id: str | None, **values: Any) -> None:
        if lease is not None and todo_id is not None:
            raise UsageError("the lease is named twice", hint=f"{click.get_current_context().command_path} LEASE")
        function(command, *args, lease=todo_id if lease is None else lease, **values)

    made: Any = click.option("--todo-id", metavar="TODO", help="The same as the argument.")(run)
    return click.argument("lease", required=False, shell_complete=complete_todo)(made)  # type: ignore[no-any-return]


def needed_lease(lease: str | None) -> str:
    """The lease that was given. Raises UsageError when none was."""
    if lease is None:
        raise UsageError("name a lease", hint=f"{click.get_current_context().command_path} LEASE")
    return lease


def todos_argument(function: Callable[..., None]) -> Callable[..., None]:
    """One todo or more, positional or as --todo-id; and their goal."""

    @functools.wraps(function)
    def run(
        command: CommandContext, *args: Any, todos: tuple[str, ...], todo_id: tuple[str, ...], **values: Any
    ) -> None:
        named = [*todos, *todo_id]
        if not named:
            raise UsageError("name a todo", hint=f"{click.get_current_context().command_path} TODO")
        if len(set(named)) != len(named):
            raise UsageError("a todo is named twice", hint="name each todo once")
        function(command, *args, todos=named, **values)

    made: Any = run
    made = click.option("--goal-id", "goal_id", metavar="GOAL", help="The todo's goal, to be checked.")(made)
    made = click.option("--todo-id", metavar="TODO", multiple=True, help="The same as the argument.")(made)
    return click.argument("todos", nargs=-1, metavar="TODO...", shell_complete=complete_todo)(made)  # type: ignore[no-any-return]


def complete_todo(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Ids and aliases from the local state. Completion never fetches and never fails."""
    from loopx_git.cli.completion import todos_like

    return todos_like(context, incomplete)


def duration(text: str | None, flag: str) -> int | Unset | None:
    """Seconds of a duration flag, None for `none`, UNSET when it was not given."""
    from loopx_git.core.times import UNSET, parse_duration

    if text is None:
        return UNSET
    if flag == "--ttl" and text.isascii() and text.isdigit() and len(text) <= 2 and 0 < int(text) < 60:
        # Plain seconds are a duration, but a lease of less than a minute is mostly a slip of who thinks in minutes.
        raise UsageError(f"{flag} {text}: minutes or seconds?", hint=f"{flag} {int(text)}m, or {flag} {int(text)}s")
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{flag}: {error}", hint=f"{flag} 2h") from None


def text_of(text: str | None, file: str | None, flag: str) -> str | None:
    """A text given inline or as a file ('-': standard input), less the line feed at its end."""
    if text is not None and file is not None:
        raise UsageError(f"{flag} and {flag}-file exclude each other", hint=f"leave out {flag}-file")
    if file is None:
        return None if text is None else _lines(text)
    try:
        data = sys.stdin.buffer.read() if file == "-" else _read(file)
        return _lines(data.decode("utf-8")).removesuffix("\n")
    except OSError as error:
        raise UsageError(f"{flag}-file {file}: {error.strerror}", hint=f"{flag}-file FILE") from None
    except UnicodeDecodeError:
        raise UsageError(f"{flag}-file {file} is not UTF-8", hint="save it as UTF-8") from None


def _lines(text: str) -> str:
    """The text with its CR LF as line feeds; a lone CR, which hides text on a terminal, stays and is refused."""
    return text.replace("\r\n", "\n")


def _read(file: str) -> bytes:
    with open(file, "rb") as handle:
        return handle.read(1_000_000)
