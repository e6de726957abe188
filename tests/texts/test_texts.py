"""Texts of every kind: stored and read back equal in another clone, or refused with the reason and nothing written.
What people see on a terminal cannot steer it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from clones import Clone, World, populate
from memory_store import MemoryTree

from loopx_git.client.client import Client
from loopx_git.core.change import Actor
from loopx_git.core.commands import AddTodo, Command, OnTodo
from loopx_git.core.lease import Clocks
from loopx_git.core.peer import Peer
from loopx_git.core.plan import plan
from loopx_git.core.plan_setup import init
from loopx_git.core.table import Operation
from loopx_git.core.todo import Status, Todo
from loopx_git.errors import InvalidState, UsageError
from loopx_git.format import files, layout
from loopx_git.ledger.encode import encode
from loopx_git.ledger.snapshot import TreeSnapshot

LINES = [
    "fix: the bug", "- x", "-x", "--force", "-h", "@x", "true", "no", "null", "~", "2026", "1e3", "0x10", "010",
    "1_000", "12:30", "2026-01-02", "a: b # c", "# no comment", "'single'", '"double"', "it's \"both\"",
    "back\\slash \\n \\u0041", "C:\\", "`tick`", "%x", "!tag", "&anchor *alias", "*", "[a, b]", "{a: b}", "| block",
    "> folded", "? key", ": v", "x:", "x #", "---", "...", "<<: *x", "emoji 🚀 \U0001f469\u200d\U0001f467 ☂",
    "שלום עולם, مرحبا", "日本語", "bidi \u202e gnisrever \u2066 isolate", "zero\u200bwidth\u200d",
    "composed \u00e9, decomposed e\u0301", "\u0301 begins with a combining mark", "no-break\u00a0space", "## Notes",
    "- 2026-01-01T00:00:00Z bob: forged", "<img src=x onerror=alert(1)>", "$(touch x)", "; rm -rf / &",
    "Loopx-Epoch: 9", "frontmatter", "content", "\U0010ffff", "x" * 1000, "ß" * 1000,
]  # fmt: skip
TEXTS = [
    *LINES,
    "two\nlines",
    "a gap\n\n\nof lines",
    "\ttabs\n\tand  spaces  \n  at line ends  ",
    "---\nkey: value\n---\n",
    "x\n\nLoopx-Op: claim\nLoopx-Epoch: 9\nLoopx-Agent: mallory",
    "## Not the notes\n\n- item",
    "```\ncode\n```",
    "- 2026-01-01T00:00:00Z bob: forged\n  more",
    "ten kilobytes " * 740,
    "é" * 32768,
]


@pytest.fixture
def mine(alice: Clone) -> str:
    """A todo that alice holds."""
    [todo] = populate(alice, titles=["mine"])
    alice.run("todo", "claim", todo, agent="alice")
    return todo


#: Of the lines, those that a command line could take for something else.
TYPED = [
    "- x",
    "-x",
    "--force",
    "-h",
    "--json",
    "@x",
    "a: b # c",
    "'single'",
    '"double"',
    "C:\\",
    "$(touch x)",
    "שלום ☂",
]


def listed(clone: Clone) -> dict[str, tuple[str, str]]:
    found = clone.run("todo", "list", "--fresh").json["todos"]
    return {todo["id"]: (todo["title"], todo["body"]) for todo in found}


def test_titles_come_back_equal(ledger: World, alice: Clone, bob: Clone) -> None:
    wanted = dict(zip(populate(alice, titles=LINES), LINES, strict=True))
    for number, text in enumerate(TYPED):
        args = ["--", text] if number % 2 else ["--title", text]
        wanted[alice.run("todo", "add", *args).json["todo"]["id"]] = text
    assert {todo: title for todo, (title, _) in listed(bob).items()} == wanted
    assert bob.verified()["ok"]


def test_bodies_come_back_equal(ledger: World, alice: Clone, bob: Clone) -> None:
    texts = [text for text in TEXTS if text != "## Notes"]
    ids = [f"todo_{number:012x}" for number in range(len(texts))]
    client = Client(alice.path, alice.env)
    commands: list[Command] = [AddTodo(todo, "x", body=text) for todo, text in zip(ids, texts, strict=True)]
    client.submit(commands, client.connection.actor())
    wanted = {todo: ("x", text.strip("\n")) for todo, text in zip(ids, texts, strict=True)}
    for number, text in enumerate(TYPED[:4]):
        args = ["--body", text] if number % 2 else ["--body-file", "-"]
        added = alice.run("todo", "add", "x", *args, stdin=f"{text}\n".encode()).json["todo"]
        wanted[added["id"]] = ("x", text)
    assert listed(bob) == wanted
    assert bob.verified()["ok"]


def test_notes_come_back_equal(ledger: World, alice: Clone, bob: Clone, mine: str) -> None:
    texts = list(TEXTS)
    client = Client(alice.path, alice.env, {"agent": "alice"})
    commands: list[Command] = [OnTodo(Operation.UPDATE, mine, note=text) for text in texts]
    client.submit(commands, client.connection.actor())
    for number, text in enumerate(TYPED[:4]):
        args = ["--note", text] if number % 2 else ["--note-file", "-"]
        alice.run("todo", "update", mine, *args, agent="alice", stdin=f"{text}\n".encode())
        texts.append(text)
    shown = bob.show(mine)["todo"]
    assert [note["text"] for note in shown["notes"]] == texts
    assert {note["agent"] for note in shown["notes"]} == {"alice"}
    assert shown["body"] == ""
    assert bob.verified()["ok"]


def test_a_new_title_and_body_come_back_equal(ledger: World, alice: Clone, bob: Clone, mine: str) -> None:
    alice.run("todo", "update", mine, "--note", "## Notes", agent="alice")
    for text in ("- x", "a: b # c", "2026", "שלום", "'\"\\"):
        alice.run("todo", "update", mine, "--title", text, "--body", f"{text}\n\n{text}", agent="alice")
        shown = bob.show(mine)["todo"]
        assert (shown["title"], shown["body"]) == (text, f"{text}\n\n{text}")
        assert [note["text"] for note in shown["notes"]] == ["## Notes"]
    alice.run("todo", "update", mine, "--clear", "body", agent="alice")
    assert bob.show(mine)["todo"]["body"] == ""
    assert bob.verified()["ok"]


FORGED_NOTES = "work\n\n## Notes\n\n- 2026-01-01T00:00:00Z bob: I approve"


def test_a_body_cannot_forge_notes(ledger: World, alice: Clone, bob: Clone, mine: str) -> None:
    """Text that would be read as notes of somebody is refused; text that only looks a little like it is a body."""
    tip = ledger.tip()
    for args in (["todo", "add", "x"], ["todo", "update", mine]):
        for body in (FORGED_NOTES, "## Notes", "x\n\n## Notes\n\n", FORGED_NOTES.replace("\n\n", "\n")):
            error = alice.run(*args, "--body", body, agent="alice", check=2).error
            assert "## Notes" in error["message"]
            assert error["hint"]
    assert ledger.tip() == tip
    for number, body in enumerate((f"{FORGED_NOTES}\nfree text", FORGED_NOTES.replace("## ", "### "))):
        alice.run("todo", "update", mine, "--body", body, "--note", "a note", agent="alice")
        shown = bob.show(mine)["todo"]
        assert (shown["body"], len(shown["notes"])) == (body, number + 1)
    assert bob.verified()["ok"]


def test_a_note_cannot_forge_trailers(ledger: World, alice: Clone, mine: str) -> None:
    note = "done\n\nLoopx-Op: claim\nLoopx-Epoch: 99\nLoopx-Agent: mallory\n"
    alice.run("todo", "update", mine, "--note", note, agent="alice")
    raw = ledger.git("log", "-1", "--format=%B", "loopx/coord", folder=ledger.remote)
    trailers = ledger.git("interpret-trailers", "--parse", stdin=raw.encode()).split("\n")
    keys = [line.partition(":")[0] for line in trailers]
    assert len(set(keys)) == len(keys)
    assert {"Loopx-Op: update", "Loopx-Epoch: 1", "Loopx-Agent: alice"} <= set(trailers)
    assert "mallory" not in raw


# -- refused


BAD_LINES = {
    "empty": "",
    "blank": "   ",
    "leading blank": " x",
    "trailing blank": "x ",
    "newline": "x\ny",
    "forged trailer": "x\n\nLoopx-Epoch: 9",
    "carriage return": "x\rLoopx-Epoch: 9",
    "line separator": "x\u2028y",
    "paragraph separator": "x\u2029y",
    "next line": "x\u0085y",
    "vertical tab": "x\x0by",
    "tab": "x\ty",
    "escape": "\x1b[31mred",
    "hyperlink": "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "c1 control": "\x9b31m",
    "bell": "x\x07",
    "delete": "x\x7f",
    "byte order mark": "\ufeffx",
    "ten kilobytes": "x" * 10240,
    "invalid UTF-8": b"x\xff\xfe",
    "encoded surrogate": b"x\xed\xa0\x80",
}


def test_bad_titles_are_refused(ledger: World, alice: Clone, mine: str) -> None:
    tip = ledger.tip()
    client = Client(alice.path, alice.env)
    for name, text in BAD_LINES.items():
        with pytest.raises(UsageError) as raised:
            client.todo.add(text if isinstance(text, str) else text.decode("utf-8", "surrogateescape"))
        assert "title" in raised.value.message, name
        assert raised.value.hint, name
    for name in ("newline", "escape", "invalid UTF-8", "ten kilobytes", "empty", "forged trailer"):
        assert alice.run("todo", "add", "--title", BAD_LINES[name], check=2).error["hint"]
        alice.run("todo", "update", mine, "--title", BAD_LINES[name], agent="alice", check=2)
    assert ledger.tip() == tip


@pytest.mark.parametrize("where", ["reason", "goal title", "branch", "note", "body"])
def test_bad_texts_elsewhere_are_refused(ledger: World, alice: Clone, mine: str, where: str) -> None:
    commands: dict[str, list[str]] = {
        "reason": ["todo", "release", mine, "--force", "--reason"],
        "goal title": ["goal", "create", "other", "--title"],
        "branch": ["todo", "add", "x", "--branch"],
        "note": ["todo", "update", mine, "--note"],
        "body": ["todo", "add", "x", "--body"],
    }
    names = ["escape", "clipboard", "c1 control", "byte order mark", "invalid UTF-8", "carriage return"]
    if where in ("reason", "goal title", "branch"):
        names += ["newline", "line separator", "ten kilobytes"]
    tip = ledger.tip()
    for name in names:
        error = alice.run(*commands[where], BAD_LINES[name], agent="alice", check=2).error
        assert error["hint"], name
    assert ledger.tip() == tip


def test_what_is_too_large_is_refused(ledger: World, alice: Clone, mine: str) -> None:
    tip = ledger.tip()
    for args in (["todo", "update", mine, "--note-file", "-"], ["todo", "add", "x", "--body-file", "-"]):
        assert "bytes" in alice.run(*args, agent="alice", stdin=b"x" * 65537, check=2).error["message"]
        assert "UTF-8" in alice.run(*args, agent="alice", stdin=b"\xff", check=2).error["message"]
        assert alice.run(*args, agent="alice", stdin=b"x" * 3_000_000, check=2).error["hint"]
    assert ledger.tip() == tip


def test_a_todo_that_is_full_takes_no_more_notes(ledger: World, alice: Clone, bob: Clone, mine: str) -> None:
    """The file's limit is 256 KiB: the note that does not fit is refused, and the todo stays usable."""
    note = b"x" * 60000
    for _ in range(4):
        alice.run("todo", "update", mine, "--note-file", "-", agent="alice", stdin=note)
    tip = ledger.tip()
    error = alice.run("todo", "update", mine, "--note-file", "-", agent="alice", stdin=note, check=(2, 15, 16)).error
    assert error["hint"]
    assert ledger.tip() == tip
    assert len(bob.show(mine)["todo"]["notes"]) == 4
    alice.run("todo", "complete", mine, agent="alice")


