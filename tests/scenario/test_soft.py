"""A goal whose claims are soft, at the command line: everything works without a lease, and everybody sees it."""

from __future__ import annotations

import pytest
from clones import Clone, race

from loopx_git.client.client import Client


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
    told = alice.run("log", "--todo-id", todo, json=False).out
    assert "a note without the claim" in told and "forced: a note" not in told and "forced: urgent" in told
    alice.run("todo", "complete", todo, "--epoch", "1", agent="alice")
    assert alice.verified()["ok"]


def test_who_believes_to_hold_is_told_first(alice: Clone, bob: Clone) -> None:
    """A note of one whose claim was taken over meanwhile is not a note of a bystander: it must not go on working."""
    todo = alice.add("taken")
    alice.run("todo", "claim", todo, agent="alice")
    bob.run("todo", "release", todo, "--force", "--reason", "gone", agent="carol")
    bob.run("todo", "claim", todo, agent="bob")
    assert alice.run("todo", "update", todo, "--note", "half done", agent="alice", check=12).error["holder"] == "bob"
    assert alice.run("todo", "update", todo, "--note", "half done", agent="alice").json["without_claim"] is True


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


# -- the holder is told


def test_the_holder_is_told_at_its_next_renewal(alice: Clone, bob: Clone) -> None:
    todo = alice.add("held")
    alice.run("todo", "claim", todo, agent="alice")
    bob.run("todo", "update", todo, "--note", "see #12", agent="bob")
    bob.run("todo", "update", todo, "--priority", "0", "--force", "--reason", "a customer waits", agent="carol")
    told = alice.run("task-lease", "renew", todo, agent="alice").json
    assert [(item["agent"], item["note"], item["changed"], item["reason"]) for item in told["news"]] == [
        ("bob", "see #12", {}, None),
        ("carol", None, {"priority": 0}, "a customer waits"),
    ]
    # Told again until the holder writes: two processes of one session may renew.
    for words in (["task-lease", "renew", "--all"], ["heartbeat", "beat"]):
        assert [item["agent"] for item in alice.run(*words, agent="alice").json["news"]] == ["bob", "carol"]
    text = alice.run("todo", "update", todo, "--note", "thanks", agent="alice", json=False).out
    assert "meanwhile by bob: note: see #12" in text
    assert "meanwhile by carol (a customer waits): priority is now 0" in text
    assert alice.run("task-lease", "renew", todo, agent="alice").json["news"] == []
    bob.run("todo", "update", todo, "--note", "more", agent="bob")
    assert "meanwhile by bob: note: more" in alice.run("heartbeat", "beat", agent="alice", json=False).out
    assert alice.verified()["ok"]


def test_a_claim_that_is_kept_in_the_background_hears_it_once(alice: Clone, bob: Clone) -> None:
    todo = alice.add("held")
    client = Client(alice.path, alice.env, {"agent": "alice"})
    with client.hold(todo) as claim:
        assert claim.news == ()
        Client(bob.path, bob.env, {"agent": "bob"}).todo.update(todo, note="see #12")
        renewer = claim._renewer
        assert renewer is not None
        for _ in range(2):
            assert renewer._renew(Client(alice.path, alice.env, {"agent": "alice"}))
        assert [(item.agent, item.note) for item in claim.news] == [("bob", "see #12")]
        assert client.task_lease.renew(claim.lease_id, session=claim.session).news == claim.news


def test_what_was_there_before_the_claim_is_no_news(alice: Clone, bob: Clone) -> None:
    todo = alice.add("free")
    bob.run("todo", "update", todo, "--note", "early", agent="bob")
    alice.run("todo", "claim", todo, agent="alice")
    assert alice.run("task-lease", "renew", todo, agent="alice").json["news"] == []


# -- who sees it, and who is steered elsewhere


