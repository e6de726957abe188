"""A commit's message: the claims that cover it, as trailers, put where git looks for them and nowhere else.

`Loopx-Claim: todo_ab12cd34ef56@3`, one line a claim; `Loopx-Guard: unseen` for a commit that nobody's claim covers
and that no guard stopped (`commit -n`, a pick, a rebase). The text is edited here and not by
`git interpret-trailers`, whose configuration can name programs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

CLAIM, GUARD, UNSEEN = "Loopx-Claim", "Loopx-Guard", "unseen"
_OURS = re.compile(rf"(?:{CLAIM}|{GUARD})[ \t]*:", re.IGNORECASE)
_TRAILER = re.compile(r"[A-Za-z0-9-]+[ \t]*:[ \t]|[ \t]+\S|\(cherry picked from commit ")
_SCISSORS = "------------------------ >8 ------------------------"


def edited(text: str, claims: Sequence[str], *, unseen: bool, comment: str | None) -> str:
    """The message with its trailers of ours replaced by these.

    `comment` is the character that begins a comment, None where the message is taken as it is. A message that is
    still empty stays so: git must be able to see that nobody wrote one. Without claims the ones that a former guard
    wrote stay, and a commit that has such is not `unseen`.
    """
    lines = text.split("\n")
    end = _end_of_body(lines, comment)
    body, rest = lines[:end], lines[end:]
    if not any(line.strip() for line in body if not _is_comment(line, comment)):
        return text
    named = any(line.lower().startswith(f"{CLAIM.lower()}:") for line in body)
    wanted = [f"{CLAIM}: {claim}" for claim in claims]
    if unseen and (claims or not named):
        wanted.append(f"{GUARD}: {UNSEEN}")
    if not wanted:
        return text
    kept = [line for line in body if not _OURS.match(line)]
    while kept and not kept[-1].strip():
        kept.pop()
    if not kept:
        return text
    gap = [] if _ends_in_trailers(kept) else [""]
    tail = rest if not rest or not rest[0].strip() else ["", *rest]
    return "\n".join([*kept, *gap, *wanted, *(tail or [""])])


def _is_comment(line: str, comment: str | None) -> bool:
    return comment is not None and line.startswith(comment)


def _end_of_body(lines: Sequence[str], comment: str | None) -> int:
    """Where what git adds for the editor begins: the comments at the end, or the scissors."""
    end = len(lines)
    for number, line in enumerate(lines):
        if line.endswith(_SCISSORS) and len(line) - len(_SCISSORS) in (2, 3):
            end = number
            break
    while end and (not lines[end - 1].strip() or _is_comment(lines[end - 1], comment)):
        end -= 1
    return end


def _ends_in_trailers(lines: Sequence[str]) -> bool:
    """Whether the last paragraph is one of trailers; the first paragraph is the subject, whatever it looks like."""
    start = max((number for number, line in enumerate(lines) if not line.strip()), default=-1)
    paragraph = lines[start + 1 :]
    return start > 0 and all(_TRAILER.match(line) for line in paragraph) and not paragraph[0][0].isspace()
