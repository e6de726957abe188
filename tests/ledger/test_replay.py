"""Replay: legal histories verify, however long and mixed, and a commit that tells a lie is named, alone.

The first half runs long random histories, in which every operation comes up. The second half takes one history
in which each commit has a name, changes one thing about one commit, goes on from there, and expects `walk` to
name exactly that commit.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from builders import ALICE, BOB, CAROL, NOW, OPERATOR, World, at, plant, tid

from loopx_git.core.change import Actor, Op
from loopx_git.core.commands import (
    AddTodo,
    Beat,
    ClaimTask,
    CloseGoal,
    Command,
    CountTick,
    CreateGoal,
    CreateLoop,
    DropSoftClaim,
    OnTodo,
    RegisterPeer,
    RenewAll,
    SetLoopStatus,
    SetPeerStatus,
    SetPolicy,
)
from loopx_git.core.lease import Ended, Lease
from loopx_git.core.loop import LoopStatus
from loopx_git.core.meaning import NOTE_REASON
from loopx_git.core.peer import ClaimMode, PeerKind, PeerStatus
from loopx_git.core.table import FORCEABLE, NEEDS_CLAIM, Effect, Operation, look_up
from loopx_git.core.times import UNSET
from loopx_git.core.todo import Note, Status
from loopx_git.errors import LoopXError
from loopx_git.format import files, layout, message
from loopx_git.format import lease_record as record
from loopx_git.ledger.commits import Signature
from loopx_git.ledger.validation import Checker, Fault

# -- long random histories

DAVE = Actor("dave", "dave-session")
ACTORS = [ALICE, BOB, CAROL, Actor("alice", "another"), Actor("bob", "another"), DAVE]
LOOPS = ["loop-a", "loop-b", "loop-c"]
SCOPES = [(), (), ("src/a",), ("src/b", "docs"), ("src",), ("*.md",)]
POLICY = [
    ("claims.ttl", ["10m", "2h", "none", "45s"]),
    ("claims.skew", ["0s", "60s", "5m"]),
    ("claims.max_attempts", ["3", "50"]),
    ("claims.max_per_agent", ["none", "4"]),
    ("claims.scope_overlap", ["allow", "refuse"]),
    ("peers.auto_register", ["true", "false"]),
    ("claims.mode", ["exclusive", "exclusive", "soft"]),
]
WEIGHTS = {Operation.CLAIM: 10, Operation.UPDATE: 8, Operation.RELEASE: 3, Operation.RENEW: 3, Operation.RESUME: 3,
           Operation.RECLAIM: 4, Operation.COMPLETE: 3, Operation.TRANSFER: 3, Operation.REOPEN: 3}  # fmt: skip
LENGTH, SEEDS = 330, range(6)


class Story:
    """One random history: two clones, six actors and an operator, and clocks that jump now and then."""

    def __init__(self, seed: int, length: int) -> None:
        self.draw = random.Random(seed)
        self.world = World(2).begin()
        self.todos: list[str] = []
        self.goals = ["main"]
        self.effects: Counter[Effect] = Counter()
        self.codes: Counter[int] = Counter()
        for _ in range(length):
            self.step()

    def step(self) -> None:
        draw = self.draw
        self.world.advance(
            draw.choice([0.001, 0.4, 3.0, 60.0, 900.0, draw.uniform(0, 20_000) if draw.random() < 0.3 else 1])
        )
        commands = [self.command() for _ in range(draw.choice([1] * 8 + [2, 3]))]
        on = all(isinstance(command, OnTodo) for command in commands)
        actor = draw.choice(ACTORS)
        if (not on and draw.random() < 0.5) or all(isinstance(item, OnTodo) and item.force for item in commands):
            actor = OPERATOR
        elif isinstance(commands[0], (ClaimTask, CountTick)):
            commands = commands[:1]
            actor = Actor(commands[0].loop, draw.choice([*["at-home"] * 5, "elsewhere"]))
        elif isinstance(commands[0], OnTodo) and commands[0].todo in self.todos and draw.random() < 0.7:
            actor = self.holder(commands[0].todo) or actor
        before = self.world.tip
        try:
            answer = draw.choice(self.world.clones).submit(*commands, by=actor)
        except LoopXError as error:
            self.codes[error.code] += 1
            assert self.world.tip == before, "a refusal changes nothing"
            return
        self.codes[0] += 1
        for command, facts in zip(commands, answer.facts, strict=True):
            if isinstance(command, AddTodo):
                self.todos.append(command.id)
            if isinstance(command, OnTodo) and command.successor_title is not None and facts.get("successor"):
                self.todos.append(facts["successor"])
            if isinstance(command, CreateGoal) and command.goal not in self.goals:
                self.goals.append(command.goal)
            if isinstance(command, OnTodo) and "unchanged" not in facts:
                operation = Operation(facts["operation"])
                for status in Status:
                    row = look_up(operation, status, facts["hold"], command.force)
                    self.effects.update(row.effects)

    def holder(self, todo: str) -> Actor | None:
        snapshot = self.world.snapshot()
        found = snapshot.lease(snapshot.goals_of(todo)[0], todo)
        if found is None or found.holder is None:
            return None
        return Actor(found.holder, found.session or f"{found.holder}-session")

    def command(self) -> Command:
        draw = self.draw
        kind = draw.random()
        if kind < 0.12 or not self.todos:
            return self.add()
        if kind < 0.15:
            key, values = draw.choice(POLICY)
            return SetPolicy(key, draw.choice(values))
        if kind < 0.17:
            return CreateGoal(f"goal-{draw.randrange(3)}", "a goal", draw.choice([None, ClaimMode.SOFT]))
        if kind < 0.175:
            return CloseGoal(f"goal-{draw.randrange(3)}")
        if kind < 0.19:
            capabilities = draw.choice([(), ("gpu",), ("gpu", "python"), None])
            return RegisterPeer(
                draw.choice(["alice", "bob", "dave", "erin"]), draw.choice([None, *PeerKind]), capabilities
            )
        if kind < 0.21:
            name = draw.choice(["alice", "bob", "dave", "erin"])
            last = PeerStatus.RETIRED if name == "erin" else PeerStatus.ACTIVE
            return SetPeerStatus(name, draw.choice([*[PeerStatus.ACTIVE] * 4, PeerStatus.PAUSED, last]))
        if kind < 0.25:
            return draw.choice(
                [Beat(), RenewAll(), DropSoftClaim(draw.choice(self.todos), draw.choice(["bob", "erin"]))]
            )
        if kind < 0.36:
            return self.on_loop()
        return self.on_todo()

    def on_loop(self) -> Command:
        draw, loop = self.draw, self.draw.choice(LOOPS)
        known = self.world.snapshot().loop(loop)
        if known is None:
            return CreateLoop(loop)
        if draw.random() < 0.2:
            status = draw.choice(list(LoopStatus))
            reason = draw.choice([None, "the tests are red"]) if status is LoopStatus.HALTED else None
            return SetLoopStatus(loop, status, draw.random() < 0.7, reason)
        if draw.random() < 0.4:
            return CountTick(loop, known.iterations + draw.choice([0, 1, 1, 1]))
        force = draw.random() < 0.2
        resume = not force and draw.random() < 0.3
        return ClaimTask(
            loop, draw.choice(self.todos[-10:]), resume=resume, force=force, reason="it must be" if force else None
        )

    def new_id(self) -> str:
        return f"todo_{self.draw.getrandbits(48):012x}"

    def add(self) -> AddTodo:
        draw = self.draw
        return AddTodo(
            self.new_id(),
            draw.choice(["a title", 'fix: the "bug" # 3', "x" * 300, "ä 💥"]),
            goal=draw.choice(self.goals),
            alias=draw.choice([None, None, f"alias-{draw.randrange(10_000)}"]),
            priority=draw.randrange(5),
            body=draw.choice(["", "Some text.\n\n## More\n"]).strip("\n"),
            scope=draw.choice(SCOPES),
            requires=draw.choice([()] * 9 + [("gpu",)]),
            excluded=draw.choice([(), (), ("carol",)]),
            depends_on=tuple(draw.sample(self.todos, 1)) if self.todos and draw.random() < 0.15 else (),
            labels=draw.choice([(), ("bug", "1.0")]),
            resume_after=draw.choice(
                [None, None, self.world.first.clock.wall() + timedelta(hours=draw.randrange(-5, 5))]
            ),
            validate=draw.choice([(), (), ("make", "test")]),
            branch=draw.choice([None, "feature/x"]),
        )

    def on_todo(self) -> OnTodo:
        draw = self.draw
        operations = list(Operation)
        operation = draw.choices(operations, [WEIGHTS.get(item, 2) for item in operations])[0]
        todo = draw.choice(self.todos[-10:])
        if operation in NEEDS_CLAIM and self.holder(todo) is None and draw.random() < 0.8:
            operation = Operation.CLAIM
        command = OnTodo(
            operation, draw.choice([todo, todo, todo[:12]]), epoch=draw.choice([None] * 9 + [1, 2]),
            note=draw.choice([None, None, "so far\n- and so on\n"]), exclusive=draw.random() < 0.5,
        )  # fmt: skip
        if operation in FORCEABLE and draw.random() < 0.15:
            command = replace(command, force=True, reason="because I say so")
        match operation:
            case Operation.UPDATE | Operation.RELEASE:
                status = draw.choice([None, None, "open", "in_progress", "blocked", "needs_human"])
                scope = draw.choice(SCOPES)
                fields = draw.choice([{}, {"priority": draw.randrange(5)}, {"title": "another", "scope": scope},
                                      {"body": "new\ntext", "alias": None}, {"labels": ()}])  # fmt: skip
                command = replace(command, status=status, fields=fields if operation is Operation.UPDATE else {})
            case Operation.TRANSFER:
                command = replace(command, to=draw.choice(["alice", "bob", "carol", "dave"]))
            case Operation.SUPERSEDE | Operation.COMPLETE:
                if operation is Operation.COMPLETE:
                    command = replace(command, validated=draw.choice([(), ("make", "test")]))
                if operation is Operation.SUPERSEDE or draw.random() < 0.2:
                    made = draw.random() < 0.5
                    command = replace(
                        command, successor=self.new_id() if made else draw.choice(self.todos),
                        successor_title="what carries on" if made else None,
                    )  # fmt: skip
            case Operation.CLAIM | Operation.RESUME | Operation.RENEW:
                command = replace(command, ttl=draw.choice([UNSET, UNSET, None, 30, 5000]))
        return command


@cache
def story(seed: int) -> Story:
    return Story(seed, LENGTH)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_legal_history_verifies(seed: int) -> None:
    world = story(seed).world
    assert not world.faults()
    assert len(world.history()) > 60


def test_every_legal_history_verifies_in_parts() -> None:
    """From any commit on, and the newest few of it."""
    world = story(0).world
    history = world.history()
    for cut in (0, 1, len(history) // 2, len(history) - 2):
        assert not list(Checker(world.objects, {}).walk(history[cut], world.tip, 10**9))
        assert not list(Checker(world.objects, {}).walk(None, world.tip, len(history) - cut))


def test_the_histories_hold_every_operation_and_effect() -> None:
    """Else the tests above could be about less than they say."""
    ops = Counter(said.op for seed in SEEDS for said in story(seed).world.messages())
    assert set(ops) == set(Op) - {Op.ADOPT}
    looped = [said for seed in SEEDS for said in story(seed).world.messages() if said.agent in LOOPS]
    assert {said.op for said in looped if said.op in (Op.CLAIM, Op.LOOP)} == {Op.CLAIM, Op.LOOP}
    assert any(said.op is Op.CLAIM and said.reason for said in looped)
    assert any(said.op is Op.CLAIM and said.prev for said in looped)
    effects = sum((story(seed).effects for seed in SEEDS), Counter())
    assert set(effects) == set(Effect)
    codes = sum((story(seed).codes for seed in SEEDS), Counter())
    assert {0, 11, 12, 15} <= set(codes)
    messages = [said for seed in SEEDS for said in story(seed).world.messages()]
    for name in ("prev", "reason", "renew"):
        assert sum(bool(getattr(said, name)) for said in messages) >= 5


# -- one history in which each commit has a name


class Tale:
    """The history, commit by commit. `named` has each operation's commit."""

    def __init__(self) -> None:
        self.world = World()
        self.named: dict[str, str] = {}
        world, clone = self.world, self.world.first
        world.begin(todos=8)
        for name, oid in zip(("init", "peer", "", "", "add"), world.history(), strict=False):
            self.named[name] = oid
        self.do("policy", SetPolicy("claims.max_per_agent", "3"))
        self.do("goal", CreateGoal("other", "another goal"))
        self.do("goal_close", CloseGoal("other"))
        self.do("peer_change", RegisterPeer("alice", None, ("gpu",)))
        self.do("peer_new", RegisterPeer("dave"))
        self.do("soft_dave", OnTodo(Operation.SOFT, tid(7)), DAVE)
        self.do("peer_retire", SetPeerStatus("dave", PeerStatus.RETIRED))
        self.do("add_last", AddTodo(tid(20), "waits", alias="last", depends_on=(tid(7),), scope=("src",)))
        self.do("claim", OnTodo(Operation.CLAIM, tid(0)), ALICE)
        self.do("claim_short", OnTodo(Operation.CLAIM, tid(1), ttl=100), ALICE)
        self.do("soft", OnTodo(Operation.SOFT, tid(1)), BOB)
        world.advance(90)
        self.do("renew", OnTodo(Operation.RENEW, tid(1)), ALICE)
        world.advance(80)
        self.do("update", OnTodo(Operation.UPDATE, tid(0), note="half", status="in_progress"), ALICE)
        self.do("edit", OnTodo(Operation.UPDATE, tid(0), fields={"title": "new", "priority": 0}), ALICE)
        self.do("resume", OnTodo(Operation.RESUME, tid(1), ttl=100), replace(ALICE, session="another"))
        world.advance(200)
        self.do("takeover", OnTodo(Operation.CLAIM, tid(1)), BOB)
        self.do("transfer", OnTodo(Operation.TRANSFER, tid(1), to="carol"), BOB)
        self.do("bind", OnTodo(Operation.UPDATE, tid(1), note="mine"), CAROL)
        self.do("release", OnTodo(Operation.RELEASE, tid(0)), ALICE)
        self.do("claim_again", OnTodo(Operation.CLAIM, tid(0)), BOB)
        self.do("note", OnTodo(Operation.UPDATE, tid(0), note="beside it"), CAROL)
        urgent = {"priority": 1, "labels": ("urgent",)}
        self.do("triage", OnTodo(Operation.UPDATE, tid(0), fields=urgent, force=True, reason="urgent"), OPERATOR)
        self.do("force", OnTodo(Operation.RELEASE, tid(0), force=True, reason="gone"), OPERATOR)
        self.do("complete", OnTodo(Operation.COMPLETE, tid(1)), CAROL)
        self.do("claim_2", OnTodo(Operation.CLAIM, tid(2)), CAROL)
        self.do(
            "supersede", OnTodo(Operation.SUPERSEDE, tid(2), successor=tid(30), successor_title="carries on"), CAROL
        )
        self.do("reopen", OnTodo(Operation.REOPEN, tid(2)), BOB)
        self.do("claim_3", OnTodo(Operation.CLAIM, tid(3)), BOB)
        self.do("cancel", OnTodo(Operation.CANCEL, tid(3)), BOB)
        self.do("archive", OnTodo(Operation.ARCHIVE, tid(3)), BOB)
        self.do("soft_2", OnTodo(Operation.SOFT, tid(4)), CAROL)
        self.do("unsoft", OnTodo(Operation.UNSOFT, tid(4)), CAROL)
        del self.named[""]
        assert clone.publisher.known_tip() == world.tip

    def do(self, name: str, command: Command, by: Actor = OPERATOR) -> None:
        self.world.advance(1.25)
        answer = self.world.first.submit(command, by=by)
        assert answer.oid is not None, answer.facts
        self.named[name] = answer.oid

    def go_on(self, tip: str, name: str) -> str:
        """Legal commits after `tip`, planned on whatever it holds: one about the todo of the commit that was
        called `name`, where it can be, and two about something else."""
        when = at(50_000)
        with suppress(LoopXError):
            todo = message.load(self.world.objects.commit(self.named[name]).message).todo or tid(6)
            tip = self.world.commit(tip, OnTodo(Operation.SOFT, todo, note="seen"), BOB, when)
        tip = self.world.commit(tip, CreateGoal("later", "a later goal"), OPERATOR, when)
        return self.world.commit(tip, AddTodo(tid(99), "a later todo"), OPERATOR, when)

    def faults(self, tip: str) -> list[Fault]:
        """What `walk` finds, with a memory of what it has read before."""
        return list(Checker(self.world.objects, self.world.memo).walk(None, tip, 10**9))

    def todo_of(self, oid: str) -> tuple[str, str]:
        said = message.load(self.world.objects.commit(oid).message)
        assert said.goal and said.todo
        return said.goal, said.todo


