"""The guard's policy and the ledger's place as a commit of code has them, never as the work tree does, and who may
change them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loopx_git.client.config import FILE, SIGNERS, parse_tables
from loopx_git.coverage.changes import CodeCommit
from loopx_git.coverage.history import Granted
from loopx_git.coverage.policy import GuardPolicy, parse
from loopx_git.errors import InvalidState
from loopx_git.format import layout
from loopx_git.store.repository import Repository

Tables = Mapping[str, Mapping[str, Any]]
#: The files that decide what is judged and whose word counts. The last one makes a branch a ledger.
RULE_FILES = (FILE, SIGNERS, layout.FORMAT)
#: How many versions of the file are looked through for one that can be read.
_VERSIONS_MAX = 100


def tables_at(repository: Repository, commit: str) -> Tables | None:
    """The tables of a commit's .loopx/config.toml, or None where it has none; InvalidState when it is broken."""
    data = repository.file_at(commit, FILE)
    return None if data is None else parse_tables(data, f"{FILE} of {commit[:12]}")


@dataclass(frozen=True, slots=True)
class BasePolicy:
    """What a base commit says: its tables (None: it has no config.toml), the guard's policy, and why the file cannot
    be read (""): then tables and policy are those of the last version that can be."""

    tables: Tables | None
    policy: GuardPolicy
    problem: str = ""


def base_policy(repository: Repository, commit: str, name: str) -> BasePolicy:
    """The policy of a base; `name` is told in messages."""
    try:
        tables = tables_at(repository, commit)
        return BasePolicy(tables, policy_of(tables or {}, name))
    except InvalidState as error:
        listed = repository.git(["rev-list", f"--max-count={_VERSIONS_MAX}", f"{commit}^@", "--", FILE])
        for older in listed.text.split():
            try:
                tables = tables_at(repository, older)
                if tables is not None:
                    return BasePolicy(tables, policy_of(tables, name), error.message)
            except InvalidState:
                # The next older one, then.
                continue
        return BasePolicy(None, policy_of({}, name), error.message)


def why_unreadable(repository: Repository, commit: str) -> str:
    """Why the policy of a commit cannot be read, or ""."""
    try:
        policy_of(tables_at(repository, commit) or {}, f"{FILE} of {commit[:12]}")
    except InvalidState as error:
        return error.message
    return ""


def restores(repository: Repository, base: BasePolicy, commit: str, paths: Sequence[str]) -> bool:
    """True when a change of these rule files only brings back what an unreadable base said last: no rule changes."""
    if not base.problem or base.tables is None or set(paths) != {FILE}:
        return False
    return not why_unreadable(repository, commit) and tables_at(repository, commit) == base.tables


def is_rule_file(path: str) -> bool:
    """True for a file that decides what is judged, in any spelling that a file system may take for it."""
    return path.casefold() in RULE_FILES


def holds_for(policy: GuardPolicy, granted: Granted) -> Callable[[CodeCommit, str], bool]:
    """Says whether a commit names a valid claim of an operator whose scope names the path."""

    def is_operators(commit: CodeCommit, path: str) -> bool:
        for name in commit.claims.claims:
            named = granted.named.get(name)
            named = None if named is None else named.placed(commit, [path], granted.position)
            claim = None if named is None or named.fault is not None else named.claim
            if claim is None or claim.tests is None or claim.holder not in (policy.operators or ()):
                continue
            if claim.covers(path):
                return True
        return False

    return is_operators


def not_an_operator(policy: GuardPolicy) -> str:
    """What is said of a change of the rules by somebody else."""
    if policy.operators:
        return f"the base lets only its operators ({', '.join(policy.operators)}) change that"
    return "the base names no operators, so nobody may change that by a change under review"


def rule_changes(commits: Sequence[CodeCommit]) -> Iterator[tuple[CodeCommit, str]]:
    """(commit, path) for each change of a rule file. Its deletion is one."""
    return ((commit, path) for commit in commits for path in commit.paths if is_rule_file(path))


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
