"""What a person looks at first: the goal that is meant needs no name."""

from __future__ import annotations

from pathlib import Path

from clones import World


def test_the_goal_that_is_meant_is_shown_without_its_name(tmp_path: Path) -> None:
    clone = World(tmp_path / "world").start().clone("one")
    clone.run("init")
    assert clone.run("goal", "show").json["goal"]["id"] == "main"


def test_what_waits_is_counted_beside_the_open_ones(tmp_path: Path) -> None:
    clone = World(tmp_path / "world").start().clone("one")
    clone.run("init")
    first = clone.add("first")
    assert "waiting" not in clone.run("goal", "show", json=False).out
    clone.add("second", "--depends-on", first)
    assert "waiting      1 of these" in clone.run("goal", "show", json=False).out
