"""A runner that is killed with -9 takes its keeper along: nothing renews, nothing works on, no lock stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from clones import PROGRAM, Clone, World

from loopx_git.client.client import Client
from loopx_git.errors import HeldByAnother

#: Holds the todo; a process that it forked off lives on after it (argv: folder, todo).
HOLDER = """
import os, sys, time
from loopx_git import LoopXClient
client = LoopXClient(sys.argv[1], agent="alice")
with client.hold(sys.argv[2], ttl=2) as hold:
    child = os.fork() if sys.argv[3] == "forks" else -1
    if child == 0:
        time.sleep(300)
    print("ready", child, flush=True)
    time.sleep(300)
"""
#: Runs a command that does not end, from Python, and forks off a process meanwhile.
RUNNER = """
import os, sys, threading, time
from loopx_git import LoopXClient
def fork():
    while not os.path.exists(sys.argv[3]):
        time.sleep(0.01)
    child = os.fork()
    if child == 0:
        time.sleep(300)
    print("ready", child, flush=True)
threading.Thread(target=fork, daemon=True).start()
client = LoopXClient(sys.argv[1], agent="alice")
client.run(["sh", "-c", f"echo $$ > {sys.argv[3]}.new; mv {sys.argv[3]}.new {sys.argv[3]}; sleep 300"],
           todo_id=sys.argv[2], ttl=2, grace=1.0)
"""


#: What the runners forked off; it outlives them.
FORKED: list[int] = []


@contextmanager
def started(clone: Clone, *argv: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        argv, cwd=clone.path, env=dict(clone.env), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()
            for pid in FORKED:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            FORKED.clear()


def ready(process: subprocess.Popen[bytes]) -> int:
    """The process that it forked off; -1: none."""
    assert process.stdout is not None
    word, child = process.stdout.readline().split()
    assert word == b"ready"
    if int(child) > 0:
        FORKED.append(int(child))
    return int(child)


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.05)


def gone(pid: int) -> bool:
    """Whether a process has ended (a zombie has)."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return not done.stdout.strip() or done.stdout.strip().startswith("Z")


def lapses(clone: Clone, todo: str) -> None:
    """Nobody renews it any more: by its ttl it is there for the next agent."""
    client = Client(clone.path, clone.env, {"agent": "bob"})

    def taken() -> bool:
        try:
            return client.todo.claim(todo).lease.lease.epoch == 2
        except HeldByAnother:
            return False

    until(taken)


@pytest.fixture
def quick(alice: Clone) -> Clone:
    alice.run("policy", "set", "claims.skew", "0s")
    return alice


@pytest.mark.parametrize("forks", ["alone", "forks"])
def test_a_holder(ledger: World, quick: Clone, bob: Clone, forks: str) -> None:
    """Also where a process that it forked off lives on, with copies of all that it had open."""
    todo = quick.add("held")
    with started(quick, sys.executable, "-c", HOLDER, str(quick.path), todo, forks) as holder:
        child = ready(holder)
        holder.kill()
        holder.wait()
        lapses(bob, todo)
        assert [entry["agent"] for entry in ledger.claims(todo)] == ["alice", "bob"]
        if child > 0:
            assert not gone(child)


def test_a_lock_is_not_held_by_what_was_forked_off_under_it(tmp_path: Path) -> None:
    """A pool of workers that begins while a renewal is on its way must not keep the clone's lock for ever."""
    from loopx_git.store.lock import locked

    home = str(tmp_path / "loopx")
    for stays in (True, False):
        reading, writing = os.pipe()
        with locked(home, 1, stays=stays):
            child = os.fork()
            if child == 0:
                os.write(writing, b"x")
                signal.pause()
            assert os.read(reading, 1) == b"x"
        with locked(home, 0, stays=stays):
            pass
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)


def test_a_runner_that_has_forked(quick: Clone, bob: Clone, tmp_path: Path) -> None:
    """What it forked off has a copy of the pipe by which the watch knows that the runner lives."""
    todo, file = quick.add("run"), tmp_path / "command"
    with started(quick, sys.executable, "-c", RUNNER, str(quick.path), todo, str(file)) as runner:
        child = ready(runner)
        runner.kill()
        runner.wait()
        until(lambda: gone(int(file.read_text())))
        assert not gone(child)
        lapses(bob, todo)


def test_a_loop(quick: Clone, tmp_path: Path) -> None:
    """Its command ends, and the next tick begins as soon as it has."""
    quick.run("loop", "create", "nightly")
    todo, file = quick.add("task"), tmp_path / "command"
    script = f"echo $$ > {file}.new; mv {file}.new {file}; sleep 300"
    words = [*PROGRAM, "loop", "run", "nightly", "--grace", "1s", "--", "sh", "-c", script]
    with started(quick, *words) as runner:
        until(file.exists)
        busy = quick.run("loop", "tick", "nightly", "--", "true").json
        assert busy["skipped"] == "loop_is_ticking"
        runner.kill()
        runner.wait()
        until(lambda: gone(int(file.read_text())))
        ticked: list[dict[str, object]] = []

        def again() -> bool:
            ticked.append(quick.run("loop", "tick", "nightly", "--", "true").json)
            return not ticked[-1]["skipped"]

        until(again)
        assert ticked[-1]["task"] == todo
    assert quick.show(todo)["lease"]["epoch"] == 1
    assert quick.verified()["ok"]


def test_the_check_of_complete(quick: Clone, tmp_path: Path) -> None:
    """What it runs does not work on for a todo that nobody completes any more."""
    file = tmp_path / "check"
    quick.commit("check.sh", f"echo $$ > {file}.new; mv {file}.new {file}; sleep 300\n")
    config = quick.path / ".loopx/config.toml"
    quick.commit(".loopx/config.toml", config.read_text() + '\n[validate]\nallow = [["sh", "check.sh"]]\n')
    quick.git("push", "-q", "origin", "main")
    todo = quick.add("checked", "--validate", "sh check.sh")
    quick.run("todo", "claim", todo, agent="alice")
    with started(quick, *PROGRAM, "--agent", "alice", "todo", "complete", todo) as runner:
        until(file.exists)
        runner.kill()
        runner.wait()
        until(lambda: gone(int(file.read_text())))
    assert quick.show(todo)["todo"]["status"] == "open"


def test_the_hook_of_land(quick: Clone, tmp_path: Path) -> None:
    file = tmp_path / "hook"
    hook = quick.common_dir / "hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho $$ > {file}.new; mv {file}.new {file}; sleep 300\n")
    hook.chmod(0o755)
    todo = quick.add("landed")
    quick.run("todo", "claim", todo, agent="alice")
    quick.commit("work.py", message=f"work\n\nLoopx-Claim: {todo}@1")
    with started(quick, *PROGRAM, "--agent", "alice", "land", "--todo-id", todo) as runner:
        until(file.exists)
        runner.kill()
        runner.wait()
        until(lambda: gone(int(file.read_text())))
    assert quick.show(todo)["todo"]["status"] == "open"
