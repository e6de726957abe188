"""Whether two patterns share a path, decided exactly and in bounded time.

A pattern is a sequence of tokens, each a *glob* for one name or `None` for any number of names (`**`). A glob
is a sequence of atoms, each a `Chars` for one character or `None` for any number of characters (`*`). The two
levels have the same shape, so one search serves both: it walks all pairs (position in p, position in q) that
some common text can lead to. With a row of pairs kept as the bits of one integer, that is one step for each
token of p however hostile the patterns are, where a backtracking regular expression would take forever.

Positions only grow, so the rows also tell the way back: that is the witness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar


class Chars(NamedTuple):
    """One character: one of `chars`, or, negated, any other one that a name may have (never `/`)."""

    negated: bool
    chars: frozenset[str]


Glob = tuple[Chars | None, ...]
"""One name; no two `None` stand side by side."""

Tokens = tuple[Glob | None, ...]
"""One path, at least one name long; no two `None` stand side by side."""

ANY_CHAR = Chars(True, frozenset())
ANY_NAME: Glob = (None,)

_DOT = Chars(False, frozenset("."))
_NOT_DOT = Chars(True, frozenset("."))
_READABLE = "abcdefghijklmnopqrstuvwxyz0123456789_-"

_Token = TypeVar("_Token", Chars, Glob)
_Seeds = Mapping[tuple[int, int], tuple[str, ...]]


@lru_cache(maxsize=1024)
def literal(char: str) -> Chars:
    """The atom for exactly this character."""
    return Chars(False, frozenset(char))


def common_path(p: Tokens, q: Tokens) -> str | None:
    """A path that both match, or None when there is none."""
    names = _shared(p, q, {(0, 0): ()}, common_name, ANY_NAME)
    return None if names is None else "/".join(names)


def accepts(p: Tokens, path: str) -> bool:
    """Whether p matches this path, in time that grows with the product of their lengths."""
    names = tuple(tuple(literal(char) for char in name) for name in path.split("/"))
    return common_path(p, names) is not None


@lru_cache(maxsize=8192)
def common_name(p: Glob, q: Glob) -> str | None:
    """A file name that both match, or None; the empty name, `.` and `..` are none."""
    chars = _shared(p, q, _openings(p, q), _common_char, ANY_CHAR)
    return None if chars is None else "".join(chars)


def _common_char(a: Chars, b: Chars) -> str | None:
    both = _meet(a, b)
    if not both.negated:
        return min(both.chars, default=None)
    for char in _READABLE:
        if char not in both.chars:
            return char
    # Classes hold ASCII only and a pattern is short, so a few letters beyond ASCII always leave one free.
    return next(chr(code) for code in range(0x4E00, 0xA000) if chr(code) not in both.chars)


def _meet(a: Chars, b: Chars) -> Chars:
    if a.negated and b.negated:
        return Chars(True, a.chars | b.chars)
    if a.negated:
        return Chars(False, b.chars - a.chars)
    if b.negated:
        return Chars(False, a.chars - b.chars)
    return Chars(False, a.chars & b.chars)


def _openings(p: Glob, q: Glob) -> _Seeds:
    """Where the shortest beginnings of a valid name lead: `x`, `.x`, `..x`, with x no dot in the first two.

    Every name but the empty one, `.` and `..` begins so, and whatever follows, the name stays valid.
    """
    start = _closed(p, q, {(0, 0): ()})
    dot = _consumed(p, q, start, _DOT)
    dots = _consumed(p, q, dot, _DOT)
    return {
        **_consumed(p, q, dots, ANY_CHAR),
        **_consumed(p, q, dot, _NOT_DOT),
        **_consumed(p, q, start, _NOT_DOT),
    }


def _consumed(p: Glob, q: Glob, pairs: _Seeds, want: Chars) -> _Seeds:
    """The pairs after one more character, which must be one of those wanted."""
    after: dict[tuple[int, int], tuple[str, ...]] = {}
    for (i, j), text in pairs.items():
        if i == len(p) or j == len(q):
            continue
        a, b = p[i], q[j]
        char = _common_char(_meet(a or ANY_CHAR, b or ANY_CHAR), want)
        if char is not None:
            after.setdefault((i + (a is not None), j + (b is not None)), (*text, char))
    return _closed(p, q, after)


def _closed(p: Glob, q: Glob, pairs: _Seeds) -> _Seeds:
    """These pairs and those that they reach when a star takes nothing."""
    closed = dict(pairs)
    todo = list(pairs)
    while todo:
        i, j = pair = todo.pop()
        ahead = []
        if i < len(p) and p[i] is None:
            ahead.append((i + 1, j))
        if j < len(q) and q[j] is None:
            ahead.append((i, j + 1))
        for other in ahead:
            if other not in closed:
                closed[other] = closed[pair]
                todo.append(other)
    return closed


def _shared(
    p: Sequence[_Token | None],
    q: Sequence[_Token | None],
    seeds: _Seeds,
    meet: Callable[[_Token, _Token], str | None],
    anything: _Token,
) -> tuple[str, ...] | None:
    """Symbols that lead from (0, 0) by way of a seed to the ends of p and q, or None when none do.

    `seeds` maps pairs of positions to the symbols that lead there; `meet` finds a symbol that two tokens
    share; `anything` is the token that takes every symbol.
    """
    rows = _rows(p, q, seeds, meet)
    if not rows[len(p)] >> len(q) & 1:
        return None
    i: int = len(p)
    j: int = len(q)
    symbols: list[str] = []
    while (i, j) not in seeds:
        if i and j and rows[i - 1] >> (j - 1) & 1:
            a, b = p[i - 1], q[j - 1]
            symbol = None if a is None or b is None else meet(a, b)
            if symbol is not None:
                symbols.append(symbol)
                i, j = i - 1, j - 1
                continue
        if j and rows[i] >> (j - 1) & 1 and (q[j - 1] is None or (i < len(p) and p[i] is None)):
            j -= 1
            taken = q[j]
        else:
            i -= 1
            taken = p[i]
        if taken is not None:
            symbols.append(meet(taken, anything) or "")
    return (*seeds[i, j], *reversed(symbols))


def _rows(
    p: Sequence[_Token | None],
    q: Sequence[_Token | None],
    seeds: _Seeds,
    meet: Callable[[_Token, _Token], str | None],
) -> list[int]:
    """For each position in p the positions in q, as bits, that some common symbols reach together with it."""
    everything = (1 << (len(q) + 1)) - 1
    stars = sum(1 << j for j, token in enumerate(q) if token is None)
    inner = everything >> 1 & ~stars
    tried: dict[_Token, int] = {}
    shared: dict[_Token, int] = {}
    rows = [0] * (len(p) + 1)
    for i, j in seeds:
        rows[i] |= 1 << j
    for i, token in enumerate(p):
        row = rows[i]
        if not row:
            continue
        if token is None:
            # A star of p goes along with whatever q does: all positions from the lowest one on.
            rows[i] = row = everything & -(row & -row)
            rows[i + 1] |= row
            continue
        rows[i] = row = row | (row & stars) << 1
        untried = row & inner & ~tried.get(token, 0)
        if untried:
            tried[token] = tried.get(token, 0) | untried
            found = shared.get(token, 0)
            while untried:
                bit = untried & -untried
                untried ^= bit
                other = q[bit.bit_length() - 1]
                if other is not None and meet(token, other) is not None:
                    found |= bit
            shared[token] = found
        rows[i + 1] |= (row & shared.get(token, 0)) << 1 | (row & stars)
    rows[len(p)] |= (rows[len(p)] & stars) << 1
    return rows
