"""The format version of a ledger."""

from __future__ import annotations

from loopx_git.errors import InvalidState

CURRENT = 1
BYTES = b"1\n"


def check(data: bytes | None) -> None:
    """Raise InvalidState for a format file that is missing, malformed, or newer than this program supports."""
    if data is None:
        raise InvalidState(
            "this is not a loopx ledger: it has no .loopx/format",
            hint="check where coordination lives: git loopx doctor",
            about={"file": ".loopx/format"},
        )
    if data == BYTES:
        return
    text = data.decode("ascii", "replace")
    if text.endswith("\n") and text[:-1].isascii() and text[:-1].isdigit() and len(text) < 10:
        raise InvalidState(
            f"the ledger has format {text[:-1]}, this program reads format {CURRENT}",
            hint="upgrade loopx-git: pip install --upgrade loopx-git",
            about={"file": ".loopx/format"},
        )
    raise InvalidState(
        ".loopx/format:1: holds no format number", hint="git loopx verify", about={"file": ".loopx/format"}
    )
