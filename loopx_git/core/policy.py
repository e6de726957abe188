"""The policy: what a ledger's claims and peers are held to. One row a key, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from loopx_git.core.peer import ClaimMode
from loopx_git.core.times import check_ttl, format_duration, parse_duration
from loopx_git.errors import UsageError


@dataclass(frozen=True, slots=True)
class Policy:
    """The values in force; durations in seconds, None for `none`. Defaults are those of a new ledger."""

    claims_mode: ClaimMode = ClaimMode.EXCLUSIVE
    claims_ttl: int | None = 7200
    claims_skew: int = 60
    claims_max_attempts: int = 3
    claims_max_per_agent: int | None = None
    claims_scope_overlap: str = "refuse"
    peers_auto_register: bool = False
    peers_stale_after: int | None = 86400


def _ttl(text: str) -> int | None:
    seconds = parse_duration(text)
    return None if seconds is None else check_ttl(seconds)


def _seconds(text: str) -> int:
    seconds = parse_duration(text)
    if seconds is None:
        raise ValueError("'none' is not an allowance; give a duration such as 60s, or 0s")
    return seconds


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 1_000_000):
        raise ValueError(f"{text!r} is not a whole number from 1 to 1000000")
    return int(text)


def _limit(text: str) -> int | None:
    return None if text == "none" else _count(text)


def _choice(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text!r} is none of {', '.join(allowed)}")
        return text

    return parse


def _mode(text: str) -> ClaimMode:
    return ClaimMode(_choice(*ClaimMode)(text))


def _flag(text: str) -> bool:
    return _choice("true", "false")(text) == "true"


@dataclass(frozen=True, slots=True)
class Key:
    """One policy key: its field, how text becomes a value (ValueError: why not) and back, what it does."""

    name: str
    parse: Callable[[str], object]
    show: Callable[[object], str]
    about: str


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value is None else str(value)


def _duration(value: object) -> str:
    return format_duration(value if isinstance(value, int) else None)


KEYS: Mapping[str, Key] = {
    key.name: key
    for key in (
        Key("claims.mode", _mode, _text, "what a plain claim is: exclusive or soft"),
        Key("claims.ttl", _ttl, _duration, "time bound of a claim; 1s to 30d, or none"),
        Key("claims.skew", _seconds, _duration, "clock difference that a taker allows the holder"),
        Key("claims.max_attempts", _count, _text, "reclaims after which a todo needs a human"),
        Key("claims.max_per_agent", _limit, _text, "live claims one agent may have, or none"),
        Key("claims.scope_overlap", _choice("refuse", "allow"), _text, "refuse or allow overlapping scopes"),
        Key("peers.auto_register", _flag, _text, "register an unknown agent at its first claim"),
        Key("peers.stale_after", parse_duration, _duration, "unseen for so long, a peer is stale; or none"),
    )
}


def field_of(name: str) -> str:
    """`claims.max_attempts` -> `claims_max_attempts`: the attribute of Policy."""
    return name.replace(".", "_", 1)


def get(policy: Policy, name: str) -> str:
    """The value of a key as `policy show` and the policy file spell it."""
    return KEYS[name].show(getattr(policy, field_of(name)))


def with_value(policy: Policy, name: str, text: str) -> Policy:
    """The policy with one key set from text; UsageError names the key and why."""
    key = KEYS.get(name)
    if key is None:
        raise UsageError(
            f"{name!r} is not a policy key", hint="keys: " + ", ".join(KEYS) + "; see: git loopx policy show"
        )
    try:
        value = key.parse(text)
    except ValueError as error:
        raise UsageError(f"{name}: {error}", hint=f"{name}: {key.about}") from None
    changes: dict[str, Any] = {field_of(name): value}
    return replace(policy, **changes)


assert {field_of(name) for name in KEYS} == {item.name for item in fields(Policy)}
