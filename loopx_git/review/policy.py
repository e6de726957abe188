"""The guard's policy and the ledger's place as a commit of code has them, never as the work tree does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loopx_git.client.config import FILE, parse_tables
from loopx_git.coverage.policy import GuardPolicy, parse
from loopx_git.errors import InvalidState
from loopx_git.store.process import git
from loopx_git.store.repository import Repository

Tables = Mapping[str, Mapping[str, Any]]
CONFIG_NAME = FILE
SIGNERS = ".loopx/allowed_signers"
_SIZE_MAX = 262_144


def file_at(repository: Repository, commit: str, path: str) -> bytes | None:
    """A small file of a commit of code, or None where it has none (or none that is a plain file)."""
    listed = git(["ls-tree", "-z", "--full-tree", commit, "--", path], cwd=repository.cwd, env=repository.env,
                 timeout=30)  # fmt: skip
    if listed.code:
        raise InvalidState(
            f"the commit {commit} cannot be read: {listed.complaint}", hint=f"git fetch origin {commit}"
        )
    entry = listed.text.split("\0")[0]
    if not entry.startswith("100"):
        return None
    oid = entry.split("\t")[0].split(" ")[2]
    sized = git(["cat-file", "-s", oid], cwd=repository.cwd, env=repository.env, timeout=30)
    if sized.code or not sized.text.strip().isdigit() or int(sized.text) > _SIZE_MAX:
        raise InvalidState(f"{path} of {commit[:12]} cannot be read or is too large", hint=f"git show {commit[:12]}")
    return git(["cat-file", "blob", oid], cwd=repository.cwd, env=repository.env, timeout=30).out


def tables_at(repository: Repository, commit: str) -> Tables | None:
    """The tables of a commit's .loopx/config.toml, or None where it has none; InvalidState when it is broken."""
    data = file_at(repository, commit, FILE)
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
