"""The twelve cases of the loop runner's contract, by name, on real clones of a real remote."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from clones import PROGRAM, Clone, Result, World

LOOPX = shlex.join(PROGRAM)


@pytest.fixture
def one(alice: Clone) -> Clone:
    alice.run("loop", "create", "one")
    return alice


@pytest.fixture
def two(bob: Clone) -> Clone:
    bob.run("loop", "create", "two")
    return bob


def claim(clone: Clone, name: str, task: str, *more: str, code: int = 0) -> Result:
    return clone.run("loop", "claim", name, "--task", task, *more, check=code)


def tick(clone: Clone, name: str, script: str, *more: str, code: int = 0) -> Result:
    return clone.run("loop", "tick", name, *more, "--", "/bin/sh", "-c", script, check=code)


def state(clone: Clone) -> dict[str, tuple[int, bytes]]:
    """Content and time of every file of ours in a clone, but the lock's and the note of when was last fetched."""
    found = {}
    for folder, _, names in os.walk(clone.home):
        for name in names:
            path = Path(folder, name)
            if name not in ("lock", "fetched"):
                found[str(path)] = (path.stat().st_mtime_ns, path.read_bytes())
    return found


def test_nobody_owns(ledger: World, one: Clone) -> None:
    todo = one.add("fix it", "--alias", "fix-X")
    answer = claim(one, "one", "fix-X")
    assert answer.err.splitlines()[0] == "OK"
    assert (answer.json["current_task"], answer.json["status"], answer.json["iterations"]) == (todo, "running", 0)
    shown = one.show(todo)
    assert (shown["lease"]["holder"], shown["lease"]["ttl_s"], shown["lease"]["epoch"]) == ("one", None, 1)


def test_other_owns(ledger: World, one: Clone, two: Clone) -> None:
    todo, held = one.add("a loop's"), one.add("an agent's")
    claim(one, "one", todo)
    one.run("todo", "claim", held, agent="alice")
    tip = ledger.tip()
    for task, owner in ((todo, "one"), (held, "alice")):
        answer = claim(two, "two", task, code=2)
        assert answer.error["word"] == f"task_already_claimed:{owner}"
        assert answer.error["code"] == 2
        # One object, and nothing beside it.
        assert (answer.out, answer.err.count("\n")) == ("", 1)
        told = two.run("loop", "claim", "two", "--task", task, json=False, check=2)
        assert told.err.splitlines()[0] == f"task_already_claimed:{owner}"
    assert ledger.tip() == tip


def test_a_dry_run_says_what_it_would_do(ledger: World, one: Clone) -> None:
    todo, later = one.add("to be claimed"), one.add("a lapsed one")
    one.run("todo", "claim", later, "--ttl", "1m", agent="alice")
    tip = ledger.tip()
    told = one.run("loop", "claim", "one", "--task", todo, "--dry-run", json=False)
    assert told.err == "would be OK\n"
    assert f"{todo} would become the task of one: to be claimed" in told.out
    assert f"lease {todo}@1" in told.out
    wanted = claim(one, "one", todo, "--dry-run").json
    assert (wanted["current_task"], wanted["lease"]["id"], wanted["dry_run"]) == (todo, f"{todo}@1", True)
    day_after = {"LOOPX_NOW": "+1d"}
    told = one.run("loop", "claim", "one", "--task", later, "--dry-run", json=False, env=day_after)
    assert f"lease {later}@2, no time bound, taken over from alice@1" in told.out
    assert claim(one, "one", todo, "--dry-run").err == "would be OK\n"
    assert ledger.tip() == tip
    claim(one, "one", todo)
    assert claim(one, "one", todo, "--dry-run").err == "already_self_claimed\n"


def test_self_owns(ledger: World, one: Clone) -> None:
    todo = one.add("mine")
    claim(one, "one", todo)
    one.run("sync")
    tip, files = ledger.tip(), state(one)
    time.sleep(0.02)
    answer = claim(one, "one", todo)
    assert answer.err.splitlines()[0] == "already_self_claimed"
    assert answer.json["acquired"] is False
    assert ledger.tip() == tip
    assert state(one) == files


def test_untracked_loop(ledger: World, alice: Clone) -> None:
    todo = alice.add("nobody's")
    alice.run("peer", "register", "ghost", "--kind", "loop")
    tip = ledger.tip()
    for name in ("ghost", "never-heard-of"):
        assert claim(alice, name, todo, code=2).error["word"] == "loop_untracked"
    assert ledger.tip() == tip


def test_missing_task(ledger: World, one: Clone) -> None:
    tip = ledger.tip()
    assert "--task" in one.run("loop", "claim", "one", check=2).error["message"]
    assert "NAME" in one.run("loop", "claim", "--task", "x", check=2).error["message"]
    assert claim(one, "one", "todo_000000000000", code=2).error["word"] == "task_not_found:todo_000000000000"
    assert claim(one, "one", "no-such-alias", code=2).error["word"] == "task_not_found:no-such-alias"
    assert ledger.tip() == tip


