"""The guard's policy and the ledger's place as a commit of code has them, never as the work tree does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loopx_git.client.config import FILE, parse_tables
from loopx_git.coverage.policy import GuardPolicy, parse
from loopx_git.store.repository import Repository

Tables = Mapping[str, Mapping[str, Any]]


def tables_at(repository: Repository, commit: str) -> Tables | None:
    """The tables of a commit's .loopx/config.toml, or None where it has none; InvalidState when it is broken."""
    data = repository.file_at(commit, FILE)
    return None if data is None else parse_tables(data, f"{FILE} of {commit[:12]}")


def policy_of(tables: Tables, name: str) -> GuardPolicy:
    """The guard's policy in those tables. Raises InvalidState, naming the key that is not valid."""
    return parse(tables.get("guard", {}), name, " on the base branch")


def changed_keys(before: Tables | None, after: Tables | None) -> list[str]:
    """`guard.mode: block -> off`, a line a key that differs."""
    lines = []
    old, new = before or {}, after or {}
    for table in sorted({*old, *new}):
        one, two = old.get(table, {}), new.get(table, {})
        for key in sorted({*one, *two}):
            if one.get(key) != two.get(key):
                lines.append(f"{table}.{key}: {_shown(one, key)} -> {_shown(two, key)}")
    return lines


def _shown(table: Mapping[str, Any], key: str) -> str:
    return str(table[key])[:80] if key in table else "unset"