@cache
def tale() -> Tale:
    return Tale()


def test_the_tale_is_legal_and_so_is_what_follows_each_of_its_commits() -> None:
    told = tale()
    assert not told.world.faults()
    for name, oid in told.named.items():
        assert not told.faults(told.go_on(oid, name))


# -- what can be changed about one commit

Mutation = Callable[[Tale, str], str]
#: After these nothing can be planned any more.
STUCK = {("goal_close", "another goal closed too")}


def lease(**changes: Any) -> Mutation:
    """Other values in the todo's lease record; a callable gets the old value."""

    def mutate(told: Tale, oid: str) -> str:
        goal, todo = told.todo_of(oid)
        found = told.world.snapshot(oid).lease(goal, todo)
        assert found is not None
        values = {key: value(getattr(found, key)) if callable(value) else value for key, value in changes.items()}
        return told.world.forge(oid, files={layout.lease(goal, todo): record.dump(replace(found, **values))})

    return mutate


def todo(number: int | None = None, **changes: Any) -> Mutation:
    """Other values in the todo's file, or in another todo's."""

    def mutate(told: Tale, oid: str) -> str:
        snapshot = told.world.snapshot(oid)
        which = told.todo_of(oid)[1] if number is None else tid(number)
        found = snapshot.todo("main", which)
        values = {key: value(getattr(found, key)) if callable(value) else value for key, value in changes.items()}
        path = layout.todo("main", which, archived=found.archived)
        data = snapshot.tree.blob(path)
        assert data is not None
        return told.world.forge(oid, files={path: files.edit_todo(data, found, replace(found, **values), name=path)})

    return mutate


