"""The trailers of a commit of code, by git's own grammar, as `git interpret-trailers --parse` reads them.

`Loopx-Claim: todo_ab12cd34ef56@3`, one line a claim, says under which claims the work was done; `Loopx-Guard: unseen`
that nobody's claim covered it and no guard stopped it (`commit -n`, a pick, a rebase). Messages are read and edited
here and not by git, whose configuration can name programs and other separators: every reader must see the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

CLAIM, GUARD, UNSEEN = "Loopx-Claim", "Loopx-Guard", "unseen"
#: Most claims that one commit may name.
CLAIMS_MAX = 50
_VALUE = re.compile(r"todo_[0-9a-f]{12}@[1-9][0-9]{0,15}", re.ASCII)
_TRAILER = re.compile(r"([A-Za-z0-9-]+)[ \t]*:(.*)", re.ASCII | re.DOTALL)
_OURS = re.compile(rf"(?:{CLAIM}|{GUARD})[ \t]*:", re.IGNORECASE)
_MEANT = re.compile(rf"\s*{CLAIM}\s*:", re.IGNORECASE)
#: By these git knows that a paragraph with other words in it is one of trailers.
_GENERATED = ("Signed-off-by: ", "(cherry picked from commit ")
_SCISSORS = "------------------------ >8 ------------------------"
_SPACE = " \t\r\n"


class CodeClaims(NamedTuple):
    """What a message names.

    `claims`: todo@epoch, in order. `malformed`: values that are not claims. `stray`: lines that look like a trailer
    in a place where git sees none.
    """

    claims: tuple[str, ...] = ()
    malformed: tuple[str, ...] = ()
    stray: bool = False


def read(message: str) -> CodeClaims:
    """The claims that a commit's message names."""
    lines = message.split("\n")
    values = [value for key, value in _trailers(lines, "#") if key.lower() == CLAIM.lower()]
    claims = list(dict.fromkeys(value for value in values if _VALUE.fullmatch(value)))
    malformed = [value for value in values if not _VALUE.fullmatch(value)] + claims[CLAIMS_MAX:]
    stray = sum(1 for line in lines if _MEANT.match(line)) > len(values)
    return CodeClaims(tuple(claims[:CLAIMS_MAX]), tuple(malformed), stray)


def split(claim: str) -> tuple[str, int]:
    """(todo, epoch) of a well-formed `todo@epoch`."""
    todo, _, epoch = claim.partition("@")
    return todo, int(epoch)


def _trailers(lines: Sequence[str], comment: str | None) -> Iterator[tuple[str, str]]:
    """(key, value) of each trailer; the lines of a folded value are joined by a space."""
    end = _end(lines, comment)
    last: list[str] = []
    for line in [*lines[_start(lines, end, comment) : end], "."]:
        if last and line[:1] in _SPACE:
            last.append(line.strip(_SPACE))
            continue
        if last:
            yield last[0], " ".join(part for part in last[1:] if part)
        match = _TRAILER.match(line)
        last = [match[1], match[2].strip(_SPACE)] if match else []


def _end(lines: Sequence[str], comment: str | None) -> int:
    """Where what is not a part of the message begins: the scissors, comments at the end, an old list of conflicts."""
    end = len(lines)
    if comment is not None and f"{comment} {_SCISSORS}" in lines:
        end = lines.index(f"{comment} {_SCISSORS}")
    cut, listing = end, False
    for number, line in enumerate(lines[:end]):
        if line == "" or _is_comment(line, comment) or line == "Conflicts:":
            listing = listing or line == "Conflicts:"
            cut = min(cut, number)
        elif not (listing and line.startswith("\t")):
            cut, listing = end, False
    return cut


