"""The commands in a hint, ready to paste: the flags that the caller gave are repeated.

A hint is prose and commands. A command begins with `git` and ends at the end of the hint, at a semicolon or a comma,
at ` (`, or at two blanks; quoted text belongs to it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

_COMMAND = re.compile(r"(?<![\w-])git(?= [a-z-])(?: (?:'[^']*'|[^\s;,('](?:[^\s;,']|'[^']*'|,(?=\S))*))+")
#: Commands of ours whose answer depends on who acts, by their words after `git loopx`.
_ACTS = re.compile(
    r"todo (claim|next|update|reopen|transfer|list .*--(ready|mine))|task-lease (acquire|renew)|land|run\b|sync\b"
)


def commands(hint: str) -> list[str]:
    """The commands of a hint, in their order."""
    return [found[0] for found in _COMMAND.finditer(hint)]


def repeated(hint: str, given: Mapping[str, Any]) -> str:
    """The hint with the caller's flags in its commands.

    `given` has folder, agent, session, remote and ref, if they were on the command line.
    """
    if not any(given.values()):
        return hint
    return _COMMAND.sub(lambda found: _with(found[0], given), hint)


def _with(command: str, given: Mapping[str, Any]) -> str:
    ours = command.removeprefix("git loopx ")
    folder = given.get("folder")
    if ours == command:
        return command if folder is None else f"git -C {shlex.quote(folder)} {command.removeprefix('git ')}"
    more = []
    for name in ("agent", "session"):
        if given.get(name) is not None and _ACTS.match(ours) and "--agent" not in ours and not ours.endswith(" -h"):
            more += [f"--{name}", shlex.quote(given[name])]
    if not ours.endswith("-h"):
        for name, flag in (("folder", "-C"), ("remote", "--remote"), ("ref", "--ref")):
            if given.get(name) is not None:
                more += [flag, shlex.quote(given[name])]
    if not more:
        return command
    head, dashes, rest = command.partition(" -- ")
    return " ".join([head, *more]) + dashes + rest
