"""Policy keys: every one can be shown, set to what it shows, and refuses what it cannot be."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopx_git.core.peer import ClaimMode
from loopx_git.core.policy import KEYS, Policy, field_of, get, with_value
from loopx_git.errors import UsageError

SHOWN = {
    "claims.mode": "exclusive",
    "claims.ttl": "2h",
    "claims.skew": "1m",
    "claims.max_attempts": "3",
    "claims.max_per_agent": "none",
    "claims.scope_overlap": "refuse",
    "peers.auto_register": "false",
    "peers.stale_after": "1d",
}


def test_the_defaults_of_the_design() -> None:
    assert {name: get(Policy(), name) for name in KEYS} == SHOWN


def test_a_key_a_field() -> None:
    assert [field_of(name) for name in KEYS] == [field.name for field in fields(Policy)]
    assert all(key.name == name and key.about for name, key in KEYS.items())


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("claims.mode", "soft", ClaimMode.SOFT),
        ("claims.ttl", "none", None),
        ("claims.ttl", "90", 90),
        ("claims.ttl", "30d", 30 * 86400),
        ("claims.skew", "0s", 0),
        ("claims.max_attempts", "1", 1),
        ("claims.max_per_agent", "5", 5),
        ("claims.max_per_agent", "none", None),
        ("claims.scope_overlap", "allow", "allow"),
        ("peers.auto_register", "true", True),
        ("peers.stale_after", "none", None),
        ("peers.stale_after", "0", 0),
    ],
)
def test_a_key_is_set_and_no_other(name: str, text: str, value: Any) -> None:
    changed = with_value(Policy(), name, text)
    assert changed == replace(Policy(), **{field_of(name): value})
    assert with_value(changed, name, get(changed, name)) == changed


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("claims.mode", ["", "Soft", "exclusive "]),
        ("claims.ttl", ["", "0", "0s", "31d", "-1", "1.5h", "never"]),
        ("claims.skew", ["none", "", "-1s", "4000d"]),
        ("claims.max_attempts", ["0", "-1", "none", "1.0", "1000001", "٣", "9" * 5000, ""]),
        ("claims.max_per_agent", ["0", "None", ""]),
        ("claims.scope_overlap", ["yes", ""]),
        ("peers.auto_register", ["True", "1", "yes", ""]),
        ("peers.stale_after", ["-1", "soon", ""]),
    ],
)
def test_what_a_key_cannot_be(name: str, texts: list[str]) -> None:
    for text in texts:
        with pytest.raises(UsageError, match=f"^{name}: ") as caught:
            with_value(Policy(), name, text)
        assert KEYS[name].about in caught.value.hint


@pytest.mark.parametrize("name", ["", "claims", "claims.TTL", "ttl", "claims_ttl", "claims.ttl.x", "__class__"])
def test_an_unknown_key(name: str) -> None:
    with pytest.raises(UsageError, match="is not a policy key") as caught:
        with_value(Policy(), name, "1")
    assert "claims.ttl" in caught.value.hint


@given(st.sampled_from(list(KEYS)), st.text(max_size=12) | st.integers(-5, 10**7).map(str))
def test_any_text_is_set_or_refused(name: str, text: str) -> None:
    try:
        changed = with_value(Policy(), name, text)
    except UsageError:
        return
    assert with_value(Policy(), name, get(changed, name)) == changed
