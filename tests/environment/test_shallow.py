"""sync.depth = 1 for throw-away clones: little is fetched, everything works, and what was not checked is said."""

from __future__ import annotations

from clones import Clone, World


def throw_away(world: World, name: str) -> Clone:
    clone = world.clone(name)
    config = clone.path / ".loopx/config.toml"
    config.write_text(config.read_text() + "\n[sync]\ndepth = 1\n")
    return clone


def test_a_throw_away_clone_claims_and_follows(ledger: World, alice: Clone) -> None:
    todos = [alice.add(f"todo {number}") for number in range(3)]
    # Depth needs a transport: git ignores it for a path.
    clone = throw_away(ledger, "throw-away")
    clone.git("remote", "set-url", "origin", f"file://{ledger.remote}")
    first = clone.run("todo", "claim", todos[0], agent="bob", json=False)
    assert "the rest: git loopx verify" in first.err
    coord = clone.home / "coord.git"
    assert clone.git("--git-dir", str(coord), "rev-list", "--count", "refs/loopx/tip") == "2"
    alice.run("todo", "claim", todos[1], agent="alice")
    assert clone.run("todo", "claim", todos[1], agent="bob", check=11).error["holder"] == "alice"
    clone.run("todo", "complete", todos[0], agent="bob")
    verdict = clone.run("verify").json
    assert (verdict["ok"], verdict["complete"]) == (True, False)
    assert alice.verified()["complete"] is True


def test_the_edge_of_history_is_no_root(ledger: World, alice: Clone) -> None:
    alice.add("one")
    clone = throw_away(ledger, "throw-away")
    clone.git("remote", "set-url", "origin", f"file://{ledger.remote}")
    clone.run("sync")
    entries = clone.run("log").json["entries"]
    assert [entry["op"] for entry in entries] == ["add"]
    assert clone.run("verify").json["findings"] == []