def test_released_on_completed(ledger: World, one: Clone) -> None:
    todo = one.add("to be completed")
    before = len(ledger.log())
    answer = tick(one, "one", f"{LOOPX} todo complete $LOOPX_TODO >/dev/null")
    assert (answer.json["released"], answer.json["current_task"], answer.json["iterations"]) == (todo, None, 1)
    # The claim, the command's own completion, and one commit that counts and clears.
    assert [entry["op"] for entry in ledger.log()[before:]] == ["claim", "complete", "loop"]
    assert one.show(todo)["lease"]["holder"] is None


def test_released_on_needs_human(ledger: World, one: Clone) -> None:
    todo = one.add("to be asked about")
    before = len(ledger.log())
    answer = tick(one, "one", f"{LOOPX} todo update $LOOPX_TODO --status needs_human --note 'which one?' >/dev/null")
    assert (answer.json["released"], answer.json["current_task"]) == (todo, None)
    assert [entry["op"] for entry in ledger.log()[before:]] == ["claim", "update", "loop"]
    shown = one.show(todo)
    assert (shown["todo"]["status"], shown["lease"]["holder"], shown["todo"]["claimed_by"]) == (
        "needs_human", None, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    "script", ["true", f"{LOOPX} todo update $LOOPX_TODO --status in_progress >/dev/null", "exit 3"]
)
def test_not_released_while_in_progress(ledger: World, one: Clone, script: str) -> None:
    todo = one.add("takes long")
    for number in (1, 2):
        answer = tick(one, "one", script, code=3 if script == "exit 3" else 0)
        assert (answer.json["released"], answer.json["current_task"]) == (None, todo)
        assert answer.json["iterations"] == number
    shown = one.show(todo)
    assert (shown["lease"]["holder"], shown["lease"]["epoch"]) == ("one", 1)


def test_a_race_that_heals(ledger: World, one: Clone, two: Clone) -> None:
    todo = one.add("wanted by both")
    claim(one, "one", todo)
    assert claim(two, "two", todo, code=2).error["word"] == "task_already_claimed:one"
    session = one.run("loop", "show", "one").json["session"]
    one.run("todo", "release", todo, "--session", session, agent="one")
    assert claim(two, "two", todo).err.splitlines()[0] == "OK"
    assert one.show(todo)["lease"]["holder"] == "two"
    assert ledger.clone("reader").verified()["ok"]


def test_a_paused_loop_may_claim(ledger: World, one: Clone, two: Clone) -> None:
    todo = one.add("while paused")
    one.run("loop", "pause", "one")
    assert claim(one, "one", todo).err.splitlines()[0] == "OK"
    assert claim(two, "two", todo, code=2).error["word"] == "task_already_claimed:one"
    skipped = tick(one, "one", "echo must not run")
    assert (skipped.json["skipped"], skipped.json["current_task"]) == ("loop_paused", todo)
    one.run("loop", "resume", "one")
    assert tick(one, "one", "true").json["task"] == todo


def test_a_tick_skips_on_refusal_and_goes_on_when_free(ledger: World, one: Clone, two: Clone) -> None:
    todo = one.add("taken")
    claim(one, "one", todo)
    tip = ledger.tip()
    for more in ((), ("--task", todo)):
        skipped = tick(two, "two", "echo must not run", *more)
        assert skipped.err.startswith("SKIP task_claimed_by_other_loop")
        assert (skipped.json["skipped"], skipped.json["status"]) == ("task_claimed_by_other_loop", "running")
    assert ledger.tip() == tip
    session = one.run("loop", "show", "one").json["session"]
    one.run("todo", "release", todo, "--session", session, agent="one")
    assert tick(two, "two", "true").json["task"] == todo


def test_the_current_task_is_cleared_on_completion(ledger: World, one: Clone) -> None:
    first, second = one.add("first", "--priority", "0"), one.add("second", "--priority", "4")
    claim(one, "one", first)
    session = one.run("loop", "show", "one").json["session"]
    one.run("todo", "complete", first, "--session", session, agent="one")
    # The write that counts has not been made (as if the tick had died before it): the next tick makes up for it.
    assert one.run("loop", "show", "one", "--fresh").json["current_task"] == first
    answer = tick(one, "one", f"{LOOPX} todo complete $LOOPX_TODO >/dev/null")
    assert (answer.json["task"], answer.json["current_task"], answer.json["iterations"]) == (second, None, 2)
    assert one.verified()["ok"]


# -- what else the contract says