# -- what a terminal sees


def steering(text: str) -> list[str]:
    """Control and bidi-control characters in what was printed (line ends are none)."""
    return re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]", text)


def test_text_output_is_neutral(ledger: World, alice: Clone, bob: Clone, mine: str) -> None:
    evil = "bidi \u202e gnisrever \u2066 \u200f x"
    [todo] = populate(alice, titles=[evil])
    alice.run("todo", "update", mine, "--note", f"{evil}\n{evil}", "--body", evil, agent="alice")
    outputs = [
        bob.run("todo", "list", "--fresh", json=False).out,
        bob.run("todo", "show", todo, json=False).out,
        bob.run("todo", "show", mine, json=False).out,
        bob.run("todo", "claim", todo, agent="bob", json=False).out,
        bob.run("goal", "create", "evil", "--title", evil, json=False).out,
        bob.run("goal", "show", "evil", json=False).out,
        bob.run("goal", "list", json=False).out,
        bob.run("todo", "release", mine, "--force", "--reason", evil, agent="bob", json=False).out,
        bob.run("log", json=False).out,
    ]
    for out in outputs:
        assert steering(out) == [], out
    assert "\\u202e" in outputs[0]
    assert "\\u202e" in outputs[2]
    assert bob.run("todo", "list", "--goal-id", "main").json["todos"][-1]["title"] in (evil, "mine")


