"""What a todo's scope covers: gitignore-like patterns, which paths they match, when two scopes overlap.

A scope is a sequence of patterns. A pattern means what the same line means in the `.gitignore` at the top of
the repository. `src` and `src/` cover everything below a directory of that name at any depth, `src` also a
file. A slash at the beginning or in the middle anchors (`/src`, `src/app`). `*` and `?` stay within a name;
`**` as a whole segment spans any number of them. `[a-z]`, `[!x]` and `[^x]` are classes. A backslash takes
the meaning from `* ? [ ] \\ ! #` and the space: `app/[id]/page.tsx` has a class in it, the directory is
`app/\\[id\\]`.

Two readers of one pattern must never disagree, so what git and pathspec read differently, and what is mostly
a slip of the pen, is refused:

    a/**/                    git: directories below a; pathspec: everything below a
    ***, a**b, **.py         git: sometimes `**`; pathspec: `*`; people: something else
    [[:alpha:]], [\\]], []a]  parsed differently, or with a warning
    [é], [+-9], [A-z]        git compares bytes; ranges hide characters that nobody meant
    a//b, ./a, a/../b, [.]   match no path
    foo\\bar, foo\\            a backslash before a letter is most often a Windows path

Three differences remain, and the rule here is: `?` and `[!x]` take one character, where git takes one byte
(names beyond ASCII only); case always counts, where git asks core.ignoreCase; `[!x]` never takes a slash, as
in git, while pathspec's regular expression would.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, NoReturn

from loopx_git.core.scope_overlap import (
    ANY_CHAR,
    ANY_NAME,
    Chars,
    Glob,
    Tokens,
    accepts,
    common_name,
    common_path,
    literal,
)

MAX_LENGTH = 512
MAX_SEGMENTS = 64

# Control characters, line separators, marks that turn the text around, the byte order mark, and surrogates,
# which no UTF-8 file can hold.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_DRIVE = re.compile(r"[A-Za-z]:(?:[/\\]|\Z)")
_NO_FILE = re.compile(r"(?:\A|/)\.{0,2}(?:/|\Z)")
_ESCAPABLE = frozenset("*?[]\\!# ")
_RANGES = (string.digits, string.ascii_lowercase, string.ascii_uppercase)

# pathspec's regular expressions backtrack. With at most this much freedom, on a path of at most this length,
# a match takes a few milliseconds at worst; everything else goes to the automaton: slower, but bounded.
_MAX_FREEDOM = 2
MAX_SEARCHED = 200


def check_pattern(pattern: str) -> str:
    """The pattern itself, when it is one that a scope may have.

    Raises ValueError with a sentence for a person otherwise. Every accepted pattern matches some path, means
    the same to git, pathspec and `overlaps` (but for the differences above), and fits in one line of UTF-8.
    """
    _parsed(pattern)
    return pattern


def matches(scope: Sequence[str], path: str) -> bool:
    """Whether some pattern of the scope covers this file.

    `path` is relative to the repository and separated by `/`; bytes that are not UTF-8 stand in it as by
    surrogateescape. An empty scope covers nothing here, and what is not a path of a file (an empty, `.` or `..`
    segment, an absolute path) is covered by nothing. Raises ValueError for a pattern that `check_pattern`
    refuses.
    """
    return _compiled(tuple(scope))(path)


def compile_scope(scope: Sequence[str]) -> Callable[[str], bool]:
    """`matches` for many paths: a function of the path alone, kept for the next call with an equal scope."""
    return _compiled(tuple(scope))


def expression(pattern: str) -> str | None:
    """The regular expression that says the same as the pattern of a path below `folder(pattern)`; None when only
    `matches` decides it in bounded time. It is searched in a path of at most MAX_SEARCHED characters, in which NUL
    stands for a line feed. It is empty for a pattern that matches everything there.

    Raises ValueError for a pattern that `check_pattern` refuses.
    """
    tokens, searchable = _parsed(pattern)
    names = folder(pattern)
    if tokens[names.count("/") + 1 if names else 0 :] == (ANY_NAME, None):
        return ""
    if not searchable:
        return None
    return str(_regex(pattern).pattern)


def folder(pattern: str) -> str:
    """The folder that every path lies below that the pattern matches; "" for the top of the repository.

    It sorts patterns for a quick look-up: `src/login/**` need not be tried on `docs/x.md`.
    """
    tokens, names = _parsed(pattern).tokens, []
    for at, token in enumerate(tokens):
        if token is None or any(atom is None or atom.negated or len(atom.chars) != 1 for atom in token):
            break
        if not any(later is not None for later in tokens[at + 1 :]):
            # The last name may be the file itself.
            break
        names.append("".join(char for atom in token if atom is not None for char in atom.chars))
    return "/".join(names)


def overlaps(a: Sequence[str], b: Sequence[str]) -> tuple[str, str] | None:
    """The first pair of patterns, one of a and one of b, that some file's path matches both of, or None.

    Exact: a pair is given if and only if such a path can be, whether or not the file is there. An empty scope
    overlaps nothing. Raises ValueError for a pattern that `check_pattern` refuses.
    """
    for p in a:
        for q in b:
            if witness(p, q) is not None:
                return p, q
    return None


@lru_cache(maxsize=4096)
def witness(p: str, q: str) -> str | None:
    """A path that both patterns match, or None when there is none."""
    return common_path(_parsed(p).tokens, _parsed(q).tokens)


class _Parsed(NamedTuple):
    tokens: Tokens
    searchable: bool  # pathspec's regular expression is right and quick


@lru_cache(maxsize=4096)
def _parsed(pattern: str) -> _Parsed:
    _check_text(pattern)
    segments = pattern.removeprefix("/").removesuffix("/").split("/")
    if len(segments) > MAX_SEGMENTS:
        _refuse(pattern, f"has {len(segments)} segments; {MAX_SEGMENTS} is the limit")
    tokens: list[Glob | None] = []
    # A pattern without a slash, but for one at its end, holds at any depth.
    if len(segments) == 1 and not pattern.startswith("/"):
        tokens.append(None)
    for segment in segments:
        token = None if segment == "**" else _glob(pattern, segment)
        if token is not None or tokens[-1:] != [None]:
            tokens.append(token)
    freedom = sum(1 if token is None else max(0, token.count(None) - 1) for token in tokens[:-1])
    freedom += max(0, (tokens[-1] or ()).count(None) - 1)
    searchable = freedom <= _MAX_FREEDOM and not any(
        atom is not None and atom.negated and atom.chars for token in tokens for atom in token or ()
    )
    if tokens[-1] is None:
        if pattern.endswith("/"):
            _refuse(pattern, "ends in **/, which is read in two ways: write ** or */ instead")
        tokens[-1:] = [ANY_NAME, None]
    else:
        # The path itself or what is below it; with a slash at the end only what is below it.
        tokens += [ANY_NAME, None] if pattern.endswith("/") else [None]
    return _Parsed(tuple(tokens), searchable)


def _check_text(pattern: str) -> None:
    if not pattern:
        _refuse(pattern, "is empty")
    if len(pattern) > MAX_LENGTH:
        _refuse(pattern, f"is {len(pattern)} characters long; {MAX_LENGTH} is the limit")
    if unfit := _UNFIT.search(pattern):
        _refuse(pattern, f"has the character U+{ord(unfit[0]):04X} in it, which no pattern may have")
    if pattern != pattern.strip():
        _refuse(pattern, "begins or ends with a space: write [ ] for a space that is meant")
    if pattern[0] == "!":
        _refuse(pattern, "begins with !: a scope cannot exclude; write \\! for a name that begins so")
    if pattern[0] == "#":
        _refuse(pattern, "begins with #: write \\# for a name that begins so")
    if _DRIVE.match(pattern):
        _refuse(pattern, "begins with a drive: patterns are relative to the repository")


def _glob(pattern: str, segment: str) -> Glob:
    if not segment:
        _refuse(pattern, "names no path" if pattern == "/" else "has an empty segment")
    if segment in (".", ".."):
        _refuse(pattern, f"has the segment {segment}: patterns are relative to the top of the repository")
    if "**" in segment:
        _refuse(pattern, "has ** inside a segment: only a whole segment can be **")
    atoms: list[Chars | None] = []
    at = 0
    while at < len(segment):
        char = segment[at]
        at += 1
        if char == "*":
            atoms.append(None)
        elif char == "?":
            atoms.append(ANY_CHAR)
        elif char == "\\":
            if segment[at : at + 1] not in _ESCAPABLE:
                _refuse(pattern, "has a backslash before something other than * ? [ ] \\ ! # or a space")
            atoms.append(literal(segment[at]))
            at += 1
        elif char == "[":
            end = segment.find("]", at)
            if end < 0:
                _refuse(pattern, "has a [ without its ]: write \\[ for a bracket that is meant")
            atoms.append(_class(pattern, segment[at:end]))
            at = end + 1
        else:
            atoms.append(literal(char))
    glob = tuple(atoms)
    if common_name(glob, ANY_NAME) is None:
        _refuse(pattern, f"has the segment {segment}, which no file name matches")
    return glob


def _class(pattern: str, text: str) -> Chars:
    negated = text[:1] in ("!", "^")
    body = text[negated:]
    chars: list[str] = []
    at = 0
    while at < len(body):
        if body[at + 1 : at + 2] == "-" and at + 2 < len(body):
            low, high = body[at], body[at + 2]
            span = next((known for known in _RANGES if low in known and high in known), "")
            if not span or low > high:
                _refuse(pattern, f"has the range {low}-{high}: a range goes up, within 0-9, a-z or A-Z")
            chars += span[span.index(low) : span.index(high) + 1]
            at += 3
            continue
        if body[at] in "[\\" or not body[at].isascii():
            _refuse(pattern, f"has {body[at]} in the class [{text}], which only takes other ASCII characters")
        if body[at] == "-" and 0 < at < len(body) - 1:
            _refuse(pattern, f"has a - in the middle of the class [{text}]: put it first or last")
        chars.append(body[at])
        at += 1
    if not chars:
        _refuse(pattern, f"has the empty class [{text}]: write \\[ for a bracket that is meant")
    if len(set(chars)) < len(chars):
        _refuse(pattern, f"has a character twice in the class [{text}]: write \\[ for a bracket")
    return Chars(negated, frozenset(chars))


def _refuse(pattern: str, why: str) -> NoReturn:
    shown = pattern if len(pattern) <= 80 else pattern[:77] + "..."
    raise ValueError(f"scope pattern {shown!r} {why}")


@lru_cache(maxsize=1024)
def _compiled(scope: tuple[str, ...]) -> Callable[[str], bool]:
    parsed = [_parsed(pattern) for pattern in scope]
    searchable = [pattern for pattern, one in zip(scope, parsed, strict=True) if one.searchable]
    searches = [_regex(pattern).search for pattern in searchable]
    bounded = [one.tokens for one in parsed if not one.searchable]
    every = [one.tokens for one in parsed]

    def covers(path: str) -> bool:
        if _NO_FILE.search(path):
            return False
        if len(path) > MAX_SEARCHED:
            return any(accepts(tokens, path) for tokens in every)
        # The dot and the dollar of a regular expression treat a newline apart. NUL stands in for it: no
        # pattern can name either.
        line = path.replace("\n", "\0")
        return any(search(line) for search in searches) or any(accepts(tokens, path) for tokens in bounded)

    return covers


def _regex(pattern: str) -> re.Pattern[str]:
    # Imported here: most commands never look at a path. The pattern's own expression is used, since the engine that
    # pathspec picks for a whole specification depends on what else is installed.
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    regex: re.Pattern[str] | None = GitIgnoreSpecPattern(pattern).regex
    if regex is None:
        raise ValueError(f"scope pattern {pattern!r} means nothing to pathspec")
    return regex
