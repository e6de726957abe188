"""What a clone saw last never answers: its view says "yours" while somebody else has the todo."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from clones import Clone, World

from loopx_git.client.client import Client


@dataclass(frozen=True)
class Taken:
    """A todo that alice claimed (epoch 1), an operator ended (2) and bob claimed (3); alice's clone saw none of
    that."""

    ledger: World
    alice: Clone
    todo: str
    seen: str

    def forget(self) -> None:
        """Put alice's clone back to what it had seen."""
        Clone(self.alice.home / "coord.git", self.alice.env).git("update-ref", "refs/loopx/tip", self.seen)

    def holder(self) -> str | None:
        """Who has it, as alice's clone saw last."""
        view, _ = Client(self.alice.path, self.alice.env).todo.show(self.todo, offline=True)
        return view.lease.lease.holder


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, ledger_template: Path) -> Taken:
    ledger = World(tmp_path_factory.mktemp("taken") / "world")
    shutil.copytree(ledger_template, ledger.remote)
    alice, bob = ledger.clone("alice"), ledger.clone("bob")
    todo = alice.add("taken")
    alice.run("todo", "claim", todo, agent="alice")
    seen = ledger.tip()
    bob.run("todo", "release", todo, "--force", "--reason", "no sign of life", agent="carol")
    bob.run("todo", "claim", todo, agent="bob")
    return Taken(ledger, alice, todo, seen)


@pytest.fixture
def taken(prepared: Taken) -> Taken:
    prepared.forget()
    return prepared


