"""Commands and calls as the documents write them."""

from __future__ import annotations

import pytest
from clones import Clone, World, git

from loopx_git import LoopXClient
from loopx_git.errors import UsageError


def commits(world: World) -> int:
    """How many operations the remote has."""
    return int(git(world.remote, "rev-list", "--count", world.tip(), env=world.env))


@pytest.mark.parametrize("words", [["update", "--clear-claim"], ["release"], ["unclaim"]], ids=" ".join)
def test_letting_go_as_completed_completes_in_one_commit(words: list[str], ledger: World, alice: Clone) -> None:
    todo = alice.add("one")
    alice.run("todo", "claim", todo, agent="alice")
    before = commits(ledger)
    alice.run("todo", words[0], "--todo-id", todo, *words[1:], "--status", "completed", "--note", "x", agent="alice")
    shown = alice.show(todo)
    assert (shown["todo"]["status"], shown["lease"]["state"]) == ("completed", "free")
    assert shown["todo"]["notes"][0]["text"] == "x"
    assert commits(ledger) == before + 1


def test_other_ends_name_the_command_that_makes_them(alice: Clone) -> None:
    todo = alice.add("one")
    alice.run("todo", "claim", todo, agent="alice")
    for status, hint in (("superseded", "todo supersede"), ("cancelled", "todo cancel")):
        for verb in (["update", "--clear-claim"], ["release"]):
            refused = alice.run("todo", verb[0], todo, *verb[1:], "--status", status, agent="alice", check=2)
            assert hint in refused.error["hint"]


def test_a_lease_is_named_by_its_todo(alice: Clone) -> None:
    todo = alice.add("one", "--alias", "42")
    alice.run("todo", "claim", "42", agent="alice")
    for words in (["renew"], ["inspect"], ["transfer", "--to", "bob"]):
        assert alice.run("task-lease", *words, "--todo-id", "42", agent="alice").json["lease"]["todo"] == todo
    assert alice.run("task-lease", "release", "--todo-id", todo, agent="bob").json["lease"]["state"] == "free"
    alice.run("task-lease", "inspect", todo, "--todo-id", todo, agent="alice", check=2)
    alice.run("task-lease", "release", agent="alice", check=2)


def test_two_agents_in_one_command_are_refused(alice: Clone) -> None:
    todo = alice.add("one")
    refused = alice.run("todo", "claim", todo, "--claimed-by", "alice", "--agent", "bob", agent=None, check=2)
    assert "alice, bob" in refused.error["message"]
    alice.run("task-lease", "acquire", todo, "--agent-id", "alice", "--agent", "bob", agent=None, check=2)
    assert alice.show(todo)["lease"]["epoch"] == 0
    alice.run("todo", "claim", todo, "--claimed-by", "alice", "--agent", "alice", agent=None)
    assert alice.show(todo)["lease"]["holder"] == "alice"


def test_an_update_that_only_names_another_agent_leads_to_the_transfer(alice: Clone) -> None:
    todo = alice.add("one")
    alice.run("todo", "claim", todo, agent="alice")
    refused = alice.run("todo", "update", todo, "--claimed-by", "bob", agent=None, check=2)
    assert f"git loopx todo transfer {todo} --to bob" in refused.error["hint"]


def test_the_calls_of_the_documents(alice: Clone) -> None:
    client = LoopXClient(alice.path, agent="alice", env=alice.env)
    todo = client.todo.add("one", alias="one")
    assert (todo.title, todo.status, todo.alias, todo.holder) == ("one", "open", "one", None)
    lease = client.task_lease.acquire(todo_id=todo.id, ttl=600)
    assert (lease.holder, lease.epoch, lease.ttl, lease.todo_id) == ("alice", 1, 600, todo.id)
    assert lease.lease.epoch == lease.epoch
    assert client.task_lease.renew(todo_id=todo.id).seq == 1
    assert client.task_lease.inspect(todo_id=todo.id).holder == "alice"
    with pytest.raises(UsageError):
        client.task_lease.renew(lease.id, todo_id=todo.id)
    with pytest.raises(UsageError):
        client.task_lease.release()
    assert client.todo.unclaim(todo.id).holder is None
    client.todo.claim(todo_id=todo.id, agent_id="alice", soft=False)
    assert client.todo.release(todo.id, status="completed", note="x").status == "completed"
