"""Option values that are more than text."""

from __future__ import annotations

import shlex
from datetime import datetime

from loopx_git.core.times import parse_time
from loopx_git.errors import UsageError


def time_of(text: str | None, flag: str) -> datetime | None:
    """The UTC time of a flag, None when it was not given."""
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise UsageError(f"{flag}: {error}", hint=f"{flag} 2026-01-02T03:04:05Z") from None


def words_of(text: str | None, flag: str) -> tuple[str, ...]:
    """A command line as words, quoted as in a shell; no shell ever runs it."""
    if text is None:
        return ()
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{flag}: {error}", hint=f"{flag} 'make test'") from None
    if not words:
        raise UsageError(f"{flag} names no command", hint=f"{flag} 'make test'")
    return words
