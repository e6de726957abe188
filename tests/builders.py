"""Shared builders: ledgers in memory with several clones, and states written down directly.

A World is a coordination ref in memory with its clones. Each clone has clocks of its own and entropy that is
the same in every run. `state` makes a snapshot of the todos, leases, peers and goals that a test writes down,
`applied` the snapshot after a change set, and `forge` a commit that no program of ours would write.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memory_store import MemoryObjects, MemoryPublisher, MemoryRemote, MemoryTree, NoPending

from loopx_git.client.base import fingerprint
from loopx_git.core.change import Actor, ChangeSet
from loopx_git.core.commands import AddTodo, Command, Init, OnTodo, RegisterPeer
from loopx_git.core.lease import Clocks, Ended, Lease
from loopx_git.core.peer import Goal, Peer
from loopx_git.core.policy import Policy
from loopx_git.core.table import Operation
from loopx_git.core.times import to_milliseconds
from loopx_git.core.todo import Status, Todo
from loopx_git.format import files, layout, message, policy_file, version
from loopx_git.format import lease_record as record
from loopx_git.ledger.commits import Commit, Draft, Signature
from loopx_git.ledger.encode import encode, message_of
from loopx_git.ledger.group import plan_group
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.ledger.validation import Checker, Fault
from loopx_git.store.base import Publisher
from loopx_git.store.driver import Job, TransactionContext, author_of
from loopx_git.store.ledger import Ledger, SubmitResult, not_initialised
from loopx_git.store.transaction import Limits

#: Milliseconds that are not zero, so that a time cut to seconds is noticed.
NOW = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
REQUEST = "0123456789abcdef" * 2
COMMITTER = Signature("Tester", "tester@example.org")
OPERATOR = Actor("tester@example.org")
ALICE, BOB, CAROL = (Actor(name, f"{name}-session") for name in ("alice", "bob", "carol"))


def tid(number: int) -> str:
    """The id of a test's todo number so-and-so."""
    return f"todo_{number:012x}"


def at(seconds: float) -> datetime:
    """So many seconds after NOW."""
    return NOW + timedelta(seconds=seconds)


# -- states written down


def todo_of(number: int, title: str = "title", **fields: Any) -> Todo:
    """A todo of the goal main, open unless `status` says otherwise."""
    known = {"goal": "main", "status": Status.OPEN, "created_at": NOW, "created_by": "alice", **fields}
    return Todo(tid(number), title=title, **known)


def lease_of(number: int, holder: Actor | None = None, epoch: int = 3, age: float = 10.0, **fields: Any) -> Lease:
    """A lease record: held by `holder` and renewed `age` seconds before NOW, or, without one, released."""
    then = at(-age)
    known: dict[str, Any] = {"epoch": epoch, "acquired_at": then, "renewed_at": then, "last_request": "9" * 32}
    if holder is None:
        known["ended"] = Ended.RELEASED
    else:
        known |= {"holder": holder.name, "session": holder.session, "ttl_s": 7200}
    return Lease(tid(number), **{**known, **fields})


def peer_of(name: str, **fields: Any) -> Peer:
    return Peer(name, NOW, "tester@example.org", **fields)


def goal_of(name: str, **fields: Any) -> Goal:
    return Goal(name, name, NOW, "tester@example.org", **fields)


Item = Todo | Lease | Peer | Goal | Policy


def files_of(*items: Item) -> dict[str, bytes]:
    """The files of a ledger that holds these and the goal main; a lease lies in the goal of its todo."""
    found = {layout.FORMAT: version.BYTES, layout.goal("main"): files.dump(goal_of("main"))}
    goals = {item.id: item.goal for item in items if isinstance(item, Todo)}
    for item in items:
        match item:
            case Todo():
                found[layout.todo(item.goal, item.id, archived=item.archived)] = files.dump_todo(item)
            case Lease():
                found[layout.lease(goals.get(item.todo, "main"), item.todo)] = record.dump(item)
            case Peer():
                found[layout.peer(item.agent)] = files.dump(item)
            case Goal():
                found[layout.goal(item.id)] = files.dump(item)
            case Policy():
                found[layout.POLICY] = policy_file.dump(item)
    return found


def state(*items: Item) -> TreeSnapshot:
    """The snapshot of a ledger with these in it; alice, bob and carol are registered unless named."""
    named = {item.agent for item in items if isinstance(item, Peer)}
    others = [peer_of(actor.name) for actor in (ALICE, BOB, CAROL) if actor.name not in named]
    return TreeSnapshot(MemoryTree(files_of(*others, *items)))


def applied(snapshot: TreeSnapshot, change: ChangeSet) -> TreeSnapshot:
    """The snapshot after a change set, through its bytes."""
    tree = snapshot.tree
    assert isinstance(tree, MemoryTree)
    after: dict[str, bytes | None] = {**tree.files, **encode(change, snapshot)}
    return TreeSnapshot(MemoryTree({path: data for path, data in after.items() if data is not None}))


# -- worlds


class FakeClock:
    """Both clocks of a machine, moved by hand; a sleep moves them at once."""

    def __init__(self, start: datetime = NOW) -> None:
        self.now = start
        self.count = 1000.0
        self.slept: list[float] = []
        self.boots = 0

    def wall(self) -> datetime:
        return to_milliseconds(self.now)

    def counting(self) -> float:
        return self.count

    def boot(self) -> str:
        return f"boot-{self.boots}"

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.count += seconds


def entropy_of(name: str) -> Callable[[int], bytes]:
    """Bytes that look random, never come twice, and are the same in every run."""
    drawn = 0

    def draw(count: int) -> bytes:
        nonlocal drawn
        drawn += 1
        return hashlib.sha256(f"{name} {drawn}".encode()).digest()[:count]

    return draw


