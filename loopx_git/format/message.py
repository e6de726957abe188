"""The commit message of one operation: a subject, then only trailers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loopx_git.core import ids
from loopx_git.core.change import Op
from loopx_git.core.fields import why_bad
from loopx_git.core.todo import bad_line
from loopx_git.errors import InvalidState

PREFIX = "Loopx-"
#: Trailer keys in the order in which they are written; True where every commit carries it.
TRAILERS: dict[str, bool] = {
    "Op": True, "Goal": False, "Todo": False, "Epoch": False, "Agent": True, "Session": False,
    "Prev": False, "Reason": False, "Code": False, "Renew": False, "Request": True, "Nonce": True,
    "Version": True,
}  # a list of words  # fmt: skip
#: Longest message in bytes that is read (a renewal of 1,000 claims has about 25,000).
SIZE_MAX = 65536
_LINE = re.compile(r"([A-Za-z][A-Za-z0-9-]*): (.*)")
_VERSION = re.compile(r"[0-9A-Za-z.+!-]{1,40}", re.ASCII)
_COUNT = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)
_PREV = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}@[1-9][0-9]{0,15}", re.ASCII)
_CODE = re.compile(r"[^\s\x00-\x1f\x7f]{1,255}@[0-9a-f]{40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Message:
    """What a commit says about itself.

    `nonce` is new in every commit; `request` is the same for every attempt of one operation.
    """

    subject: str
    op: Op
    agent: str
    request: str
    nonce: str
    version: str
    goal: str | None = None
    todo: str | None = None
    epoch: int | None = None
    session: str | None = None
    prev: str | None = None
    reason: str | None = None
    code: str | None = None
    renew: tuple[str, ...] = ()


def dump(message: Message) -> str:
    """The whole commit message, ending in a line feed."""
    lines = [message.subject, ""]
    for key in TRAILERS:
        value = getattr(message, key.lower())
        if value is None or value == ():
            continue
        text = " ".join(value) if isinstance(value, tuple) else str(value)
        lines.append(f"{PREFIX}{key}: {text}")
    return "\n".join(lines) + "\n"


def load(text: str) -> Message:
    """Parse a commit message strictly. Raises InvalidState with the reason when it is not an operation's message."""
    if len(text) > SIZE_MAX:
        raise _bad(f"is longer than {SIZE_MAX} characters")
    subject, blank, rest = (*text.split("\n", 2), "", "")[:3]
    if blank or not subject.strip() or not rest.endswith("\n"):
        raise _bad("is not a subject line, an empty line and trailers")
    found: dict[str, str] = {}
    for line in rest[:-1].split("\n"):
        match = _LINE.fullmatch(line)
        if match is None or not match[1].startswith(PREFIX) or match[1][len(PREFIX) :] not in TRAILERS:
            raise _bad(f"has the line {line[:80]!r}, which is not a trailer of ours")
        key = match[1][len(PREFIX) :]
        if key in found:
            raise _bad(f"has the trailer {PREFIX}{key} twice")
        found[key] = match[2]
    missing = [key for key, needed in TRAILERS.items() if needed and key not in found]
    if missing:
        raise _bad(f"lacks the trailer {PREFIX}{missing[0]}")
    for key, value in found.items():
        if not _CHECKS[key](value):
            raise _bad(f"has a malformed {PREFIX}{key}: {value[:80]!r}")
    return Message(subject, **{key.lower(): _READ.get(key, str)(value) for key, value in found.items()})


#: How the values that are not text are read.
_READ: dict[str, Callable[[str], Any]] = {"Op": Op, "Epoch": int, "Renew": lambda value: tuple(value.split(" "))}
_CHECKS: dict[str, Callable[[str], bool]] = {
    "Op": lambda value: value in {op.value for op in Op},
    "Goal": lambda value: ids.is_valid("goal", value),
    "Todo": lambda value: ids.is_valid("todo", value),
    "Epoch": lambda value: _COUNT.fullmatch(value) is not None,
    "Agent": lambda value: why_bad("created_by", value) is None,
    "Session": lambda value: ids.is_valid("session", value),
    "Prev": lambda value: _PREV.fullmatch(value) is not None,
    "Reason": lambda value: bad_line(value, 300) is None,
    "Code": lambda value: _CODE.fullmatch(value) is not None,
    "Renew": lambda value: all(ids.is_valid("lease", item) for item in value.split(" ")),
    "Request": lambda value: ids.is_valid("request", value),
    "Nonce": lambda value: ids.is_valid("request", value),
    "Version": lambda value: _VERSION.fullmatch(value) is not None,
}


def _bad(why: str) -> InvalidState:
    return InvalidState(f"the commit message {why}", hint="git loopx verify")
