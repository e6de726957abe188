"""The commit message: golden bytes, round trips, strict reading, and that no text can forge a trailer."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from builders import ALICE, World, tid
from hypothesis import given
from hypothesis import strategies as st

from loopx_git.core.change import Op
from loopx_git.core.commands import AddTodo
from loopx_git.core.table import Operation
from loopx_git.errors import InvalidState, LoopXError
from loopx_git.format.message import SIZE_MAX, TRAILERS, Message, dump, load

GOLDEN = """\
claim todo_ab12cd34ef56 by codex-1

Loopx-Op: claim
Loopx-Goal: main
Loopx-Todo: todo_ab12cd34ef56
Loopx-Epoch: 4
Loopx-Agent: codex-1
Loopx-Session: s-1
Loopx-Prev: bob@3
Loopx-Renew: todo_000000000001@1 todo_000000000002@7
Loopx-Request: 0123456789abcdef0123456789abcdef
Loopx-Nonce: fedcba9876543210fedcba9876543210
Loopx-Version: 0.1.0
"""
MESSAGE = Message(
    "claim todo_ab12cd34ef56 by codex-1", Op.CLAIM, "codex-1", "0123456789abcdef" * 2, "fedcba9876543210" * 2,
    "0.1.0", "main", "todo_ab12cd34ef56", 4, "s-1", "bob@3", renew=(f"{tid(1)}@1", f"{tid(2)}@7"),
)  # fmt: skip
FULL = replace(MESSAGE, op=Op.RELEASE, reason="the machine is gone", code="refs/heads/main@" + "a" * 40)


def test_golden_bytes() -> None:
    assert dump(MESSAGE) == GOLDEN
    assert load(GOLDEN) == MESSAGE


def test_every_trailer_is_a_field() -> None:
    assert {field.name for field in fields(Message)} == {"subject", *map(str.lower, TRAILERS)}
    assert all(f"\nLoopx-{key}: " in dump(FULL) for key in TRAILERS)


names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)
tokens = st.from_regex(r"[0-9a-f]{32}", fullmatch=True)
todos = st.integers(0, 2**48 - 1).map(tid)
counts = st.integers(0, 10**15)
lines = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\ufeff"), min_size=1,
                max_size=80).filter(lambda text: text.strip() == text)  # fmt: skip
messages = st.builds(
    Message,
    subject=lines,
    op=st.sampled_from(Op),
    agent=names | names.map(lambda name: f"{name}@example.org"),
    request=tokens,
    nonce=tokens,
    version=st.just("0.1.0"),
    goal=st.none() | st.from_regex(r"[a-z0-9][a-z0-9-]{0,62}", fullmatch=True),
    todo=st.none() | todos,
    epoch=st.none() | counts,
    session=st.none() | names,
    prev=st.none() | st.builds("{}@{}".format, names, st.integers(1, 10**15)),
    reason=st.none() | lines,
    code=st.none() | names.map(lambda name: f"refs/heads/{name}@{'0' * 40}"),
    renew=st.lists(st.builds("{}@{}".format, todos, counts), max_size=3).map(tuple),
)


@given(messages)
def test_every_message_is_read_back_alike(message: Message) -> None:
    assert load(dump(message)) == message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "subject",
        "subject\n",
        "subject\n\n",
        GOLDEN.removesuffix("\n"),
        GOLDEN + "\n",
        "\n" + GOLDEN,
        " \n" + GOLDEN.partition("\n")[2],
        GOLDEN.replace("\n\n", "\n"),
        GOLDEN.replace("\n\n", "\n\n\n"),
        GOLDEN.replace("\n\n", "\n \n"),
        GOLDEN.replace("\n\n", "\n\nSome text above.\n\n"),
        GOLDEN.replace("\n\n", "\nLoopx-Agent: mallory\n\n"),
        GOLDEN.replace("\n", "\r\n"),
        GOLDEN + "Signed-off-by: A <a@example.org>\n",
        GOLDEN + "Loopx-Colour: red\n",
        GOLDEN + "loopx-reason: x\n",
        GOLDEN + "Loopx-Op: claim\n",
        GOLDEN + "Loopx-Renew: todo_000000000003@1\n",
        GOLDEN + "Loopx-Reason:x\n",
        GOLDEN + "Loopx-Reason:  x\n",
        GOLDEN + "Loopx-Reason: \n",
        GOLDEN + "Loopx-Reason: a\n b\n",
        GOLDEN + "Loopx-Reason: a\u2028Loopx-Code: b\n",
        GOLDEN + "Loopx-Reason: a\rb\n",
        GOLDEN + f"Loopx-Reason: {'x' * 301}\n",
        GOLDEN + "Loopx-Code: refs/heads/main\n",
        GOLDEN + f"Loopx-Code: refs/heads/a b@{'0' * 40}\n",
        GOLDEN + "x" * SIZE_MAX,
    ],
)
def test_what_is_no_message(text: str) -> None:
    with pytest.raises(InvalidState, match=r"^the commit message "):
        load(text)


@pytest.mark.parametrize("key", [key for key, needed in TRAILERS.items() if needed])
def test_a_needed_trailer_is_missing(key: str) -> None:
    text = "".join(line for line in GOLDEN.splitlines(True) if not line.startswith(f"Loopx-{key}:"))
    with pytest.raises(InvalidState, match=f"lacks the trailer Loopx-{key}"):
        load(text)


@pytest.mark.parametrize("key", [key for key, needed in TRAILERS.items() if not needed])
def test_any_other_trailer_may_be_missing(key: str) -> None:
    text = "".join(line for line in GOLDEN.splitlines(True) if not line.startswith(f"Loopx-{key}:"))
    assert getattr(load(text), key.lower()) in (None, ())


@pytest.mark.parametrize(
    ("key", "bad"),
    [
        ("Op", ["steal", "Claim", "claim ", ""]),
        ("Goal", ["Main", "../x", "a b"]),
        ("Todo", ["todo_1", "todo_AB12CD34EF56", "x"]),
        ("Epoch", ["-1", "04", "1.0", "four", "1" * 17, "٣"]),
        ("Agent", ["a b", "-x", "a@b@c", "x" * 65, "@", "<a@example.org>"]),
        ("Session", ["a b", "", "x" * 65]),
        ("Prev", ["bob", "bob@0", "bob@", "@3", "a b@3", "bob@03"]),
        ("Renew", ["", " ", f"{tid(1)}@1  {tid(2)}@1", f"{tid(1)}@1 ", f"{tid(1)}", "x@1"]),
        ("Request", ["0" * 31, "0" * 33, "X" * 32]),
        ("Nonce", ["0" * 31, "Z" * 32]),
        ("Version", ["", "0 1", "x" * 41, "1\t2"]),
    ],
)
def test_a_trailer_is_malformed(key: str, bad: list[str]) -> None:
    for value in bad:
        text = "".join(
            f"Loopx-{key}: {value}\n" if line.startswith(f"Loopx-{key}:") else line
            for line in GOLDEN.splitlines(True)
        )
        with pytest.raises(InvalidState, match=f"malformed Loopx-{key}|not a trailer of ours"):
            load(text)


# -- nothing that a caller says becomes a trailer

FORGED = "Loopx-Agent: mallory"
ATTACKS = [
    f"x{end}{FORGED}" for end in ("\n", "\r", "\r\n", "\n\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029")
]


@pytest.mark.parametrize("text", [*ATTACKS, FORGED, f"x {FORGED}"])
@pytest.mark.parametrize("where", ["title", "note", "reason", "label", "alias", "session", "agent"])
def test_no_text_forges_a_trailer(where: str, text: str) -> None:
    """Either it is refused, or the commit that carries it has the trailers of its own operation and no more."""
    world = World().begin(todos=1)
    clone = world.first
    clone.on(Operation.CLAIM, 0, ALICE)
    before = world.tip
    attempts: dict[str, Any] = {
        "title": lambda: clone.submit(AddTodo(tid(7), text), by=ALICE),
        "note": lambda: clone.on(Operation.UPDATE, 0, ALICE, note=text),
        "reason": lambda: clone.on(Operation.CANCEL, 0, ALICE, force=True, reason=text),
        "label": lambda: clone.on(Operation.UPDATE, 0, ALICE, fields={"labels": (text,)}),
        "alias": lambda: clone.submit(AddTodo(tid(7), "x", alias=text), by=ALICE),
        "session": lambda: clone.on(Operation.RELEASE, 0, replace(ALICE, session=text)),
        "agent": lambda: clone.on(Operation.SOFT, 0, replace(ALICE, name=text)),
    }
    try:
        attempts[where]()
    except LoopXError as refusal:
        assert refusal.code in (2, 11, 12, 15)
        assert world.tip == before
        return
    said = load(world.objects.commit(world.tip).message)
    assert said.agent == "alice"
    assert where in ("title", "note", "reason")
    assert not world.faults()