def raw(path: str, old: bytes, new: bytes) -> Mutation:
    def mutate(told: Tale, oid: str) -> str:
        data = told.world.objects.tree(oid).files[path]
        assert old in data
        return told.world.forge(oid, files={path: data.replace(old, new)})

    return mutate


def put(path: str, data: bytes | None) -> Mutation:
    return lambda told, oid: told.world.forge(oid, files={path: data})


def says(**changes: Any) -> Mutation:
    """Other trailers; the author goes along with the agent."""

    def mutate(told: Tale, oid: str) -> str:
        commit = told.world.objects.commit(oid)
        said = message.load(commit.message)
        values = {key: value(getattr(said, key)) if callable(value) else value for key, value in changes.items()}
        author = commit.author
        if "agent" in values:
            author = Signature(values["agent"], author.email)
        return told.world.forge(oid, text=message.dump(replace(said, **values)), author=author)

    return mutate


def text(change: Callable[[str], str]) -> Mutation:
    return lambda told, oid: told.world.forge(oid, text=change(told.world.objects.commit(oid).message))


def commit(**fields: Any) -> Mutation:
    return lambda told, oid: told.world.forge(oid, **fields)


def parents(told: Tale, oid: str) -> str:
    first = told.world.objects.commit(oid).parents[0]
    return told.world.forge(oid, parents=(first, told.named["init"]))


