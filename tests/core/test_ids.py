"""The grammar of every id: whole, ASCII, and never an option or a path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopx_git.core import ids
from loopx_git.errors import InvalidState, UsageError

GOOD = {
    "todo": ["todo_000000000000", "todo_ab12cd34ef56"],
    "goal": ["main", "a", "0", "release-1-2", "x" * 63],
    "agent": ["a", "codex-1", "A.b_c-D", "0x", "x" * 64],
    "alias": ["v1.2", "x" * 64],
    "session": ["s-0123"],
    "capability": ["python3.11"],
    "label": ["P1"],
    "request": ["0123456789abcdef" * 2],
    "lease": ["todo_ab12cd34ef56@0", "todo_ab12cd34ef56@123456789012345678"],
}
#: Refused by every grammar.
NEVER = [
    "", " ", "-x", "--upload-pack=x", ".", "..", ".x", "../x", "a/b", "a\\b", "a b", "a\n", "\na", "a\x00", "a\x1b",
    "é", "e\u0301", "a\u202eb", "\u0661", "ﬁ", "a@b", "a:b", "a*", "$(x)", "x" * 65,
]  # fmt: skip


def test_every_kind_is_tried() -> None:
    assert set(GOOD) == set(ids.GRAMMAR)


@pytest.mark.parametrize("kind", ids.GRAMMAR)
def test_what_an_id_may_be(kind: str) -> None:
    for value in GOOD[kind]:
        assert ids.is_valid(kind, value) and ids.check(kind, value) == value
        for bad in (value + "\n", " " + value, value + "\u0660", "-" + value, value[:1] + "/" + value):
            assert not ids.is_valid(kind, bad)


@pytest.mark.parametrize("kind", ids.GRAMMAR)
@pytest.mark.parametrize("value", NEVER)
def test_what_no_id_may_be(kind: str, value: str) -> None:
    assert not ids.is_valid(kind, value)
    with pytest.raises(UsageError) as caught:
        ids.check(kind, value)
    assert ids.GRAMMAR[kind][1] in caught.value.hint
    with pytest.raises(InvalidState, match=r"^peers/x: "):
        ids.check(kind, value, stored=True, where="peers/x")


def test_other_near_misses() -> None:
    for kind, value in [
        ("todo", "todo_ABCDEF123456"), ("todo", "todo_12345678901"), ("todo", "todo_1234567890123"),
        ("todo", "TODO_ab12cd34ef56"),
        ("goal", "Main"), ("goal", "a_b"), ("goal", "a.b"), ("goal", "x" * 64), ("goal", ".git"),
        ("lease", "todo_ab12cd34ef56"), ("lease", "todo_ab12cd34ef56@"), ("lease", "todo_ab12cd34ef56@-1"),
        ("lease", "todo_ab12cd34ef56@1234567890123456789"), ("request", "0" * 31), ("request", "A" * 32),
    ]:  # fmt: skip
        assert not ids.is_valid(kind, value), value


def test_a_long_value_is_shown_short() -> None:
    with pytest.raises(UsageError) as caught:
        ids.check("agent", "x" * 10_000)
    assert len(caught.value.message) < 150


@given(st.binary(min_size=6, max_size=6))
def test_a_todo_id_is_made_of_six_bytes(data: bytes) -> None:
    made = ids.todo_id(data)
    assert ids.is_valid("todo", made) and bytes.fromhex(made[5:]) == data


@pytest.mark.parametrize("length", [0, 5, 7, 16])
def test_it_takes_no_other_number_of_bytes(length: int) -> None:
    with pytest.raises(ValueError, match="six random bytes"):
        ids.todo_id(b"x" * length)


@pytest.mark.parametrize(
    ("text", "digits"),
    [("ab12", "ab12"), ("todo_ab12", "ab12"), ("ab12cd34ef56", "ab12cd34ef56"), ("ab1", None), ("AB12", None),
     ("todo_", None), ("ab12cd34ef567", None), ("ab12\n", None), ("todo_todo_ab12", None)],
)  # fmt: skip
def test_prefixes(text: str, digits: str | None) -> None:
    found = ids.TODO_PREFIX.fullmatch(text)
    assert (found[1] if found else None) == digits


@pytest.mark.parametrize("mail", ["a@b", "first.last+x@example.org", "ä@bücher.example", "x" * 128 + "@" + "y" * 125])
def test_addresses(mail: str) -> None:
    assert ids.EMAIL.fullmatch(mail)


@pytest.mark.parametrize(
    "mail", ["a", "@", "a@", "@b", "a@b@c", "a b@c", "<a@b>", "a@b\n", "a\n@b", "a:b@c", "a@b\x9b", "x" * 129 + "@y"]
)
def test_what_is_no_address(mail: str) -> None:
    assert not ids.EMAIL.fullmatch(mail)


def test_names_are_compared_ignoring_case() -> None:
    assert ids.folded("Codex-1") == ids.folded("cODEX-1")
    assert ids.folded("a") != ids.folded("b")
