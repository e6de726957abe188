"""A goal whose claims are soft, at the command line: everything works without a lease, and everybody sees it."""

from __future__ import annotations

import pytest
from clones import Clone, race


@pytest.fixture
def idea(alice: Clone, bob: Clone) -> str:
    """A todo of a soft goal of which alice and bob have a soft claim."""
    alice.run("goal", "create", "ideas", "--claims", "soft")
    idea = alice.add("an idea", "--goal-id", "ideas")
    for clone, agent in ((alice, "alice"), (bob, "bob")):
        claimed = clone.run("todo", "claim", idea, agent=agent, json=False)
        assert "claimed softly" in claimed.out
    return idea


def test_a_soft_claim_is_taken_back_by_unclaim(alice: Clone, bob: Clone, idea: str) -> None:
    alice.run("todo", "update", idea, "--status", "in_progress", agent="alice")
    said = alice.run("todo", "unclaim", idea, agent="alice", json=False)
    assert "(the soft claim)" in said.out
    assert alice.show(idea)["todo"]["soft_claims"] == ["bob"]
    back = bob.run("todo", "update", idea, "--clear-claim", agent="bob").json
    assert (back["released"], back["todo"]["soft_claims"], back["todo"]["status"]) == ("soft claim", [], "open")
    assert alice.run("todo", "unclaim", idea, agent="alice", check=12).error["hint"]
    assert bob.verified()["ok"]


def test_of_a_lease_and_a_soft_claim_unclaim_says_which(alice: Clone, bob: Clone, idea: str) -> None:
    alice.run("task-lease", "acquire", idea, agent="alice")
    soft = alice.run("todo", "unclaim", idea, agent="alice").json
    assert (soft["released"], soft["goes_on"], soft["lease"]["holder"]) == ("soft claim", "lease", "alice")
    alice.run("todo", "claim", idea, agent="alice")
    lease = alice.run("task-lease", "release", idea, agent="alice").json["lease"]
    assert lease["holder"] is None
    assert bob.show(idea)["todo"]["soft_claims"] == ["bob", "alice"]
    assert bob.verified()["ok"]


def test_completing_softly_ends_it_for_everybody(alice: Clone, bob: Clone, idea: str) -> None:
    done = bob.run("todo", "complete", idea, "--note", "done", agent="bob").json
    assert (done["todo"]["status"], done["todo"]["soft_claims"], done["lease"]["epoch"]) == ("completed", [], 0)
    for clone, agent in ((alice, "alice"), (bob, "bob")):
        assert "completed" in clone.run("todo", "complete", idea, agent=agent, check=12).error["message"]
    assert alice.verified()["ok"]


def test_a_note_of_another_needs_no_claim_and_leaves_it_alone(alice: Clone, bob: Clone) -> None:
    todo = alice.add("held")
    before = alice.run("todo", "claim", todo, agent="alice").json["lease"]
    noted = bob.run("todo", "update", todo, "--note", "see #12", agent="bob").json
    assert (noted["without_claim"], noted["lease"]) == (True, before)
    assert "noted, without the claim" in bob.run("todo", "update", todo, "--note", "b", agent="bob", json=False).out
    assert bob.run("todo", "update", todo, "--note", "x", "--title", "mine", agent="bob", check=12).error["holder"]
    assert bob.run("todo", "update", todo, "--note", "x", "--epoch", "1", agent="bob", check=12).error["holder"]
    assert bob.run("todo", "update", todo, "--note", "x", agent="mallory", check=15).error["hint"]
    urgent = ["--priority", "0", "--label", "now", "--force", "--reason", "urgent"]
    assert bob.run("todo", "update", todo, *urgent, agent="bob").json["lease"] == before
    assert [note["agent"] for note in alice.show(todo)["todo"]["notes"]] == ["bob", "bob"]
    alice.run("todo", "complete", todo, "--epoch", "1", agent="alice")
    assert alice.verified()["ok"]


def test_a_note_and_a_renewal_at_once_both_stand(alice: Clone, bob: Clone) -> None:
    todo = alice.add("held")
    alice.run("todo", "claim", todo, agent="alice")
    results = race([
        (alice, ["task-lease", "renew", todo, "--agent", "alice"]),
        (bob, ["todo", "update", todo, "--note", "beside it", "--agent", "bob"]),
    ])  # fmt: skip
    assert [result.code for result in results] == [0, 0]
    shown = alice.show(todo)
    assert (shown["lease"]["seq"], shown["lease"]["epoch"], len(shown["todo"]["notes"])) == (1, 1, 1)
    assert alice.verified()["ok"]
