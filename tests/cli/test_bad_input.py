"""Bad input of every kind, over every command: the exit code, a hint, one line of JSON on standard error, nothing on
standard output, no traceback, and the coordination ref where it was.

The table runs inside this process, which is the very function that the console script calls; some of it is run again
as a command of its own.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from clones import Clone, Result, World

import loopx_git
from loopx_git.cli.main import ROOT, main
from loopx_git.client.client import Client
from loopx_git.core.commands import AddTodo, Command, RegisterPeer
from loopx_git.core.table import REASONS

Args = Sequence[str]
NUL_FREE = "\x01"

FREE, HELD, OTHER, DONE = "todo_aaaa00000001", "todo_bbbb00000002", "todo_cccc00000003", "todo_dddd00000004"
FIRST, SECOND = "todo_eeee00000005", "todo_eeee00000006"
LATER, PYTHON, UNKNOWN = "todo_ffff00000007", "todo_ffff00000008", "todo_123456789abc"


@dataclass(frozen=True)
class Case:
    """What is typed after `git loopx --json`, the exit codes that may come of it, and the environment."""

    codes: tuple[int, ...]
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.codes[0]}: {' '.join([*(f'{key}={value}' for key, value in self.env), *self.args])}"[:90]


CASES: list[Case] = []


def bad(codes: int | tuple[int, ...], *args: str, **env: str) -> None:
    CASES.append(Case((codes,) if isinstance(codes, int) else codes, args, tuple(env.items())))


# -- the todo

ON_A_TODO: tuple[tuple[str, ...], ...] = (
    ("todo", "show"),
    ("todo", "claim"),
    ("todo", "release"),
    ("todo", "unclaim"),
    ("todo", "update", "--note", "x"),
    ("todo", "complete"),
    ("todo", "cancel"),
    ("todo", "supersede", "--by-title", "x"),
    ("todo", "reopen"),
    ("todo", "transfer", "--to", "bob"),
    ("todo", "archive"),
    ("task-lease", "acquire"),
    ("task-lease", "renew"),
    ("task-lease", "release"),
    ("task-lease", "inspect"),
    ("task-lease", "transfer", "--to", "bob"),
)
#: No id, no prefix and no alias: 2. It could be one, and there is none: 17.
BAD_TODOS = {
    "": 2, " ": 2, "x y": 2, "../../etc/passwd": 2, "a/b": 2, "todo_ab12\n": 2, "-x": 2, "--help=x": 2, "'": 2,
    "é": 2,
    "a" * 65: 2, "todo_\u0661\u0662\u0663\u0664": 2, "{}": 2, NUL_FREE: 2, UNKNOWN: 17, "1234": 17, "todo_": 17,
    "todo_AAAA00000001": 17, "todo_aaaa000000011": 17, "nobody": 17, "eeee": 17, "todo_eeee0000": 17, "aaa": 17,
}  # fmt: skip
for command in ON_A_TODO:
    typed = ("--agent", "alice", *command)
    for todo, code in BAD_TODOS.items():
        bad(code, *typed, "--", todo)
    bad(2, *typed)
    if command != ("todo", "claim"):
        bad(2, *typed, FREE, HELD)
    bad(2, *typed, FREE, "--no-such-option")
for command in ON_A_TODO[:11]:
    typed = ("--agent", "alice", *command)
    bad(2, *typed, FREE, "--todo-id", FREE)
    bad(17, *typed, OTHER, "--goal-id", "main")
    bad((2, 17), *typed, FREE, "--goal-id", "Not A Goal")
for command in ON_A_TODO[12:]:
    for lease in (f"{FREE}@", f"{FREE}@x", f"{FREE}@-1", f"@{FREE}", f"{FREE}@1@2", "@", f"{FREE}@{'9' * 30}"):
        bad(2, *command, "--", lease)

# -- who acts

for name in ("", " ", "a b", "-x", "../x", "a/b", "é", "a" * 65, "a@b", ".x", "x\n", NUL_FREE):
    bad(2, "todo", "claim", FREE, f"--agent={name}")
    bad(2, f"--session={name}", "--agent", "alice", "todo", "claim", FREE)
    bad(2, "peer", "register", "--", name)
    bad(2, "peer", "show", "--", name)
    bad(2, "peer", "register", "eve", f"--capability={name}")
    bad(2, "todo", "add", "x", f"--requires={name}")
    bad(2, "todo", "add", "x", f"--exclude={name}")
    bad(2, "todo", "add", "x", f"--label={name}")
    bad(2, "todo", "add", "x", f"--alias={name}")
for name in ("a b", "--upload-pack=x", "é"):
    bad(2, "todo", "claim", FREE, LOOPX_AGENT=name)
    bad(2, "todo", "claim", FREE, LOOPX_AGENT="alice", LOOPX_SESSION=name)
for verb in ("claim", "release", "complete", "cancel", "reopen", "archive"):
    if verb not in ("reopen", "archive"):
        bad(2, "todo", verb, FREE)
bad(2, "todo", "list", "--mine")
bad(2, "todo", "next", "--claim")
bad(15, "todo", "claim", FREE, "--agent", "stranger")
bad(15, "todo", "claim", FREE, "--agent", "ALICE")
bad(15, "peer", "register", "Alice")
bad(15, "peer", "register", "alice", "--new")
bad(15, "peer", "register", "retired")
bad(2, "peer", "register", "eve", "--kind", "robot")
bad(2, "peer", "register")
bad(2, "peer", "register", "eve", "mallory")
bad(17, "peer", "show", "stranger")
bad(17, "peer", "pause", "stranger")
bad(2, "todo", "update", HELD, "--note", "x", "--agent", "alice", "--claimed-by", "bob")

# -- numbers and times

for epoch in ("-1", "x", "1.5", "", "1e3", "0x1", "²"):
    for verb in ("complete", "release", "update", "cancel"):
        bad(2, "todo", verb, HELD, "--agent", "alice", f"--epoch={epoch}")
for epoch in ("0", "2", "99999999999999999999999999"):
    bad(12, "todo", "complete", HELD, "--agent", "alice", f"--epoch={epoch}")
for ttl in (
    "0",
    "0s",
    "-1",
    "31d",
    "1e9",
    "nan",
    "inf",
    "",
    " ",
    "2 h",
    "2H",
    "1w",
    "2h30m",
    "1.5h",
    "99999999999",
    "２h",
    "-2h",
):
    bad(2, "todo", "claim", FREE, "--agent", "alice", f"--ttl={ttl}")
    bad(2, "task-lease", "acquire", FREE, "--agent", "alice", f"--ttl={ttl}")
    bad(2, "task-lease", "renew", HELD, "--agent", "alice", f"--ttl={ttl}")
for budget in ("0", "-1", "nan", "inf", "1e9", "2d", "", "soon", "none", "0.01", "1;2"):
    bad(2, f"--timeout={budget}", "todo", "list")
    if budget:
        bad(2, "todo", "list", LOOPX_TIMEOUT=budget)
for priority in ("-1", "5", "x", "1.5", "", "high"):
    bad(2, "todo", "add", "x", f"--priority={priority}")
    bad(2, "todo", "update", HELD, "--agent", "alice", f"--priority={priority}")
for moment in (
    "",
    "tomorrow",
    "2026-01-02 03:04:05",
    "2026-01-02T03:04:05+01:00",
    "2026-02-30T00:00:00Z",
    "0",
):
    bad(2, "todo", "add", "x", f"--resume-after={moment}")
    bad(2, "todo", "update", HELD, "--agent", "alice", f"--resume-after={moment}")
    bad(2, "log", f"--since={moment}")
for limit in ("0", "-1", "x", "", "1.5"):
    bad(2, "todo", "list", f"--limit={limit}")
    bad(2, "log", f"--limit={limit}")

# -- values of fields

for status in ("", "done", "OPEN", "archived", "superseded", "cancelled", "all"):
    bad(2, "todo", "update", HELD, "--agent", "alice", f"--status={status}")
    bad(2, "todo", "release", HELD, "--agent", "alice", f"--status={status}")
for status in ("", "done", "OPEN", "archived"):
    bad(2, "todo", "list", f"--status={status}")
bad(2, "todo", "release", HELD, "--agent", "alice", "--status", "completed", "--force", "--reason", "x")
for pattern in ("", " ", "!src", "../up", "a/../b", "a\nb", "a" * 5000):
    bad(2, "todo", "add", "x", f"--scope={pattern}")
    bad(2, "todo", "update", HELD, "--agent", "alice", f"--scope={pattern}")
for branch in ("", " ", "a b", "-x", "a..b", "x.lock", "a:b", "x~1", "@{", "a\\b", "a//b", "/a", "a/"):
    bad(2, "todo", "add", "x", f"--branch={branch}")
bad(2, "todo", "add", "x", *[f"--label=l{number}" for number in range(101)])
bad(2, "todo", "add", "x", "--label=a", "--label=a")
for alias in ("fix-it", "FIX-IT"):
    bad(15, "todo", "add", "x", "--alias", alias)
    bad(15, "todo", "update", HELD, "--agent", "alice", "--alias", alias)
for goal in ("", " ", "Main", "a_b", "-x", "a/b", "é", "a" * 64, "..", NUL_FREE):
    bad(2, "goal", "create", "--", goal)
    bad(2, "todo", "add", "x", f"--goal-id={goal}")
    bad(2, "todo", "list", f"--goal-id={goal}")
bad(17, "todo", "add", "x", "--goal-id", "nowhere")
bad(17, "todo", "list", "--goal-id", "nowhere")
bad(17, "goal", "show", "nowhere")
bad(2, "goal", "create", "new", "--claims", "maybe")
bad(2, "goal", "create")
bad(2, "todo", "add")
bad(2, "todo", "add", "one", "two")
bad(2, "todo", "add", "one", "--title", "two")
bad(2, "todo", "add", "x", "--body", "b", "--body-file", "f")
bad(2, "todo", "add", "x", "--body-file", "no-such-file")
bad(2, "todo", "add", "x", "--body-file", ".")
bad(2, "todo", "update", HELD, "--agent", "alice", "--note", "")
bad(2, "todo", "update", HELD, "--agent", "alice", "--note", "a", "--note-file", "-")

# -- dependencies

bad(17, "todo", "add", "x", "--depends-on", UNKNOWN)
bad(2, "todo", "add", "x", "--depends-on", "a b")
bad(17, "todo", "add", "x", "--depends-on", "eeee")
bad(15, "todo", "update", HELD, "--agent", "alice", "--depends-on", HELD)
bad(15, "todo", "update", HELD, "--agent", "alice", "--depends-on", SECOND)
bad(17, "todo", "update", HELD, "--agent", "alice", "--depends-on", UNKNOWN)
bad(15, "todo", "claim", FIRST, "--agent", "bob")

# -- wishes that contradict each other, or wish for nothing

for verb in ("release", "update", "cancel", "supersede", "transfer"):
    extra = {"update": ["--note", "x"], "supersede": ["--by-title", "x"], "transfer": ["--to", "bob"]}.get(verb, [])
    bad(2, "todo", verb, HELD, *extra, "--force", "--agent", "bob")
    bad(2, "todo", verb, HELD, *extra, "--force", "--agent", "bob", "--reason", "")
    bad(2, "todo", verb, HELD, *extra, "--force", "--agent", "bob", "--reason", " x")
    bad(2, "todo", verb, HELD, *extra, "--force", "--agent", "bob", "--reason", "x" * 301)
    bad(2, "todo", verb, HELD, *extra, "--force", "--agent", "bob", "--reason", "a\nLoopx-Epoch: 9")
    bad(2, "todo", verb, HELD, *extra, "--reason", "x", "--agent", "alice")
bad(2, "todo", "update", HELD, "--agent", "alice")
bad(2, "todo", "update", HELD, "--agent", "alice", "--epoch", "1")
bad(2, "todo", "update", HELD, "--claimed-by", "alice", "--clear-claim")
bad(2, "todo", "update", HELD, "--agent", "alice", "--clear-claim", "--title", "x")
bad(2, "todo", "update", HELD, "--agent", "alice", "--status", "completed", "--title", "x")
bad(2, "todo", "update", HELD, "--agent", "alice", "--status", "completed", "--force", "--reason", "x")
for field in ("title", "priority", "status", "nonsense", "claimed_by", ""):
    bad(2, "todo", "update", HELD, "--agent", "alice", f"--clear={field}")
bad(2, "todo", "update", HELD, "--agent", "alice", "--alias", "x", "--clear", "alias")
bad(2, "todo", "transfer", HELD, "--agent", "alice")
bad(15, "todo", "transfer", HELD, "--to", "stranger", "--agent", "alice")
bad(2, "todo", "transfer", HELD, "--to", "a b", "--agent", "alice")
bad(2, "todo", "supersede", HELD, "--agent", "alice")
bad(2, "todo", "supersede", HELD, "--agent", "alice", "--by", FREE, "--by-title", "x")
bad((2, 15), "todo", "supersede", HELD, "--agent", "alice", "--by", HELD)

# -- what the state does not allow

bad(11, "todo", "claim", HELD, "--agent", "bob")
bad(11, "task-lease", "acquire", HELD, "--agent", "bob")
bad(12, "todo", "complete", HELD, "--agent", "bob")
bad(12, "todo", "complete", FREE, "--agent", "bob")
bad(12, "todo", "update", FREE, "--status", "blocked", "--agent", "alice")
bad(12, "todo", "release", FREE, "--agent", "alice")
bad(12, "task-lease", "renew", f"{HELD}@7", "--agent", "alice")
bad(15, "todo", "claim", DONE, "--agent", "alice")
bad(12, "todo", "complete", DONE, "--agent", "alice")
bad(15, "todo", "claim", LATER, "--agent", "alice")
bad(15, "todo", "claim", PYTHON, "--agent", "alice")
bad(15, "todo", "claim", FREE, "--agent", "excluded")
bad(15, "todo", "claim", FREE, "--agent", "paused")
bad(15, "todo", "archive", FREE, "--agent", "alice")
bad(15, "todo", "reopen", FREE, "--agent", "alice")

# -- the policy

for key in ("", "claims", "claims.tll", "CLAIMS.TTL", "claims_ttl", "claims.ttl.x", "a b"):
    bad(2, "policy", "set", "--", key, "2h")
for key, value in {
    "claims.mode": "maybe", "claims.ttl": "0", "claims.skew": "none", "claims.max_attempts": "0",
    "claims.max_per_agent": "-1", "claims.scope_overlap": "warn", "peers.auto_register": "yes",
    "peers.stale_after": "soon",
}.items():  # fmt: skip
    bad(2, "policy", "set", key, "--", value)
    bad(2, "policy", "set", key, "--", "")
    bad(2, "policy", "set", key, "--", "1\n[x]")
bad(2, "policy", "set", "claims.ttl")
bad(2, "policy", "set", "claims.ttl", "31d")
bad(2, "policy", "set", "claims.max_attempts", "99999999999")
bad(2, "policy", "set", "claims.max_attempts", "２")

# -- where coordination lives

for ref in (
    "", " ", "coord", "HEAD", "heads/x", "refs/", "refs/x", "refs//x", "refs/heads/", "/refs/heads/x",
    "refs/heads/x/", "refs/heads/a..b", "refs/heads/a b", "refs/heads/x.lock", "refs/heads/.x", "refs/heads/x~1",
    "refs/heads/x^",
    "refs/heads/a:b", "refs/heads/x?", "refs/heads/*", "refs/heads/[", "refs/heads/a\\b", "refs/heads/@{", "-x",
    "--upload-pack=x", "refs/heads/é", "refs/heads/x.", "refs/heads/" + "x" * 300, "+refs/heads/x", "refs/heads/\x7f",
):  # fmt: skip
    bad(2, f"--ref={ref}", "todo", "list")
bad(16, "--ref=refs/heads/-y", "todo", "add", "x")
bad(16, "--ref=refs/heads/other", "todo", "add", "x")
for remote in (
    "",
    "nowhere",
    "--upload-pack=x",
    "-x",
    "a b",
    "../remote.git",
    "https://x/y",
    "ext::sh -c x",
    "é",
    "a..b",
):
    bad(2, f"--remote={remote}", "todo", "list")
bad(2, "-C", "nowhere", "todo", "list")

# -- commands and options

bad(2, "todo", "add", "x", "--validate", "make 'test")
bad((2, 15), "heartbeat", "beat")
bad(2, "heartbeat", "suggest", "--per-agent", "0")
bad(2, "heartbeat", "reclaim", "--limit", "0", "--agent", "alice")
for interval in ("0", "", "soon", "none", "-1", "nan"):
    bad(2, "heartbeat", "watch", "--rounds", "1", "--agent", "alice", f"--interval={interval}")
bad(2, "sync", "--accept-tip", "x", "--reason", "x")
bad(2, "sync", "--accept-tip", "1" * 40)
bad(2, "sync", "--reason", "x")
bad(2, "completion", "cmd.exe")
for words in ("nonsense", "todo nonsense", "peer nonsense", "tood list", "todo list x", "verify x"):
    bad(2, *words.split())
bad(2)
bad(2, "--color", "sometimes", "todo", "list")
bad(2, "--no-such-option", "todo", "list")
bad(2, "todo", "--no-such-option", "list")
bad(2, "todo", "list", "--goal-id")
bad(2, "todo", "list", LOOPX_NOW="yesterday")
bad(2, "todo", "list", LOOPX_NOW="+x")
bad(2, "todo", "list", LOOPX_FAILPOINT="built")
bad(2, "todo", "list", LOOPX_FAILPOINT="built=explode")


@dataclass(frozen=True)
class Place:
    world: World
    clone: Clone
    tip: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, ledger_template: Path) -> Place:
    """alice holds one todo, another is free, one lies in another goal, one is completed, two wait for each other's
    like, one for a time and one for a capability."""
    world = World(tmp_path_factory.mktemp("bad-input") / "world")
    shutil.copytree(ledger_template, world.remote)
    clone = world.clone("clone")
    clone.run("goal", "create", "other")
    client = Client(clone.path, clone.env)
    commands: list[Command] = [RegisterPeer(name) for name in ("retired", "paused", "excluded")]
    commands += [
        AddTodo(FREE, "free", "main", alias="fix-it", excluded=("excluded",)),
        AddTodo(HELD, "held", "main"),
        AddTodo(OTHER, "other", "other"),
        AddTodo(DONE, "done", "main"),
        AddTodo(FIRST, "first", "main", depends_on=(HELD,)),
        AddTodo(SECOND, "second", "main", depends_on=(FIRST,)),
        AddTodo(PYTHON, "python", "main", requires=("python",)),
    ]
    client.submit(commands, client.connection.actor())
    clone.run("todo", "claim", HELD, agent="alice")
    clone.run("todo", "claim", DONE, agent="bob")
    clone.run("todo", "complete", DONE, agent="bob")
    clone.run("peer", "pause", "paused")
    clone.run("peer", "retire", "retired")
    done = clone.run("todo", "add", "later", "--resume-after", "2099-01-01T00:00:00Z").json
    place = Place(world, clone, "")
    later = done["todo"]["id"]
    for number, case in enumerate(CASES):
        if LATER in case.args:
            CASES[number] = Case(case.codes, tuple(later if word == LATER else word for word in case.args), case.env)
    return Place(place.world, place.clone, world.tip())


@pytest.fixture
def inside(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """This process stands in the clone, in the clone's environment."""
    kept = {key: value for key, value in os.environ.items() if key.startswith("PYTEST")}
    monkeypatch.setattr(os, "environ", os.environ)
    for key in list(os.environ):
        if key not in kept:
            monkeypatch.delenv(key)
    for key, value in place.clone.env.items():
        monkeypatch.setenv(key, value)
    monkeypatch.chdir(place.clone.path)
    yield place


