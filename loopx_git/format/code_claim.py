"""The `Loopx-Claim: todo@epoch` trailers of a commit of code: under which claims its work was done."""

from __future__ import annotations

import re
from dataclasses import dataclass

KEY = "Loopx-Claim"
_LINE = re.compile(r"Loopx-Claim: (todo_[0-9a-f]{12}@[1-9][0-9]{0,15})", re.ASCII)
_BEGINS = re.compile(r"\s*loopx-claim\s*:", re.IGNORECASE)
#: Most claims that one commit may name.
CLAIMS_MAX = 50


@dataclass(frozen=True, slots=True)
class CodeClaims:
    """What a message names: `claims` as todo@epoch in order; `malformed` lines of its last paragraph that were
    meant as one and are none; `stray` tells of such lines above the last paragraph, where nothing counts."""

    claims: tuple[str, ...] = ()
    malformed: tuple[str, ...] = ()
    stray: bool = False


def load(message: str) -> CodeClaims:
    """The claims in the last paragraph of a commit message. The first paragraph is its subject and never counts."""
    lines = [line.rstrip() for line in message.replace("\r\n", "\n").strip("\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    start = max((number + 1 for number, line in enumerate(lines) if not line), default=len(lines))
    above, last = lines[:start], lines[start:]
    claims: list[str] = []
    malformed: list[str] = []
    for line in last:
        match = _LINE.fullmatch(line)
        if match is not None and len(claims) < CLAIMS_MAX:
            claims.append(match[1])
        elif _BEGINS.match(line):
            malformed.append(line[:120])
    stray = any(_BEGINS.match(line) for line in above)
    return CodeClaims(tuple(dict.fromkeys(claims)), tuple(malformed), stray)


def split(claim: str) -> tuple[str, int]:
    """(todo, epoch) of a well-formed `todo@epoch`."""
    todo, _, epoch = claim.partition("@")
    return todo, int(epoch)