class Clone:
    """One clone of a World: its own publisher, pending records, clocks and entropy."""

    def __init__(self, world: World, name: str, publisher: Publisher | None = None) -> None:
        self.world, self.name = world, name
        self.clock = FakeClock(world.start)
        self.pending = NoPending()
        self.publisher = publisher or MemoryPublisher(world.remote)
        self.context = TransactionContext(
            objects=world.objects,
            publisher=self.publisher,
            pending=self.pending,
            clock=self.clock,
            entropy=entropy_of(name),
            jitter=lambda: 0.5,
            committer=COMMITTER,
            program="0.0.test",
            memo=world.memo,
        )
        self.ledger = Ledger(self.context, None)

    def job(self, commands: Sequence[Command], by: Actor, *, dry_run: bool = False, **limits: float) -> Job:
        def decide(snapshot: TreeSnapshot | None, clocks: Clocks, request: str) -> tuple[ChangeSet, ...]:
            if snapshot is None and not isinstance(commands[0], Init):
                raise not_initialised()
            return plan_group(snapshot, commands, by, clocks, request)

        words = type(commands[0]).__name__
        return Job(decide, by, fingerprint(commands, by), words, Limits(**limits), dry_run)

    def submit(
        self, *commands: Command, by: Actor = OPERATOR, dry_run: bool = False, **limits: float
    ) -> SubmitResult:
        """Publish a group of commands through the ledger."""
        return self.ledger.submit(self.job(commands, by, dry_run=dry_run, **limits))

    def on(self, operation: Operation, todo: int | str, by: Actor, **fields: Any) -> SubmitResult:
        """One operation on one todo."""
        return self.submit(OnTodo(operation, tid(todo) if isinstance(todo, int) else todo, **fields), by=by)


@dataclass
class World:
    """A coordination ref in memory and its clones. Objects are shared, as an id means the same everywhere."""

    count: int = 1
    start: datetime = NOW
    objects: MemoryObjects = field(default_factory=MemoryObjects)
    remote: MemoryRemote = field(default_factory=MemoryRemote)
    memo: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clones = [Clone(self, f"clone-{number}") for number in range(self.count)]

    @property
    def first(self) -> Clone:
        return self.clones[0]

    def begin(self, *peers: Actor, todos: int = 0) -> World:
        """A ledger with these peers (alice, bob and carol unless named) and todos number 0, 1, ..."""
        self.first.submit(Init())
        for peer in peers or (ALICE, BOB, CAROL):
            self.first.submit(RegisterPeer(peer.name))
        for number in range(todos):
            self.first.submit(AddTodo(tid(number), f"todo number {number}"))
        return self

    def advance(self, seconds: float) -> None:
        """Let time pass for everybody."""
        for clone in self.clones:
            clone.clock.advance(seconds)

    @property
    def tip(self) -> str:
        assert self.remote.tip is not None
        return self.remote.tip

    def snapshot(self, commit: str | None = None) -> TreeSnapshot:
        """The state at a commit, the tip unless named."""
        return TreeSnapshot(self.objects.tree(commit or self.tip), self.memo)

    def todo(self, number: int) -> Todo:
        snapshot = self.snapshot()
        return snapshot.todo(snapshot.goals_of(tid(number))[0], tid(number))

    def lease(self, number: int) -> Lease | None:
        snapshot = self.snapshot()
        return snapshot.lease(snapshot.goals_of(tid(number))[0], tid(number))

    def history(self, tip: str | None = None) -> list[str]:
        """Every commit from the root to the tip."""
        return list(self.objects.between(None, tip or self.tip, 10**9))

    def messages(self) -> list[message.Message]:
        return [message.load(self.objects.commit(oid).message) for oid in self.history()]

    def faults(self, tip: str | None = None) -> list[Fault]:
        """What `verify` finds in the whole history."""
        return list(Checker(self.objects, {}).walk(None, tip or self.tip, 10**9))

    # -- commits that come about in another way than through the transaction

    def commit(self, parent: str, command: Command, by: Actor, when: datetime, request: str | None = None) -> str:
        """The commit of a command on any parent, planned but never pushed; its id."""
        snapshot = self.snapshot(parent)
        request = request or hashlib.sha256(f"{parent} {command} {by}".encode()).hexdigest()[:32]
        (change,) = plan_group(snapshot, [command], by, Clocks(when), request)
        assert change.writes, change.facts
        text = message.dump(message_of(change, request=request, nonce="b" * 32, program="0.0.test"))
        draft = Draft(encode(change, snapshot), text, author_of(by, COMMITTER), COMMITTER, when)
        return self.objects.build(parent, draft)

    def forge(
        self, oid: str, *, files: Mapping[str, bytes | None] | None = None, text: str | None = None, **fields: Any
    ) -> str:
        """A copy of a commit with some files replaced (None: removed), another message, or other fields of
        Commit; its id."""
        known = self.objects.commit(oid)
        after: dict[str, bytes | None] = {**self.objects.tree(oid).files, **(files or {})}
        tree = {path: data for path, data in after.items() if data is not None}
        fields.setdefault("message", known.message if text is None else text)
        forged = replace(known, **fields)
        digest = hashlib.sha1(repr((oid, sorted(tree.items()), forged)).encode(), usedforsecurity=False)
        return plant(self.objects, replace(forged, oid=digest.hexdigest()), tree)


def plant(objects: MemoryObjects, commit: Commit, tree: Mapping[str, bytes]) -> str:
    """Put a commit into the store as it is."""
    objects._commits[commit.oid] = (commit, MemoryTree(tree))
    return commit.oid
