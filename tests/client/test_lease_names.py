"""Names of leases: todo@epoch, where the todo may be an id, a prefix or an alias, and the epoch the current one."""

from __future__ import annotations

import pytest
from clones import Clone

from loopx_git import NotFound, NotYourClaim, UsageError
from loopx_git.client.client import Client
from loopx_git.client.renewal import split


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("todo_ab12cd34ef56@3", ("todo_ab12cd34ef56", 3)),
        ("ab12@3", ("ab12", 3)),
        ("fix-login@12", ("fix-login", 12)),
        ("42@7", ("42", 7)),
        ("fix-login", ("fix-login", None)),
    ],
)
def test_what_names_a_lease(name: str, parts: tuple[str, int | None]) -> None:
    assert split(name) == parts


@pytest.mark.parametrize("name", ["@3", "x@", "x@y", "x@-1", "x@1@2", "x@1.0", "x@\u0661"])
def test_what_names_none(name: str) -> None:
    with pytest.raises(UsageError):
        split(name)


def test_a_lease_whose_epoch_is_over_is_not_shown_as_the_current_one(alice: Clone, bob: Clone) -> None:
    alice.add("first", "--alias", "first")
    one = Client(alice.path, alice.env, {"agent": "alice", "session": "one"})
    two = Client(bob.path, bob.env, {"agent": "bob", "session": "two"})
    assert one.todo.claim("first").lease.epoch == 1
    assert one.task_lease.inspect("first@1").holder == "alice"
    one.task_lease.release("first@1")
    two.todo.claim("first")
    with pytest.raises(NotYourClaim, match="@1 is over: the epoch is 2 and bob holds it") as caught:
        two.task_lease.inspect("first@1")
    assert caught.value.about["epoch"] == 2
    # What another clone knows may be older than the name: it looks before it says that there is no such lease.
    assert one.task_lease.inspect("first@2").holder == "bob"
    with pytest.raises(NotFound, match="the epoch is 2"):
        one.task_lease.inspect("first@9")


@pytest.mark.parametrize("words", [("reclaim",), ("reclaim", "--take"), ("watch", "--rounds", "1")])
def test_a_reclaim_without_an_agent_is_refused_before_anything_lapses(alice: Clone, words: tuple[str, ...]) -> None:
    done = alice.run("heartbeat", *words, check=2)
    assert "needs an agent" in done.error["message"]
