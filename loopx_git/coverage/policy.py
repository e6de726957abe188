"""The guard's policy: `[guard]` of .loopx/config.toml, checked and ready to be asked. Every caller reads it here."""

from __future__ import annotations

import re

from loopx_git.coverage.patterns import Index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

#: key -> (default, what it may be; None: see `parse`).
KEYS: dict[str, tuple[Any, tuple[str, ...] | None]] = {
    "mode": ("block", ("off", "warn", "block")),
    "paths": (["**"], None),
    "exempt": ([".loopx/**"], None),
    "require": ("claim", ("claim", "lease")),
    "unidentified": ("warn", ("allow", "warn", "block")),
    "stale_after": ("24h", None),
    "offline_push": ("warn", ("warn", "block")),
    "renew_on_commit": (True, None),
    "branches": ([], None),
    "since": ("", None),
    # Of the server's gate.
    "signed": (False, None),
    "pusher": ("", None),
    "pushers": ([], None),
    "operators": (None, None),
    "rule_changes": ("operators", ("operators", "anyone")),
}
_PATTERNS_MAX = 1000


class GuardPolicy:
    """The values in force. `stale_after` is in seconds (None: never). `operators` is None where everybody is one."""

    __slots__ = (*KEYS, "_exempt", "_guarded")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.mode: str = values["mode"]
        self.paths: Sequence[Sequence[str | None]] = values["paths"]
        self.exempt: Sequence[Sequence[str | None]] = values["exempt"]
        self.require: str = values["require"]
        self.unidentified: str = values["unidentified"]
        self.stale_after: int | None = values["stale_after"]
        self.offline_push: str = values["offline_push"]
        self.renew_on_commit: bool = values["renew_on_commit"]
        self.branches: Sequence[str] = values["branches"]
        self.since: str | None = values["since"]
        self.signed: bool = values["signed"]
        self.pusher: str = values["pusher"]
        self.pushers: Sequence[str] = values["pushers"]
        self.operators: Sequence[str] | None = values["operators"]
        self.rule_changes: str = values["rule_changes"]
        self._guarded, self._exempt = Index([(True, self.paths)]), Index([(True, self.exempt)])

    def is_guarded(self, path: str) -> bool:
        """True when the policy guards this path."""
        return self._guarded.any(path) and not self._exempt.any(path)

    def is_judged(self, ref: str, default: str) -> bool:
        """True for the full name of a branch whose pushes the gate judges; `default` is that of the default branch.

        In `branches` a `*` stands for any characters but a slash, `**` for any.
        """
        return any(is_match(name, ref) for name in self.branches) if self.branches else ref == default

    def as_json(self) -> dict[str, Any]:
        """What `GuardPolicy` makes the same policy of."""
        return {name: getattr(self, name) for name in KEYS}


def is_match(branch: str, ref: str) -> bool:
    """True when one entry of `branches` means this full name of a ref."""
    whole = branch if branch.startswith("refs/") else f"refs/heads/{branch}"
    parts = re.split(r"(\*\*|[*?])", whole)
    wild = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.fullmatch("".join(wild.get(part) or re.escape(part) for part in parts), ref, re.DOTALL) is not None


def parse(table: Mapping[str, Any], file: str, where: str = "") -> GuardPolicy:
    """The policy of a `[guard]` table whose keys and types are checked; InvalidState names the key.

    A pattern means what it means in a scope; one that begins with `!` is refused, as there: say what is exempt.
    `where` is told in the way out: whose file is to be mended.
    """
    from loopx_git.core.ids import OID
    from loopx_git.core.times import parse_duration

    values = {key: table.get(key, default) for key, (default, _) in KEYS.items()}
    for key, (_, choices) in KEYS.items():
        if choices is not None and values[key] not in choices:
            raise _bad(file, key, f"is one of {', '.join(choices)}", where)
    for key in ("branches", "pushers", "operators"):
        if not all(isinstance(name, str) and name for name in values[key] or ()):
            raise _bad(file, key, "is a list of names", where)
    for entry in values["pushers"]:
        if not all(entry.partition("=")):
            raise _bad(file, "pushers", f"has {entry[:80]!r}; write account=agent", where)
    if values["since"] and not OID.fullmatch(values["since"]):
        raise _bad(file, "since", "is the 40 hex digits of a commit", where)
    values["since"] = values["since"] or None
    key = "stale_after"
    try:
        values[key] = parse_duration(values[key])
        for key in ("paths", "exempt"):
            values[key] = _tests(values[key])
    except ValueError as error:
        raise _bad(file, key, str(error), where) from None
    return GuardPolicy(values)


def _tests(patterns: list[Any]) -> list[list[str | None]]:
    from loopx_git.client.claims_file import tests_of

    if len(patterns) > _PATTERNS_MAX or not all(isinstance(pattern, str) for pattern in patterns):
        raise ValueError(f'is a list of at most {_PATTERNS_MAX} patterns, such as ["src/**"]')
    return tests_of(tuple(patterns))


def _bad(file: str, key: str, why: str, where: str) -> Exception:
    from loopx_git.errors import InvalidState

    return InvalidState(f"{file}: guard.{key} {why}", hint=f"mend .loopx/config.toml{where}", about={"file": file})
