"""The policy file: golden bytes, round trips, and everything that is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopx_git.core.peer import ClaimMode
from loopx_git.core.policy import KEYS, Policy
from loopx_git.core.times import DURATION_MAX, TTL_MAX
from loopx_git.errors import InvalidState
from loopx_git.format.policy_file import SIZE_MAX, dump, load

NAME = ".loopx/policy.toml"
GOLDEN = b"""\
[claims]
mode = "exclusive"
ttl = "2h"
skew = "1m"
max_attempts = "3"
max_per_agent = "none"
scope_overlap = "refuse"

[peers]
auto_register = "false"
stale_after = "1d"
"""


def test_golden_bytes_of_a_new_ledger() -> None:
    assert dump(Policy()) == GOLDEN
    assert load(GOLDEN, name=NAME) == Policy()


def test_absent_keys_have_their_defaults() -> None:
    assert load(b"", name=NAME) == load(b"# nothing\n[claims]\n", name=NAME) == Policy()
    assert load(b'claims.ttl = "90s"\n[peers]\n"auto_register" = "true"\n', name=NAME) == Policy(
        claims_ttl=90, peers_auto_register=True
    )


counts = st.integers(1, 1_000_000)
policies = st.builds(
    Policy,
    claims_mode=st.sampled_from(ClaimMode),
    claims_ttl=st.none() | st.integers(1, TTL_MAX),
    claims_skew=st.integers(0, DURATION_MAX),
    claims_max_attempts=counts,
    claims_max_per_agent=st.none() | counts,
    claims_scope_overlap=st.sampled_from(["refuse", "allow"]),
    peers_auto_register=st.booleans(),
    peers_stale_after=st.none() | st.integers(0, DURATION_MAX),
)


@given(policies)
def test_every_policy_is_read_back_alike(policy: Policy) -> None:
    data = dump(policy)
    assert load(data, name=NAME) == policy
    assert dump(load(data, name=NAME)) == data
    assert data.count(b" = ") == len(KEYS)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'[claims]\nttll = "2h"\n', "'claims.ttll' is not a policy key"),
        (b'[claim]\nttl = "2h"\n', "unknown table 'claim'"),
        (b"[future]\n", "unknown table 'future'"),
        (b'[claims.more]\nttl = "2h"\n', "claims.more must be a string"),
        (b'ttl = "2h"\n', "'ttl' outside of a table"),
        (b"[[claims]]\n", "'claims' outside of a table"),
        (b"[claims]\nttl = 7200\n", "claims.ttl must be a string"),
        (b"[peers]\nauto_register = true\n", "peers.auto_register must be a string"),
        (b"[claims]\nttl = 2026-01-01\n", "must be a string"),
        (b'[claims]\nttl = ["2h"]\n', "must be a string"),
        (b'[claims]\nttl = "2 h"\n', "'2 h' is not a duration"),
        (b'[claims]\nttl = "-1s"\n', "is not a duration"),
        (b'[claims]\nttl = "0"\n', "out of bounds"),
        (b'[claims]\nmax_attempts = "1e3"\n', "whole number"),
        (b'[claims]\nmax_attempts = "' + b"9" * 5000 + b'"\n', "claims.max_attempts"),
        (b"[claims]\nmax_attempts = " + b"9" * 5000 + b"\n", "is not TOML"),
        (b'[claims]\nttl = "1h"\nttl = "2h"\n', "is not TOML"),
        (b'[claims]\nttl = "1h"\n[claims]\nskew = "1s"\n', "is not TOML"),
        (b"[claims\n", "is not TOML"),
        (b"\xff\n", "is not TOML"),
        (b"\xef\xbb\xbf[claims]\n", "is not TOML"),
        (b"a = " + b"[" * 5000 + b"]" * 5000, "is not TOML"),
        (b"#" * (SIZE_MAX + 1), "larger than 65536 bytes"),
    ],
)
def test_what_is_no_policy(data: bytes, words: str) -> None:
    with pytest.raises(InvalidState, match=words.replace("[", "\\[")) as caught:
        load(data, name=NAME)
    assert caught.value.message.startswith(f"{NAME}: the policy ")
    assert caught.value.about == {"file": NAME}
    assert caught.value.hint
