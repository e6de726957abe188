"""A refusal in the user's own repository leaves nothing of ours among its refs."""

from __future__ import annotations

from clones import World


def test_a_refusal_leaves_no_anchor_and_no_record(world: World) -> None:
    alone = world.repository("alone")
    alone.commit("code.py")
    alone.run("init")
    alone.git("worktree", "add", "-q", "../looking", "loopx/coord")
    refs = alone.git("for-each-ref")
    refused = alone.run("todo", "add", "x", check=15).error
    assert "looking" in refused["message"]
    assert alone.git("for-each-ref") == refs
    assert list((alone.home / "pending").glob("*")) == []
    alone.git("worktree", "remove", "../looking")
    alone.run("todo", "add", "x")
    assert alone.verified()["ok"]
