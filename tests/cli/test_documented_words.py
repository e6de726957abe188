"""Commands and calls as the documents write them."""

from __future__ import annotations

import shlex

import pytest
from clones import Clone, World, git

from loopx_git import LoopXClient
from loopx_git.cli.next_command import commands
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


@pytest.mark.parametrize("more", [(), ("--status", "in_progress"), ("--note", "x")], ids=["alone", "status", "note"])
def test_an_update_that_names_another_agent_leads_to_the_transfer(more: tuple[str, ...], alice: Clone) -> None:
    """`--claimed-by` names who acts: the holder who names another there wants to hand the claim over."""
    as_alice = alice.having(LOOPX_AGENT="alice")
    todo = alice.add("one")
    if not more:
        free = as_alice.run("todo", "update", todo, "--claimed-by", "bob", check=2)
        assert free.error["hint"] == f"git loopx todo claim {todo} --agent bob"
    as_alice.run("todo", "claim", todo)
    refused = as_alice.run("todo", "update", todo, "--claimed-by", "bob", *more, check=12 if more else 2)
    assert f"git loopx todo transfer {todo} --to bob" in refused.error["hint"]
    as_alice.run("todo", "transfer", todo, "--to", "bob")
    if more:
        as_alice.run("todo", "update", todo, "--claimed-by", "bob", *more)
    else:
        assert "--note" in as_alice.run("todo", "update", todo, "--claimed-by", "bob", check=2).error["hint"]
        as_carol = alice.having(LOOPX_AGENT="carol")
        look = as_carol.run("todo", "update", todo, "--claimed-by", "alice", check=2).error
        assert (look["holder"], "todo show" in look["hint"]) == ("bob", True)


def test_two_agents_around_the_command_are_refused(alice: Clone) -> None:
    todo = alice.add("one")
    pairs = [("--agent", "--agent"), ("--agent-id", "--claimed-by"), ("--session", "--session"), ("--ref", "--ref"),
             ("--remote", "--remote"), ("-C", "-C")]  # fmt: skip
    for before, after in pairs:
        for words in (["todo", "claim", todo], ["todo", "update", todo, "--note", "x"]):
            refused = alice.run(before, "one", *words, after, "two", check=2).error
            assert before in refused["message"] and "one, two" in refused["message"]
    assert alice.show(todo)["lease"]["epoch"] == 0
    alice.run("--agent", "alice", "todo", "claim", todo, "--agent", "alice")


def test_letting_go_with_a_field_leads_to_the_update_first(alice: Clone) -> None:
    todo = alice.add("one")
    alice.run("todo", "claim", todo, agent="alice")
    given = ("--title", "a new title", "--label", "a", "--label", "b", "--validate", "make test", "--clear", "scope")
    refused = alice.run(
        "todo", "update", todo, "--clear-claim", "--status", "completed", *given, agent="alice", check=2
    )
    [first] = commands(refused.error["hint"])
    alice.run(*shlex.split(first)[2:])
    shown = alice.show(todo)
    assert shown["lease"]["holder"] == "alice"
    assert (shown["todo"]["title"], shown["todo"]["labels"]) == ("a new title", ["a", "b"])
    assert shown["todo"]["validate"] == ["make", "test"]


def test_acquiring_again_sets_the_ttl_that_is_given(alice: Clone) -> None:
    todo = alice.add("one")
    alice.run("task-lease", "acquire", todo, agent="alice")
    again = alice.run("task-lease", "acquire", todo, "--ttl", "10m", agent="alice").json["lease"]
    assert (again["ttl_s"], again["epoch"], again["seq"]) == (600, 1, 1)
    assert alice.run("task-lease", "acquire", todo, "--ttl", "10m", agent="alice").json["lease"]["seq"] == 1
    assert alice.run("task-lease", "acquire", todo, "--no-ttl", agent="alice").json["lease"]["ttl_s"] is None
    claimed = alice.run("todo", "claim", todo, "--ttl", "20m", agent="alice")
    [renew] = commands(claimed.err)
    assert alice.run(*shlex.split(renew)[2:], agent="alice").json["lease"]["ttl_s"] == 1200


def test_acquiring_what_lapsed_tells_the_former_holder(alice: Clone, bob: Clone) -> None:
    todo = alice.add("one")
    alice.run("task-lease", "acquire", todo, "--ttl", "1m", agent="alice")
    taken = bob.run("task-lease", "acquire", todo, agent="bob", env={"LOOPX_NOW": "+1d"})
    assert (taken.json["former"], taken.json["handover"]["holder"]) == ("alice@1", "alice")
    told = alice.run("task-lease", "acquire", todo, agent="alice", env={"LOOPX_NOW": "+2d"}, json=False)
    assert "last held by bob" in told.out


def test_suggest_for_one_agent_is_what_that_agent_can_take(alice: Clone) -> None:
    alice.run("peer", "register", "gpu", "--capability", "gpu")
    todo, train = alice.add("one"), alice.add("train", "--requires", "gpu")
    alice.add("not for gpu", "--exclude", "gpu")
    suggested = alice.run("heartbeat", "suggest", "--per-agent", "9", agent="gpu").json["suggestions"]
    assert {(item["agent"], item["todo"]) for item in suggested} == {("gpu", todo), ("gpu", train)}
    for item in suggested:
        alice.run(*shlex.split(item["command"])[2:])
    assert "peer register" in alice.run("heartbeat", "suggest", agent="nobody", check=17).error["hint"]


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
