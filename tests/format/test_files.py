"""Todo, peer and goal files: golden bytes, round trips, edits, and everything that is refused, with file and line."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from builders import NOW, at, goal_of, peer_of, tid, todo_of
from hypothesis import given, settings
from hypothesis import strategies as st

from loopx_git.core.peer import ClaimMode, Goal, GoalStatus, Peer, PeerKind, PeerStatus
from loopx_git.core.todo import FILE_MAX, TERMINAL, Note, Status, Todo
from loopx_git.errors import InvalidState, UsageError
from loopx_git.format.files import (
    TODO,
    dump,
    dump_todo,
    edit,
    edit_todo,
    load_goal,
    load_peer,
    load_todo,
)

NAME = ".loopx/goals/main/todos/00/todo_000000000001.md"

GOLDEN = """\
---
id: todo_000000000001
goal: main
alias: parser-1
title: "fix: the \\"bug\\" in #3"
status: in_progress
priority: 1
created_at: "2026-01-02T03:04:05.678Z"
created_by: tester@example.org
scope: [src, docs/**/*.md]
requires: [python]
excluded: []
depends_on: [todo_000000000002]
labels: [bug, "1.0"]
resume_after:
validate: [make, test]
branch: feature/parser
attempts: 1
claimed_by: codex-1
soft_claims: [alice]
supersedes: []
successor:
completed_at:
---

Why it is so.

## Notes

- 2026-01-02T03:05:00Z codex-1: half done
  - second line
