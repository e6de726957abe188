"""Text of todos, commits and paths as it may stand in markdown, HTML or a diagram: inert, and of bounded length.

Everything that could be markup is written as a character reference, and a joiner of no width stands after `@` and
`#`, so that neither a renderer nor a forge's own linking of mentions and numbers finds anything in it.
"""

from __future__ import annotations

import re
import unicodedata

#: Longest text of one cell or line, in characters.
LENGTH_MAX = 200
#: WORD JOINER: keeps a forge from seeing `@name` or `#1`; its linking works on the text after references are read.
_JOINER = "&#8288;"
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(text: str, limit: int = LENGTH_MAX) -> str:
    """One line of at most `limit` characters; control, bidi, line-separating and unpaired characters spelt out."""
    shown = text if len(text) <= limit else text[: limit - 1] + "\u2026"
    return "".join(f"\\u{ord(char):04x}" if _steers(char) else char for char in shown)


def _steers(char: str) -> bool:
    if char in _BIDI or char in "\u2028\u2029":
        return True
    # Format characters join, hide or turn text around; nothing of ours needs one.
    return unicodedata.category(char) in ("Cc", "Cs", "Cf", "Co", "Cn")


def html(text: str, limit: int = LENGTH_MAX) -> str:
    """The text for HTML and for markdown alike: letters, digits, spaces and the dot stand for themselves."""
    shown = plain(text, limit)
    return "".join(_reference(char, shown[max(0, place - 3) : place]) for place, char in enumerate(shown))


#: What a forge turns into a link when a name, a number or a host follows it.
_LINKING = frozenset("@#:!$~%&")


def _reference(char: str, before: str) -> str:
    """One character, given the three before it."""
    if not char.isascii() or char.isalnum() or char == " ":
        # Letters beyond ASCII mean nothing to a renderer.
        return char
    links = char in _LINKING
    links |= char == "." and before.lower().endswith("www")
    links |= char == "-" and before.lower().endswith("gh")
    return f"&#{ord(char)};{_JOINER if links else ''}" if links or char != "." else char


#: What means nothing inside a code span, a table's cell included.
_SAFE = re.compile(r"[A-Za-z0-9_./@:,;'=()-]+(?: +[A-Za-z0-9_./@:,;'=()-]+)*", re.ASCII)


def code(text: str, limit: int = LENGTH_MAX) -> str:
    """The text as a code span of markdown, to be copied as it stands, where nothing in it could end the span or the
    cell: forges link nothing in there. Anything else is escaped text."""
    return f"`{text}`" if len(text) <= limit and _SAFE.fullmatch(text) else html(text, limit)


def label(text: str, limit: int = 40) -> str:
    """A label of a diagram: letters, digits and single spaces; every other character is a middle dot."""
    shown = "".join(char if char.isalnum() or char == " " else "\u00b7" for char in plain(text, limit))
    return " ".join(shown.split()) or "\u00b7"
