"""`run`: what the command gets, how it ends, and what becomes of the todo."""

from __future__ import annotations

import json
import os
import pty
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from clones import PROGRAM, Clone, World, differences, footprint, plant

from loopx_git.client.client import Client
from loopx_git.client.exit_policy import DEFAULT, Outcome, parse
from loopx_git.errors import UsageError

LOOPX = shlex.join(PROGRAM)


def run(clone: Clone, todo: str, script: str, *more: str, code: int = 0, **settings: Any) -> Any:
    """`run` a shell script under a claim of alice's: the result."""
    return clone.run(
        "run", "--todo-id", todo, *more, "--", "/bin/sh", "-c", script, agent="alice", check=code, **settings
    )


def last(text: str) -> Any:
    return json.loads(text.splitlines()[-1])


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.02)


def said(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


@contextmanager
def start(
    clone: Clone, todo: str, script: str, *more: str, agent: str = "alice"
) -> Iterator[subprocess.Popen[bytes]]:
    """A runner under way; killed when the block ends, if it is still there."""
    runner = subprocess.Popen(
        [*PROGRAM, "--agent", agent, "run", "--todo-id", todo, *more, "--", "/bin/sh", "-c", script],
        cwd=clone.path, env=dict(clone.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # Whoever started the tests in the background may have had SIGINT ignored for all of us.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    with runner:
        try:
            yield runner
        finally:
            runner.kill()


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# -- what the command gets


def test_the_command_finds_its_claim_in_the_environment_and_its_output_passes_through(
    ledger: World, alice: Clone
) -> None:
    todo = alice.add("fix it", "--alias", "fix-X")
    script = 'env | grep ^LOOPX_ | sort; cat "$LOOPX_TODO_FILE"; printf "\\033[1m\\377no newline" >&2; cat'
    done = subprocess.run(
        [*PROGRAM, "--agent", "alice", "run", "--todo-id", "fix-X", "--ttl", "5m", "--", "/bin/sh", "-c", script],
        cwd=alice.path, env=dict(alice.env), input=b"from stdin \xff\n", capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    assert b"\x1b[1m\xffno newline" in done.stderr
    lines = done.stdout.split(b"\n")
    found = dict(line.decode().split("=", 1) for line in lines if line.startswith(b"LOOPX_"))
    claim = ledger.claims(todo)[-1]
    assert len(found.pop("LOOPX_RUN")) == 32
    assert found.pop("LOOPX_TODO_FILE").endswith(f"{todo}.md")
    assert found == {
        "LOOPX_TODO": todo, "LOOPX_GOAL": "main", "LOOPX_AGENT": "alice", "LOOPX_EPOCH": "1",
        "LOOPX_SESSION": claim["session"],
    }  # fmt: skip
    assert b"title: fix it" in done.stdout
    assert done.stdout.endswith(b"from stdin \xff\n")


def test_the_copy_of_the_todo_is_read_only_and_goes_away(alice: Clone, tmp_path: Path) -> None:
    todo, note = alice.add("copy"), tmp_path / "note"
    run(alice, todo, f'echo "$LOOPX_TODO_FILE" > {note}; ls -l "$LOOPX_TODO_FILE" >> {note}')
    name, listed = said(note).splitlines()
    assert listed.startswith("-r--r--r--")
    assert not Path(name).exists()


def test_next_picks_and_nothing_to_pick_runs_nothing(alice: Clone, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    args = ("run", "--next", "--", "/bin/sh", "-c", f"echo $LOOPX_TODO >> {ran}")
    alice.run(*args, agent="alice", check=17)
    assert not ran.exists()
    todo = alice.add("the only one")
    alice.run(*args, agent="alice")
    assert said(ran) == todo


def test_what_cannot_be_run_claims_nothing(ledger: World, alice: Clone, bob: Clone) -> None:
    todo = alice.add("stays free")
    tip = ledger.tip()
    for args, code in (
        (("--todo-id", todo, "--", "no-such-command-anywhere"), 2),
        (("--todo-id", todo), 2),
        (("--todo-id", todo, "--next", "--", "true"), 2),
        (("--", "true"), 2),
        (("--todo-id", todo, "--on-exit", "0=great", "--", "true"), 2),
        (("--todo-id", todo, "--repeat", "--", "true"), 2),
        (("--next", "--wait", "1s", "--", "true"), 2),
        (("--next", "--grace", "soon", "--", "true"), 2),
    ):
        assert alice.run("run", *args, agent="alice", check=code).error["hint"]
    assert ledger.tip() == tip
    bob.run("todo", "claim", todo, agent="bob")
    assert run(alice, todo, "echo must not run", code=11).error["holder"] == "bob"


# -- how it is settled


@pytest.mark.parametrize(
    ("script", "more", "code", "outcome", "status"),
    [
        ("true", (), 0, "completed", "completed"),
        ("exit 75", (), 75, "released", "open"),
        ("exit 3", (), 3, "blocked", "blocked"),
        ("kill -9 $$", (), 137, "released", "open"),
        ("exit 3", ("--on-exit", "3=needs_human"), 3, "needs_human", "needs_human"),
        ("exit 0", ("--on-exit", "0=released other=released"), 0, "released", "open"),
        ("kill -15 $$", ("--on-exit", "signal=blocked"), 143, "blocked", "blocked"),
    ],
)
def test_the_exit_code_settles(
    alice: Clone, script: str, more: tuple[str, ...], code: int, outcome: str, status: str
) -> None:
    todo = alice.add("settled")
    answer = run(alice, todo, script, *more, code=code).json
    assert (answer["outcome"], answer["exit"], answer["todo"]["status"]) == (outcome, code, status)
    shown = alice.show(todo)
    assert (shown["lease"]["holder"], shown["lease"]["epoch"]) == (None, 1)
    notes = [note["text"] for note in shown["todo"]["notes"]]
    assert (notes == []) == (script in ("true", "exit 0"))
    assert all("/bin/sh -c" in note and "end" in note for note in notes)


def test_the_table_is_taken_from_flag_environment_git_config_and_file(alice: Clone) -> None:
    file = alice.path / ".loopx/config.toml"
    file.write_text(file.read_text() + '\n[run]\non_exit = "7=released"\n')
    for env, config, more, outcome in (
        ({}, None, (), "released"),
        ({}, "7=needs_human", (), "needs_human"),
        ({"LOOPX_ON_EXIT": "7=blocked"}, "7=needs_human", (), "blocked"),
        ({"LOOPX_ON_EXIT": "7=blocked"}, "7=needs_human", ("--on-exit", "7=completed"), "completed"),
    ):
        if config is not None:
            alice.config("loopx.onExit", config)
        todo = alice.add("by table")
        assert run(alice, todo, "exit 7", *more, code=7, env=env).json["outcome"] == outcome


def test_the_table_as_text() -> None:
    table = parse("")
    assert [table.outcome(code) for code in (0, 75, 1, 255, -9)] == [
        Outcome.COMPLETED, Outcome.RELEASED, Outcome.BLOCKED, Outcome.BLOCKED, Outcome.RELEASED,
    ]  # fmt: skip
    table = parse("1-3=needs_human, 2=released other=released")
    assert [table.outcome(code) for code in (0, 1, 2, 4, 75)] == [
        Outcome.COMPLETED, Outcome.NEEDS_HUMAN, Outcome.NEEDS_HUMAN, Outcome.RELEASED, Outcome.RELEASED,
    ]  # fmt: skip
    assert parse(DEFAULT) != parse("0=blocked")
    for wrong in ("0", "0=", "=completed", "256=blocked", "5-2=blocked", "other=x", "other=blocked other=released"):
        with pytest.raises(UsageError):
            parse(wrong)


def test_a_command_that_settles_its_todo_itself_is_left_alone(alice: Clone) -> None:
    for words, status in (
        ("complete $LOOPX_TODO --note done", "completed"),
        ("release $LOOPX_TODO --status needs_human", "needs_human"),
    ):
        todo = alice.add("by itself")
        # It goes on afterwards: what it ended itself is not taken for lost.
        answer = run(alice, todo, f"{LOOPX} todo {words} >/dev/null; sleep 2", "--ttl", "3s")
        assert (answer.json["outcome"], answer.json["todo"]["status"]) == ("settled", status)


def test_a_todo_whose_own_check_fails_is_not_completed(ledger: World, alice: Clone) -> None:
    todo = alice.add("checked", "--validate", "false")
    answer = run(alice, todo, "true", code=15)
    assert "validate" in answer.error["message"]
    shown = alice.show(todo)
    assert (shown["todo"]["status"], shown["lease"]["holder"]) == ("open", None)
    assert "not completed" in shown["todo"]["notes"][-1]["text"]


def test_repeat_goes_on_until_none_is_ready(alice: Clone, tmp_path: Path) -> None:
    todos = {alice.add(f"number {number}") for number in range(3)}
    log = tmp_path / "log"
    script = f"echo $LOOPX_TODO >> {log}; test $(wc -l < {log}) -ne 2"
    done = alice.run("run", "--next", "--repeat", "--", "/bin/sh", "-c", script, agent="alice", check=1)
    assert set(said(log).split()) == todos
    outcomes = [json.loads(line)["outcome"] for line in done.out.splitlines()]
    assert sorted(outcomes) == ["blocked", "completed", "completed"]
    alice.run("run", "--next", "--repeat", "--", "true", agent="alice", check=17)


def test_repeat_waits_when_asked_and_stops_when_told(alice: Clone, tmp_path: Path) -> None:
    log = tmp_path / "log"
    alice.add("first")
    runner = subprocess.Popen(
        [*PROGRAM, "--agent", "alice", "run", "--next", "--repeat", "--wait", "0", "--", "/bin/sh", "-c",
         f"echo x >> {log}"],
        cwd=alice.path, env=dict(alice.env), stderr=subprocess.PIPE,
    )  # fmt: skip
    with runner:
        try:
            until(lambda: said(log) == "x")
            alice.add("second")
            until(lambda: said(log) == "x\nx")
            runner.terminate()
            assert runner.wait(60) == 0
        finally:
            runner.kill()


# -- branch and worktree


def test_a_worktree_is_made_recorded_and_removed_when_clean(alice: Clone) -> None:
    todo = alice.add("in a worktree", "--alias", "fix-tree")
    before = footprint(alice)
    script = 'echo x > new.txt; git add new.txt; git commit -qm "work"; pwd; git branch --show-current'
    answer = run(alice, todo, script, "--worktree")
    folder, branch, payload = answer.out.splitlines()
    assert folder == str(alice.path.parent / f"{alice.path.name}.loopx" / todo)
    assert (branch, last(payload)["branch"], alice.show(todo)["todo"]["branch"]) == (("loopx/fix-tree",) * 3)
    assert not Path(folder).exists()
    assert alice.git("log", "-1", "--format=%s", "loopx/fix-tree") == "work"
    # Beside the new branch and its objects nothing of the user's has changed.
    changed = [key for key in differences(before, footprint(alice)) if not key.startswith("git: objects/")]
    assert all("loopx/fix-tree" in key or key in ("refs", "git: worktrees") for key in changed), changed


def test_a_worktree_with_work_in_it_stays_for_the_next_holder(alice: Clone, bob: Clone) -> None:
    todo = alice.add("handed over")
    answer = run(alice, todo, "echo half > half.txt; exit 75", "--worktree", code=75)
    folder = Path(answer.json["folder"])
    assert (folder / "half.txt").read_text() == "half\n"
    again = run(alice, todo, "cat half.txt", "--worktree")
    assert again.out.splitlines()[0] == "half"
    assert folder.exists()


def test_a_branch_alone_leaves_the_checked_out_one_alone(alice: Clone) -> None:
    todo = alice.add("branch only")
    answer = run(alice, todo, "git branch --show-current; echo $LOOPX_BRANCH", "--branch")
    assert answer.out.splitlines()[:2] == ["main", f"loopx/{todo}"]
    assert alice.git("rev-parse", f"loopx/{todo}") == alice.git("rev-parse", "main")


def test_a_worktree_that_cannot_be_made_gives_the_claim_back(alice: Clone) -> None:
    todo = alice.add("no room")
    (alice.path.parent / f"{alice.path.name}.loopx").write_text("in the way")
    answer = alice.run("run", "--todo-id", todo, "--worktree", "--", "true", agent="alice", check=None)
    assert answer.code in (15, 16)
    assert answer.error["hint"]
    assert alice.show(todo)["lease"]["holder"] is None


# -- ends


def test_signals_reach_the_command(alice: Clone, tmp_path: Path) -> None:
    for number, name in ((signal.SIGTERM, "TERM"), (signal.SIGINT, "INT"), (signal.SIGUSR1, "USR1")):
        todo, ready, got = alice.add(name), tmp_path / f"{name}.ready", tmp_path / f"{name}.got"
        script = f"trap 'echo {name} > {got}; exit 75' {name}; echo x > {ready}; while :; do sleep 0.05; done"
        with start(alice, todo, script) as runner:
            until(lambda ready=ready: said(ready))
            runner.send_signal(number)
            assert runner.wait(60) == 75
        assert said(got) == name
        assert alice.show(todo)["lease"]["holder"] is None


def test_a_command_that_ignores_term_is_killed_after_the_grace(alice: Clone, tmp_path: Path) -> None:
    todo, ready = alice.add("deaf"), tmp_path / "ready"
    script = f"trap '' TERM; echo $$ > {ready}; while :; do sleep 0.05; done"
    with start(alice, todo, script, "--grace", "1s") as runner:
        until(lambda: said(ready))
        runner.terminate()
        assert runner.wait(60) == 137
    assert not alive(int(said(ready)))
    assert alice.show(todo)["todo"]["status"] == "open"


def test_what_a_command_leaves_running_ends_with_it(alice: Clone, tmp_path: Path) -> None:
    todo, left = alice.add("forks"), tmp_path / "left"
    run(alice, todo, f"(trap '' HUP; sleep 60) & echo $! > {left}")
    assert not alive(int(said(left)))
    assert alice.show(todo)["todo"]["status"] == "completed"


def test_a_command_that_closes_its_streams(alice: Clone) -> None:
    todo = alice.add("closes")
    assert run(alice, todo, "exec >&- 2>&- <&-; sleep 0.1").json["outcome"] == "completed"


def test_a_reader_that_goes_away_does_not_lose_the_outcome(alice: Clone) -> None:
    todo = alice.add("piped")
    line = f"{LOOPX} --agent alice run --todo-id {todo} -- /bin/sh -c 'seq 100000 2>/dev/null; true' | head -1"
    done = subprocess.run(
        ["/bin/sh", "-c", line], cwd=alice.path, env=dict(alice.env), capture_output=True, timeout=60
    )
    assert done.stdout == b"1\n"
    assert b"Traceback" not in done.stderr
    assert alice.show(todo)["todo"]["status"] == "completed"


def test_a_command_that_needs_a_terminal_gets_the_runners(alice: Clone) -> None:
    """It may read from it, and the runner has it back afterwards."""
    todo = alice.add("asks")
    script = 'test -t 0 && read -r answer < /dev/tty && echo "got $answer"; stty -a > /dev/null && echo sane'
    words = [*PROGRAM, "--agent", "alice", "run", "--todo-id", todo, "--", "/bin/sh", "-c", script]
    outer = f"{shlex.join(words)}; read -r more; echo outer $more"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(alice.path)
        os.execve("/bin/sh", ["/bin/sh", "-c", outer], dict(alice.env))
    os.write(terminal, b"blue\nand then\n")
    heard = b""
    while True:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:
            break
        if not chunk:
            break
        heard += chunk
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    text = heard.decode()
    assert "got blue" in text
    assert "sane" in text
    assert "outer and then" in text


# -- a claim that is lost


def test_a_command_whose_claim_was_taken_is_ended(ledger: World, alice: Clone, bob: Clone, tmp_path: Path) -> None:
    todo, ready, end = alice.add("taken"), tmp_path / "ready", tmp_path / "end"
    # A child in a session of its own does not get away either.
    stray = plant(tmp_path / "stray", f"#!/bin/sh\ntrap '' HUP\necho $$ > {tmp_path}/stray.pid\nsleep 300\n")
    # Where there is no setsid or no /proc, that part is left out: such a child is out of reach there.
    reach = shutil.which("setsid") is not None and Path("/proc/self").exists()
    begin = f"setsid {stray} & until test -s {tmp_path}/stray.pid; do :; done; " if reach else ""
    script = f"{begin}trap 'echo x > {end}; exit 0' TERM; echo x > {ready}; while :; do sleep 0.05; done"
    with start(alice.having(LOOPX_MAX_AGE="1"), todo, script, "--ttl", "10m") as runner:
        until(lambda: said(ready))
        bob.run("todo", "release", todo, "--force", "--reason", "it is wedged", agent="bob")
        bob.run("todo", "claim", todo, agent="bob")
        assert runner.wait(60) == 12
    assert said(end)
    assert not reach or not alive(int(said(tmp_path / "stray.pid")))
    shown = alice.show(todo)
    assert (shown["lease"]["holder"], shown["todo"]["status"], shown["todo"]["notes"]) == ("bob", "open", [])


def test_a_command_ends_before_its_claim_does_when_nothing_can_be_renewed(
    ledger: World, alice: Clone, tmp_path: Path
) -> None:
    """ttl 4 s, margin 0.4 s: from 3.6 s on the claim counts as lost, and at 4 s nothing of the command is left."""
    todo, ready = alice.add("cut off"), tmp_path / "ready"
    script = f"trap '' TERM; echo x > {ready}; while :; do : > {ready}.last; sleep 0.02; done"
    with start(alice, todo, script, "--ttl", "4s") as runner:
        until(lambda: said(ready))
        ledger.remote.rename(ledger.root / "away")
        assert runner.wait(60) == 12
    (ledger.root / "away").rename(ledger.remote)
    record = alice.run("task-lease", "inspect", todo, "--offline").json["lease"]
    from loopx_git.core.times import parse_time

    granted = parse_time(record["renewed_at"]).timestamp()
    # On a busy machine the runner itself may be late by a moment; it is never late by the margin of others.
    assert (tmp_path / "ready.last").stat().st_mtime < granted + 4 + 2


@pytest.mark.parametrize("who", ["runner", "command", "both"])
def test_kill_9(ledger: World, alice: Clone, bob: Clone, tmp_path: Path, who: str) -> None:
    """Whoever dies, another runner finishes the todo, and nothing of the first command is left."""
    todo, ready = alice.add("killed"), tmp_path / "ready"
    alice.run("policy", "set", "claims.skew", "1s")
    script = f"echo $$ > {ready}; while :; do sleep 0.05; done"
    with start(alice, todo, script, "--ttl", "3s", "--grace", "1s") as runner:
        until(lambda: said(ready))
        command = int(said(ready))
        if who in ("runner", "both"):
            runner.kill()
        if who in ("command", "both"):
            os.kill(command, signal.SIGKILL)
        runner.wait(60)
    until(lambda: not alive(command))
    if who == "command":
        assert runner.returncode == 137

    def finished() -> bool:
        done = bob.run("run", "--todo-id", todo, "--", "true", agent="bob", check=(0, 11))
        return done.code == 0

    until(finished)
    shown = alice.show(todo)
    assert shown["todo"]["status"] == "completed"
    assert ledger.log()[-1]["agent"] == "bob"
    assert alice.verified()["ok"]


# -- Python


def test_the_same_from_python(alice: Clone) -> None:
    todo = alice.add("from python")
    told: list[str] = []
    client = Client(alice.path, alice.env, {"agent": "alice"})
    ran = client.run(["/bin/sh", "-c", "exit 9"], todo_id=todo, on_exit="9=needs_human", say=told.append)
    assert (ran.code, ran.outcome, ran.view.todo.status) == (9, "needs_human", "needs_human")
    assert len(told) == 2
