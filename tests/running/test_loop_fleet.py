"""Twelve loops in twelve clones work off forty todos with commands that sleep, fail and crash."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from clones import PROGRAM, World, populate

from loopx_git.client.client import Client

#: Writes down when it starts and ends. The first try of every third todo fails, of every seventh crashes; a later one
#: completes the todo.
WORK = """\
count=$(grep -c "start $LOOPX_TODO " "$LOG")
number=$(sed -n 's/^title: number //p' "$LOOPX_TODO_FILE")
echo "start $LOOPX_TODO $LOOPX_LOOP $$" >> "$LOG"
sleep 0.0$((number % 5))
if [ "$count" -eq 0 ] && [ $((number % 7)) -eq 0 ]; then
    echo "end $LOOPX_TODO $LOOPX_LOOP $$" >> "$LOG"
    kill -9 $$
fi
if [ "$count" -eq 0 ] && [ $((number % 3)) -eq 0 ]; then
    echo "end $LOOPX_TODO $LOOPX_LOOP $$" >> "$LOG"
    exit 1
fi
@PROGRAM@ todo complete "$LOOPX_TODO" > /dev/null
code=$?
echo "end $LOOPX_TODO $LOOPX_LOOP $$" >> "$LOG"
exit $code
"""


def overlaps(log: Path) -> list[str]:
    """Todos on which a command began while another was at it, in the order of the log's lines."""
    working: dict[str, str] = {}
    found = []
    for line in log.read_text().splitlines():
        what, todo, loop, pid = line.split()
        if what == "start":
            if todo in working:
                found.append(f"{todo}: {working[todo]} and {loop}")
            working[todo] = f"{loop} {pid}"
        elif working.get(todo) == f"{loop} {pid}":
            del working[todo]
        else:
            found.append(f"{todo}: {loop} ended what {working.get(todo)} works on")
    assert not working, "every command has ended"
    return found


def fleet(ledger: World, folder: Path, loops: int, todos: int, kills: int = 0) -> None:
    clones = ledger.clones(loops)
    ids = populate(clones[0], titles=[f"number {number}" for number in range(1, todos + 1)])
    log = folder / "log"
    log.touch()
    script = WORK.replace("@PROGRAM@", shlex.join(PROGRAM))

    def start(number: int) -> subprocess.Popen[bytes]:
        name = f"loop-{number:02}"
        return subprocess.Popen(
            [*PROGRAM, "loop", "run", name, "--interval", "1", "--until-idle", "--grace", "1s", "--",
             "/bin/sh", "-c", script],
            cwd=clones[number].path, env={**clones[number].env, "LOG": str(log)}, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    for number, clone in enumerate(clones):
        Client(clone.path, clone.env).loop.create(f"loop-{number:02}")
    runners = {number: start(number) for number in range(loops)}
    try:
        for kill in range(kills):
            time.sleep(2)
            # The runner alone: its command is ended by its watch, and the loop goes on with its task.
            os.kill(runners[kill % loops].pid, signal.SIGKILL)
            runners[kill % loops].communicate()
            runners[kill % loops] = start(kill % loops)
        for number, runner in runners.items():
            _, err = runner.communicate(timeout=540)
            assert runner.returncode == 0, f"loop-{number:02}: {err.decode()}"
    finally:
        for runner in runners.values():
            with runner:
                runner.kill()
    if not kills:
        assert overlaps(log) == []
    client = Client(clones[0].path, clones[0].env)
    found = client.todo.list(fresh=True, status=["completed"]).todos
    assert sorted(view.id for view in found) == sorted(ids)
    started = Counter(line.split()[1] for line in log.read_text().splitlines() if line.startswith("start"))
    assert set(started) == set(ids)
    assert len({line.split()[2] for line in log.read_text().splitlines()}) > loops // 2, "the work was shared"
    views, _ = client.loop.list(fresh=True)
    assert all(view.loop.current_task is None for view in views)
    if not kills:
        assert sum(view.loop.iterations for view in views) == sum(started.values())
    assert clones[0].verified()["ok"]


def test_every_todo_is_worked_on_by_one_loop_at_a_time(ledger: World, tmp_path: Path) -> None:
    fleet(ledger, tmp_path, 12, 40)


@pytest.mark.soak
def test_runners_that_are_killed_meanwhile(ledger: World, tmp_path: Path) -> None:
    fleet(ledger, tmp_path, 12, 120, kills=12)
