"""`client.heartbeat`: which peers are alive, what has lapsed, who should take what, and reclaiming."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Unpack

from loopx_git.client.arguments import checked
from loopx_git.client.base import Namespace
from loopx_git.client.parameters import Caller
from loopx_git.client.task_lease import TaskLease
from loopx_git.client.todo_reads import TodoReads, not_ready
from loopx_git.client.views import LeaseView, Reading, TodoView
from loopx_git.core import conditions, resolve
from loopx_git.core.change import Actor
from loopx_git.core.claim import gone, is_stale, last_seen
from loopx_git.core.commands import Beat, Command, DropSoftClaim, OnTodo
from loopx_git.core.lease import LeaseState
from loopx_git.core.peer import Peer
from loopx_git.core.suggest import Suggestion, suggest
from loopx_git.core.table import Operation
from loopx_git.errors import HeldByAnother, NotAllowed, UsageError


@dataclass(frozen=True, slots=True)
class PeerHealth:
    """A peer: when it was last seen, whether it is stale, the claims it holds, and its soft claims."""

    peer: Peer
    seen: datetime
    stale: bool
    holds: Sequence[LeaseView]
    soft: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class HeartbeatStatus:
    """Peers by name; lapsed claims; todos that are ready and have no claim, not even a soft one.

    `called` has the alias and title of every todo that can be read, by id.
    """

    peers: Sequence[PeerHealth]
    lapsed: Sequence[TodoView]
    unclaimed: Sequence[TodoView]
    reading: Reading
    called: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reclaimed:
    """One claim that was reclaimed: `taken` by the caller, or returned to the pool.

    `view` is the todo now, `former` the claim that lapsed. `refused` is the reason why it was left unchanged. For a
    `soft` claim, `former` is its agent, and `why` is that agent's state.
    """

    todo: str
    former: str
    view: TodoView | None = None
    taken: bool = False
    refused: str | None = None
    soft: bool = False
    why: str = ""


@checked()
class Heartbeat(Namespace):
    """Signs of life of peers, and the claims of peers that show none."""

    #: A tick or a watch is as long as the work that it does; each step of it has a budget of its own.
    LASTING = True

    def beat(self, **who: Unpack[Caller]) -> datetime:
        """Record that the peer is alive, and renew what its session holds; returns the recorded time.

        Raises NotAllowed when the agent is not a registered peer.
        """
        facts, snapshot = self._publish(Beat(), "heartbeat beat", **who)
        peer = snapshot.peer(facts["agent"])
        assert peer is not None
        TaskLease(self._client).renew_all(**who)
        return peer.last_seen or peer.created_at

    def status(self, *, goal_id: str | None = None, fresh: bool = False, offline: bool = False) -> HeartbeatStatus:
        """Peers with their last sign of life, lapsed claims, and todos without a claim. Raises NotInitialised."""
        (snapshot, reading), clocks = self._state(fresh=fresh, offline=offline), self._client.clocks()
        goals = resolve.goals(snapshot, goal_id)
        leases = [
            (goal, self._client.lease_view(snapshot, lease)) for goal in goals for lease in snapshot.leases(goal)
        ]
        soft: dict[str, list[str]] = {}
        called: dict[str, str] = {}
        for todo in (todo for goal in goals for todo in snapshot.todos(goal)):
            called[todo.id] = conditions.called(todo)
            for name in todo.soft_claims:
                soft.setdefault(name, []).append(todo.id)
        peers = [
            PeerHealth(
                peer,
                last_seen(peer, snapshot, clocks),
                is_stale(peer, snapshot, clocks),
                [view for _, view in leases if view.holder == peer.agent],
                soft.get(peer.agent, ()),
            )
            for peer in snapshot.peers()
        ]
        known = TodoReads(self._client).list(goal_id=goal_id, offline=True).todos
        ready = [view for view in known if not_ready(snapshot, view, clocks) is None]
        lapsed = [view for view in ready if view.lease.state is LeaseState.LAPSED]
        listed = {view.id for view in lapsed}
        lapsed += [
            self._client.view(snapshot, goal, view.todo_id)
            for goal, view in leases
            if view.todo_id not in listed and view.state is LeaseState.LAPSED
        ]
        unclaimed = [view for view in ready if view.lease.state is LeaseState.FREE and not view.todo.soft_claims]
        return HeartbeatStatus(peers, lapsed, unclaimed, reading, called)

    def suggest(
        self, *, goal_id: str | None = None, per_agent: int = 1, fresh: bool = False, offline: bool = False,
        agent_id: str | None = None,
    ) -> tuple[list[Suggestion], Reading]:  # grouped by meaning  # fmt: skip
        """Which peer should take which todo. All suggestions can be claimed at once.

        With `agent_id`: what that peer can take, regardless of the others. Raises NotFound when there is no such
        peer.
        """
        snapshot, reading = self._state(fresh=fresh, offline=offline)
        goals = resolve.goals(snapshot, goal_id)
        only = None if agent_id is None else resolve.peer(snapshot, agent_id).agent
        return suggest(snapshot, goals, self._client.clocks(), per_agent=per_agent, only=only), reading

    def reclaim(
        self, *, take: bool = False, limit: int | None = None, goal_id: str | None = None,
        agent_id: str | None = None, session: str | None = None, dry_run: bool = False,
    ) -> list[Reclaimed]:  # grouped by meaning  # fmt: skip
        """Take over lapsed claims (`take`), or return their todos to the pool.

        Each reclaim counts an attempt; at the limit the todo needs a human. Soft claims of peers that are stale,
        retired or gone are removed, too. Each todo is an operation of its own; what another process reclaims first is
        skipped. Raises UsageError when no agent is set, NotAllowed when the agent is not a registered peer.
        """
        actor = self._client.connection.actor(agent_id, session)
        if not actor.is_agent:
            # Said before anything is read: a watcher would otherwise find out only when something lapses.
            raise UsageError("reclaim needs an agent", hint=resolve.WHO_ACTS)
        status = self.status(goal_id=goal_id, fresh=True)
        done: list[Reclaimed] = []
        for view in status.lapsed:
            if limit is not None and sum(1 for item in done if item.refused is None) >= limit:
                break
            former = f"{view.lease.lease.holder}@{view.lease.lease.epoch}"
            operation = Operation.CLAIM if take else Operation.RECLAIM
            command = OnTodo(operation, view.id, view.todo.goal, exclusive=True)
            try:
                self._client.submit([command], actor, dry_run=dry_run, words=f"heartbeat reclaim {view.id}")
            except (HeldByAnother, NotAllowed) as error:
                done.append(Reclaimed(view.id, former, refused=error.message))
                continue
            now = self._client.snapshot(self._client.read_known())
            shown = self._client.view(now, view.todo.goal, view.id)
            done.append(Reclaimed(view.id, former, shown, take))
        left = None if limit is None else limit - sum(1 for item in done if item.refused is None)
        return done + self._drop_soft_claims(goal_id, left, actor, dry_run=dry_run)

    def _drop_soft_claims(
        self, goal_id: str | None, limit: int | None, actor: Actor, *, dry_run: bool
    ) -> list[Reclaimed]:
        """Take out the soft claims of peers that are not there any more, in one group: what was taken away."""
        snapshot, clocks = self._client.snapshot(self._client.read_known()), self._client.clocks()
        reasons = {peer.agent: gone(peer, snapshot, clocks) for peer in snapshot.peers()}
        found = [
            (DropSoftClaim(todo.id, name), todo.goal, reasons.get(name, "not registered"))
            for goal in resolve.goals(snapshot, goal_id)
            for todo in snapshot.todos(goal)
            for name in todo.soft_claims
            if reasons.get(name, "not registered")
        ][:limit]
        while found:
            commands: list[Command] = [command for command, _, _ in found]
            try:
                answer = self._client.submit(commands, actor, dry_run=dry_run, words="heartbeat reclaim --soft")
            except NotAllowed as error:
                # A peer came back between our look and our write: it keeps its own, the others' are taken back.
                self._client.connection.ledger.notes.append(error.message)
                found = [item for item in found if item[0].agent != error.agent]
                continue
            now = self._client.snapshot(self._client.read_known())
            return [
                Reclaimed(command.todo, command.agent, self._client.view(now, goal, command.todo), soft=True, why=why)
                for (command, goal, why), facts in zip(found, answer.facts, strict=True)
                # What another watcher was faster with is its to report.
                if not facts.get("unchanged")
            ]
        return []
