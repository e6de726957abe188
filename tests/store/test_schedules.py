"""Clients that race under an adversarial network: every step of every client at any moment.

Each client drives its own transaction, one step at a time, in the order that Hypothesis chooses. A push may land
and not answer, be lost on the way, be refused for nothing, or arrive later, when it lands only if the tip is
still its parent. A look may fail. Clocks may jump past every ttl and every budget. What was acknowledged must be
in history exactly once, whatever happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
from builders import ALICE, BOB, CAROL, Clone, World, tid
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from memory_store import MemoryPublisher

from loopx_git.core.change import Actor, Op
from loopx_git.core.commands import AddTodo, Command, OnTodo
from loopx_git.core.table import Operation
from loopx_git.errors import Contention, HeldByAnother, LoopXError, NotYourClaim, OutcomeUnknown, RemoteFailure
from loopx_git.ledger.validation import Checker
from loopx_git.store import transaction as tx
from loopx_git.store.base import Fetched, Pushed, PushKind
from loopx_git.store.driver import Driver
from loopx_git.store.pending import Pending

ACTORS = (ALICE, BOB, CAROL, Actor("alice", "another-session"))
LIMITS = {"budget": 30.0, "fresh_after": 2.0}


@dataclass
class Network:
    """Pushes under way: (parent, commit) by the order of their sending."""

    world: World
    under_way: list[tuple[str | None, str]] = field(default_factory=list)

    def deliver(self, which: int) -> None:
        """One push arrives; it lands only where the tip is still its parent."""
        if self.under_way:
            parent, oid = self.under_way.pop(which % len(self.under_way))
            if self.world.remote.tip == parent:
                self.world.remote.tip = oid


class Unreliable(MemoryPublisher):
    """A publisher that does to the next call what the schedule says."""

    def __init__(self, network: Network) -> None:
        super().__init__(network.world.remote)
        self.network, self.fault = network, ""

    def fetch(self, timeout: float) -> Fetched:
        if self.fault in ("lost", "dead", "late"):
            return Fetched(error="connection reset")
        return super().fetch(timeout)

    def push(self, parent: str | None, oid: str, timeout: float) -> Pushed:
        match self.fault:
            case "unheard":
                super().push(parent, oid, timeout)
                return Pushed(PushKind.UNKNOWN)
            case "lost":
                return Pushed(PushKind.UNKNOWN)
            case "dead":
                return Pushed(PushKind.UNKNOWN, connected=False)
            case "late":
                self.network.under_way.append((parent, oid))
                return Pushed(PushKind.UNKNOWN)
            case "refused":
                return Pushed(PushKind.REJECTED, said="cannot lock ref")
            case "throttled":
                return Pushed(PushKind.THROTTLED, retry_after=1.0)
            case "declined":
                return Pushed(PushKind.DECLINED, said="hook declined")
        return super().push(parent, oid, timeout)


@dataclass
class End:
    """How one command of one client ended; `kept` when its pending record stays."""

    client: Client
    commands: Sequence[Command]
    record: Pending
    result: tx.Result | None = None
    error: LoopXError | None = None
    kept: bool = False


class Client:
    """One clone working off its commands, step by step, as `Ledger.submit` does it."""

    def __init__(self, clone: Clone, publisher: Unreliable, actor: Actor, todo: Sequence[Sequence[Command]]) -> None:
        self.clone, self.publisher, self.actor, self.todo = clone, publisher, actor, list(todo)
        self.driver: Driver | None = None
        self.steps: tx.Steps | None = None
        self.answer: Any = None
        self.commands: Sequence[Command] = ()
        self.ends: list[End] = []

    @property
    def busy(self) -> bool:
        return bool(self.todo) or self.steps is not None

    def step(self, fault: str) -> None:
        self.publisher.fault = fault
        try:
            if self.steps is None:
                self._begin()
                return
            assert self.driver is not None
            self.answer = self.driver._do(self.steps.send(self.answer))
        except StopIteration as stop:
            self._end(result=stop.value)
        except LoopXError as error:
            self._end(error=error)

    def _begin(self) -> None:
        self.commands = self.todo.pop(0)
        ledger, started = self.clone.ledger, self.clone.clock.counting()
        job = self.clone.job(self.commands, self.actor, **LIMITS)
        earlier = ledger._look_up_pending(job, started)
        self.driver = Driver(self.clone.context, job, started, earlier or ledger._record(job))
        self.answer = None
        self.steps = tx.transaction(job.limits, resumed=earlier is not None)
        if earlier is not None and earlier.landed is not None:
            self._end(result=tx.Result((), self.publisher.known_tip(), earlier.landed, confirmed=False))

    def _end(self, *, result: tx.Result | None = None, error: LoopXError | None = None) -> None:
        assert self.driver is not None
        record = self.driver.record
        if result is not None and result.oid is not None:
            if result.confirmed and result.tip is not None:
                self.publisher.accept(result.tip)
            self.clone.ledger._drop(record)
        kept = record.request in self.clone.pending.records
        self.ends.append(End(self, self.commands, record, result, error, kept))
        self.driver = self.steps = None


@cache
def beginning() -> World:
    return World().begin(ALICE, BOB, CAROL, todos=3)


def race(jobs: Sequence[Sequence[Sequence[Command]]], schedule: Sequence[tuple[int, str]]) -> tuple[World, list[End]]:
    """Run the schedule, then let everybody finish in turn without faults; what is under way arrives last."""
    base = beginning()
    world = World(0, remote=type(base.remote)(), memo=base.memo)
    world.objects._commits.update(base.objects._commits)
    world.remote.tip = base.remote.tip
    network = Network(world)
    clients = []
    for number, commands in enumerate(jobs):
        publisher = Unreliable(network)
        publisher.accept(base.tip)
        clone = Clone(world, f"client {number}", publisher)
        world.clones.append(clone)
        clients.append(Client(clone, publisher, ACTORS[number], commands))
    for number, what in schedule:
        if what == "deliver":
            network.deliver(number)
        elif what == "time":
            world.advance((3.0, 40.0, 200.0)[number % 3])
        elif clients[number % len(clients)].busy:
            clients[number % len(clients)].step(what)
    for _ in range(3000):
        for client in clients:
            if client.busy:
                client.step("")
    assert not any(client.busy for client in clients), "somebody does not come to an end"
    while network.under_way:
        network.deliver(0)
    return world, [end for client in clients for end in client.ends]


def on(operation: Operation, number: int, **fields: Any) -> OnTodo:
    return OnTodo(operation, tid(number), **fields)


#: What a client may want: claims of the same and of other todos, groups, and what follows a claim.
JOBS: list[tuple[Command, ...]] = [
    (on(Operation.CLAIM, 0, ttl=60),),
    (on(Operation.CLAIM, 0, ttl=60),),
    (on(Operation.CLAIM, 1, ttl=60),),
    (on(Operation.CLAIM, 2, ttl=None),),
    (on(Operation.CLAIM, 0, ttl=60), on(Operation.CLAIM, 1, ttl=60)),
    (on(Operation.RESUME, 0, ttl=60),),
    (on(Operation.RELEASE, 0),),
    (on(Operation.UPDATE, 0, note="so far"),),
    (on(Operation.COMPLETE, 1),),
    (on(Operation.SOFT, 1),),
    (on(Operation.RELEASE, 0, force=True, reason="because"),),
    (AddTodo(tid(7), "a new one"),),
]
FAULTS = ["", "", "", "", "", "unheard", "lost", "late", "late", "refused", "dead", "throttled", "declined"]
one = st.builds(
    lambda first, more: [first, *more], st.sampled_from(JOBS[:6]), st.lists(st.sampled_from(JOBS), max_size=1)
)
jobs = st.lists(one, min_size=2, max_size=4)
moves = st.tuples(st.integers(0, 3), st.sampled_from([*FAULTS * 3, "deliver", "deliver", "time"]))
schedules = st.lists(moves, min_size=40, max_size=100)


FEW = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@FEW
@given(jobs, schedules)
def test_what_is_acknowledged_is_in_history_exactly_once(
    wanted: list[list[Sequence[Command]]], schedule: list[tuple[int, str]]
) -> None:
    run_schedule(wanted, schedule)


@pytest.mark.soak
@settings(FEW, max_examples=10_000, derandomize=False)
@given(jobs, schedules)
def test_ten_thousand_schedules(wanted: list[list[Sequence[Command]]], schedule: list[tuple[int, str]]) -> None:
    run_schedule(wanted, schedule)


def run_schedule(wanted: list[list[Sequence[Command]]], schedule: list[tuple[int, str]]) -> None:
    """One schedule to its end, and everything that must be true then."""
    world, ends = race(wanted, schedule)
    messages = world.messages()
    count = Counter(message.request for message in messages)
    claims = [(message.todo, message.epoch, message.agent) for message in messages if message.op is Op.CLAIM]
    assert len({claim[:2] for claim in claims}) == len(claims), "one holder an epoch"
    acknowledged: Counter[tuple[str, int]] = Counter()
    for end in ends:
        check_end(world, end, count[end.record.request], claims)
        if end.result is not None and end.result.oid is not None:
            acknowledged.update(acquired(end))
    assert set(acknowledged.values()) <= {1}, "one acknowledged winner for each todo and epoch"
    check_epochs(messages)
    for end in ends:
        if isinstance(end.error, OutcomeUnknown):
            check_again(world, end)
    assert not list(Checker(world.objects, {}).walk(beginning().tip, world.tip, 10**9))


def acquired(end: End) -> list[tuple[str, int]]:
    assert end.result is not None and end.result.oid is not None
    facts = end.record.facts(end.result.oid)
    return [(fact["todo"], fact["epoch"]) for fact in facts if fact.get("acquired")]


def check_end(world: World, end: End, times: int, claims: list[tuple[Any, Any, str]]) -> None:
    """How a command ended agrees with what is in history once everything under way has arrived."""
    error, result = end.error, end.result
    if result is not None:
        if result.oid is None:
            assert times == 0 or end.kept
            return
        facts = end.record.facts(result.oid)
        assert times == sum("unchanged" not in fact for fact in facts), "all of it, and once"
        assert world.history().count(result.oid) == 1
        for todo, epoch in acquired(end):
            assert (todo, epoch, end.client.actor.name) in claims
        return
    assert isinstance(error, LoopXError)
    if isinstance(error, HeldByAnother):
        assert (error.about["todo_id"], error.about["epoch"], error.about["holder"]) in claims, "a real holder"
    if isinstance(error, (OutcomeUnknown, RemoteFailure)) or end.kept:
        assert times in (0, *(sum("unchanged" not in fact for fact in built.facts) for built in end.record.built))
    else:
        assert times == 0, f"refused with {error.code}, and yet in history"
    assert not isinstance(error, Contention) or not end.kept


def check_epochs(messages: list[Any]) -> None:
    last: dict[str, int] = {}
    for message in messages:
        if message.todo is not None and message.epoch is not None:
            assert message.epoch >= last.get(message.todo, 0), "epochs only grow"
            last[message.todo] = message.epoch


def check_again(world: World, end: End) -> None:
    """The same command again, on a sound network: it finds out, and does nothing twice."""
    client = end.client
    if end.record.request not in client.clone.pending.records:
        return  # a later command has settled it
    client.publisher.fault = ""
    before = Counter(message.request for message in world.messages())[end.record.request]
    try:
        answer = client.clone.submit(*end.commands, by=client.actor, **LIMITS)
    except (HeldByAnother, NotYourClaim, LoopXError) as error:
        assert error.code in (2, 11, 12, 15)
        assert before == 0
        return
    if before:
        assert answer.found and not answer.confirmed
        assert Counter(message.request for message in world.messages())[end.record.request] == before


def test_the_schedules_reach_what_they_are_for() -> None:
    """A fixed schedule each for the endings that matter; else the test above could be about nothing."""
    claim: list[Sequence[Command]] = [JOBS[0]]
    # Both build on one tip; the second loses, and decides again.
    world, ends = race([claim, claim], [(0, ""), (1, "")] * 20)
    assert sorted(end.error.code if end.error else 0 for end in ends) == [0, 11]
    # Landed unheard, found in history.
    world, ends = race([claim], [(0, "")] * 5 + [(0, "unheard")])
    assert ends[0].result is not None and not ends[0].result.confirmed and ends[0].result.oid == world.tip
    # Under way while the budget runs out: unknown, and it lands after all.
    world, ends = race(
        [claim], [(0, "")] * 5 + [(0, "late"), (0, "time"), (1, "time"), (0, "dead"), *[(0, "lost")] * 9]
    )
    assert isinstance(ends[0].error, OutcomeUnknown) and ends[0].kept
    assert world.messages()[-1].request == ends[0].record.request
    check_again(world, ends[0])
    # Under way, and overtaken: it never lands.
    world, ends = race([claim, claim], [(0, "")] * 5 + [(0, "late")] + [(1, "")] * 9 + [(0, "deliver")])
    assert [end.error.code if end.error else 0 for end in ends] == [11, 0]