def as_root(told: Tale, oid: str) -> str:
    return told.world.forge(oid, parents=())


def empty(told: Tale, oid: str) -> str:
    known = told.world.objects.commit(oid)
    return plant(told.world.objects, replace(known, oid="e" * 40), told.world.objects.tree(known.parents[0]).files)


def with_changes_of(other: str) -> Mutation:
    """Two operations in one commit."""

    def mutate(told: Tale, oid: str) -> str:
        source = told.named[other]
        (parent,) = told.world.objects.commit(source).parents
        after = told.world.objects.tree(source).files
        return told.world.forge(
            oid, files={path: after.get(path) for path in told.world.objects.changed(parent, source)}
        )

    return mutate


def both(*mutations: Mutation) -> Mutation:
    def mutate(told: Tale, oid: str) -> str:
        for mutation in mutations:
            oid = mutation(told, oid)
        return oid

    return mutate


def up(value: int) -> int:
    return value + 1


def down(value: int) -> int:
    return value - 1


def request_of(name: str) -> Mutation:
    def mutate(told: Tale, oid: str) -> str:
        request = message.load(told.world.objects.commit(told.named[name]).message).request
        return both(says(request=request), lease(last_request=request))(told, oid)

    return mutate


LEASE_0 = layout.lease("main", tid(0))
LEASE_1 = layout.lease("main", tid(1))
OTHER_LEASE = record.dump(replace(record.load(b'{"acquired_at":null,"ended":"released","epoch":9,"holder":null,'
    b'"last_request":null,"renewed_at":null,"seq":0,"session":null,"todo":"' + tid(5).encode() + b'","ttl_s":null}',
    tid(5), name="x"), seq=1))  # fmt: skip
