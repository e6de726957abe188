"""What a person reads is seconds old at most, or says how old it is."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from clones import Clone, World

#: Every command that shows what was fetched, and a word of its text.
READS = {
    "todo list": "held-one", "todo show held-one": "held by", "todo next": "free", "log": "claim",
    "log held-one": "claim",
    "heartbeat status": "holds", "heartbeat suggest": "claim", "goal list": "main",
    "goal show": "main", "goal show --format md": "Claims", "peer list": "bob", "peer show bob": "bob",
    "policy show": "claims.ttl", "loop list": "looper", "loop show looper": "looper",
    "task-lease inspect held-one": "held by",
}  # fmt: skip


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, ledger_template: Path) -> Iterator[Clone]:
    """A clone with something to see for every command; its agent is alice."""
    world = World(tmp_path_factory.mktemp("ages") / "world")
    shutil.copytree(ledger_template, world.remote)
    clone = world.clone("alice")
    clone.config("loopx.agent", "alice")
    clone.run("todo", "add", "held-one", "--alias", "held-one")
    clone.run("todo", "add", "free")
    clone.run("todo", "claim", "held-one", agent="bob")
    clone.run("loop", "create", "looper")
    yield clone


def grow_old(clone: Clone, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(clone.home / "fetched", (then, then))


def age(clone: Clone) -> float:
    return time.time() - (clone.home / "fetched").stat().st_mtime


@pytest.mark.parametrize("command", READS)
def test_a_text_is_asked_for_anew_or_tells_its_age(clone: Clone, command: str) -> None:
    args = command.split()
    grow_old(clone, 12)
    json = clone.run(*args)
    assert 11 < json.json["age_s"] < 30
    assert (age(clone) > 11, "as of" in json.err) == (True, False)
    offline = clone.run(*args, "--offline", json=False)
    assert READS[command] in offline.out
    assert "as of 1" in offline.err
    assert age(clone) > 11
    text = clone.run(*args, json=False)
    assert READS[command] in text.out
    assert (age(clone) < 11, "as of" in text.err) == (True, False)


def test_a_text_shows_what_another_clone_did_a_moment_ago(ledger: World, alice: Clone, bob: Clone) -> None:
    todo = alice.add("contended")
    assert "bob" not in alice.run("todo", "list", json=False).out
    bob.run("todo", "claim", todo, agent="bob")
    grow_old(alice, 3)
    assert "bob" in alice.run("todo", "list", json=False).out


def test_a_remote_that_is_away_is_said_with_the_age(ledger: World, alice: Clone) -> None:
    alice.add("known")
    ledger.remote.rename(ledger.root / "gone.git")
    grow_old(alice, 12)
    done = alice.run("todo", "list", json=False)
    assert "known" in done.out
    assert "the remote cannot be read" in done.err
    assert "this is 1" in done.err
    assert "as of" not in done.err


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(1, ""), (30, "as of 30 s ago"), (300, "as of 5 min ago"), (None, "the age of this state is unknown")],
)
def test_an_age_that_was_asked_for_is_told(alice: Clone, seconds: int | None, said: str) -> None:
    """Who sets sync.max_age wants no fetch before: also for a text."""
    alice.add("known")
    alice.config("loopx.maxage", "10m")
    if seconds is None:
        (alice.home / "fetched").unlink()
    else:
        grow_old(alice, seconds)
    done = alice.run("todo", "list", *([] if seconds else ["--offline"]), json=False)
    assert done.err.startswith(said)
    assert bool(done.err) == bool(said)
    assert "known" in done.out
