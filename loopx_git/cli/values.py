"""Option values that are not plain text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from datetime import datetime

from loopx_git.core.times import after, parse_duration, parse_time, to_milliseconds
from loopx_git.errors import UsageError


def time_of(text: str | None, flag: str, now: Callable[[], datetime] | None = None) -> datetime | None:
    """The UTC time of a flag: a time, a date (its midnight in UTC), or, with `now`, a duration from then such as 2h;
    None when it was not given."""
    if text is None:
        return None
    try:
        if now is not None and re.fullmatch(r"[0-9]+[smhd]", text, re.ASCII):
            return to_milliseconds(after(now(), parse_duration(text) or 0))
        return parse_time(
            f"{text}T00:00:00Z" if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII) else text
        )
    except ValueError as error:
        hint = (f"{flag} 2h, " if now else "") + f"{flag} 2026-01-02, or {flag} 2026-01-02T03:04:05Z"
        raise UsageError(f"{flag}: {error}", hint=hint) from None


def words_of(text: str | None, flag: str) -> tuple[str, ...]:
    """A command line as words, quoted as in a shell. No shell runs it."""
    if text is None:
        return ()
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{flag}: {error}", hint=f"{flag} 'make test'") from None
    if not words:
        raise UsageError(f"{flag} names no command", hint=f"{flag} 'make test'")
    return words
