"""The time budget is a total: of one transaction, and of a command that takes several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from builders import ALICE, Clone, FakeClock, World, tid
from clones import Clone as RealClone
from memory_store import MemoryPublisher

from loopx_git.client.client import Client
from loopx_git.client.connect import Overrides
from loopx_git.core.commands import OnTodo
from loopx_git.core.table import Operation
from loopx_git.errors import LoopXError, OutcomeUnknown, RemoteFailure
from loopx_git.store.base import Fetched, Pushed, PushKind

CLAIM = OnTodo(Operation.CLAIM, tid(0), ttl=60)


class Silent(MemoryPublisher):
    """A publisher whose remote accepts every connection and never answers: each call takes the time that it has."""

    clock: FakeClock
    calls = 0

    def fetch(self, timeout: float) -> Fetched:
        self.calls += 1
        self.clock.advance(timeout)
        return Fetched(error="no answer in time")

    def push(self, parent: str | None, oid: str, timeout: float) -> Pushed:
        self.calls += 1
        self.clock.advance(timeout)
        return Pushed(PushKind.UNKNOWN, connected=False)


@pytest.mark.parametrize("budget", [0.5, 1.0, 3.0, 5.0, 30.0, 120.0])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("waiting", [False, True])
def test_the_calls_and_waits_of_a_transaction_together_keep_within_it(
    budget: float, first: bool, waiting: bool
) -> None:
    """Also at first contact, and with a record of an earlier command that is to be settled."""
    world = World(1).begin(todos=1)
    publisher = Silent(world.remote)
    clone = Clone(world, "late", publisher)
    publisher.clock = clone.clock
    if not first:
        publisher.accept(world.tip)
    if waiting:
        with pytest.raises(LoopXError):
            clone.submit(OnTodo(Operation.SOFT, tid(0)), by=ALICE, budget=1.0)
    began = clone.clock.count
    with pytest.raises((RemoteFailure, OutcomeUnknown)):
        clone.submit(CLAIM, by=ALICE, budget=budget)
    assert clone.clock.count - began <= budget + 1.0
    assert publisher.calls <= 20


def test_a_command_of_several_steps_has_one_budget(alice: RealClone) -> None:
    """Each step gets what the ones before it have left; what lasts by itself does not count."""
    clock = FakeClock()
    connection = Client(alice.path, alice.env, {"timeout": "20"}, Overrides(clock=clock)).connection
    assert connection.left == 20.0
    clock.advance(5)
    assert connection.left == 20.0, "no command has begun"
    with connection.within():
        clock.advance(8)
        with connection.within():
            assert connection.left == 12.0, "a command inside of a command shares its budget"
        connection.begin_again()
        assert connection.left == 20.0
        clock.advance(19.5)
        assert connection.left == 1.0, "a step that is begun can come to an end"
        clock.advance(100)
        assert connection.left == 1.0
    assert connection.left == 20.0


def test_a_method_of_the_client_is_one_command(alice: RealClone, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()
    client = Client(alice.path, alice.env, {"timeout": "20", "agent": "alice"}, Overrides(clock=clock))
    seen = []

    def read(self: Client, **_: object) -> object:
        seen.append(self.connection.left)
        clock.advance(6)
        if len(seen) < 3:
            return read(self)
        raise RemoteFailure("enough")

    monkeypatch.setattr(Client, "read", read)
    for method in (client.todo.next, client.todo.list, client.goal.list):
        seen.clear()
        with pytest.raises(RemoteFailure):
            method()
        assert seen == [20.0, 14.0, 8.0]


def test_a_probe_and_the_mending_of_coord_git_have_one_budget(
    alice: RealClone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step of them takes a while: the ones after it have that much less."""
    from loopx_git.client.probe import Probe
    from loopx_git.store.repository import OwnRepository

    clock = FakeClock()
    client = Client(alice.path, alice.env, {"timeout": "60"}, Overrides(clock=clock))
    client.read()
    seen: list[float] = []
    real = OwnRepository.git

    def slow(own: OwnRepository, args: Sequence[str], timeout: float, **more: Any) -> Any:
        seen.append(timeout)
        clock.advance(3)
        return real(own, args, timeout, **more)

    monkeypatch.setattr(OwnRepository, "git", slow)
    assert Probe(client).run()
    assert len(seen) > 10 and seen == sorted(seen, reverse=True) and seen[0] == 60.0 and seen[-1] < 30.0
    (alice.home / "coord.git/HEAD").write_bytes(b"")
    seen.clear()
    again = Client(alice.path, alice.env, {"timeout": "60"}, Overrides(clock=clock))
    with again.connection.within():
        clock.advance(20)
        again.connection.open_remote()
    assert len(seen) > 1 and max(seen[1:]) <= 37.0
