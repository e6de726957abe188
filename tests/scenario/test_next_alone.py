"""An agent that nobody contends with gets the todos by priority, whatever the draw."""

from __future__ import annotations

from pathlib import Path

import pytest
from clones import World

from loopx_git.client.client import Client
from loopx_git.client.connect import Overrides


@pytest.mark.parametrize("draw", [0.0, 0.5, 0.999999])
def test_by_priority(tmp_path: Path, draw: float) -> None:
    world = World(tmp_path / "world").start()
    clone = world.clone("one")
    clone.run("init")
    clone.run("peer", "register", "alice")
    for priority in (3, 0, 4, 2, 1, 0):
        clone.add(f"priority {priority}", "--priority", str(priority))
    client = Client(clone.path, clone.env, {"agent": "alice"}, Overrides(jitter=lambda: draw))
    taken = [client.todo.next(claim=True).view.todo.priority for _ in range(6)]
    assert taken == [0, 0, 1, 2, 3, 4]
