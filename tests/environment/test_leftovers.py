"""What a refusal or a killed git leaves behind: nothing among the user's refs, nothing in the way of the next."""

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


def test_a_lock_that_a_killed_git_left_in_our_repository_is_outlived(ledger: World) -> None:
    clone = ledger.clone("alice")
    clone.run("sync")
    other = ledger.clone("bob")
    todo = other.add("one")
    (clone.home / "coord.git/refs/loopx/fetched.lock").write_bytes(b"")
    clone.run("todo", "claim", todo, agent="alice")
    assert clone.verified()["ok"]
