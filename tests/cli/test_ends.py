"""How the program ends when nobody can hear it: the outcome is told as it is, never as a fault of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from clones import Clone, World

SCRIPT = str(Path(sys.executable).parent / "git-loopx")
#: How standard output cannot take anything, as a shell spells it.
FULL = (">/dev/full", ">&-", "</dev/null >&0")
WRITES = (
    "todo add 'other work'", "todo add 'more' --json", "todo claim fix-X", "todo claim fix-X --json",
    "task-lease acquire fix-X", "todo next --claim", "goal create other", "heartbeat beat", "sync",
    "peer register bob", "agent-hook install --for claude", "guard install", "todo update fix-X --priority 1",
)  # fmt: skip
READS = (
    "todo list", "todo list --json", "todo show fix-X", "goal list", "todo next", "heartbeat status", "-h", "todo -h",
    "todo claim -h", "--version", "log", "peer list", "policy show", "completion bash", "config show --json",
    "todo claim fix-X --dry-run",
)  # fmt: skip
#: Each command with one end, and the first two with all of them.
ENDS = [
    (words, end) for number, words in enumerate(WRITES) for end in (FULL if number < 2 else FULL[number % 2 :][:1])
]
READ_ENDS = [
    (words, end) for number, words in enumerate(READS) for end in (FULL if number < 2 else FULL[number % 2 :][:1])
]


def shell(clone: Clone, line: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", line], cwd=clone.path, env={**clone.env, "LOOPX_AGENT": "alice", **env}, capture_output=True,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture
def clone(world: World) -> Clone:
    made = world.clone("one")
    made.run("init")
    made.run("peer", "register", "alice")
    made.run("todo", "add", "fix the bug", "--alias", "fix-X", "--agent", "alice")
    return made


@pytest.mark.parametrize(("words", "end"), ENDS)
def test_a_write_that_stands_is_no_failure(clone: Clone, words: str, end: str) -> None:
    if "update" in words:
        clone.run("todo", "claim", "fix-X", "--agent", "alice")
    done = shell(clone, f"{SCRIPT} {words} {end}")
    assert done.returncode == 0, done.stderr
    assert b"written, but not printed: " in done.stderr


@pytest.mark.parametrize("end", [">&- 2>&-", ">/dev/full 2>/dev/full", "<&- >&- 2>&-"])
def test_a_write_that_stands_is_no_failure_when_the_warning_is_lost_too(clone: Clone, end: str) -> None:
    assert shell(clone, f"{SCRIPT} todo add again {end}").returncode == 0


@pytest.mark.parametrize(("words", "end"), READ_ENDS)
def test_a_read_that_nobody_got_is_a_failure(clone: Clone, words: str, end: str) -> None:
    done = shell(clone, f"{SCRIPT} {words} {end}")
    assert done.returncode == 16, done.stderr
    assert b"could not be printed: " in done.stderr


@pytest.mark.parametrize("words", [*WRITES[:3], *READS[:8]])
def test_a_reader_that_went_away_had_what_it_wanted(clone: Clone, words: str) -> None:
    """The other end of the pipe is closed before the program starts to print."""
    done = shell(clone, f"exec 3> >(exec true); sleep 0.1; wait $!; {SCRIPT} {words} >&3")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("words", ["todo nonsuch", "todo show nothing --json", "todo claim", "todo"])
@pytest.mark.parametrize("end", ["2>&-", "2>/dev/full", ">&- 2>&-", "<&- >&- 2>&-"])
def test_an_error_that_cannot_be_told_keeps_its_code(clone: Clone, words: str, end: str) -> None:
    heard = shell(clone, f"{SCRIPT} {words}").returncode
    assert heard in (2, 17)
    assert shell(clone, f"{SCRIPT} {words} {end}").returncode == heard


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"},
    ],
)  # fmt: skip
def test_what_the_locale_cannot_spell_is_escaped(clone: Clone, env: dict[str, str]) -> None:
    done = shell(clone, f"{SCRIPT} todo add 'naïve → 漢字 😀'", **env)
    assert (done.returncode, done.stderr) == (0, b"")
    done = shell(clone, f"{SCRIPT} todo list", **env)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "naïve → 漢字 😀" in [item["title"] for item in clone.run("todo", "list").json["todos"]]


@pytest.mark.parametrize("end", [">/dev/full 2>/dev/full", ">&- 2>&-", "2>&-"])
def test_a_denial_that_cannot_be_told_denies(clone: Clone, end: str) -> None:
    for style in ("claude", "cursor"):
        done = shell(clone, f"echo nonsense | {SCRIPT} agent-hook --format={style} {end}")
        assert done.returncode == 2


def test_a_file_of_ours_never_gets_the_number_of_a_closed_stream(clone: Clone) -> None:
    """The command of `run` writes to its standard output; with that closed it must not write into the lock."""
    shell(clone, f"{SCRIPT} run --todo-id fix-X -- /bin/sh -c 'echo SPILT; echo SPILT >&2' >&- 2>&-")
    for file in (clone.path / ".git/loopx").rglob("*"):
        assert not file.is_file() or b"SPILT" not in file.read_bytes(), file


@pytest.mark.parametrize("flag", ["--body", "--note"])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_lines_are_stored_with_line_feeds(clone: Clone, tmp_path: Path, flag: str, end: str) -> None:
    clone.run("todo", "claim", "fix-X", "--agent", "alice")
    text, file = f"one{end}two{end}", tmp_path / "text"
    file.write_bytes(text.encode())
    for words, given in (
        ([flag, text], b""),
        ([f"{flag}-file", str(file)], b""),
        ([f"{flag}-file", "-"], text.encode()),
    ):
        clone.run("todo", "update", "fix-X", *words, "--agent", "alice", stdin=given)
        found = clone.run("todo", "show", "fix-X").json["todo"]
        stored = found["body"] if flag == "--body" else found["notes"][-1]["text"]
        assert stored.rstrip("\n") == "one\ntwo"


@pytest.mark.parametrize("ttl", ["1", "45", "59", "05"])
@pytest.mark.parametrize(
    "words", [["todo", "claim", "fix-X"], ["task-lease", "acquire", "fix-X"], ["todo", "next", "--claim"]]
)
def test_a_small_bare_ttl_is_asked_about(clone: Clone, words: list[str], ttl: str) -> None:
    done = clone.run(*words, "--ttl", ttl, "--agent", "alice", check=2, json=False)
    assert f"--ttl {int(ttl)}m, or --ttl {int(ttl)}s" in done.err


def test_plain_seconds_from_a_minute_on(clone: Clone) -> None:
    done = clone.run("todo", "claim", "fix-X", "--ttl", "600", "--agent", "alice")
    assert "600" in done.out


def test_a_todo_resumes_after_a_while_or_on_a_day(clone: Clone) -> None:
    clone.run("todo", "add", "later", "--alias", "later-1", "--resume-after", "2h", "--agent", "alice")
    clone.run("todo", "claim", "later-1", "--agent", "alice", check=15)
    clone.run("todo", "add", "day", "--alias", "day-1", "--resume-after", "2999-01-02", "--agent", "alice")
    assert clone.run("todo", "show", "day-1").json["todo"]["resume_after"] == "2999-01-02T00:00:00Z"
    refused = clone.run("todo", "add", "x", "--resume-after", "soon", "--agent", "alice", check=2, json=False)
    assert "--resume-after 2h" in refused.err


@pytest.mark.parametrize("flag", ["--scope", "--label", "--requires", "--depends-on"])
@pytest.mark.parametrize("joined", ["a,b", "a b", "a, b"])
def test_two_words_in_one_flag_give_a_warning(clone: Clone, flag: str, joined: str) -> None:
    done = clone.run("todo", "add", "x", flag, joined, "--agent", "alice", check=None, json=False)
    assert f"{flag} a {flag} b" in done.err
    alone = clone.run("todo", "add", "x", flag, "a", "--agent", "alice", check=None, json=False)
    assert "is one word" not in alone.err


def test_braces_in_a_scope_give_a_warning(clone: Clone) -> None:
    done = clone.run("todo", "add", "x", "--scope", "src/{a,b}/*.py", "--agent", "alice", json=False)
    assert "braces are not expanded; repeat --scope for each" in done.err
    refused = clone.run("todo", "add", "x", "--label", "{a}", "--agent", "alice", check=2, json=False).err
    assert "braces" not in refused and "see the help of --label\n" in refused


def test_the_settings_of_an_agent_are_said_to_lie_in_the_work_tree(clone: Clone) -> None:
    done = clone.run("agent-hook", "install", "--for", "cursor", json=False)
    assert "lies in the work tree" in done.out and ".cursor/hooks.json" in done.out
    assert "write into the work tree" in clone.run("agent-hook", "-h", json=False).out
