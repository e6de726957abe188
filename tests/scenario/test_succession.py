"""Successors, reopened and archived todos across two clones: links on both sides, epochs and names never reused."""

from __future__ import annotations

import pytest
from clones import Clone


@pytest.fixture
def one(alice: Clone) -> str:
    return alice.add("one", "--alias", "one", "--scope", "/one/", "--priority", "1")


def finish(clone: Clone, todo: str, agent: str) -> None:
    clone.run("todo", "claim", todo, agent=agent)
    clone.run("todo", "complete", todo, agent=agent)


def test_a_new_successor_is_linked_both_ways_and_carries_the_work_on(alice: Clone, bob: Clone, one: str) -> None:
    alice.run("todo", "claim", one, agent="alice")
    ended = alice.run("todo", "supersede", one, "--by-title", "one, again", agent="alice").json
    successor = ended["todo"]["successor"]
    assert (ended["todo"]["status"], ended["lease"]["holder"]) == ("superseded", None)
    other = bob.show(successor)["todo"]
    assert (other["supersedes"], other["title"], other["scope"], other["priority"]) == (
        [one],
        "one, again",
        ["/one/"],
        1,
    )
    assert bob.show(one)["todo"]["successor"] == successor
    assert bob.verified()["ok"]


def test_dependents_wait_for_the_successor(alice: Clone, bob: Clone, one: str) -> None:
    waiting = alice.add("waits", "--depends-on", one)
    alice.run("todo", "claim", one, agent="alice")
    successor = alice.run("todo", "supersede", one, "--by-title", "one, again", agent="alice").json["todo"][
        "successor"
    ]
    assert successor in bob.run("todo", "claim", waiting, agent="bob", check=15).error["message"]
    finish(bob, successor, "bob")
    bob.run("todo", "claim", waiting, agent="bob")


def test_a_chain_never_closes(alice: Clone, bob: Clone, one: str) -> None:
    two, three = alice.add("two"), alice.add("three")
    for ended, by in ((one, two), (two, three)):
        alice.run("todo", "claim", ended, agent="alice")
        alice.run("todo", "supersede", ended, "--by", by, agent="alice")
    bob.run("todo", "claim", three, agent="bob")
    refused = bob.run("todo", "supersede", three, "--by", one, agent="bob", check=15).error
    assert refused["cycle"] == [one, two, three]
    assert bob.run("todo", "supersede", three, "--by", three, agent="bob", check=2).error["hint"]
    assert bob.run("todo", "supersede", three, "--by", "todo_ffffffffffff", agent="bob", check=17).error["hint"]
    assert bob.show(three)["lease"]["holder"] == "bob"


def test_reopening_takes_the_link_out_on_both_sides(alice: Clone, bob: Clone, one: str) -> None:
    alice.run("todo", "claim", one, agent="alice")
    successor = alice.run("todo", "supersede", one, "--by-title", "again", agent="alice").json["todo"]["successor"]
    opened = bob.run("todo", "reopen", one, agent="bob").json
    assert (opened["todo"]["status"], opened["todo"]["successor"], opened["lease"]["epoch"]) == ("open", None, 2)
    assert alice.show(successor)["todo"]["supersedes"] == []
    assert alice.verified()["ok"]


def test_a_successor_that_somebody_else_holds_gets_the_link_and_nothing_else(
    alice: Clone, bob: Clone, one: str
) -> None:
    two = bob.add("two")
    bob.run("todo", "claim", two, agent="bob")
    before = bob.show(two)
    alice.run("todo", "claim", one, agent="alice")
    alice.run("todo", "supersede", one, "--by", two, agent="alice")
    after = bob.run("todo", "show", two, "--fresh").json
    assert after["lease"] == before["lease"]
    assert after["todo"] == {**before["todo"], "supersedes": [one]}
    alice.run("todo", "update", two, "--title", "mine", agent="alice", check=12)
    assert bob.verified()["ok"]


def test_a_completed_todo_may_name_what_carries_on(alice: Clone, bob: Clone, one: str) -> None:
    alice.run("todo", "claim", one, agent="alice")
    done = alice.run("todo", "complete", one, "--successor-title", "tests for one", agent="alice").json["todo"]
    assert done["status"] == "completed"
    assert bob.show(done["successor"])["todo"]["supersedes"] == [one]
    assert bob.verified()["ok"]


def test_epochs_never_fall_over_a_whole_life(alice: Clone, bob: Clone, one: str) -> None:
    epochs = []
    for _ in range(2):
        epochs.append(alice.run("todo", "claim", one, agent="alice").json["lease"]["epoch"])
        epochs.append(alice.run("todo", "transfer", one, "--to", "bob", agent="alice").json["lease"]["epoch"])
        bob.run("todo", "complete", one, "--epoch", str(epochs[-1]), agent="bob")
        epochs.append(bob.run("todo", "reopen", one, agent="bob").json["lease"]["epoch"])
    assert epochs == [1, 2, 3, 4, 5, 6]
    stale = alice.run("todo", "update", one, "--note", "late", "--epoch", "1", agent="alice", check=12).error
    assert stale["epoch"] == 6
    assert alice.verified()["ok"]


