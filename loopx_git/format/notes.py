"""Notes: the list at the end of a body in which agents leave word, one item a note.

    ## Notes

    - 2026-01-01T00:00:00Z codex-1: The first line
      and the next one, two blanks in front of each.

A blank line of a note is written as its two blanks alone. The last `## Notes` line in the first column
opens the section, provided that nothing but notes and blank lines follows, without control characters;
otherwise it is ordinary body. As every line of a note is indented or starts with `- `, no text can end its
note, forge another or close the section.
"""

from __future__ import annotations

import re

from loopx_git.core.todo import Note


def parse_notes(body: str) -> tuple[str, tuple[Note, ...]]:
    """Split a body into the text before its notes section, exact, and the notes; (body, ()) without one.

    Lines may end in LF or CRLF; the texts have LF.
    """
    heading = _section(body)
    if heading is None:
        return body, ()
    notes = _notes(body[heading.end() :])
    return (body, ()) if notes is None else (body[: heading.start()], notes)


def note_text(body: str, note: Note, *, newline: str = "\n") -> str:
    """Return what to append to `body` for this note: the item, under a heading when there is none yet.

    Line ends are those of the body's first line, `newline` when it has none. Raises ValueError for a time
    or an agent that breaks its form, and for control characters other than LF and tab, or lone surrogates,
    in the text.
    """
    if not _TIME.fullmatch(note.time):
        raise ValueError(f"the time of a note must look like 2026-01-01T00:00:00Z, not {note.time!r}")
    if not _AGENT.fullmatch(note.agent):
        raise ValueError(f"the agent of a note must be one word without a colon, not {note.agent!r}")
    if found := _NOT_TEXT.search(note.text):
        raise ValueError(f"the text of a note holds the character U+{ord(found[0]):04X}; remove it")
    first, *more = note.text.split("\n")
    lines = [f"- {note.time} {note.agent}:{' ' if first else ''}{first}", *("  " + line for line in more)]
    heading = _section(body)
    if heading is None or _notes(body[heading.end() :]) is None:
        lines[:0] = ["", "## Notes", ""]
    if body and not body.endswith("\n"):
        lines.insert(0, "")
    end = _LINE_END.search(body)
    newline = end[0] if end else newline
    return newline.join(lines) + newline


def _section(body: str) -> re.Match[str] | None:
    last = None
    for last in _HEADING.finditer(body):  # noqa: B007 - the last one counts
        pass
    return last


def _notes(section: str) -> tuple[Note, ...] | None:
    if _NOT_TEXT.search(section.replace("\r\n", "\n")):
        return None
    notes: list[tuple[str, str, list[str]]] = []
    blank = 0
    for raw in section.split("\n"):
        line = raw.removesuffix("\r")
        if item := _ITEM.fullmatch(line):
            notes.append((item[1], item[2], [item[3] or ""]))
        elif notes and line.startswith("  "):
            # Editors strip blanks at line ends: empty lines inside a note are its own after all.
            notes[-1][2].extend([""] * blank + [line[2:]])
        elif not line.strip(" \t"):
            blank += 1
            continue
        else:
            return None
        blank = 0
    return tuple(Note(time, agent, "\n".join(lines)) for time, agent, lines in notes)


_HEADING = re.compile(r"^## Notes[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_ITEM = re.compile(
    r"- ([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z) ([^\s:]+):(?: (.*))?", re.DOTALL
)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z")
_AGENT = re.compile(r"[^\s:\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_NOT_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_END = re.compile(r"\r?\n")