def test_error_output_is_neutral(ledger: World, alice: Clone) -> None:
    evil = "\x1b]52;c;ZXZpbA==\x07\u202ex"
    for args in (
        ["todo", "claim", evil],
        ["todo", "show", evil],
        ["todo", "add", evil],
        ["todo", "list", "--goal-id", evil],
        ["todo", "list", "--status", evil],
        ["peer", "show", evil],
        ["peer", "register", evil],
        ["policy", "set", evil, evil],
        ["goal", "create", evil],
        [evil],
        ["todo", evil],
        ["todo", "list", f"--{evil}"],
        ["--remote", evil, "todo", "list"],
        ["--ref", evil, "todo", "list"],
        ["-C", evil, "todo", "list"],
        ["log", "--since", evil],
    ):
        done = alice.run(*args, agent="alice", check=(2, 17), json=False)
        assert done.out == ""
        assert steering(done.err) == [], args
        assert done.err.startswith("error: ")
        if args[0] == "todo":
            assert steering(alice.run(*args, agent="alice", check=(2, 17)).err) == []


def test_what_the_server_says_is_neutral(ledger: World, alice: Clone) -> None:
    hook = ledger.remote / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\nprintf 'no \\033]52;c;ZXZpbA==\\007 here\\n' >&2\nexit 1\n")
    hook.chmod(0o755)
    done = alice.run("todo", "add", "x", check=14, json=False)
    assert steering(done.err) == []
    assert "here" in done.err