NOTE = Note("2026-01-02T03:04:05Z", "mallory", "so it is")
SECOND = replace(NOTE, text="and so")

MUTATIONS: list[tuple[str, str, Mutation]] = [
    # the lease record
    ("claim", "epoch + 1", lease(epoch=up)),
    ("claim_again", "epoch - 1", lease(epoch=down)),
    ("takeover", "the former epoch", lease(epoch=down)),
    ("renew", "epoch + 1", lease(epoch=up)),
    ("release", "epoch + 1", lease(epoch=up)),
    ("force", "the epoch does not rise", lease(epoch=down)),
    ("reopen", "the epoch does not rise", lease(epoch=down)),
    ("transfer", "the epoch does not rise", lease(epoch=down)),
    ("claim", "another holder", lease(holder="bob")),
    ("claim", "another holder throughout", both(lease(holder="bob"), todo(claimed_by="bob"))),
    ("claim", "another session", lease(session="mine")),
    ("claim", "no session", lease(session=None)),
    ("bind", "the session stays unbound", lease(session=None)),
    ("transfer", "the session is bound", lease(session="carol-session")),
    ("transfer", "to somebody who is not there", both(lease(holder="nobody"), todo(claimed_by="nobody"))),
    ("claim", "a renewal more", lease(seq=up)),
    ("renew", "a renewal less", lease(seq=down)),
    ("renew", "the time of acquisition", lease(acquired_at=NOW)),
    ("update", "the ttl of a renewal on the way", lease(ttl_s=9)),
    ("claim", "acquired at another time than renewed", lease(acquired_at=NOW)),
    ("claim", "another request", lease(last_request="f" * 32)),
    ("release", "how it ended", lease(ended=Ended.COMPLETED)),
    ("complete", "how it ended", lease(ended=Ended.RELEASED)),
    ("complete", "the claim goes on", lease(holder="carol", session="carol-session", ttl_s=7200, ended=None)),
    ("cancel", "the claim goes on", lease(holder="bob", session="bob-session", ttl_s=7200, ended=None)),
    ("force", "the claim goes on", lease(holder="bob", session="bob-session", ttl_s=7200, ended=None)),
    ("release", "the lease is deleted", put(LEASE_0, None)),
    ("claim", "no lease is written", put(LEASE_0, None)),
    ("soft", "another lease is deleted", put(LEASE_1, None)),
    ("edit", "another lease is written", put(layout.lease("main", tid(5)), OTHER_LEASE)),
    ("claim", "a lease that cannot be read", put(LEASE_0, b"{}\n")),
    # the todo
    ("claim", "another status", todo(status=Status.IN_PROGRESS)),
    ("claim", "another title", todo(title="something else")),
    ("claim", "another body", todo(body="something else")),
    ("claim", "a reclaim counted", todo(attempts=up)),
    ("takeover", "no reclaim counted", todo(attempts=down)),
    ("claim", "nobody is shown as holder", todo(claimed_by=None)),
    ("release", "somebody is shown as holder", todo(claimed_by="alice")),
    ("update", "a second note", todo(notes=lambda notes: (*notes, SECOND))),
    ("update", "a note of somebody else", raw(layout.todo("main", tid(0)), b" alice: half", b" bob: half")),
    ("edit", "a note is changed", raw(layout.todo("main", tid(0)), b" alice: half", b" alice: done")),
    ("note", "a title with it", todo(title="something else")),
    ("note", "a priority with it", todo(priority=4)),
    ("note", "labels with it", todo(labels=("mine",))),
    ("note", "a status with it", todo(status=Status.BLOCKED)),
    ("note", "a scope with it", todo(scope=("src",))),
    ("note", "a soft claim with it", todo(soft_claims=("carol",))),
    ("note", "two notes", todo(notes=lambda notes: (*notes, SECOND))),
    ("note", "in somebody else's name", raw(layout.todo("main", tid(0)), b" carol: beside it", b" bob: beside it")),
    ("note", "a former note is changed", raw(layout.todo("main", tid(0)), b" alice: half", b" alice: done")),
    ("note", "the holder's lease renewed", lease(seq=up)),
    ("note", "the holder's claim ended", lease(holder=None, session=None, ttl_s=None, ended=Ended.RELEASED)),
    ("note", "another todo too", todo(5, title="something else")),
    ("note", "says nothing of a note", says(reason=None)),
    ("note", "says that somebody unknown wrote it", says(agent="mallory")),
    ("note", "says epoch + 1", says(epoch=up)),
    ("note", "says that a claim ended", says(prev="bob@2")),
    ("triage", "without a reason", says(reason=None)),
    ("triage", "said to be a note", says(reason=NOTE_REASON)),
    ("triage", "the holder's lease renewed", lease(seq=up)),
    ("triage", "another todo's priority", todo(5, priority=0)),
    ("edit", "another todo's title", todo(5, title="something else")),
    ("edit", "another todo's note", todo(5, notes=(NOTE,))),
    ("edit", "when it was added", todo(created_at=at(5))),
    ("edit", "who added it", todo(created_by="mallory")),
    ("edit", "somebody else's soft claim", todo(soft_claims=("bob",))),
    ("complete", "when it was completed", todo(completed_at=None)),
    ("complete", "another status", todo(status=Status.CANCELLED)),
    ("complete", "soft claims stay", todo(soft_claims=("bob",))),
    ("cancel", "completed after all", todo(status=Status.COMPLETED)),
    ("reopen", "in progress at once", todo(status=Status.IN_PROGRESS)),
    ("reopen", "the successor stays", todo(successor=tid(30))),
    ("supersede", "no successor", todo(successor=None)),
    ("supersede", "another successor", todo(successor=tid(5))),
    ("supersede", "no link back", todo(30, supersedes=())),
    ("supersede", "a successor with a holder", todo(30, claimed_by="carol")),
    ("add", "a holder from the start", todo(claimed_by="alice")),
    ("add", "notes from the start", todo(notes=(NOTE,))),
    ("add", "attempts from the start", todo(attempts=2)),
    ("add", "in progress from the start", todo(status=Status.IN_PROGRESS)),
    ("add_last", "waits for what is not there", todo(depends_on=(tid(77),))),
    ("add_last", "waits for itself", todo(depends_on=(tid(20),))),
    ("claim", "the todo is deleted", put(layout.todo("main", tid(0)), None)),
    ("claim", "another todo is deleted", put(layout.todo("main", tid(5)), None)),
    ("claim", "an unknown key", raw(layout.todo("main", tid(0)), b"\nbranch:", b"\nmore: x\nbranch:")),
    ("claim", "a todo that cannot be read", raw(layout.todo("main", tid(0)), b"status: open", b"status: shut")),
    ("archive", "left in place too", put(layout.todo("main", tid(3)), b"x")),
    ("archive", "not moved", put(layout.todo("main", tid(3), archived=True), None)),
    ("soft", "for somebody else", todo(soft_claims=("carol",))),
    ("unsoft", "nothing is taken out", todo(soft_claims=("carol", "bob"))),
    # everything else in the tree
    ("claim", "an extra peer", put(layout.peer("mallory"), files.dump(
        replace(story(0).world.snapshot().peer("alice"), agent="mallory")))),  # type: ignore[type-var]
    ("claim", "a foreign file", put("README.md", b"hello\n")),
    ("claim", "a foreign file of ours", put(".loopx/goals/main/todos/zz/x.md", b"hello\n")),
    ("claim", "a peer is deleted", put(layout.peer("carol"), None)),
    ("claim", "another policy", put(layout.POLICY, b'[claims]\nttl = "1s"\n')),
    ("policy", "two keys at once", raw(layout.POLICY, b'ttl = "2h"', b'ttl = "3h"')),
    ("policy", "no policy at all", put(layout.POLICY, None)),
    ("policy", "a comment in it", raw(layout.POLICY, b"[peers]", b"# hello\n[peers]")),
    ("goal", "closed from the start", raw(layout.goal("other"), b"status: open", b"status: closed")),
    ("goal", "by somebody else", raw(layout.goal("other"), b"created_by:", b"created_by: mallory #")),
    ("goal_close", "another title", raw(layout.goal("other"), b"title: another", b"title: a third")),
    ("goal_close", "another goal closed too", raw(layout.goal("main"), b"status: open", b"status: closed")),
    ("goal_close", "the goal is deleted", put(layout.goal("other"), None)),
    ("peer_change", "another peer too", raw(layout.peer("bob"), b"kind: agent", b"kind: human")),
    ("peer_change", "registered at another time", raw(layout.peer("alice"), b"created_at: ", b"last_seen: ")),
    ("peer_new", "retired from the start", raw(layout.peer("dave"), b"status: active", b"status: retired")),
    ("peer_new", "by somebody else", raw(layout.peer("dave"), b"created_by:", b"created_by: mallory #")),
    ("peer_retire", "soft claims stay", todo(7, soft_claims=("dave",)) ),
    ("peer_retire", "the peer is deleted", put(layout.peer("dave"), None)),
    ("init", "another policy", raw(layout.POLICY, b'ttl = "2h"', b'ttl = "3h"')),
    ("init", "another goal", put(layout.goal("more"), b"---\nid: more\n---\n")),
    ("init", "no goal", put(layout.goal("main"), None)),
    # the message
    ("claim", "says epoch + 1", says(epoch=up)),
    ("claim_again", "says epoch - 1", says(epoch=down)),
    ("claim", "says no epoch", says(epoch=None)),
    ("claim", "says another agent", says(agent="bob")),
    ("claim", "says another session", says(session="mine")),
    ("claim", "says no session", says(session=None)),
    ("claim", "says another todo", says(todo=tid(1))),
    ("claim", "says a todo that is not there", says(todo=tid(77))),
    ("claim", "says no todo", says(todo=None)),
    ("claim", "says another goal", says(goal="other")),
    ("claim", "says no goal", says(goal=None)),
    ("claim", "says somebody was taken over", says(prev="bob@1")),
    ("takeover", "does not say who was taken over", says(prev=None)),
    ("takeover", "says another was taken over", says(prev="carol@2")),
    ("takeover", "says another epoch was taken over", says(prev="alice@1")),
    ("force", "does not say who was ended", says(prev=None)),
    ("force", "does not say why", says(reason=None)),
    ("claim", "says that it was forced", says(reason="because")),
    ("renew", "says that it was forced", says(reason="because")),
    ("update", "does not say what was renewed", says(renew=())),
    ("claim", "says that something was renewed", says(renew=(f"{tid(1)}@1",))),
    ("update", "says that something else was renewed", says(renew=(f"{tid(5)}@1",))),
    ("update", "says that more was renewed", says(renew=lambda items: (*items, f"{tid(5)}@1"))),
    ("claim", "says that code landed", says(code="refs/heads/main@" + "a" * 40)),
    ("claim", "says another request", says(request="f" * 32)),
    ("claim_again", "a request that was there before", request_of("claim")),
    ("goal", "a request that was there before", says(request=message.load(
        story(0).world.objects.commit(story(0).world.history()[0]).message).request)),
    ("claim", "no message", text(lambda said: "")),
    ("claim", "no trailers", text(lambda said: said.partition("\n")[0] + "\n")),
    ("claim", "a trailer twice", text(lambda said: said + "Loopx-Op: claim\n")),
    ("claim", "an unknown trailer", text(lambda said: said + "Signed-off-by: A <a@example.org>\n")),
    ("claim", "text above the trailers", text(lambda said: said.replace("\n\n", "\n\nhello\n\n"))),
    *[("claim", f"says that it is {op}", says(op=op)) for op in Op if op is not Op.CLAIM],
    *[("release", f"says that it is {op}", says(op=op)) for op in Op if op is not Op.RELEASE],
    *[("add", f"says that it is {op}", says(op=op)) for op in Op if op is not Op.ADD],
    # the commit
    ("claim", "another author", commit(author=Signature("bob", "bob@agents.loopx.invalid"))),
    ("add", "another author of a person's", commit(author=Signature("Tester", "mallory@example.org"))),
    ("claim", "a merge", parents),
    ("claim", "nothing in it", empty),
    ("policy", "nothing in it", empty),
    ("claim", "two claims in one", with_changes_of("claim_3")),
    ("release", "an add in it", with_changes_of("supersede")),
    ("soft", "a policy in it", put(layout.POLICY, b'[claims]\nttl = "1s"\n')),
    ("add", "another add in it", with_changes_of("add_last")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "what", "mutate"), MUTATIONS, ids=[f"{name}: {what}" for name, what, _ in MUTATIONS]
)
def test_a_commit_that_lies_is_named_and_no_other(name: str, what: str, mutate: Mutation) -> None:
    told = tale()
    oid = told.named[name]
    forged = mutate(told, oid)
    assert forged != oid
    (fault, *others) = told.faults(forged) or [None]
    assert fault is not None, "not noticed"
    assert (fault.commit, others) == (forged, []), [fault, *others]
    assert fault.rule and fault.message
    error = fault.error()
    assert error.code == 16 and forged in error.message and error.about["commit"] == forged
    # And those who build on it say the truth: only the one before them did not.
    if (name, what) in STUCK:
        with pytest.raises(LoopXError):
            told.go_on(forged, name)
        return
    assert [item.commit for item in told.faults(told.go_on(forged, name))] == [forged]