def misleading(hint: str) -> list[str]:
    """What a hint names after `git loopx` that is not a command, or no option of that command."""
    wrong = []
    for line in re.findall(r"git loopx ([^;,()]*?)(?=   |, or|;|,|$)", hint):
        # What follows -- is the user's own command.
        words = line.split(" -- ")[0].split()
        command: click.Command = ROOT
        path = []
        while words and isinstance(command, click.Group) and not words[0].startswith("-"):
            if words[0] == "X":
                return wrong
            found = command.get_command(click.Context(command), words[0])
            if found is None:
                wrong.append(f"git loopx {line}")
                break
            command = found
            path.append(words.pop(0))
        known = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
        known |= {"-h", "--help"}
        wrong += [f"{' '.join(path)} {word}" for word in words if word.startswith("--") and word not in known]
    return wrong


def judge(case: Case, result: Result, place: Place) -> None:
    assert result.code in case.codes, f"{case}: {result}"
    assert "Traceback" not in result.err
    lines = [line for line in result.err.splitlines() if line and not line.startswith("warning: ")]
    assert len(lines) == 1, f"{case}: {result}"
    error = json.loads(lines[0])
    assert (error["kind"], error["code"]) == ("error", result.code)
    assert error["message"], case
    assert error["hint"], f"{case}: {error['message']} has no hint"
    assert misleading(error["hint"]) == []
    assert result.out == "", case
    assert place.world.tip() == place.tip, case


