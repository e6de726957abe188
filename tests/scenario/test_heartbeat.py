"""The heartbeat: who is alive, what has lapsed, who should do what, and taking it back."""

from __future__ import annotations

import json
import shlex
import time
from collections import Counter

import pytest
from clones import Clone, World, race


@pytest.fixture
def quick(alice: Clone) -> Clone:
    """A clone of a ledger without any allowance for clocks."""
    alice.run("policy", "set", "claims.skew", "0s")
    return alice


def lapse(clone: Clone, todo: str, agent: str) -> None:
    """`agent` claims and is never heard of again."""
    clone.run("todo", "claim", todo, "--ttl", "1s", agent=agent)
    ends = time.monotonic() + 30
    while clone.show(todo)["lease"]["state"] != "lapsed":
        assert time.monotonic() < ends
        time.sleep(0.1)


def test_what_lapsed_goes_back_to_the_pool_with_its_history(quick: Clone, bob: Clone) -> None:
    todo = quick.add("one", "--branch", "work/one")
    quick.run("todo", "claim", todo, "--ttl", "1h", agent="alice")
    quick.run("todo", "update", todo, "--status", "in_progress", "--note", "half of it is done", agent="alice")
    quick.run("task-lease", "renew", todo, "--ttl", "1s", agent="alice")
    time.sleep(1.2)
    listed = bob.run("todo", "list", "--ready", "--fresh").json["todos"]
    assert [(item["id"], item["lease"]["state"]) for item in listed] == [(todo, "lapsed")]
    (back,) = bob.run("heartbeat", "reclaim", agent="bob").json["reclaimed"]
    assert (back["former"], back["todo"]["status"], back["lease"]["ended"]) == ("alice@1", "open", "expired")
    assert (back["lease"]["epoch"], back["lease"]["holder"]) == (1, None)
    quick.run("todo", "complete", todo, "--epoch", "1", agent="alice", check=12)
    taken = bob.run("todo", "claim", todo, agent="bob").json
    assert taken["lease"]["epoch"] == 2
    handover = taken["handover"]
    assert (handover["holder"], handover["epoch"], handover["ended"]) == ("alice", 1, "expired")
    assert (handover["branch"], handover["attempts"]) == ("work/one", 1)
    assert [note["text"] for note in handover["notes"]] == ["half of it is done"]
    quick.run("todo", "complete", todo, agent="alice", check=12)
    assert bob.verified()["ok"]


def test_a_taker_gets_it_at_once(quick: Clone, bob: Clone) -> None:
    todo = quick.add("one")
    lapse(quick, todo, "alice")
    (taken,) = bob.run("heartbeat", "reclaim", "--take", agent="bob").json["reclaimed"]
    assert (taken["taken"], taken["lease"]["holder"], taken["lease"]["epoch"]) == (True, "bob", 2)
    assert taken["todo"]["attempts"] == 1
    assert bob.verified()["ok"]


def test_after_too_many_attempts_a_human_is_needed(quick: Clone, bob: Clone) -> None:
    quick.run("policy", "set", "claims.max_attempts", "2")
    todo = quick.add("one")
    for attempt in (1, 2):
        lapse(quick, todo, "alice")
        (back,) = bob.run("heartbeat", "reclaim", agent="bob").json["reclaimed"]
        assert back["todo"]["attempts"] == attempt
    assert back["todo"]["status"] == "needs_human"
    assert bob.run("todo", "claim", todo, agent="bob", check=15).error["status"] == "needs_human"
    assert bob.verified()["ok"]


def test_what_lapsed_too_often_is_not_claimable_even_before_anybody_reclaims(quick: Clone, bob: Clone) -> None:
    quick.run("policy", "set", "claims.max_attempts", "1")
    todo = quick.add("one")
    lapse(quick, todo, "alice")
    bob.run("todo", "claim", todo, agent="bob")
    bob.run("task-lease", "renew", todo, "--ttl", "1s", agent="bob")
    time.sleep(1.2)
    assert "human" in quick.run("todo", "claim", todo, agent="alice", check=15).error["message"]


def test_several_watchers_do_no_harm(quick: Clone, ledger: World) -> None:
    todos = [quick.add(f"todo {number}") for number in range(4)]
    for todo in todos:
        lapse(quick, todo, "alice")
    clones = ledger.clones(4)
    results = race([(clone, ["heartbeat", "watch", "--rounds", "1", "--agent", f"agent-0{number}"])
                    for number, clone in enumerate(clones)])  # fmt: skip
    assert [result.code for result in results] == [0] * 4
    back = Counter(
        item["todo_id"] for result in results for item in json.loads(result.out)["reclaimed"] if not item["refused"]
    )
    reclaims = Counter(entry["todo"] for entry in ledger.log() if entry["op"] == "reclaim")
    assert reclaims == Counter(dict.fromkeys(todos, 1))
    assert set(back) <= set(todos)
    assert [quick.show(todo)["todo"]["attempts"] for todo in todos] == [1] * 4
    assert quick.verified()["ok"]