# -- what other checks of history there are


def test_a_ledger_begins_with_init_and_has_one_beginning() -> None:
    told = tale()
    for name in ("claim", "policy", "add"):
        forged = as_root(told, told.named[name])
        (fault, *_) = told.world.faults(forged)
        assert fault.commit == forged and fault.rule == "root"
    again = plant(
        told.world.objects,
        replace(told.world.objects.commit(told.named["init"]), oid="d" * 40, parents=(told.named["peer"],)),
        told.world.objects.tree(told.named["peer"]).files,
    )
    assert [fault.rule for fault in told.world.faults(again)] == ["request"]


@pytest.mark.parametrize("data", [None, b"", b"2\n", b"1", b"one\n"])
def test_a_format_that_is_not_ours_is_named_for_as_long_as_it_lasts(data: bytes | None) -> None:
    told = tale()
    forged = told.world.forge(told.named["claim"], files={layout.FORMAT: data})
    assert [fault.commit for fault in told.world.faults(forged)] == [forged]
    with pytest.raises(LoopXError) as caught:
        told.world.snapshot(forged)
    assert caught.value.code == 16
    assert ("upgrade" in caught.value.hint) == (data == b"2\n")


def test_a_claim_against_a_living_claim_is_named() -> None:
    """The taker dates its own claim at a time at which the former one was in time."""
    told = tale()
    parent = told.named["claim_again"]
    late = told.world.commit(parent, OnTodo(Operation.CLAIM, tid(0)), CAROL, at(90_000))
    assert not told.world.faults(late), "by its own clock it may"
    forged = lease(acquired_at=at(3000), renewed_at=at(3000))(told, late)
    (fault,) = told.world.faults(forged)
    assert (fault.commit, fault.rule) == (forged, "claim") and "is held by bob" in fault.message