def test_the_first_write_binds_a_transferred_claim_to_its_session(alice: Clone, bob: Clone, one: str) -> None:
    alice.run("todo", "claim", one, agent="alice")
    alice.run("todo", "transfer", one, "--to", "bob", agent="alice")
    assert bob.show(one)["lease"]["session"] is None
    bob.run("todo", "update", one, "--note", "mine now", agent="bob")
    bound = bob.show(one)["lease"]["session"]
    assert bound
    alice.run("todo", "update", one, "--status", "blocked", agent="bob", check=12)
    assert alice.show(one)["lease"]["session"] == bound


def test_archived_todos_keep_their_id_and_alias(alice: Clone, bob: Clone, one: str) -> None:
    finish(alice, one, "alice")
    alice.run("todo", "archive", one, agent="alice")
    assert bob.show("one")["todo"]["archived"] is True
    taken = bob.run("todo", "add", "other", "--alias", "ONE", check=15).error
    assert taken["todo_id"] == one
    assert bob.run("todo", "claim", one, agent="bob", check=15).error["status"] == "archived"
    assert bob.run("todo", "reopen", one, agent="bob", check=15).error["hint"]
    assert bob.run("todo", "archive", one, agent="bob").json["unchanged"] == "already_archived"
    waiting = bob.add("waits", "--depends-on", "one")
    bob.run("todo", "claim", waiting, agent="bob")
    assert alice.verified()["ok"]


def test_only_what_has_ended_is_archived(alice: Clone, one: str) -> None:
    assert alice.run("todo", "archive", one, agent="alice", check=15).error["hint"]
    alice.run("todo", "claim", one, agent="alice")
    assert alice.run("todo", "archive", one, agent="bob", check=15).error["hint"]


def test_a_group_is_claimed_whole_or_not_at_all(alice: Clone, bob: Clone, one: str) -> None:
    two, three = alice.add("two"), alice.add("three")
    bob.run("todo", "claim", three, agent="bob")
    alice.run("todo", "claim", one, two, three, agent="alice", check=11)
    assert [alice.show(todo)["lease"]["holder"] for todo in (one, two)] == [None, None]
    claims = alice.run("todo", "claim", one, two, agent="alice").json["claims"]
    assert [claim["acquired"] for claim in claims] == [True, True]
    again = alice.run("todo", "claim", two, one, agent="alice").json["claims"]
    assert [claim["acquired"] for claim in again] == [False, False]
    assert alice.verified()["ok"]


def test_soft_claims_block_nobody_and_end_with_the_todo(alice: Clone, bob: Clone, one: str) -> None:
    alice.run("todo", "claim", one, "--soft", agent="alice")
    bob.run("todo", "claim", one, "--soft", agent="bob")
    assert alice.show(one)["todo"]["soft_claims"] == ["alice", "bob"]
    alice.run("todo", "release", one, "--soft", agent="alice")
    bob.run("todo", "update", one, "--status", "in_progress", agent="bob", check=12)
    finish(bob, one, "bob")
    assert alice.show(one)["todo"]["soft_claims"] == []
    assert alice.verified()["ok"]


def test_in_a_soft_goal_a_plain_claim_is_soft_and_a_lease_stays_exclusive(alice: Clone, bob: Clone) -> None:
    alice.run("goal", "create", "ideas", "--claims", "soft")
    idea = alice.add("an idea", "--goal-id", "ideas")
    shown = alice.run("todo", "claim", idea, agent="alice").json
    assert (shown["todo"]["soft_claims"], shown["lease"]["holder"]) == (["alice"], None)
    alice.run("todo", "update", idea, "--status", "in_progress", "--note", "thinking", agent="alice")
    assert alice.run("todo", "update", idea, "--title", "mine", agent="alice", check=15).error["hint"]
    bob.run("task-lease", "acquire", idea, agent="bob")
    refused = alice.run("todo", "update", idea, "--status", "open", agent="alice", check=12).error
    assert refused["holder"] == "bob"
    assert bob.verified()["ok"]


def test_a_closed_goal_takes_nothing_more(alice: Clone, bob: Clone) -> None:
    alice.run("goal", "create", "sprint")
    todo = alice.add("in it", "--goal-id", "sprint")
    alice.run("todo", "claim", todo, agent="alice")
    live = bob.run("goal", "close", "sprint", check=15).error
    assert live["live"] == [f"{todo}@1"]
    alice.run("todo", "release", todo, agent="alice")
    bob.run("goal", "close", "sprint")
    assert alice.run("todo", "add", "more", "--goal-id", "sprint", check=15).error["hint"]
    assert alice.run("todo", "claim", todo, agent="alice", check=15).error["hint"]
    assert alice.verified()["ok"]


def test_paused_and_retired_peers(alice: Clone, bob: Clone, one: str) -> None:
    alice.run("todo", "claim", one, "--soft", agent="carol")
    alice.run("peer", "pause", "carol")
    assert bob.run("todo", "claim", one, agent="carol", check=15).error["hint"]
    alice.run("peer", "resume", "carol")
    bob.run("todo", "claim", one, agent="carol")
    held = alice.run("peer", "retire", "carol", check=15).error
    # The hint looks: no command that ends a live claim is ready to be pasted.
    assert "git loopx todo show " in held["hint"]
    assert "release todo_" not in held["hint"]
    assert held["live"] == [f"{one}@1"]
    bob.run("todo", "release", one, agent="carol")
    alice.run("peer", "retire", "CAROL")
    assert bob.show(one)["todo"]["soft_claims"] == []
    for words in (["peer", "resume", "carol"], ["peer", "register", "carol"], ["peer", "register", "Carol"]):
        assert bob.run(*words, check=15).error["hint"]
    assert bob.verified()["ok"]
