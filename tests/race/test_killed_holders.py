"""Holders that renew, work and are killed at random, and reclaimers: nothing is held twice, everything ends."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from clones import World

#: Claims what fits, holds it for some steps with a renewal between them, completes; tells what it was granted.
HOLDER = """
import json, sys, time
from loopx_git import LoopXClient, LoopXError, NotFound
folder, name, ttl, every, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])
client = LoopXClient(folder, agent=name)
def tell(**facts):
    print(json.dumps({"at": time.time(), "agent": name, **facts}), flush=True)
while True:
    try:
        view = client.todo.next(claim=True, ttl=ttl, fresh=True).view
    except NotFound:
        if not client.todo.list(fresh=True, status=("open", "in_progress")).todos:
            break
        time.sleep(0.3)
        continue
    except LoopXError:
        continue
    lease, todo = view.lease.lease, view.id
    tell(event="held", todo=todo, epoch=lease.epoch)
    try:
        for _ in range(steps):
            time.sleep(every)
            renewed = client.task_lease.renew(f"{todo}@{lease.epoch}")
            tell(event="renewed", todo=todo, epoch=lease.epoch, seq=renewed.lease.seq)
        client.todo.complete(todo, epoch=lease.epoch)
        tell(event="completed", todo=todo, epoch=lease.epoch)
    except LoopXError as error:
        tell(event="lost", todo=todo, epoch=lease.epoch, code=error.code)
"""


class Crew:
    """The processes; what they told is in files, which survive a kill."""

    def __init__(self, world: World, folder: Path, *shape: str) -> None:
        self.world, self.folder, self.shape = world, folder, shape
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        clone = self.world.root / name
        if not clone.exists():
            self.world.clone(name)
        with (self.folder / f"{name}.jsonl").open("ab") as out:
            self.running[name] = subprocess.Popen(
                [sys.executable, "-c", HOLDER, str(clone), name, *self.shape], env=self.world.env, stdout=out
            )

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def told(self) -> list[dict[str, object]]:
        lines = [line for path in self.folder.glob("*.jsonl") for line in path.read_text().splitlines()]
        return sorted((json.loads(line) for line in lines if line.endswith("}")), key=lambda event: event["at"])


@pytest.mark.parametrize(
    ("seconds", "ttl", "every", "todos"),
    [
        pytest.param(12, 3, 0.8, 6, id="short"),
        pytest.param(60, 15, 4.0, 16, id="long", marks=pytest.mark.soak),
    ],
)
def test_holders_under_kill(ledger: World, tmp_path: Path, seconds: int, ttl: int, every: float, todos: int) -> None:
    operator = ledger.clone("operator")
    operator.run("policy", "set", "claims.skew", "0s")
    operator.run("policy", "set", "claims.max_attempts", "4")
    ids = [operator.add(f"todo {number}") for number in range(todos)]
    told = tmp_path / "told"
    told.mkdir()
    crew, chance = Crew(ledger, told, str(ttl), str(every), "2"), random.Random(7)
    names = [f"agent-0{number}" for number in range(4)]
    watch = ["heartbeat", "watch", "--interval", "1s"]
    watchers = [
        subprocess.Popen(
            [sys.executable, "-m", "loopx_git", "--agent", f"agent-1{number}", *watch],
            cwd=ledger.clone(f"watcher-{number}").path, env=ledger.env, stdout=subprocess.DEVNULL,
        )
        for number in range(2)
    ]  # fmt: skip
    try:
        for name in names:
            crew.start(name)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            time.sleep(chance.uniform(0.3, seconds / 12))
            victim = chance.choice(names)
            crew.kill(victim)
            crew.start(victim)
        ends = time.monotonic() + 120
        while any(process.poll() is None for process in crew.running.values()):
            assert time.monotonic() < ends, "the holders do not come to an end"
            time.sleep(0.2)
    finally:
        for process in [*watchers, *crew.running.values()]:
            process.kill()
            process.wait()

    history = ledger.log()
    grants = [(entry["todo"], entry["epoch"]) for entry in history if entry["op"] == "claim"]
    assert len(grants) == len(set(grants)), "an epoch was granted twice"
    claims = {(entry["todo"], int(entry["epoch"]), entry["agent"]) for entry in history if entry["op"] == "claim"}
    renewals = [(entry["todo"], int(entry["epoch"])) for entry in history if entry["op"] == "renew"]
    events = crew.told()
    for event in events:
        key = (event["todo"], event["epoch"])
        if event["event"] == "held":
            assert (*key, event["agent"]) in claims, f"an acknowledged claim is not in history: {event}"
        if event["event"] == "renewed":
            assert renewals.count(key) >= int(str(event["seq"])), (
                f"an acknowledged renewal is not in history: {event}"
            )
    statuses = {operator.show(todo)["todo"]["status"] for todo in ids}
    assert statuses <= {"completed", "needs_human"}
    assert any(event["event"] == "renewed" for event in events)
    assert any(entry["op"] == "reclaim" or "prev" in entry for entry in history), "nobody was ever killed holding"
    assert operator.verified()["ok"]