def test_the_spelling_at_the_top_level(ledger: World, one: Clone, tmp_path: Path) -> None:
    todo = one.add("from afar", "--alias", "fix-far")
    outside = Clone(tmp_path, one.env)
    args = ("--claim-loop-task", "one", "--task", "fix-far", "--project", str(one.path))
    assert outside.run(*args).json["current_task"] == todo
    assert outside.run("--claim-loop-task=one", *args[2:]).err.splitlines()[0] == "already_self_claimed"
    assert "--task" in outside.run("--claim-loop-task", "one", "--project", str(one.path), check=2).error["message"]
    assert "NAME" in outside.run("--claim-loop-task", "--task", "x", check=2).error["message"]


def test_force_is_audited_and_raises_the_epoch(ledger: World, one: Clone, two: Clone) -> None:
    todo = one.add("stuck")
    claim(one, "one", todo)
    claim(two, "two", todo, "--force", code=2)
    assert claim(two, "two", todo, "--force", "--reason", "one has crashed").json["lease"]["epoch"] == 2
    entry = ledger.log()[-1]
    assert (entry["op"], entry["prev"], entry["reason"]) == ("claim", "one@1", "one has crashed")
    lost = tick(one, "one", "true")
    assert lost.json["current_task"] is None


def test_halt_keeps_the_task_and_the_audit_tells(ledger: World, one: Clone, two: Clone) -> None:
    todo = one.add("red")
    claim(one, "one", todo)
    assert one.run("loop", "audit").json["ok"] is True
    one.run("loop", "halt", "one", "--reason", "tests are red")
    assert claim(two, "two", todo, code=2).error["word"] == "task_already_claimed:one"
    assert tick(one, "one", "echo must not run").json["skipped"] == "loop_halted"
    found = one.run("loop", "audit", check=19)
    assert [view["name"] for view in json_of(found)["loops"]] == ["one"]
    one.run("loop", "resume", "one", check=15)
    one.run("loop", "approve", "one", agent="one", check=15)
    assert one.run("loop", "approve", "one").json["current_task"] == todo
    assert one.run("loop", "audit").json["ok"] is True


def json_of(result: Result) -> dict[str, list[dict[str, object]]]:
    import json

    found: dict[str, list[dict[str, object]]] = json.loads(result.out)
    return found


def test_a_loop_moves_to_another_clone_only_when_told(ledger: World, one: Clone, bob: Clone) -> None:
    todo = one.add("moves")
    claim(one, "one", todo)
    assert tick(bob, "one", "true", code=15).error["reason"] == "loop_elsewhere"
    assert claim(bob, "one", todo, code=2).error["word"] == "loop_elsewhere"
    moved = tick(bob, "one", "true", "--resume")
    assert (moved.json["task"], moved.json["lease"]["epoch"]) == (todo, 2)
    assert tick(one, "one", "true", code=15).error["reason"] == "loop_elsewhere"
    assert one.verified()["ok"]


def test_one_tick_at_a_time_also_when_the_runner_was_killed(ledger: World, one: Clone, tmp_path: Path) -> None:
    """The command inherits the lock of its loop: it is not started twice while it lives."""
    one.add("slow")
    started = tmp_path / "started"
    script = f"trap '' TERM; echo $$ > {started}; sleep 30 & wait; sleep 30"
    runner = subprocess.Popen(
        [*PROGRAM, "loop", "tick", "one", "--grace", "60", "--", "/bin/sh", "-c", script], cwd=one.path,
        env=dict(one.env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(started)
        assert tick(one, "one", "true").json["skipped"] == "loop_is_ticking"
        runner.kill()
        runner.wait()
        assert tick(one, "one", "true").json["skipped"] == "loop_is_ticking"
    finally:
        runner.kill()
        runner.wait()
        os.killpg(int(started.read_text()), 9)
    until(lambda: tick(one, "one", "true").json["skipped"] is None)


def wait_for(path: Path) -> None:
    until(lambda: path.exists() and path.read_text().strip() != "")


def until(condition: object, seconds: float = 60) -> None:
    assert callable(condition)
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.05)


def test_loop_run_ends_when_idle_halts_after_failures_and_counts(ledger: World, one: Clone) -> None:
    todos = [one.add(f"number {number}") for number in range(2)]
    script = f"{LOOPX} todo complete $LOOPX_TODO >/dev/null"
    ended = one.run("loop", "run", "one", "--interval", "0", "--until-idle", "--", "/bin/sh", "-c", script)
    assert (ended.json["iterations"], ended.json["ticks"], ended.json["current_task"]) == (2, 3, None)
    assert all(one.show(todo)["todo"]["status"] == "completed" for todo in todos)
    one.add("fails")
    halted = one.run("loop", "run", "one", "--interval", "0", "--halt-after", "2", "--max", "9", "--", "false")
    assert (halted.json["status"], halted.json["ticks"]) == ("halted", 2)
    assert "2 failures in a row" in halted.json["reason"]


def test_the_program_is_the_one_under_test() -> None:
    assert PROGRAM[0] == sys.executable