def moved(told: Tale, name: str, *before: tuple[Command, Actor]) -> str:
    """The change of a named commit, made after other legal commits than it was planned on."""
    oid = told.named[name]
    (parent,) = told.world.objects.commit(oid).parents
    tip = parent
    for command, actor in before:
        tip = told.world.commit(tip, command, actor, at(10))
    after = told.world.objects.tree(oid).files
    changes = {path: after.get(path) for path in told.world.objects.changed(parent, oid)}
    tree = {**told.world.objects.tree(tip).files, **changes}
    digest = hashlib.sha1(f"{oid} {tip}".encode(), usedforsecurity=False).hexdigest()
    commit = replace(told.world.objects.commit(oid), oid=digest, parents=(tip,))
    return plant(told.world.objects, commit, {path: data for path, data in tree.items() if data is not None})


@pytest.mark.parametrize(
    ("name", "before", "words"),
    [
        ("claim", [(SetPeerStatus("alice", PeerStatus.PAUSED), OPERATOR)], "the peer alice is paused"),
        ("claim", [(SetPolicy("claims.max_per_agent", "1"), OPERATOR), (OnTodo(Operation.CLAIM, tid(5)), ALICE)],
         "holds 1 claims"),
        ("claim_again", [(OnTodo(Operation.CLAIM, tid(0)), CAROL)], "is held by carol"),
        ("archive", [(OnTodo(Operation.REOPEN, tid(3)), BOB)], "is open"),
        ("renew", [(OnTodo(Operation.RELEASE, tid(1)), ALICE)], "not yours"),
        ("add_last", [(AddTodo(tid(21), "x", alias="LAST"), OPERATOR)], "the alias 'last' belongs to"),
        ("add_last", [(CloseGoal("main"), OPERATOR)], "the goal main is closed"),
        ("transfer", [(SetPeerStatus("carol", PeerStatus.PAUSED), OPERATOR)], "the peer carol is paused"),
    ],
)  # fmt: skip
def test_a_commit_is_judged_on_its_parent(name: str, before: list[tuple[Command, Actor]], words: str) -> None:
    """What was legal where it was planned is not legal elsewhere; so nothing is ever rebased."""
    told = tale()
    forged = moved(told, name, *before)
    (fault,) = told.world.faults(forged)
    assert fault.commit == forged and words in fault.message


