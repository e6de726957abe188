"""An option that a command would ignore is refused: exit 2, with the flag's name and what was meant."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click
import pytest
from clones import Clone

from loopx_git.cli.command_context import ACTOR
from loopx_git.cli.main import ROOT, LazyGroup

FLAGS = {"agent": "--agent", "session": "--session", "remote": "--remote", "ref": "--ref", "timeout": "--timeout",
         "folder": "-C"}  # fmt: skip
VALUES = {"timeout": "5s", "ref": "refs/heads/x", "folder": "."}
#: What an argument of a command that refuses something is filled with.
NEEDS = {"todo show": ["x"], "peer show": ["x"], "loop show": ["x"], "task-lease inspect": ["x"],
         "completion": ["bash"]}  # fmt: skip


def commands(group: LazyGroup, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, LazyGroup):
            yield from commands(found, (*path, name))
        elif found is not None:
            yield " ".join((*path, name)), found


ALL = dict(commands(ROOT))
UNUSED = {
    (name, param.name)
    for name, command in ALL.items()
    for param in command.params
    if param.name in FLAGS and getattr(param, "hidden", False)
}


def test_what_only_reads_has_no_use_for_who_acts() -> None:
    """A command acts if it writes, or if its text asks for the actor; every other one says that it does not."""
    for name, command in ALL.items():
        if name == "heartbeat suggest":  # its --agent asks about somebody; a test below
            continue
        said = {(name, who) in UNUSED for who in ACTOR}
        assert len(said) == 1, f"{name}: agent and session belong together"
        options = {param.name for param in command.params}
        reads = {"fresh", "offline"} <= options and "claim" not in options
        assert not reads or said == {True} or name == "todo list", f"{name} reads, and takes --agent without a use"
        assert not (options & {"dry_run", "force"}) or said == {False} or name.startswith("guard"), name


def test_suggestions_for_one_agent(alice: Clone) -> None:
    alice.add("one")
    found = alice.run("heartbeat", "suggest", "--agent", "bob").json["suggestions"]
    assert [item["agent"] for item in found] == ["bob"]
    assert alice.run("heartbeat", "suggest", agent="carol").json["suggestions"][0]["agent"] == "carol"
    assert "no use for --session" in alice.run("heartbeat", "suggest", "--session", "s", check=2).error["message"]


def test_every_unused_option_is_refused_after_the_name(alice: Clone) -> None:
    for name, param in sorted(UNUSED, key=str):
        words = [*name.split(), *NEEDS.get(name, ()), FLAGS[str(param)], VALUES.get(str(param), "alice")]
        error = alice.run(*words, check=2).error
        assert f"{name} has no use for {FLAGS[str(param)]}" in error["message"]
        assert error["hint"]


def test_before_the_name_it_is_the_setting_of_a_session(alice: Clone) -> None:
    alice.run("--agent", "alice", "--session", "s", "log")
    alice.run("peer", "list", agent="alice")


def test_an_option_that_goes_with_another_is_refused_without_it(alice: Clone) -> None:
    for words, said in (
        (["todo", "list", "--agent", "alice"], "--ready"),
        (["todo", "list", "--session", "s"], "--mine"),
        (["todo", "next", "--ttl", "2h", "--agent", "alice"], "--claim"),
        (["todo", "next", "--dry-run", "--agent", "alice"], "--claim"),
        (["todo", "list", "--fresh", "--offline"], "--offline"),
        (["log", "--fresh", "--offline"], "--offline"),
    ):
        error = alice.run(*words, check=2).error
        assert said in error["message"], words
        assert error["hint"]
    alice.run("todo", "list", "--ready", "--agent", "alice", "--session", "s")
    alice.run("todo", "list", "--mine", "--agent", "alice")


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_option_of_its_own_reaches_the_command(name: str) -> None:
    """An option that the function does not take by name is one that nothing is done with."""
    function = inspect.unwrap(ALL[name].callback or (lambda: None))
    taken = set(inspect.signature(function).parameters)
    text = inspect.getsource(function)
    for param in set(taken) - {"context"}:
        assert text.count(param) > 1, f"{name} takes {param} and does nothing with it"


def test_the_goal_of_a_lease_is_checked(alice: Clone) -> None:
    todo = alice.add("one")
    alice.run("goal", "create", "other")
    alice.run("task-lease", "acquire", todo, "--goal-id", "other", agent="alice", check=17)
    alice.run("task-lease", "acquire", todo, "--goal-id", "main", agent="alice")