@pytest.mark.parametrize(
    ("code", "args"),
    [
        (11, ["todo", "claim", "TODO"]),
        (11, ["todo", "claim", "TODO", "--dry-run"]),
        (11, ["todo", "claim", "TODO", "--resume"]),
        (11, ["task-lease", "acquire", "TODO"]),
        (12, ["todo", "complete", "TODO"]),
        (12, ["todo", "complete", "TODO", "--dry-run"]),
        (12, ["todo", "complete", "TODO", "--epoch", "1"]),
        (12, ["todo", "update", "TODO", "--note", "still here"]),
        (12, ["todo", "update", "TODO", "--note", "still here", "--dry-run"]),
        (12, ["todo", "update", "TODO", "--note", "still here", "--epoch", "1"]),
        (12, ["todo", "update", "TODO", "--status", "completed"]),
        (12, ["todo", "update", "TODO", "--clear-claim"]),
        (12, ["todo", "release", "TODO"]),
        (12, ["todo", "release", "TODO", "--epoch", "1"]),
        (12, ["todo", "unclaim", "TODO", "--dry-run"]),
        (12, ["task-lease", "renew", "TODO"]),
        (12, ["task-lease", "renew", "TODO@1"]),
        (12, ["task-lease", "release", "TODO@1"]),
        # An operator who names the epoch that he looked at ends that claim and no later one.
        (12, ["todo", "release", "TODO", "--epoch", "1", "--force", "--reason", "x"]),
        (12, ["todo", "update", "TODO", "--epoch", "1", "--note", "x", "--force", "--reason", "x"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_truth_is_told(taken: Taken, code: int, args: Sequence[str]) -> None:
    alice, todo, tip = taken.alice, taken.todo, taken.ledger.tip()
    assert taken.holder() == "alice"
    error = alice.run(*[word.replace("TODO", todo) for word in args], agent="alice", check=code).error
    assert (error["todo_id"], error["holder"], error["epoch"]) == (todo, "bob", 3)
    assert "bob" in error["message"]
    assert error["expires_at"]
    assert error["hint"]
    assert taken.ledger.tip() == tip
    # Having been told, the clone knows.
    assert taken.holder() == "bob"


def test_a_stale_epoch_of_ones_own_is_refused(ledger: World, alice: Clone, bob: Clone) -> None:
    """Alice holds the todo again, under another epoch than the one that her former life remembers."""
    todo = alice.add("again")
    alice.run("todo", "claim", todo, agent="alice")
    bob.run("todo", "release", todo, "--force", "--reason", "x", agent="bob")
    again = alice.run("todo", "claim", todo, agent="alice", check=0).json
    assert (again["acquired"], again["lease"]["epoch"]) == (True, 3)
    tip = ledger.tip()
    for epoch in ("1", "4"):
        for args in (
            ["todo", "complete", todo, "--epoch", epoch],
            ["todo", "update", todo, "--note", "x", "--epoch", epoch],
            ["todo", "release", todo, "--epoch", epoch],
        ):
            error = alice.run(*args, agent="alice", check=12).error
            assert (error["holder"], error["epoch"]) == ("alice", 3)
    assert ledger.tip() == tip
    alice.run("todo", "complete", todo, "--epoch", "3", agent="alice")


def test_an_epoch_of_somebody_elses_todo_helps_nobody(taken: Taken) -> None:
    """The current epoch is not a secret: knowing it is not holding the claim."""
    tip = taken.ledger.tip()
    for verb in ("complete", "release"):
        error = taken.alice.run("todo", verb, taken.todo, "--epoch", "3", agent="alice", check=12).error
        assert error["holder"] == "bob"
    assert taken.ledger.tip() == tip


def test_released_and_nobodys(ledger: World, alice: Clone, bob: Clone) -> None:
    todo = alice.add("nobody's")
    alice.run("todo", "claim", todo, agent="alice")
    bob.run("todo", "release", todo, "--force", "--reason", "x", agent="bob")
    for args in (["complete", todo], ["update", todo, "--status", "open"], ["release", todo]):
        error = alice.run("todo", *args, agent="alice", check=12).error
        assert (error["holder"], error["epoch"]) == (None, 2)
        assert "nobody holds it" in error["message"]
    assert alice.run("todo", "claim", todo, "--dry-run", agent="alice").json["dry_run"] is True
    assert alice.run("todo", "claim", todo, agent="alice").json["lease"]["epoch"] == 3


def test_the_view_says_free_and_somebody_has_it(ledger: World, alice: Clone, bob: Clone) -> None:
    todo = alice.add("free")
    bob.run("todo", "claim", todo, agent="bob")
    for args in ([], ["--dry-run"], ["--resume"]):
        error = alice.run("todo", "claim", todo, *args, agent="alice", check=11).error
        assert (error["holder"], error["epoch"]) == ("bob", 1)


def test_the_view_says_open_and_it_is_completed(ledger: World, alice: Clone, bob: Clone) -> None:
    todo = alice.add("open")
    bob.run("todo", "claim", todo, agent="bob")
    bob.run("todo", "complete", todo, agent="bob")
    for args in ([], ["--dry-run"]):
        error = alice.run("todo", "claim", todo, *args, agent="alice", check=15).error
        assert "completed" in error["message"]
    assert alice.run("todo", "list", "--ready", "--fresh").json["todos"] == []


def test_the_view_says_waiting_and_the_dependency_is_done(ledger: World, alice: Clone, bob: Clone) -> None:
    first = alice.add("first")
    second = alice.add("second", "--depends-on", first)
    assert alice.run("todo", "claim", second, agent="alice", check=15).error["depends_on"] == first
    bob.run("todo", "claim", first, agent="bob")
    bob.run("todo", "complete", first, agent="bob")
    assert alice.run("todo", "claim", second, agent="alice").json["acquired"] is True


def test_the_view_knows_nothing_of_it(ledger: World, alice: Clone, bob: Clone) -> None:
    alice.run("sync")
    todo = bob.add("new", "--alias", "new")
    assert alice.run("todo", "claim", "new", agent="alice").json["lease"]["todo"] == todo


def test_a_peer_is_known_once_it_is_registered_elsewhere(ledger: World, alice: Clone, bob: Clone) -> None:
    todo = alice.add("for a stranger")
    assert alice.run("todo", "claim", todo, agent="dora", check=15).error["agent"] == "dora"
    bob.run("peer", "register", "dora")
    assert alice.run("todo", "claim", todo, agent="dora").json["lease"]["holder"] == "dora"


def test_a_hold_that_another_session_of_mine_resumed(ledger: World, alice: Clone, bob: Clone) -> None:
    todo = alice.add("resumed")
    alice.run("todo", "claim", todo, agent="alice")
    assert bob.run("todo", "claim", todo, "--resume", agent="alice").json["lease"]["epoch"] == 2
    error = alice.run("todo", "complete", todo, agent="alice", check=12).error
    assert (error["holder"], error["epoch"]) == ("alice", 2)
    assert alice.run("todo", "claim", todo, agent="alice", check=11).error["epoch"] == 2
    assert bob.run("todo", "complete", todo, agent="alice").json["todo"]["status"] == "completed"
    assert alice.verified()["ok"]
