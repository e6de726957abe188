"""What a clone writes itself is checked as what it fetches: before the push, on its own bytes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from clones import COORD, Clone, World, populate

from loopx_git.client.client import Client
from loopx_git.core.change import ChangeSet, PutLease
from loopx_git.core.todo import Todo
from loopx_git.errors import InternalError
from loopx_git.ledger import group


def _lease(change: ChangeSet, **fields: Any) -> ChangeSet:
    writes = tuple(
        replace(write, lease=replace(write.lease, **fields)) if isinstance(write, PutLease) else write
        for write in change.writes
    )
    return replace(change, writes=writes)


def _todo(change: ChangeSet, **fields: Any) -> ChangeSet:
    writes = tuple(replace(write, **fields) if isinstance(write, Todo) else write for write in change.writes)
    return replace(change, writes=writes)


#: What a planner with a fault could hand over: each is written, and none of it is what a reader accepts.
FAULTS: dict[str, Callable[[ChangeSet], ChangeSet]] = {
    "a ttl with a fraction": lambda change: _lease(change, ttl_s=600.5),
    "a ttl that is a truth value": lambda change: _lease(change, ttl_s=True),
    "an epoch too many": lambda change: _lease(change, epoch=9),
    "another holder": lambda change: _lease(change, holder="bob"),
    "no lease record": lambda change: replace(
        change, writes=tuple(write for write in change.writes if not isinstance(write, PutLease))
    ),
    "a title of two lines": lambda change: _todo(change, title="one\ntwo"),
    "a priority that is none": lambda change: _todo(change, priority=9),
    "somebody else's fields": lambda change: _todo(change, labels=("sneaked",)),
    "a trailer that disagrees": lambda change: replace(change, epoch=5),
}


@pytest.fixture(params=["remote", "alone"])
def where(request: pytest.FixtureRequest, world: World) -> Clone:
    """A clone of a remote, and a repository that coordinates alone."""
    clone = world.clone("here") if request.param == "remote" else world.repository("alone")
    clone.run("init")
    populate(clone, peers=["alice", "bob"], titles=["first"])
    return clone


def _tip(clone: Clone) -> str:
    return clone.run("log", "--json").json["entries"][0]["commit"]


def _left(clone: Clone) -> list[str]:
    """What a write in progress keeps: pending records and anchors."""
    home = clone.path / ".git/loopx"
    found = [str(path) for path in (home / "pending").glob("*")] if (home / "pending").is_dir() else []
    for git_dir in (home / "coord.git", clone.path / ".git"):
        if git_dir.is_dir():
            found += clone.git("--git-dir", str(git_dir), "for-each-ref", "refs/loopx/pending").splitlines()
    return found


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_is_pushed_that_a_reader_would_refuse(
    where: Clone, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, left = _tip(where), _left(where)
    planned = group.plan_group

    def plan(*args: Any, **settings: Any) -> Any:
        return tuple(FAULTS[fault](change) for change in planned(*args, **settings))

    todo = where.run("todo", "list").json["todos"][0]["id"]
    client = Client(where.path, where.env, {"agent": "alice", "session": "one"})
    with monkeypatch.context() as patched:
        patched.setattr(group, "plan_group", plan)
        with pytest.raises(InternalError, match="nothing was pushed"):
            client.todo.claim(todo)
    assert _tip(where) == before
    assert _left(where) == left
    assert where.verified()["ok"] is True
    # The clone goes on as if nothing had been.
    assert client.todo.claim(todo).acquired is True


def _write_badly(clone: Clone, todo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims as a program would that does not check what it writes: its clone believes in it afterwards."""
    from loopx_git.store import driver

    planned = group.plan_group

    def plan(*args: Any, **settings: Any) -> Any:
        return tuple(_lease(change, ttl_s=600.5) for change in planned(*args, **settings))

    with monkeypatch.context() as patched:
        patched.setattr(group, "plan_group", plan)
        patched.setattr(driver, "check_own", lambda *args: None)
        client = Client(clone.path, clone.env, {"agent": "alice", "session": "one"})
        try:
            client.todo.claim(todo)
        except Exception as error:
            # How a program without the check ends is not what is tested.
            assert "ttl" in str(error) or "lease" in str(error)


@pytest.mark.parametrize("order", list(itertools.permutations(["writer", "other", "fresh"])))
@pytest.mark.parametrize("adopter", ["other", "writer"])
def test_after_an_adoption_every_clone_agrees(
    ledger: World, order: tuple[str, ...], adopter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clones = {"writer": ledger.clone("writer"), "other": ledger.clone("other")}
    todo = populate(clones["writer"], titles=["first"])[0]
    clones["other"].run("sync")
    _write_badly(clones["writer"], todo, monkeypatch)
    bad = ledger.tip()
    clones["other"].run("todo", "claim", todo, agent="bob", check=16)
    by = clones["other"] if adopter == "other" else ledger.clone("second")
    by.run("adopt", agent="bob")
    assert ledger.tip() != bad
    for name in order:
        clone = clones.get(name) or ledger.clone(name)
        clone.run("todo", "list")
        clone.run("todo", "add", f"from {name}")
        assert clone.verified()["ok"] is True, name
    tips = {name: clone.git("ls-remote", "origin", COORD) for name, clone in clones.items()}
    assert len(set(tips.values())) == 1
    ops = [entry["op"] for entry in clones["other"].run("log").json["entries"]]
    assert ops.count("adopt") == 1
    assert clones["other"].run("todo", "claim", todo, agent="bob").json["acquired"] is True