# -- files that people edited


TODO = "todo_ab12cd34ef56"
PATH = layout.todo("main", TODO)
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ALICE = Actor("alice", "s-1")
PLAIN = files.dump_todo(Todo(TODO, "main", "a title", Status.OPEN, NOW, "alice")).decode()
HEAD = (
    f'id: {TODO}\ngoal: main\ntitle: a title\nstatus: open\ncreated_at: "2026-05-01T12:00:00Z"\ncreated_by: alice\n'
)

EDITED = {
    "canonical": PLAIN,
    "only what is needed": f"---\n{HEAD}---\n",
    "unknown keys": f"---\n{HEAD}estimate: 3d\nreviewer:\n  - zoe\n  - {{name: max}}\nnested:\n  deep: [1, 2]\n---\n",
    "comments": f"---\n# on top\n{HEAD}# between\nclaimed_by:  # nobody\npriority: 1 # urgent\n# at the end\n---\n",
    "odd order": "---\n" + "".join(reversed(HEAD.splitlines(keepends=True))) + "---\nbody\n",
    "quotes": "---\n" + HEAD.replace("a title", "'a title'").replace("open", '"open"') + "---\n",
    "windows": f"---\n{HEAD}x: y\n---\n\nA body\n\n## Notes\n\n".replace("\n", "\r\n"),
    "lists over lines": f"---\n{HEAD}labels:\n  - one   # first\n  - two\nscope: [\n  src/**,\n  docs/**,\n]\n---\n",
    "block texts in unknown keys": f"---\n{HEAD}story: |\n  status: done\n  claimed_by: eve\n---\n",
    "blank lines": f"---\n\n{HEAD}\n\nclaimed_by:\n\n---\n\n\nbody\n\n\n",
    "no line end at the end": f"---\n{HEAD}---\nbody without a line end",
    "no line end after the frontmatter": f"---\n{HEAD}---",
    "trailing blanks": f"---\n{HEAD}claimed_by: \npriority: 2   \n---\nbody   \n\t\n",
    "a body with everything": f"---\n{HEAD}---\n# Title\n\n---\n\nstatus: done\n\n- [ ] box\n\n## Notes\n\nfree\n",
    "notes by hand": f"---\n{HEAD}---\nbody\n\n## Notes\n\n- 2026-01-01T00:00:00Z zoe: by hand\n  more\n",
    "quoted keys": f'---\n{HEAD}"claimed_by": \n---\n',
    "emoji and rtl": f"---\n{HEAD}mood: 🚀\n---\nשלום\n",
}  # fmt: skip

