"""The width of a text on a terminal, in cells: an East Asian letter takes two, a combining mark none."""

from __future__ import annotations

_MISSING = "..."


def width(text: str) -> int:
    """The cells of a line without control characters."""
    if text.isascii():
        return len(text)
    # Imported here: most texts are plain, and the tables cost a while at each start.
    from wcwidth import wcswidth

    cells = wcswidth(text)
    # A character that the tables do not know, such as one of a later Unicode, counts as one.
    return cells if cells >= 0 else len(text)


def pad(text: str, cells: int) -> str:
    """The text with spaces after it, up to a width in cells."""
    return text + " " * (cells - width(text))


def cut(text: str, cells: int) -> str:
    """The text within a width in cells, with `...` where it was cut.

    A letter with its marks and an emoji sequence are never split.
    """
    if width(text) <= cells:
        return text
    from wcwidth import iter_graphemes

    kept = ""
    for drawn in text if text.isascii() else iter_graphemes(text):
        if width(kept + drawn) > cells - len(_MISSING):
            break
        kept += drawn
    return kept + _MISSING