def test_soft_claims_are_shown_wherever_claims_are(alice: Clone, bob: Clone, idea: str) -> None:
    listed = bob.run("todo", "list", "--fresh", json=False).out
    assert "alice +1 (soft)" in listed
    assert bob.run("todo", "list", "--fields", "soft_claims", json=False).out.strip() == "alice,bob"
    assert [item["id"] for item in bob.run("todo", "list", "--mine", agent="bob").json["todos"]] == [idea]
    assert bob.run("todo", "list", "--mine", agent="carol").json["todos"] == []
    assert bob.run("goal", "show", "ideas").json["soft_claims"] == [{"todo_id": idea, "agents": ["alice", "bob"]}]
    assert f"{idea}: alice, bob" in bob.run("goal", "show", "ideas", json=False).out
    assert "## Soft claims (1)" in bob.run("goal", "show", "ideas", "--format", "md", json=False).out
    status = bob.run("heartbeat", "status")
    softly = {peer["agent"]: peer["soft_claims"] for peer in status.json["peers"]}
    assert (softly["alice"], softly["bob"], softly["carol"]) == ([idea], [idea], [])
    assert status.json["unclaimed"] == []
    assert f"softly {idea}" in bob.run("heartbeat", "status", json=False).out
    assert bob.run("peer", "show", "bob").json["soft_claims"] == [idea]
    assert f"soft claims   {idea}" in bob.run("peer", "show", "bob", json=False).out


def test_others_are_steered_elsewhere_among_equals(alice: Clone, bob: Clone) -> None:
    taken, free = alice.add("first", "--priority", "1"), alice.add("second", "--priority", "1")
    alice.run("todo", "claim", taken, "--soft", agent="alice")
    assert bob.run("todo", "next", "--fresh", agent="bob").json["todo"]["id"] == free
    assert alice.run("todo", "next", "--fresh", agent="alice").json["todo"]["id"] == taken
    given = {item["agent"]: item["todo"] for item in bob.run("heartbeat", "suggest").json["suggestions"]}
    assert given["alice"] == taken and free in given.values()
    for _ in range(3):
        # One is drawn among equals; what has a soft claim is none of them.
        assert bob.run("todo", "next", "--claim", "--dry-run", agent="bob").json["todo"]["id"] == free
    # It blocks nobody: where there is nothing else of that priority, it is taken.
    bob.run("todo", "claim", free, agent="bob")
    assert bob.run("todo", "next", agent="bob").json["todo"]["id"] == taken


# -- who is alive


def test_whoever_does_something_is_not_stale(alice: Clone, bob: Clone) -> None:
    """Notes, updates and soft claims count as seen, for a claim without a bound and for soft claims."""
    alice.run("policy", "set", "claims.skew", "0s")
    held, other, noted = alice.add("held"), alice.add("other"), alice.add("noted")
    alice.run("todo", "claim", held, "--no-ttl", agent="alice")
    bob.run("todo", "claim", other, "--soft", agent="bob")
    bob.run("todo", "claim", other, "--soft", agent="carol")
    alice.run("todo", "update", held, "--note", "at work", agent="alice", env={"LOOPX_NOW": "+20h"})
    bob.run("todo", "update", noted, "--note", "me too", agent="bob", env={"LOOPX_NOW": "+20h"})
    later = {"LOOPX_NOW": "+30h"}
    assert bob.run("todo", "claim", held, agent="carol", env=later, check=11).error["holder"] == "alice"
    health = {peer["agent"]: peer for peer in bob.run("heartbeat", "status", env=later).json["peers"]}
    assert (health["alice"]["stale"], health["bob"]["stale"]) == (False, False)
    assert bob.show(other)["todo"]["soft_claims"] == ["bob", "carol"]
    bob.run("todo", "claim", held, agent="bob", env={"LOOPX_NOW": "+50h"})
    assert alice.verified()["ok"]


def test_reclaim_says_what_it_took_away(alice: Clone, bob: Clone) -> None:
    todo, kept = alice.add("one"), alice.add("two")
    for agent in ("alice", "carol"):
        alice.run("todo", "claim", todo, "--soft", agent=agent)
    alice.run("todo", "claim", kept, "--soft", agent="carol")
    later = {"LOOPX_NOW": "+40h"}
    alice.run("heartbeat", "beat", agent="carol", env=later)
    dry = bob.run("heartbeat", "reclaim", "--dry-run", agent="bob", env=later, json=False).out
    assert f"{todo} soft claim of alice would be taken back (not seen since " in dry
    taken = bob.run("heartbeat", "reclaim", agent="bob", env=later).json
    assert taken["reclaimed"] == []
    (soft,) = taken["soft_claims"]
    assert (soft["todo_id"], soft["agent"]) == (todo, "alice") and soft["why"].startswith("not seen since ")
    assert bob.show(todo)["todo"]["soft_claims"] == ["carol"]
    assert bob.run("heartbeat", "reclaim", agent="bob", env=later).json["soft_claims"] == []
    assert alice.verified()["ok"]