def test_live_claims_are_left_alone(quick: Clone, bob: Clone) -> None:
    todo = quick.add("one")
    quick.run("todo", "claim", todo, agent="alice")
    tip = quick.run("sync").json["tip"]
    assert bob.run("heartbeat", "reclaim", agent="bob").json["reclaimed"] == []
    assert quick.run("sync").json["tip"] == tip


def test_a_claim_without_a_bound_goes_with_its_peer(quick: Clone, bob: Clone) -> None:
    todo = quick.add("one")
    quick.run("todo", "claim", todo, "--no-ttl", agent="alice")
    later = {"LOOPX_NOW": "+20h"}
    bob.run("todo", "claim", todo, agent="bob", env=later, check=11)
    quick.run("heartbeat", "beat", agent="alice", env=later)
    bob.run("todo", "claim", todo, agent="bob", env={"LOOPX_NOW": "+30h"}, check=11)
    bob.run("todo", "claim", todo, agent="bob", env={"LOOPX_NOW": "+50h"})
    assert bob.verified()["ok"]


def test_a_loop_may_rest_as_long_as_it_likes(quick: Clone, bob: Clone) -> None:
    quick.run("peer", "register", "night-loop", "--kind", "loop")
    todo = quick.add("one")
    quick.run("todo", "claim", todo, "--no-ttl", agent="night-loop")
    bob.run("todo", "claim", todo, agent="bob", env={"LOOPX_NOW": "+300d"}, check=11)


def test_soft_claims_of_the_stale_are_cleared(quick: Clone, bob: Clone) -> None:
    todo = quick.add("one")
    for agent in ("alice", "carol"):
        quick.run("todo", "claim", todo, "--soft", agent=agent)
    later = {"LOOPX_NOW": "+40h"}
    quick.run("heartbeat", "beat", agent="carol", env=later)
    bob.run("heartbeat", "reclaim", agent="bob", env=later)
    assert bob.show(todo)["todo"]["soft_claims"] == ["carol"]
    assert bob.verified()["ok"]


def test_status_shows_the_whole_picture(quick: Clone, bob: Clone) -> None:
    held, lapsed, free = (quick.add(title) for title in ("held", "lapsed", "free"))
    quick.run("todo", "claim", held, agent="bob")
    lapse(quick, lapsed, "alice")
    status = bob.run("heartbeat", "status", "--fresh").json
    holds = {peer["agent"]: [item["todo"] for item in peer["holds"]] for peer in status["peers"]}
    assert (holds["bob"], holds["alice"], holds["carol"]) == ([held], [lapsed], [])
    assert [item["todo_id"] for item in status["lapsed"]] == [lapsed]
    assert status["unclaimed"] == [free]
    assert f"holds {held} (held)" in bob.run("heartbeat", "status", json=False).out
    words = bob.run("todo", "show", lapsed, json=False).out
    assert "claimable (was alice, epoch 1)" in words
    assert "min left" in bob.run("todo", "show", held, json=False).out


def test_switching_a_goal_needs_it_idle(quick: Clone, bob: Clone) -> None:
    todo = quick.add("one")
    quick.run("todo", "claim", todo, agent="alice")
    for words in (["goal", "create", "main", "--claims", "soft"], ["policy", "set", "claims.mode", "soft"]):
        assert bob.run(*words, check=15).error["live"] == [f"{todo}@1"]
    quick.run("todo", "release", todo, agent="alice")
    quick.run("todo", "claim", todo, "--soft", agent="alice")
    assert bob.run("goal", "create", "main", "--claims", "soft", check=15).error["live"]
    quick.run("todo", "release", todo, "--soft", agent="alice")
    bob.run("goal", "create", "main", "--claims", "soft")
    assert quick.run("todo", "claim", todo, agent="alice").json["todo"]["soft_claims"] == ["alice"]
    assert bob.verified()["ok"]


def test_suggestions_can_all_be_run_at_once(quick: Clone, ledger: World) -> None:
    for number in range(8):
        able = {0: ["--capability", "gpu"], 1: ["--capability", "docs"]}.get(number % 3, [])
        quick.run("peer", "register", f"agent-0{number}", *able)
    for number in range(12):
        needs = {0: ["--requires", "gpu"], 1: ["--requires", "docs"]}.get(number % 4, [])
        quick.add(f"todo {number}", "--scope", f"/part-{number % 10}/", *needs)
    asked = quick.run("heartbeat", "suggest").json["suggestions"]
    assert quick.run("heartbeat", "suggest").json["suggestions"] == asked
    chosen = [item for item in asked if item["agent"].startswith("agent-0")][:8]
    assert len({item["todo"] for item in asked}) == len(asked)
    assert len({item["agent"] for item in asked}) == len(asked)
    clones = ledger.clones(len(chosen))
    runs = [(clone, shlex.split(item["command"])[2:]) for clone, item in zip(clones, chosen, strict=True)]
    assert [result.code for result in race(runs)] == [0] * len(chosen)
    assert quick.verified()["ok"]
