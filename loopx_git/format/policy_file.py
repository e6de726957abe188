"""The policy file: canonical TOML, one table a group, every key written."""

from __future__ import annotations

import tomllib

from loopx_git.core.policy import KEYS, Policy, get, with_value
from loopx_git.errors import InvalidState, UsageError

SIZE_MAX = 65536


def dump(policy: Policy) -> bytes:
    """The canonical bytes: every value a string as `policy set` takes it."""
    lines, group = [], ""
    for name in KEYS:
        table, key = name.split(".", 1)
        if table != group:
            lines += [*([""] if group else []), f"[{table}]"]
            group = table
        lines.append(f'{key} = "{get(policy, name)}"')
    return ("\n".join(lines) + "\n").encode("ascii")


def load(data: bytes, *, name: str) -> Policy:
    """The policy in force. An absent key has its default; an unknown key raises InvalidState."""
    if len(data) > SIZE_MAX:
        raise _bad(name, f"is larger than {SIZE_MAX} bytes")
    try:
        tables = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _bad(name, f"is not TOML: {error}") from None
    policy = Policy()
    for table, keys in tables.items():
        if not isinstance(keys, dict):
            raise _bad(name, f"has the key {table!r} outside of a table")
        if not any(key.startswith(f"{table}.") for key in KEYS):
            raise _bad(name, f"has the unknown table {table!r}")
        for key, value in keys.items():
            if not isinstance(value, str):
                raise _bad(name, f'{table}.{key} must be a string such as "2h"')
            try:
                policy = with_value(policy, f"{table}.{key}", value)
            except UsageError as error:
                raise _bad(name, error.message) from None
    return policy


def _bad(name: str, why: str) -> InvalidState:
    return InvalidState(f"{name}: the policy {why}", hint="git loopx verify", about={"file": name})
