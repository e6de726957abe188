"""The guard's policy: `[guard]` of .loopx/config.toml, checked and ready to be asked."""

from __future__ import annotations

from loopx_git.guard.patterns import Index

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
}
_PATTERNS_MAX = 1000


class Policy:
    """The values in force. `stale_after` is in seconds, None for never; `guarded` is (guarded, exempt)."""

    __slots__ = (
        "branches", "exempt", "guarded", "mode", "offline_push", "paths", "renew_on_commit", "require", "since",
        "stale_after", "unidentified",
    )  # fmt: skip

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
        self.guarded = (Index([(True, self.paths)]), Index([(True, self.exempt)]))

    def is_guarded(self, path: str) -> bool:
        """Whether the policy asks anything of this path."""
        wanted, exempt = self.guarded
        return bool(wanted.find(path)) and not exempt.any(path)

    def as_json(self) -> dict[str, Any]:
        """What `Policy` makes the same policy of."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "guarded"}


def parse(table: Mapping[str, Any], file: str) -> Policy:
    """The policy of a `[guard]` table whose keys and types are checked; InvalidState names the key.

    A pattern means what it means in a scope; one that begins with `!` is refused, as there: say what is exempt.
    """
    values: dict[str, Any] = {}
    for key, (default, choices) in KEYS.items():
        value = table.get(key, default)
        if choices is not None and value not in choices:
            raise _bad(file, key, f"is one of {', '.join(choices)}")
        values[key] = value
    for key in ("paths", "exempt"):
        values[key] = _tests(file, key, values[key])
    if not all(isinstance(name, str) and name for name in values["branches"]):
        raise _bad(file, "branches", "is a list of branch names")
    values["stale_after"] = _duration(file, values["stale_after"])
    values["since"] = _since(file, values["since"])
    return Policy(values)


def _tests(file: str, key: str, patterns: list[Any]) -> list[list[str | None]]:
    from loopx_git.client.claims_file import tests_of

    if len(patterns) > _PATTERNS_MAX or not all(isinstance(pattern, str) for pattern in patterns):
        raise _bad(file, key, f'is a list of at most {_PATTERNS_MAX} patterns, such as ["src/**"]')
    try:
        return tests_of(tuple(patterns))
    except ValueError as error:
        raise _bad(file, key, str(error)) from None


def _duration(file: str, text: str) -> int | None:
    from loopx_git.core.times import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise _bad(file, "stale_after", str(error)) from None


def _since(file: str, text: str) -> str | None:
    from loopx_git.core.ids import OID

    if text and not OID.fullmatch(text):
        raise _bad(file, "since", "is the 40 hex digits of a commit")
    return text or None


def _bad(file: str, key: str, why: str) -> Exception:
    from loopx_git.errors import InvalidState

    return InvalidState(f"{file}: guard.{key} {why}", hint="mend .loopx/config.toml", about={"file": file})