@pytest.mark.parametrize("number", range(0, len(CASES), 20))
def test_bad_input(
    inside: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    for case in CASES[number : number + 20]:
        with monkeypatch.context() as patch:
            for key, value in case.env:
                patch.setenv(key, value)
            code = main(["--json", *case.args])
        out, err = capsys.readouterr()
        judge(case, Result(code, out, err), inside)


@pytest.mark.parametrize("case", CASES[:: len(CASES) // 12], ids=str)
def test_bad_input_to_the_command_itself(place: Place, case: Case) -> None:
    judge(case, place.clone.run(*case.args, env=dict(case.env), check=None), place)


def test_errors_are_sentences_for_people(place: Place) -> None:
    done = place.clone.run("todo", "claim", HELD, agent="bob", check=11, json=False)
    first, second = done.err.splitlines()
    assert first.startswith(f"error: {HELD} is held by alice (epoch 1")
    assert second.startswith("  next: ")
    assert done.out == ""


def test_without_arguments_the_help_is_shown(place: Place) -> None:
    for args in ([], ["todo"]):
        done = place.clone.run(*args, json=False, check=2)
        assert "Usage: git loopx" in done.err
        assert done.out == ""


def waits_for(pid: int, path: Path) -> bool:
    """Whether a process has a file open; where /proc is not there, after a while, it is taken to have."""
    folder = Path(f"/proc/{pid}/fd")
    if not folder.exists():
        time.sleep(3)
        return True
    return any(str(path) == os.readlink(link) for link in folder.iterdir() if link.is_symlink())


def test_an_interrupt_has_its_code(place: Place, tmp_path: Path) -> None:
    """Ctrl-C while a command waits for the clone's lock."""
    import fcntl
    import signal
    import subprocess

    from clones import PROGRAM

    with (place.clone.home / "lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = subprocess.Popen(
            [*PROGRAM, "--json", "todo", "add", "x", "--timeout", "60"],
            cwd=place.clone.path,
            env=dict(place.clone.env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A shell starts what runs in its background with SIGINT ignored, and that is inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        with process:
            ends = time.monotonic() + 60
            while not waits_for(process.pid, place.clone.home / "lock") and time.monotonic() < ends:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    judge(Case((130,), ()), Result(process.returncode, out.decode(), err.decode()), place)


def hints_in_the_source() -> Iterator[tuple[str, str]]:
    """Every text that is given as a hint, with X in place of what is filled in."""
    for path in sorted(Path(loopx_git.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            given = [word.value for word in node.keywords if word.arg == "hint"] if isinstance(node, ast.Call) else []
            for value in given:
                if isinstance(value, ast.Constant):
                    yield f"{path.name}:{node.lineno}", str(value.value)
                elif isinstance(value, ast.JoinedStr):
                    parts = [part.value if isinstance(part, ast.Constant) else " X " for part in value.values]
                    yield f"{path.name}:{node.lineno}", "".join(map(str, parts))
    for name, reason in REASONS.items():
        yield name, reason.hint.format_map(dict.fromkeys(("todo", "operation", "epoch", "holder"), "X"))


def test_every_hint_names_commands_that_there_are() -> None:
    found = list(hints_in_the_source())
    assert len(found) > 100
    assert {place: wrong for place, hint in found if (wrong := misleading(hint))} == {}


def test_a_misleading_hint_would_be_noticed() -> None:
    assert misleading("look: git loopx todo show todo_1, or: git loopx sync --accept-tip X --reason TEXT") == []
    assert misleading("git loopx todo shw x") == ["git loopx todo shw x"]
    assert misleading("git loopx todo show x --nope; git loopx -h") == ["todo show --nope"]
