"""Eight agents live on `todo next --claim` alone: each todo done once, nobody idle while something fits, no herd."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from clones import World

#: One agent: next, complete, until nothing is left; prints one JSON line a claim and one at each idle look.
AGENT = """
import json, sys, time
from loopx_git import LoopXClient, NotFound
client = LoopXClient(sys.argv[1], agent=sys.argv[2])
while True:
    try:
        found = client.todo.next(claim=True)
    except NotFound as nothing:
        left = client.todo.list(fresh=True).todos
        print(json.dumps({"idle": len(left), "why": [item["why"] for item in nothing.about["skipped"]]}), flush=True)
        if not left:
            break
        time.sleep(0.2)
        continue
    began = time.time()
    time.sleep(0.05)
    client.todo.complete(found.view.id, epoch=found.view.lease.lease.epoch)
    print(json.dumps({"todo": found.view.id, "tries": found.tries, "began": began, "ended": time.time()}), flush=True)
"""
CAPABILITIES = {0: ("python",), 1: ("docs",), 2: ("python", "docs"), 3: ()}


def test_eight_agents_over_forty_todos(tmp_path: Path) -> None:
    world = World(tmp_path / "world").start()
    first = world.clone("first")
    first.run("init")
    names = [f"agent-{number}" for number in range(8)]
    for number, name in enumerate(names):
        flags = [flag for able in CAPABILITIES[number % 4] for flag in ("--capability", able)]
        first.run("peer", "register", name, *flags)
    todos: list[str] = []
    for number in range(40):
        needs = {0: ["--requires", "python"], 1: ["--requires", "docs"]}.get(number % 5, [])
        after = ["--depends-on", todos[number - 7]] if number >= 12 and number % 3 == 0 else []
        todos.append(first.add(f"todo {number}", "--priority", str(number // 10), *needs, *after))
    clones = [world.clone(name) for name in names]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", AGENT, str(clone.path), name],
            env=dict(clone.env),
            stdout=subprocess.PIPE,
            text=True,
        )
        for clone, name in zip(clones, names, strict=True)
    ]
    told = {name: [json.loads(line) for line in process.communicate(timeout=300)[0].splitlines()]
            for name, process in zip(names, running, strict=True)}  # fmt: skip
    assert [process.returncode for process in running] == [0] * 8

    done = Counter(event["todo"] for events in told.values() for event in events if "todo" in event)
    assert done == Counter(dict.fromkeys(todos, 1))
    completed = Counter(entry["todo"] for entry in world.log() if entry.get("op") == "complete")
    assert completed == Counter(dict.fromkeys(todos, 1))
    claimed = Counter(entry["todo"] for entry in world.log() if entry.get("op") == "claim")
    assert claimed == Counter(dict.fromkeys(todos, 1))
    # Whoever found nothing was told of each todo why: held, waiting, or beyond its capabilities.
    reasons = [why for events in told.values() for event in events if event.get("idle") for why in event["why"]]
    assert all("held by" in why or "waits for" in why or "requires" in why for why in reasons), reasons
    tries = [event["tries"] for events in told.values() for event in events if "todo" in event]
    print(f"tries per claim: mean {sum(tries) / len(tries):.2f}, most {max(tries)}")
    assert sum(tries) / len(tries) < 4
    assert first.verified()["ok"]