# -- what only the clone that acted knew


def test_a_first_soft_claim_may_register_its_peer() -> None:
    """The peer's file has milliseconds, the commit's own time has none."""
    world = World().begin(todos=2)
    world.first.submit(SetPolicy("peers.auto_register", "true"))
    world.first.on(Operation.SOFT, 0, DAVE)
    world.first.on(Operation.CLAIM, 1, Actor("erin", "s"))
    assert [world.snapshot().peer(name) is None for name in ("dave", "erin")] == [False, False]
    assert not world.faults()


def test_a_takeover_after_first_sight_is_legal() -> None:
    """A record dated in the future is timed by the taker from when it first saw it, which no commit tells. The
    same goes for claims in the way of another one."""
    world = World(2).begin(todos=2)
    fast, sound = world.clones
    for number in (0, 1):
        sound.on(Operation.UPDATE, number, ALICE, force=True, reason="scope", fields={"scope": ("src",)})
    fast.clock.advance(1e6)
    fast.on(Operation.CLAIM, 0, ALICE)
    with pytest.raises(LoopXError):
        sound.on(Operation.CLAIM, 0, BOB)
    long_ago = NOW - timedelta(hours=3)
    sound.context.first_sight = {f"{tid(0)}@1#0": long_ago}
    sound.on(Operation.CLAIM, 1, BOB)
    sound.on(Operation.RELEASE, 1, BOB)
    sound.on(Operation.CLAIM, 0, BOB)
    assert not world.faults()


def test_a_holder_s_own_deadline_is_not_judged_from_afar() -> None:
    """By the wall clock all is late; the holder's own clock says otherwise, also about what it renews on the way
    while it resumes another claim."""
    world = World().begin(todos=2)
    clone = world.first
    clone.on(Operation.CLAIM, 0, ALICE)
    clone.on(Operation.CLAIM, 1, ALICE)
    world.advance(7200)

    class Watch:
        def remaining(self) -> dict[str, float]:
            return {f"{tid(0)}@1": -1.0, f"{tid(1)}@1": 100.0}

        def note(self, lease: Lease, before_push: float) -> None:
            """Nothing is kept."""

    clone.context.deadlines = Watch()  # type: ignore[assignment]
    clone.on(Operation.RESUME, 0, ALICE)
    assert world.messages()[-1].renew == (f"{tid(1)}@1",)
    clone.on(Operation.UPDATE, 1, ALICE, note="in time by my own clock")
    assert not world.faults()


def test_a_clock_before_all_time_is_no_crash() -> None:
    told = tale()
    for name in ("takeover", "resume", "claim"):
        early = at(0).replace(year=1)
        forged = lease(acquired_at=early, renewed_at=early)(told, told.named[name])
        assert all(fault.commit == forged for fault in told.world.faults(forged))


def test_progress_is_told() -> None:
    told, seen = tale(), []
    list(Checker(told.world.objects, {}).walk(None, told.world.tip, 10**9, lambda done, of: seen.append((done, of))))
    length = len(told.world.history())
    assert seen == [(number, length) for number in range(1, length + 1)]


def test_a_history_whose_beginning_is_not_here_is_checked_from_there_on() -> None:
    """A shallow clone: the oldest commit is taken as it is, since there is nothing to compare it with."""
    told = tale()
    world = World(0)
    history = told.world.history()
    for oid in history[10:]:
        plant(world.objects, told.world.objects.commit(oid), told.world.objects.tree(oid).files)
    objects = world.objects
    between = type(objects).between

    class Shallow(type(objects)):  # type: ignore[misc]
        def between(self, old: str | None, new: str, limit: int) -> Any:
            return between(objects, old or history[9], new, limit)

    shallow = Shallow()
    shallow._commits = objects._commits
    assert not list(Checker(shallow, {}).walk(None, history[-1], 10**9))