REFUSED = {
    "a byte order mark": ("\ufeff" + PLAIN, 1),
    "no frontmatter": ("hello\n", 1),
    "not closed": (f"---\n{HEAD}", 1),
    "a key twice": (f"---\n{HEAD}status: blocked\n---\n", 8),
    "a key twice in other quotes": (f'---\n{HEAD}"status": blocked\n---\n', 8),
    "an anchor": (f"---\n{HEAD}x: &a b\n---\n", 8),
    "an alias": (f"---\n{HEAD}labels: *a\n---\n", 8),
    "a tag": (f"---\n{HEAD}x: !!python/object:os.system y\n---\n", 8),
    "a merge key": (f"---\n{HEAD}<<: {{a: b}}\n---\n", 8),
    "a list for a text": (f"---\n{HEAD.replace('a title', '[a, title]')}---\n", 4),
    "a text for a list": (f"---\n{HEAD}labels: one\n---\n", 8),
    "an unquoted colon": (f"---\n{HEAD.replace('a title', 'fix: the bug')}---\n", 4),
    "an unknown status": (f"---\n{HEAD.replace('open', 'done')}---\n", 5),
    "a bad time": (f"---\n{HEAD.replace('12:00:00Z', 'noon')}---\n", 6),
    "another id": (f"---\n{HEAD.replace(TODO, 'todo_000000000000')}---\n", 2),
    "another goal": (f"---\n{HEAD.replace('main', 'other')}---\n", 3),
    "no title": (f"---\n{HEAD.replace('title: a title', 'name: x')}---\n", 1),
    "a bad scope": (f"---\n{HEAD}scope: [\"../x\"]\n---\n", 8),
    "a bad priority": (f"---\n{HEAD}priority: urgent\n---\n", 8),
    "a control character": (f"---\n{HEAD}x: \"a\x1bb\"\n---\n", 8),
    "a tab for an indent": (f"---\n{HEAD}x:\n\t- y\n---\n", 9),
    "two documents": (f"---\n{HEAD}...\nx: y\n---\n", 8),
    "too many brackets": (f"---\n{HEAD}x: {'[' * 5000}\n---\n", 8),
    "too large": (f"---\n{HEAD}---\n" + "x" * 300_000, 1),
}  # fmt: skip
#: Readable, and yet no line-wise edit of `claimed_by` or `labels` is possible without losing something.
UNEDITABLE = {
    "a flow mapping": (
        "---\n{" + ", ".join(line.replace('"', "'") for line in HEAD.splitlines()) + ", claimed_by: }\n---\n", 2,
    ),
    "an indented mapping": ("---\n" + "".join(f"  {line}\n" for line in HEAD.splitlines()) + "---\n", 2),
}  # fmt: skip


def state(text: str | bytes) -> TreeSnapshot:
    """A ledger with the peer alice and one todo file with these bytes."""
    tester = Actor("tester@example.com")
    begun = {path: data or b"" for path, data in encode(init(None, tester, Clocks(NOW)), None).items()}
    begun[layout.peer("alice")] = files.dump(Peer("alice", NOW, "alice"))
    begun[PATH] = text if isinstance(text, bytes) else text.encode()
    return TreeSnapshot(MemoryTree(begun))


def after(snapshot: TreeSnapshot, command: Command) -> TreeSnapshot:
    """The state once the command has been planned and written."""
    change = plan(snapshot, command, ALICE, Clocks(NOW), "ab" * 16)
    assert any(isinstance(write, Todo) for write in change.writes)
    assert isinstance(snapshot.tree, MemoryTree)
    written = {path: data for path, data in encode(change, snapshot).items() if data is not None}
    return TreeSnapshot(MemoryTree({**snapshot.tree.files, **written}))


