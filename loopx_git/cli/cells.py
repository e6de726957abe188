"""How wide a text is on a terminal: in cells, of which a letter of the east takes two and a combining mark none."""

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
    """The text with spaces behind it up to so many cells."""
    return text + " " * (cells - width(text))


def cut(text: str, cells: int) -> str:
    """The text within so many cells, with `...` where something is missing. What is drawn as one stays whole: a
    letter with its marks, an emoji with what is joined to it."""
    if width(text) <= cells:
        return text
    from wcwidth import iter_graphemes

    kept = ""
    for drawn in text if text.isascii() else iter_graphemes(text):
        if width(kept + drawn) > cells - len(_MISSING):
            break
        kept += drawn
    return kept + _MISSING