def _start(lines: Sequence[str], end: int, comment: str | None) -> int:
    """Where the paragraph of trailers begins, `end` when there is none. It is the last one and never the first; all
    its lines are trailers, or a quarter of them, with one that git itself writes."""
    first = next((n for n, line in enumerate(lines[:end]) if not _is_blank(line)), end)
    title = next((n for n, line in enumerate(lines[:end]) if n > first and _is_blank(line)), end)
    trailers = others = folded = 0
    known = begun = False
    for number in range(end - 1, title - 1, -1):
        line = lines[number]
        if _is_comment(line, comment):
            others, folded = others + folded, 0
        elif _is_blank(line):
            if begun:
                others += folded
                is_block = (known and trailers * 3 >= others) or (trailers and not others)
                return number + 1 if is_block else end
        else:
            begun = True
            if line.startswith(_GENERATED) or _TRAILER.match(line):
                known = known or line.startswith(_GENERATED)
                trailers, folded = trailers + 1, 0
            elif line[0] in _SPACE:
                folded += 1
            else:
                others, folded = others + folded + 1, 0
    return end


def _is_comment(line: str, comment: str | None) -> bool:
    return comment is not None and line.startswith(comment)


def _is_blank(line: str) -> bool:
    return not line.strip(_SPACE)


def named(text: str) -> list[str]:
    """The claims that a text names anywhere, also where git sees no trailer: a squash indents those of its parts."""
    found = (_MEANT.match(line) for line in text.split("\n"))
    values = [match.string[match.end() :].strip(_SPACE) for match in found if match]
    return list(dict.fromkeys(value for value in values if _VALUE.fullmatch(value)))


def written(text: str, comment: str | None) -> list[str]:
    """The lines that somebody wrote: no blank ones, no comments, nothing below the scissors, no sign-offs."""
    lines = text.split("\n")
    if comment is not None and f"{comment} {_SCISSORS}" in lines:
        lines = lines[: lines.index(f"{comment} {_SCISSORS}")]
    return [
        line.rstrip(_SPACE) for line in lines
        if not (_is_blank(line) or _is_comment(line, comment) or line.startswith(_GENERATED[0]))
    ]  # fmt: skip


def edited(
    text: str, claims: Sequence[str], *, unseen: bool, comment: str | None, former: Sequence[str] | None = None
) -> str:
    """The message with its trailers of ours replaced by these.

    `comment` is the character that begins a comment, None where the message is taken as it is. A message that is
    still empty stays so: git must be able to see that nobody wrote one. `former` is None where the claims cover the
    whole commit; else they are claims that stood for a part of it, and stay with those that the text names. A commit
    that has such is not `unseen`.
    """
    lines = text.split("\n")
    end = _end(lines, comment)
    while end and (_is_blank(lines[end - 1]) or _is_comment(lines[end - 1], comment)):
        end -= 1
    body, rest = lines[:end], lines[end:]
    if all(_is_blank(line) or _is_comment(line, comment) for line in body):
        return text
    older = [] if former is None else [*former, *named(text)]
    if older and not claims and set(older) <= set(read(text).claims):
        # What is there says it all, in its own words.
        return text
    wanted = [f"{CLAIM}: {claim}" for claim in dict.fromkeys((*claims, *older))]
    if unseen and not older:
        wanted.append(f"{GUARD}: {UNSEEN}")
    if not wanted:
        return text
    kept = _without_ours(body)
    gap = [] if _start(kept, len(kept), comment) < len(kept) else [""]
    tail = rest if not rest or _is_blank(rest[0]) else ["", *rest]
    return "\n".join([*kept, *gap, *wanted, *(tail or [""])])


def _without_ours(body: Sequence[str]) -> list[str]:
    """The lines without trailers of ours, wherever they stand: a squash collects those of its parts. The subject
    stays, whatever it says."""
    kept: list[str] = []
    dropping = False
    for line in body:
        dropping = bool(kept) and (bool(_OURS.match(line)) or (dropping and line[:1] in (" ", "\t")))
        if not dropping:
            kept.append(line)
    while _is_blank(kept[-1]):
        kept.pop()
    return kept