"""
FULL = Todo(
    id=tid(1),
    goal="main",
    title='fix: the "bug" in #3',
    status=Status.IN_PROGRESS,
    created_at=NOW,
    created_by="tester@example.org",
    priority=1,
    alias="parser-1",
    scope=("src", "docs/**/*.md"),
    requires=("python",),
    depends_on=(tid(2),),
    labels=("bug", "1.0"),
    validate=("make", "test"),
    branch="feature/parser",
    attempts=1,
    claimed_by="codex-1",
    soft_claims=("alice",),
    body="Why it is so.",
)
NOTED = replace(FULL, notes=(Note("2026-01-02T03:05:00Z", "codex-1", "half done\n- second line"),))


def load(data: bytes | str, number: int = 1, *, archived: bool = False) -> Todo:
    raw = data.encode() if isinstance(data, str) else data
    return load_todo(raw, "main", tid(number), archived=archived, name=NAME)


# -- golden bytes


def test_golden_bytes_of_a_todo() -> None:
    """A note is never part of a new file: it is appended to one that is there."""
    new = dump_todo(FULL)
    assert edit_todo(new, FULL, NOTED, name=NAME).decode() == GOLDEN
    assert load(GOLDEN) == NOTED


def test_golden_bytes_of_the_least_todo() -> None:
    least = Todo(tid(1), "main", "x", Status.OPEN, datetime(2026, 1, 2, tzinfo=UTC), "alice")
    assert dump_todo(least).decode() == (
        '---\nid: todo_000000000001\ngoal: main\nalias:\ntitle: x\nstatus: open\npriority: 2\n'
        'created_at: "2026-01-02T00:00:00Z"\ncreated_by: alice\nscope: []\nrequires: []\nexcluded: []\n'
        "depends_on: []\nlabels: []\nresume_after:\nvalidate: []\nbranch:\nattempts: 0\nclaimed_by:\n"
        "soft_claims: []\nsupersedes: []\nsuccessor:\ncompleted_at:\n---\n"
    )  # fmt: skip


def test_golden_bytes_of_a_peer_and_a_goal() -> None:
    peer = Peer("codex-1", NOW, "alice", PeerKind.LOOP, PeerStatus.PAUSED, ("gpu",), at(60))
    assert dump(peer).decode() == (
        "---\nagent: codex-1\nkind: loop\nstatus: paused\ncapabilities: [gpu]\n"
        'created_at: "2026-01-02T03:04:05.678Z"\ncreated_by: alice\nlast_seen: "2026-01-02T03:05:05.678Z"\n---\n'
    )
    goal = Goal("main", "all: of it", NOW, "alice", GoalStatus.CLOSED, ClaimMode.SOFT)
    assert dump(goal).decode() == (
        '---\nid: main\ntitle: "all: of it"\nstatus: closed\nclaims: soft\n'
        'created_at: "2026-01-02T03:04:05.678Z"\ncreated_by: alice\n---\n'
    )
    assert load_peer(dump(peer), "codex-1", name="p") == peer
    assert load_goal(dump(goal), "main", name="g") == goal


# -- round trips

names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)
few_names = st.lists(names, max_size=3, unique=True).map(tuple)
ids = st.integers(0, 2**48 - 1).map(tid)
few_ids = st.lists(ids, max_size=2, unique=True).map(tuple)
lines = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\ufeff"), min_size=1, max_size=60
).filter(lambda text: text.strip() == text and bool(text.strip()))
texts = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], include_characters="\n\t", exclude_characters="\ufeff")
)
times = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 30), timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
scopes = st.lists(st.sampled_from(["src", "/a/b", "*.py", "docs/**", "a\\ b", "[a-z].c", "no", "12:30"]), max_size=3,
                  unique=True).map(tuple)  # fmt: skip
todos = st.builds(
    Todo, st.just(tid(1)), st.just("main"), lines, st.sampled_from(sorted(set(Status) - {Status.ARCHIVED})), times,
    names | names.map(lambda name: f"{name}@example.org"), priority=st.integers(0, 4), alias=st.none() | names,
    scope=scopes, requires=few_names, excluded=few_names, depends_on=few_ids, labels=few_names,
    resume_after=st.none() | times, validate=st.lists(texts, max_size=3).map(tuple),
    branch=st.none() | names.filter(lambda name: ".." not in name and not name.endswith((".", ".lock"))),
    attempts=st.integers(0, 99), claimed_by=st.none() | names, soft_claims=few_names, supersedes=few_ids,
    successor=st.none() | ids, completed_at=st.none() | times,
    body=texts.map(lambda text: text.strip("\n")).filter(lambda text: "## Notes" not in text),
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(todos)
def test_every_todo_is_read_back_alike(todo: Todo) -> None:
    data = dump_todo(todo)
    assert load(data) == todo
    assert edit_todo(data, todo, todo, name=NAME) == data
    if todo.status in TERMINAL:
        assert load(data, archived=True) == replace(todo, archived=True)


@settings(deadline=None, max_examples=150)
@given(
    todos,
    todos,
    st.lists(st.builds(Note, st.just("2026-01-01T00:00:00Z"), names, texts.filter(str.strip)), max_size=2),
)
def test_every_edit_is_read_back_alike(before: Todo, after: Todo, notes: list[Note]) -> None:
    after = replace(after, notes=tuple(notes))
    edited = edit_todo(dump_todo(before), before, after, name=NAME)
    assert load(edited) == after
    assert edit_todo(edited, after, after, name=NAME) == edited


# -- a file that people have edited

HAND = (
    "---\r\n# our todo\r\nid: 'todo_000000000001'\r\ntitle: by hand   # keep me\r\ngoal: main\r\nstatus: open\r\n"
    'colour: [red, {deep: 1}]\r\ncreated_at: "2026-01-02T03:04:05Z"\r\ncreated_by: alice\r\npriority: 3\r\n---\r\n'
    "\r\nSome text.\r\n\r\n\r\n"
)


def test_an_edit_rewrites_only_what_changes() -> None:
    before = load(HAND)
    assert (before.body, before.priority, before.attempts) == ("Some text.", 3, 0)
    assert before.extra == {"colour": "colour: [red, {deep: 1}]\r\n"}
    after = replace(before, status=Status.BLOCKED, attempts=2, claimed_by="bob")
    edited = edit_todo(HAND.encode(), before, after, name=NAME).decode()
    assert load(edited) == after
    kept = [line for line in HAND.split("\r\n") if not line.startswith("status:")]
    lines = edited.split("\r\n")
    assert [line for line in lines if line in kept] == kept
    assert "status: blocked" in lines and "claimed_by: bob" in lines and "attempts: 2" in lines
    assert "\n" not in edited.replace("\r\n", "")


def test_a_comment_behind_a_value_stays() -> None:
    before = load(HAND)
    edited = edit_todo(HAND.encode(), before, replace(before, title="new"), name=NAME)
    assert b"title: new   # keep me\r\n" in edited


def test_a_note_is_appended_and_all_before_it_stays() -> None:
    before = load(HAND)
    note = Note("2026-01-02T03:04:05Z", "bob", "seen\nby me")
    edited = edit_todo(HAND.encode(), before, replace(before, notes=(note,)), name=NAME)
    assert edited.startswith(HAND.encode())
    assert load(edited).notes == (note,) and load(edited).body == before.body


def test_a_new_body_keeps_the_notes() -> None:
    edited = edit_todo(GOLDEN.encode(), NOTED, replace(NOTED, body="Another\ntext."), name=NAME).decode()
    assert edited == GOLDEN.replace("Why it is so.", "Another\ntext.")
    emptied = edit_todo(GOLDEN.encode(), NOTED, replace(NOTED, body=""), name=NAME)
    assert load(emptied) == replace(NOTED, body="")


def test_notes_are_never_changed() -> None:
    with pytest.raises(AssertionError, match="appended"):
        edit_todo(GOLDEN.encode(), NOTED, FULL, name=NAME)


def test_what_cannot_be_edited_line_by_line_says_where() -> None:
    odd = HAND.replace("status: open", "status: # why\r\n  open")
    before = load(odd)
    with pytest.raises(InvalidState) as caught:
        edit_todo(odd.encode(), before, replace(before, status=Status.BLOCKED), name=NAME)
    assert caught.value.about == {"file": NAME, "line": 6}
    assert edit_todo(odd.encode(), before, replace(before, priority=0), name=NAME)


def test_a_file_has_a_largest_size() -> None:
    big = todo_of(1, body="x" * 60_000)
    notes = tuple(Note("2026-01-02T03:04:05Z", "bob", "y" * 60_000) for _ in range(4))
    with pytest.raises(InvalidState, match=str(FILE_MAX)):
        edit_todo(dump_todo(big), big, replace(big, notes=notes), name=NAME)
    with pytest.raises(UsageError, match="the todo cannot be stored"):
        dump_todo(replace(big, validate=("x" * 4096,) * 60))
    with pytest.raises(InvalidState, match=str(FILE_MAX)):
        load(dump_todo(big) + b"x" * FILE_MAX)


# -- what is refused

LINE = {line.split(":")[0]: number for number, line in enumerate(GOLDEN.split("\n"), 1) if ":" in line}
BAD: list[tuple[str, str, str]] = [
    ("id", "todo_000000000002", "does not agree with the path"),
    ("id", "todo_1", "is not a valid todo"),
    ("goal", "other", "does not agree with the path"),
    ("goal", "Main", "is not a valid goal"),
    ("alias", '"-x"', "is not a valid alias"),
    ("alias", "[a]", "must be one text"),
    ("title", '" x"', "white space"),
    ("title", '"a\\nLoopx-Op: claim"', "U+000A"),
    ("title", '"a\\x1b[31m"', "U+001B"),
    ("title", '"a\\u2028b"', "U+2028"),
    ("title", '"a\\uFEFFb"', "byte order mark"),
    ("title", "{a: b}", "must be one text"),
    ("status", "done", "'done'"),
    ("status", "archived", "not a value that is written"),
    ("status", "Open", "'Open'"),
    ("priority", "high", "is not a whole number"),
    ("priority", "-1", "is not a whole number"),
    ("priority", "1.5", "is not a whole number"),
    ("priority", "5", "is not a priority"),
    ("priority", '"٣"', "is not a whole number"),
    ("priority", "1" * 10, "is not a whole number"),
    ("created_at", "2026-01-02", "is not a UTC timestamp"),
    ("created_at", '"2026-01-02T03:04:05"', "is not a UTC timestamp"),
    ("created_at", '"2026-02-30T03:04:05Z"', "is not a UTC timestamp"),
    ("created_by", "a b", "neither an agent's id nor"),
    ("scope", "src", "must be a list"),
    ("scope", "[src, src]", "names something twice"),
    ("scope", "['../x']", "is not a scope pattern"),
    ("scope", "[a: b]", "not a text"),
    ("scope", "[a, ]\n  - b", "yaml"),
    ("requires", "[a b]", "is not a valid capability"),
    ("excluded", "['-x']", "is not a valid agent"),
    ("depends_on", "[ab12]", "is not a valid todo"),
    ("labels", "[a, null]", "is null"),
    ("resume_after", "tomorrow", "is not a UTC timestamp"),
    ("validate", "[" + ", ".join("x" for _ in range(101)) + "]", "101 items"),
    ("branch", '"-x"', "is not a branch name"),
    ("attempts", "-1", "is not a whole number"),
    ("attempts", "1000001", "is not a count"),
    ("claimed_by", "a b", "is not a valid agent"),
    ("claimed_by", "a@b", "is not a valid agent"),
    ("soft_claims", "[a, a]", "names something twice"),
    ("supersedes", "[x]", "is not a valid todo"),
    ("successor", "x", "is not a valid todo"),
    ("completed_at", "12:30", "is not a UTC timestamp"),
]


@pytest.mark.parametrize(("key", "value", "words"), BAD)
def test_a_bad_value_is_refused_with_its_line(key: str, value: str, words: str) -> None:
    lines = GOLDEN.split("\n")
    lines[LINE[key] - 1] = f"{key}: {value}"
    with pytest.raises(InvalidState) as caught:
        load("\n".join(lines))
    error = caught.value
    where = error.about["line"]
    assert error.message.startswith(f"{NAME}:{where}: ")
    assert error.about["file"] == NAME and error.hint
    if words != "yaml":
        assert where == LINE[key]
        assert words in error.message
    assert len(error.message) < 1200


def test_every_key_is_tried() -> None:
    assert {key for key, _, _ in BAD} == set(TODO)


@pytest.mark.parametrize("key", [key for key, field in TODO.items() if field.required])
@pytest.mark.parametrize("how", ["absent", "empty", "null", "text"])
def test_a_needed_key_is_missing(key: str, how: str) -> None:
    line = GOLDEN.split("\n")[LINE[key] - 1] + "\n"
    put = {"absent": "", "empty": f"{key}:\n", "null": f"{key}: ~\n", "text": f'{key}: ""\n'}[how]
    with pytest.raises(InvalidState, match=f":{1 if how == 'absent' else LINE[key]}: {key} is missing"):
        load(GOLDEN.replace(line, put))


@pytest.mark.parametrize("key", [key for key, field in TODO.items() if not field.required])
def test_any_other_key_may_be_missing(key: str) -> None:
    line = GOLDEN.split("\n")[LINE[key] - 1] + "\n"
    for put in ("", f"{key}:\n"):
        assert getattr(load(GOLDEN.replace(line, put)), key) == TODO[key].default


@pytest.mark.parametrize(
    ("status", "ok"), [(status, status in TERMINAL) for status in Status if status != "archived"]
)
def test_only_what_has_ended_lies_in_the_archive(status: Status, ok: bool) -> None:
    data = GOLDEN.replace("status: in_progress", f"status: {status}")
    if ok:
        assert load(data, archived=True).state is Status.ARCHIVED
        return
    with pytest.raises(InvalidState, match=f":{LINE['status']}: status is not terminal"):
        load(data, archived=True)


def test_the_line_is_that_of_the_key_wherever_it_stands() -> None:
    swapped = GOLDEN.replace("priority: 1\n", "").replace("---\n\n", '"priority": 9\n---\n\n')
    with pytest.raises(InvalidState) as caught:
        load(swapped)
    assert caught.value.about == {"file": NAME, "line": LINE["completed_at"], "field": "priority"}


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("agent: alice", "agent: bob", 2),
        ("agent: alice", "agent: a b", 2),
        ("kind: agent", "kind: robot", 3),
        ("status: active", "status: gone", 4),
        ("capabilities: []", "capabilities: [a b]", 5),
        ("capabilities: []", "capabilities: x", 5),
        ("created_by:", "created_by: a b #", 7),
        ("last_seen:", "last_seen: now", 8),
        ("agent: alice", "agent: alice\nagent: alice", 3),
    ],
)
def test_a_peer_file_is_read_strictly(old: str, new: str, line: int) -> None:
    data = dump(peer_of("alice")).decode()
    assert old in data
    with pytest.raises(InvalidState) as caught:
        load_peer(data.replace(old, new, 1).encode(), "alice", name="peers/alice.md")
    assert caught.value.message.startswith(f"peers/alice.md:{line}: ")
    assert (caught.value.about["file"], caught.value.about["line"]) == ("peers/alice.md", line)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("id: main", "id: other", 2),
        ("id: main", "id: Main", 2),
        ("title: main", "title:", 3),
        ("title: main", 'title: "a\\nb"', 3),
        ("title: main", f"title: {'x' * 1001}", 3),
        ("status: open", "status: ajar", 4),
        ("claims:", "claims: some", 5),
        ("created_at:", "created_at: never #", 6),
    ],
)
def test_a_goal_file_is_read_strictly(old: str, new: str, line: int) -> None:
    data = dump(goal_of("main")).decode()
    assert old in data
    with pytest.raises(InvalidState) as caught:
        load_goal(data.replace(old, new, 1).encode(), "main", name="goal.md")
    assert caught.value.message.startswith(f"goal.md:{line}: ")
    assert caught.value.about["line"] == line


@pytest.mark.parametrize(
    "changes", [{"status": PeerStatus.PAUSED}, {"kind": PeerKind.HUMAN, "capabilities": ("a",)}, {"last_seen": at(9)}]
)
def test_edits_of_a_peer(changes: dict[str, Any]) -> None:
    hand = b"---\nagent: alice # me\ncreated_at: 2026-01-02T00:00:00Z\ncreated_by: bob\nmore: [x]\n---\nHello\n"
    before = load_peer(hand, "alice", name="p")
    after = replace(before, **changes)
    edited = edit(hand, before, after, name="p")
    assert load_peer(edited, "alice", name="p") == after
    assert b"agent: alice # me\n" in edited and edited.endswith(b"more: [x]\n---\nHello\n")


def test_edits_of_a_goal() -> None:
    hand = b"---\nid: main\ntitle: x\ncreated_at: 2026-01-02T00:00:00Z\ncreated_by: bob\n---\nHello\n"
    before = load_goal(hand, "main", name="g")
    after = replace(before, status=GoalStatus.CLOSED, claims=ClaimMode.SOFT)
    edited = edit(hand, before, after, name="g")
    assert load_goal(edited, "main", name="g") == after
    assert edited == hand.replace(b"title: x\n", b"title: x\nstatus: closed\nclaims: soft\n")
