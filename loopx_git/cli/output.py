"""The one place that prints text."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TextIO

from loopx_git.errors import InvalidState, LoopXError

SCHEMA_VERSION = 1
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def safe(text: str, *, lines: bool = False) -> str:
    """The text with control, bidi-control and unpaired characters escaped, so that a title cannot steer a terminal.

    `lines` keeps line feeds and tabs.
    """
    return "".join(
        char if (lines and char in "\n\t") or not _steers(char) else f"\\u{ord(char):04x}" for char in text
    )


def _steers(char: str) -> bool:
    if char in _BIDI or char in "\u2028\u2029\ufeff":
        return True
    return unicodedata.category(char) in ("Cc", "Cs")


class Output:
    """Where and how to print. `json` prints one object; `color` is already decided."""

    def __init__(self, *, as_json: bool, color: bool, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.as_json, self.color = as_json, color
        self.out, self.err = out or sys.stdout, err or sys.stderr

    def emit(self, kind: str, payload: Mapping[str, Any], lines: Sequence[str]) -> None:
        """The result: the object for programs, or the lines for people."""
        if self.as_json:
            self.out.write(json.dumps({"schema_version": SCHEMA_VERSION, "kind": kind, **payload}) + "\n")
        else:
            self.out.writelines(line + "\n" for line in lines)
        self.out.flush()

    def warn(self, text: str) -> None:
        """One warning on standard error."""
        self.err.write(self.paint("warning: ", "33") + safe(text) + "\n")

    def error(self, error: LoopXError) -> None:
        """One JSON line, or the sentence and the next command."""
        if self.as_json:
            shown = {
                "schema_version": SCHEMA_VERSION, "kind": "error", "code": error.code, "message": error.message,
                "hint": error.hint, **error.about,
            }  # fmt: skip
            self.err.write(json.dumps(shown, default=str) + "\n")
        else:
            self.err.write(self.paint("error: ", "31") + safe(error.message, lines=True) + "\n")
            if error.hint:
                self.err.write("  next: " + safe(error.hint, lines=True) + "\n")
        self.err.flush()

    def progress(self, text: str) -> None:
        """A line that the next one overwrites; only for a person at a terminal."""
        if not self.as_json and self.err.isatty():
            self.err.write(f"\r\x1b[K{safe(text)}")
            self.err.flush()

    def end_progress(self) -> None:
        """Remove the line of progress."""
        if not self.as_json and self.err.isatty():
            self.err.write("\r\x1b[K")
            self.err.flush()

    def paint(self, text: str, code: str) -> str:
        """The text in a colour (an SGR code), or unchanged without colours."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text


def wants_color(choice: str | None, environ: Mapping[str, str], stream: TextIO) -> bool:
    """--color beats NO_COLOR, which beats FORCE_COLOR, which beats whether it is a terminal."""
    if choice in ("always", "never"):
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environ.get("TERM") != "dumb"


def relative(moment: datetime, now: datetime) -> str:
    """`in 34 min`, `5 min ago`, `just now`."""
    seconds = (moment - now).total_seconds()
    size = _length(abs(seconds))
    return "just now" if size is None else f"in {size}" if seconds > 0 else f"{size} ago"


def ago(seconds: float) -> str:
    """`5 min ago`, of a number of seconds."""
    size = _length(seconds)
    return "just now" if size is None else f"{size} ago"


def _length(seconds: float) -> str | None:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        if seconds >= length * (2 if unit in ("d", "h") else 1):
            return f"{int(seconds // length)} {unit}"
    return None


def not_printed(error: OSError) -> InvalidState:
    """The error of an answer that nobody got."""
    return InvalidState(
        f"the answer could not be printed: {error.strerror} (standard output)",
        hint="nothing was written; run it again with its output where there is room",
        about={"file": "/dev/stdout"},
    )
