"""The log says which field changed from what to what, and takes its todo as an argument."""

from __future__ import annotations

from typing import Any

from clones import Clone


def changes(clone: Clone, *args: str) -> list[list[tuple[Any, ...]]]:
    return [
        [(item["of"], item["field"], item["from"], item["to"]) for item in entry["changes"]]
        for entry in clone.run("log", *args, "--fresh").json["entries"]
    ]


def test_the_fields_of_a_todo(alice: Clone) -> None:
    todo = alice.add("old title", "--alias", "fix")
    alice.run("todo", "claim", "fix", agent="alice")
    update = ["--title", "new\u202e title", "--priority", "0", "--label", "a", "--label", "b", "--note", "half",
              "--status", "in_progress", "--body", "12345"]  # fmt: skip
    alice.run("todo", "update", "fix", *update, agent="alice")
    alice.run("todo", "complete", "fix", agent="alice")
    alice.run("todo", "archive", "fix", agent="alice")
    archived, completed, updated, claimed, added = changes(alice, "fix")
    assert archived == [(todo, "archived", False, True)]
    assert (todo, "status", "in_progress", "completed") in completed
    assert claimed == [(todo, "claimed_by", None, "alice")]
    assert added == []
    assert set(map(str, updated)) == {
        str((todo, name, old, new))
        for name, old, new in (
            ("title", "old title", "new\u202e title"), ("priority", 2, 0), ("labels", [], ["a", "b"]),
            ("notes", 0, 1), ("status", "open", "in_progress"), ("body", "0 characters", "5 characters"),
        )
    }  # fmt: skip
    assert alice.run("log", "--todo-id", "fix").json["entries"] == alice.run("log", "fix").json["entries"]
    text = alice.run("log", "fix", json=False).out.splitlines()
    for line in ("    priority: 2 -> 0", "    labels: - -> a, b", "    title: old title -> new\\u202e title"):
        assert line in text
    assert not any("claimed_by" in line for line in text)
    assert alice.run("log", "fix", "--todo-id", "fix", check=2).error["hint"] == "git loopx log TODO"
    assert alice.run("log", "nothing-so", check=17).error["code"] == 17


def test_a_policy_a_peer_a_goal_and_another_todo(alice: Clone) -> None:
    old, new = alice.add("old"), alice.add("new")
    alice.run("policy", "set", "claims.ttl", "1h")
    alice.run("peer", "pause", "bob")
    alice.run("goal", "create", "later")
    alice.run("goal", "close", "later")
    alice.run("todo", "claim", old, agent="alice")
    alice.run("todo", "supersede", old, "--by", new, agent="alice")
    superseded, _, closed, _, paused, policy, *_ = changes(alice)
    assert (new, "supersedes", [], [old]) in superseded
    assert (old, "successor", None, new) in superseded
    assert closed == [("goal later", "status", "open", "closed")]
    assert paused == [("peer bob", "status", "active", "paused")]
    assert policy == [("policy", "claims.ttl", "2h", "1h")]
    lines = alice.run("log", json=False).out.splitlines()
    assert f"    {new} supersedes: - -> {old}" in lines
    assert "    policy claims.ttl: 2h -> 1h" in lines
