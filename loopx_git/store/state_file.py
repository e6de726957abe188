"""Small JSON files of ours: read with suspicion, written whole or not at all.

An agent's hook reads some at every edit: whatever costs to import is imported by the function that needs it.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")

#: Most bytes of a file that is read as text.
SIZE_MAX = 16_000_000


def read_plain(path: str) -> str | None:
    """A small file of ours as text; None when it is absent, a symbolic link, or not a plain file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        with open(handle, "rb") as file:
            data = file.read(SIZE_MAX + 1)
    except OSError:
        # A folder or a pipe: the caller looks at it by itself, and reports it.
        return None
    return None if len(data) > SIZE_MAX else data.decode("utf-8", "surrogateescape")


def load(path: str) -> dict[str, Any] | None:
    """The JSON object of a file that is a copy or a help; None where there is none that can be used."""
    try:
        found = json.loads(read_plain(path) or "null")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def parsed(path: str, limit: int, build: Callable[[Any], T], what: str = "") -> T | None:
    """What `build` makes of the JSON of a file whose content counts; None where there is no file.

    Raises InvalidState that names the file, with `what` before its path, when it has more than `limit` bytes, when it
    is not a plain file or not JSON, or when `build` cannot make anything of it.
    """
    from loopx_git.errors import InvalidState
    from loopx_git.store.lock import read_file

    data = read_file(path, limit)
    if data is None:
        return None
    try:
        return build(json.loads(data))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, InvalidState) as error:
        raise InvalidState(
            f"{what}{path} cannot be read: {error}",
            hint=f"look at it, then move it away: {path}",
            about={"file": path},
        ) from None


def save(path: str, value: Any, *, indent: int | None = None, sort_keys: bool = False) -> None:
    """Write a value as JSON, its folder made where that is missing; with `indent` for people, and a last newline."""
    from loopx_git.store.lock import make_folder, write_file

    make_folder(os.path.dirname(path))
    text = json.dumps(value, indent=indent, sort_keys=sort_keys)
    write_file(path, (text if indent is None else f"{text}\n").encode("ascii"))
