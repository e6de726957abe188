"""The grammar of every id. An id is data: never an option, never a path until it has passed here."""

from __future__ import annotations

import re

from loopx_git.errors import InvalidState, LoopXError, UsageError

TODO = re.compile(r"todo_[0-9a-f]{12}", re.ASCII)
TODO_PREFIX = re.compile(r"(?:todo_)?([0-9a-f]{4,12})", re.ASCII)
GOAL = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
TOKEN = re.compile(r"[0-9a-f]{32}", re.ASCII)
OID = re.compile(r"[0-9a-f]{40}", re.ASCII)
LEASE = re.compile(r"(todo_[0-9a-f]{12})@([0-9]{1,18})", re.ASCII)
#: An actor is an agent, or, for the commands that need none, the e-mail address of a git identity.
EMAIL = re.compile(r"[^\s<>@:\x00-\x1f\x7f-\x9f]{1,128}@[^\s<>@:\x00-\x1f\x7f-\x9f]{1,125}")

_NAMED = (NAME, "letters, digits and '._-', 64 at most, beginning with a letter or digit")
GRAMMAR: dict[str, tuple[re.Pattern[str], str]] = {
    "todo": (TODO, "todo_ and 12 lowercase hex digits"),
    "goal": (GOAL, "lowercase letters, digits and '-', 63 at most, not beginning with '-'"),
    **dict.fromkeys(("agent", "alias", "session", "capability", "label"), _NAMED),
    "request": (TOKEN, "32 lowercase hex digits"),
    "lease": (LEASE, "a todo id, '@' and the epoch"),
}


def is_valid(kind: str, value: str) -> bool:
    """True when `value` is a whole id of `kind` (a key of GRAMMAR)."""
    return GRAMMAR[kind][0].fullmatch(value) is not None


def check(kind: str, value: str, *, stored: bool = False, where: str = "") -> str:
    """Return `value`, or raise UsageError (from a caller) or InvalidState (`stored`: read from history)."""
    if is_valid(kind, value):
        return value
    error: type[LoopXError] = InvalidState if stored else UsageError
    at = f"{where}: " if where else ""
    shown = value if len(value) <= 80 else value[:77] + "..."
    raise error(f"{at}{shown!r} is not a valid {kind}", hint=f"a {kind} is {GRAMMAR[kind][1]}")


def todo_id(random_bytes: bytes) -> str:
    """The todo id made of six random bytes."""
    if len(random_bytes) != 6:
        raise ValueError("a todo id takes six random bytes")
    return "todo_" + random_bytes.hex()


def folded(name: str) -> str:
    """The form in which agents, loops and aliases are compared: unique ignoring case."""
    return name.casefold()
