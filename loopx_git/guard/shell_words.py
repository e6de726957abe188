"""The words and the operators of a shell command, as far as they can be read with certainty."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SEPARATORS = (";;", "&&", "||", "|&", ";", "|", "\n", "&")
REDIRECTIONS = ("&>>", "<<<", "<<-", ">>", ">|", ">&", "&>", "<<", "<>", "<&", ">", "<")


class Word:
    """A word of the command; `sure` unless the shell would put something else in its place."""

    __slots__ = ("bare", "sure", "text")

    def __init__(self, text: str, *, sure: bool, bare: bool) -> None:
        self.text, self.sure, self.bare = text, sure, bare


def tokens(text: str) -> Iterator[Word | str]:
    """The words and the operators of a command. The body of a here-document is left out."""
    at, end = 0, len(text)
    bodies: list[tuple[str, bool]] = []
    heredoc = ""
    while at < end:
        letter = text[at]
        if letter in " \t\r":
            at += 1
        elif text.startswith("\\\n", at):
            at += 2
        elif letter == "#":
            at = _line(text, at)
        elif text.startswith("((", at):
            # Arithmetic: what looks like a redirection compares.
            at = _inside(text, at - 1)
            yield Word("((", sure=False, bare=False)
        elif letter in "()":
            yield letter
            at += 1
        else:
            operator = next((mark for mark in (*REDIRECTIONS, *_SEPARATORS) if text.startswith(mark, at)), "")
            if operator in ("<", ">") and text.startswith("(", at + 1):
                # A command in place of a file.
                operator = ""
            if operator:
                at += len(operator)
                heredoc = operator if operator in ("<<", "<<-") else ""
                yield operator
                if operator == "\n":
                    at = _skip(text, at, bodies)
                    bodies = []
                continue
            word, at = _word(text, at)
            if heredoc:
                bodies.append((word.text, heredoc == "<<-"))
                heredoc = ""
            elif word.text.isdigit() and word.bare and text[at : at + 1] in ("<", ">"):
                # The number of the stream that is redirected.
                continue
            yield word


def _line(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _skip(text: str, at: int, bodies: Sequence[tuple[str, bool]]) -> int:
    """The place after the here-documents that begin at `at`."""
    for mark, tabs in bodies:
        while at < len(text):
            end = _line(text, at)
            line = text[at:end]
            at = end + 1
            if (line.lstrip("\t") if tabs else line) == mark:
                break
    return min(at, len(text))


def _word(text: str, at: int) -> tuple[Word, int]:
    """The word that begins at `at`, and the place after it."""
    start = at
    parts: list[str] = []
    sure = bare = True
    while at < len(text):
        letter = text[at]
        if letter == "'":
            stop = text.find("'", at + 1)
            if stop < 0:
                return Word(text[at:], sure=False, bare=False), len(text)
            parts.append(text[at + 1 : stop])
            at, bare = stop + 1, False
        elif letter == '"':
            inner, at, plain = _double(text, at + 1)
            parts.append(inner)
            sure, bare = sure and plain, False
        elif letter == "\\":
            parts.append(text[at + 1 : at + 2] if text[at + 1 : at + 2] != "\n" else "")
            at, bare = at + 2, False
        elif letter in "$`" or (letter in "<>" and text.startswith("(", at + 1)):
            at, sure = _inside(text, at), False
        elif letter in " \t\r\n;|&<>()":
            break
        else:
            sure = sure and letter not in "*?[{}"
            parts.append(letter)
            at += 1
    return Word("".join(parts), sure=sure, bare=bare), max(at, start + 1)


def _double(text: str, at: int) -> tuple[str, int, bool]:
    """A part in double quotes: its text, the place after it, and whether it is certain."""
    parts: list[str] = []
    plain = True
    while at < len(text):
        letter = text[at]
        if letter == '"':
            return "".join(parts), at + 1, plain
        if letter == "\\" and text[at + 1 : at + 2] in ('"', "\\", "$", "`", "\n"):
            parts.append(text[at + 1].strip("\n"))
            at += 2
        elif letter in "$`":
            at, plain = _inside(text, at), False
        else:
            parts.append(letter)
            at += 1
    return "".join(parts), at, False


def _inside(text: str, at: int) -> int:
    """The place after a variable, or after a command inside of the command."""
    if text[at] == "`":
        stop = text.find("`", at + 1)
        return len(text) if stop < 0 else stop + 1
    if text.startswith(("(", "{"), at + 1):
        opened, closing = text[at + 1], {"(": ")", "{": "}"}[text[at + 1]]
        depth, at = 0, at + 1
        while at < len(text):
            if text[at] == "\\":
                at += 1
            elif text[at] == "'":
                stop = text.find("'", at + 1)
                at = len(text) if stop < 0 else stop
            elif text[at] == opened:
                depth += 1
            elif text[at] == closing:
                depth -= 1
                if depth == 0:
                    return at + 1
            at += 1
        return len(text)
    return at + 1