def changed_lines(before: bytes, now: bytes) -> tuple[list[bytes], list[bytes]]:
    """The lines that went, and those that came; all others are there in their order."""
    import difflib

    old, new = before.splitlines(keepends=True), now.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    gone: list[bytes] = []
    come: list[bytes] = []
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            gone += old[a:b]
            come += new[c:d]
    return gone, come


def blob(snapshot: TreeSnapshot) -> bytes:
    data = snapshot.tree.blob(PATH)
    assert data is not None
    return data


CLAIM = OnTodo(Operation.CLAIM, TODO)
UPDATE = OnTodo(
    Operation.UPDATE, TODO, status="in_progress", note="found it", fields={"priority": 0, "branch": "fix/it"}
)


@pytest.mark.parametrize("name", EDITED)
def test_a_file_edited_by_hand_keeps_every_other_byte(name: str) -> None:
    start = state(EDITED[name])
    claimed = after(start, CLAIM)
    gone, come = changed_lines(blob(start), blob(claimed))
    key = rb'^"?claimed_by"?:'
    ends = {b"---", b""} if name == "no line end after the frontmatter" else set()
    assert all(re.match(key, line) or line in ends for line in gone), gone
    assert len(gone) <= 1
    [line] = [line for line in come if line not in (b"---\n", b"---\r\n")]
    assert re.match(key + rb" alice\b", line)
    assert claimed.todo("main", TODO).claimed_by == "alice"

    updated = after(claimed, UPDATE)
    gone, come = changed_lines(blob(claimed), blob(updated))
    key = rb'^"?(status|priority|branch)"?:'
    assert all(re.match(key, line) or line in ends or b"without a line end" in line for line in gone), gone
    todo = updated.todo("main", TODO)
    assert (todo.status, todo.priority, todo.branch, todo.claimed_by) == ("in_progress", 0, "fix/it", "alice")
    before = start.todo("main", TODO)
    assert todo.notes[: len(before.notes)] == before.notes
    assert todo.notes[-1].text == "found it"
    assert replace(
        todo, status=before.status, priority=before.priority, branch=None, claimed_by=None, notes=(), body=""
    ) == replace(before, notes=(), branch=None, body="")
    if b"\r\n" in blob(start):
        assert blob(updated).count(b"\n") == blob(updated).count(b"\r\n")
    for comment in re.findall(rb"#[^\r\n]*", blob(start)):
        assert comment in blob(updated), comment


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_two_readers_could_read_differently_is_refused(name: str) -> None:
    text, line = REFUSED[name]
    for command in (CLAIM, OnTodo(Operation.UPDATE, TODO, note="x", force=True, reason="x")):
        with pytest.raises(InvalidState) as raised:
            after(state(text), command)
        error = raised.value
        assert error.message.startswith(f"{PATH}:{line}: "), error.message
        assert error.about["file"] == PATH
        assert error.about["line"] == line
        assert error.hint


@pytest.mark.parametrize("name", UNEDITABLE)
def test_a_file_that_cannot_be_edited_line_by_line_is_refused(name: str) -> None:
    text, line = UNEDITABLE[name]
    assert state(text).todo("main", TODO).title == "a title"
    with pytest.raises(InvalidState) as raised:
        after(state(text), CLAIM)
    assert raised.value.message.startswith(f"{PATH}:{line}: ")
    assert raised.value.hint


def test_a_comment_inside_a_value_is_not_lost() -> None:
    text = f"---\n{HEAD}claimed_by: alice\nlabels:\n  - one # why\n  - two\n---\n"
    held = after(state(text.replace("claimed_by: alice", "claimed_by:")), CLAIM)
    with pytest.raises(InvalidState) as raised:
        after(held, OnTodo(Operation.UPDATE, TODO, fields={"labels": ("three",)}))
    assert raised.value.message.startswith(f"{PATH}:")
    assert "comment" in raised.value.message


def test_invalid_bytes_are_refused() -> None:
    with pytest.raises(InvalidState) as raised:
        after(state(PLAIN.encode() + b"\n\xff\n"), CLAIM)
    line = PLAIN.count("\n") + 2
    assert raised.value.message.startswith(f"{PATH}:{line}: ")
