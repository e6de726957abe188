"""The Python face: complete, typed, documented, and the same as the command line."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from clones import Clone, World
from python_page import NAMESPACES, methods, page

from loopx_git import HeldByAnother, LoopXClient, NotFound, NotInitialised, NotYourClaim
from loopx_git.cli.commands.registry import GROUPS

ROOT = Path(__file__).parent.parent
#: Commands whose method has another name, or which are one of several things that a method does.
SAME = {
    "unclaim": "release",
    "pause": "set_status",
    "resume": "set_status",
    "retire": "set_status",
    "watch": "reclaim",
}


def test_the_page_is_made_from_the_signatures() -> None:
    assert (ROOT / "docs/python.md").read_text("utf-8") == page(), "make pages"


@pytest.mark.parametrize("group", ["todo", "task_lease", "heartbeat", "goal", "peer", "policy"])
def test_every_command_of_a_group_is_a_method(group: str) -> None:
    known = {name for name, _ in methods(NAMESPACES[group])}
    assert {SAME.get(name, name) for name in GROUPS[group][1]} <= known


@pytest.mark.parametrize("name", sorted(NAMESPACES))
def test_every_method_is_documented_and_typed(name: str) -> None:
    for method, function in methods(NAMESPACES[name]):
        assert inspect.getdoc(function), f"{name}.{method}"
        signature = inspect.signature(function)  # type: ignore[arg-type]
        assert signature.return_annotation is not inspect.Signature.empty, f"{name}.{method}"
        for parameter in signature.parameters.values():
            typed = parameter.name == "self" or parameter.annotation is not inspect.Parameter.empty
            assert typed, f"{name}.{method}: {parameter.name}"


def client(clone: Clone, agent: str) -> LoopXClient:
    return LoopXClient(clone.path, agent=agent, env=clone.env)


def test_a_whole_life_from_python(ledger: World) -> None:
    alice, bob = client(ledger.clone("alice"), "alice"), client(ledger.clone("bob"), "bob")
    one = alice.todo.add("one", alias="one", scope=["/one/"], labels=["x"], priority=0)
    claim = alice.todo.claim(todo_id=one.id, agent_id="alice", soft=False)
    assert (claim.acquired, claim.lease.lease.holder, claim.lease.lease.epoch) == (True, "alice", 1)
    assert alice.todo.claim(one.id).acquired is False
    with pytest.raises(HeldByAnother) as refusal:
        bob.todo.claim("one")
    error = refusal.value
    assert (error.code, error.todo_id, error.holder, error.epoch) == (11, one.id, "alice", 1)
    assert (error.about["holder"], error.about["expires_at"], error.line) == ("alice", error.expires_at, None)
    alice.todo.update(one.id, status="in_progress", note="going on", title="one, renamed", epoch=1)
    alice.todo.transfer(one.id, "bob", epoch=1)
    with pytest.raises(NotYourClaim):
        alice.todo.complete(one.id, epoch=1)
    done = bob.todo.complete(one.id, epoch=2, successor_title="two")
    assert done.todo.successor
    two, _ = alice.todo.show(done.todo.successor, fresh=True)
    assert two.todo.supersedes == (one.id,)
    assert alice.todo.next(claim=True).view.id == two.id
    with pytest.raises(NotFound):
        bob.todo.next(claim=True)
    alice.todo.cancel(two.id)
    alice.todo.archive(two.id)
    lease = bob.task_lease.acquire(todo_id=bob.todo.add("three").id, ttl=600)
    assert bob.task_lease.renew(lease_id=lease.id).lease.seq == 1
    assert bob.task_lease.renew_all() == [lease.id]
    assert bob.task_lease.release(lease_id=lease.id).lease.holder is None
    assert bob.policy.set("claims.ttl", "1h")["former"] == "2h"
    assert {peer.agent for peer in bob.peer.list()[0]} >= {"alice", "bob", "carol"}
    entries, _ = bob.history.log(limit=None, fresh=True)
    assert entries[-1]["op"] == "init"
    assert bob.history.verify().ok


def test_values_are_objects_and_json_alike(alice: Clone) -> None:
    sdk = client(alice, "alice")
    view = sdk.todo.add("one")
    shown = alice.run("todo", "show", view.id, "--fresh").json
    fresh, _ = sdk.todo.show(view.id, fresh=True)
    same = fresh.as_json()
    assert {key: shown[key] for key in same} == same


def test_without_a_ledger_the_error_says_what_to_do(world: World) -> None:
    sdk = client(world.clone("plain"), "alice")
    with pytest.raises(NotInitialised) as error:
        sdk.todo.list()
    assert error.value.hint == "git loopx init"
