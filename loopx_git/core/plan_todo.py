"""Plans of the operations on one todo: the table's row, the conditions, then the row's effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from loopx_git.core import conditions, ids, meaning, resolve, succession
from loopx_git.core.change import Actor, ChangeSet, Facts, Op, PutLease, Write
from loopx_git.core.claim import acquired, ended, fenced, handed_over, hold_of, is_abandoned, renewed
from loopx_git.core.commands import OnTodo
from loopx_git.core.edit import edited, with_note
from loopx_git.core.lease import Clocks, Ended, Lease, expires_at, is_due, is_late
from loopx_git.core.peer import Peer, PeerStatus
from loopx_git.core.plan_setup import check_reason, subject
from loopx_git.core.refusal import refusal, words_of
from loopx_git.core.snapshot import Snapshot
from loopx_git.core.table import FINISHED, FORCEABLE, REASONS, Effect, HoldState, Operation, Row, Verdict, look_up
from loopx_git.core.times import Unset, check_ttl
from loopx_git.core.todo import SETTABLE, Status, Todo
from loopx_git.errors import LoopXError, NotAllowed, UsageError

_OP = {
    Operation.RESUME: Op.CLAIM,
    Operation.UNSOFT: Op.SOFT,
    Operation.NOTE: Op.UPDATE,
    Operation.TRIAGE: Op.UPDATE,
}
_ENDS = {
    Operation.RELEASE: Ended.RELEASED,
    Operation.COMPLETE: Ended.COMPLETED,
    Operation.SUPERSEDE: Ended.SUPERSEDED,
    Operation.CANCEL: Ended.CANCELLED,
    Operation.RECLAIM: Ended.EXPIRED,
}


def on_todo(snapshot: Snapshot, command: OnTodo, actor: Actor, clocks: Clocks, request: str) -> ChangeSet:
    """Decide one operation that a caller asks for. A claim is forced for a loop only, and by its own command."""
    if command.force and command.operation is Operation.CLAIM:
        raise UsageError("claim cannot be forced", hint="what an operator may do: git loopx todo release -h")
    return decide(snapshot, command, actor, clocks, request)


def decide(snapshot: Snapshot, command: OnTodo, actor: Actor, clocks: Clocks, request: str) -> ChangeSet:
    """Decide one operation by the table and carry out its effects."""
    _check_call(command, actor, snapshot)
    goal, todo_id = resolve.todo(snapshot, command.todo, command.goal)
    todo = snapshot.todo(goal, todo_id)
    soft = meaning.claims_softly(snapshot, goal)
    lease = snapshot.lease(goal, todo_id) or Lease(todo_id)
    abandoned = is_abandoned(lease, snapshot, clocks)
    hold = hold_of(lease, actor, command.epoch, clocks, snapshot.policy.claims_skew, abandoned=abandoned)
    if soft and hold in (HoldState.FREE, HoldState.WAS_MINE) and actor.name in todo.soft_claims:
        hold = HoldState.SOFT
    command = meaning.meant(command, todo, actor, hold, soft=soft)
    row = look_up(command.operation, todo.state, hold, command.force)
    facts: Facts = {"todo": todo_id, "goal": goal, "hold": hold.value, "operation": command.operation.value}
    if command.operation is Operation.SOFT:
        facts["soft"] = True
    if command.operation in (Operation.RELEASE, Operation.UNSOFT):
        facts |= meaning.taken_back(command, todo, actor, hold)
    if command.operation is Operation.NOTE:
        facts["without_claim"] = True
    op = _OP.get(command.operation) or Op(command.operation.value)
    base = ChangeSet(op, actor, "", goal=goal, todo=todo_id, epoch=lease.epoch, facts=facts)
    if row.verdict is Verdict.REFUSE:
        refused = refusal(row, command, todo, lease)
        if row.reason == "not_held" and actor.is_agent:
            raise _or_why_no_claim(refused, snapshot, todo, actor, clocks, request)
        raise refused
    if row.verdict is Verdict.NOTHING:
        message = REASONS[row.reason].message.format(**words_of(command, todo, lease))
        return replace(base, facts={**facts, "unchanged": row.reason, "message": message})
    meaning.check_soft(command, todo, hold, row)
    return _Grant(snapshot, command, actor, clocks, request, todo, lease, row).change_set(base)


def _or_why_no_claim(
    refused: LoopXError, snapshot: Snapshot, todo: Todo, actor: Actor, clocks: Clocks, request: str
) -> LoopXError:
    """The refusal for a todo that nobody holds; where a claim would be refused as well, with that reason and hint."""
    try:
        decide(snapshot, OnTodo(Operation.CLAIM, todo.id, todo.goal), actor, clocks, request)
    except LoopXError as error:
        message = f"{refused.message}, and it cannot be claimed: {error.message}"
        return type(refused)(message, hint=error.hint, about=refused.about)
    return refused


def _check_call(command: OnTodo, actor: Actor, snapshot: Snapshot) -> None:
    """What is wrong with a call whatever the state is."""
    operation = command.operation
    if command.force and not command.reason:
        raise UsageError("--force needs --reason TEXT; it goes into the history", hint="--reason TEXT")
    if command.reason is not None:
        check_reason(command.reason)
        if not command.force:
            raise UsageError("--reason goes with --force", hint="leave out --reason, or add --force")
    if command.force and operation not in FORCEABLE:
        raise UsageError(f"{operation} cannot be forced", hint="leave out --force and --reason")
    if not command.force and not actor.is_agent:
        raise UsageError(f"{operation} needs an agent", hint=resolve.who_acts(snapshot))
    if command.status is not None and command.status not in {status.value for status in SETTABLE}:
        other = {"completed": "complete", "superseded": "supersede", "cancelled": "cancel"}.get(command.status)
        hint = f"it has a command of its own: git loopx todo {other} -h" if other else "one of " + ", ".join(SETTABLE)
        raise UsageError(f"the status {command.status!r} cannot be set", hint=hint)
    if command.status is not None and operation not in (Operation.UPDATE, Operation.RELEASE, Operation.UNSOFT):
        raise UsageError(f"{operation} gives no status", hint="leave out the status; see: git loopx todo update -h")
    if operation is Operation.UPDATE and not (command.status or command.fields or command.note):
        raise UsageError(
            "this update names nothing to change",
            hint="--note TEXT, or --status STATUS; what can be changed: git loopx todo update -h",
        )
    meaning.check(command)
    if isinstance(command.ttl, int):
        try:
            check_ttl(command.ttl)
        except ValueError as error:
            raise UsageError(str(error), hint="--ttl 2h") from None


class NeedsValidation(NotAllowed):
    """The todo has a check of its own that has not been run yet: `argv`, under the caller's `lease`."""

    def __init__(self, todo: Todo, lease: Lease) -> None:
        super().__init__(
            f"{todo.id} is completed only after its own check, which has not been run: {' '.join(todo.validate)}",
            hint="complete it without --dry-run, which runs the check; see: git loopx todo complete -h",
            about={"todo_id": todo.id, "validate": list(todo.validate)},
        )
        self.argv, self.lease = todo.validate, lease


class _Grant:
    """One granted operation being carried out: the todo and the lease as they become, effect by effect."""

    def __init__(
        self, snapshot: Snapshot, command: OnTodo, actor: Actor, clocks: Clocks, request: str,
        todo: Todo, lease: Lease, row: Row,
    ) -> None:  # grouped by meaning  # fmt: skip
        self.snapshot, self.command, self.actor = snapshot, command, actor
        self.clocks, self.request, self.row = clocks, request, row
        self.before, self.todo = todo, todo
        self.lease_before, self.lease = lease, lease
        self.peer: Peer | None = None
        self.prev: str | None = None
        self.warnings: list[str] = []
        self.others: list[Write] = []

    def change_set(self, base: ChangeSet) -> ChangeSet:
        for effect in self.row.effects:
            _EFFECTS[effect](self)
        if self.command.note is not None:
            self.todo = with_note(self.todo, self.command.note, self.actor, self.clocks)
        if self.command.status is not None and Effect.BACK not in self.row.effects:
            self.todo = replace(self.todo, status=Status(self.command.status))
        unbound = self.lease.holder is not None and self.lease.session is None
        if unbound and Effect.HANDOVER not in self.row.effects and self._acts_as_holder():
            self.lease = replace(self.lease, session=self.actor.session)
        self.todo = replace(self.todo, claimed_by=self.lease.holder)
        writes: list[Write] = [] if self.peer is None else [self.peer]
        if self.todo != self.before:
            writes.append(self.todo)
        if self.lease != self.lease_before:
            writes.append(PutLease(self.todo.goal, self.lease))
        writes += self.others
        facts: Facts = {**base.facts, "warnings": self.warnings}
        if not writes:
            message = f"{self.todo.id} is as asked already"
            return replace(base, facts={**facts, "unchanged": "same", "message": message})
        renewed_ids = self._renewals(writes)
        if Effect.ACQUIRE in self.row.effects or Effect.TAKEOVER in self.row.effects:
            facts |= {"acquired": True, "former": self.prev}
        if self.command.successor is not None:
            facts["successor"] = self.todo.successor
        return replace(
            base,
            subject=subject(f"{base.op} {self.todo.id} by {self.actor.name}"),
            writes=tuple(writes),
            epoch=self.lease.epoch,
            prev=self.prev,
            reason=meaning.NOTE_REASON if self.command.operation is Operation.NOTE else self.command.reason,
            code=self.command.code,
            renewed=renewed_ids,
            facts=facts,
        )

    # -- effects, in the table's words

    def acquire(self) -> None:
        self._conditions()
        ttl = self._ttl(self.snapshot.policy.claims_ttl)
        self.lease = acquired(self.lease, self.actor, ttl, self.clocks, self.request)

    def _ttl(self, known: int | None) -> int | None:
        given = self.command.ttl
        assert not isinstance(given, str)
        return known if isinstance(given, Unset) else given

    def takeover(self) -> None:
        self.prev = f"{self.lease.holder}@{self.lease.epoch}"
        ended_at = expires_at(self.lease)
        if self.lease.holder != self.actor.name and ended_at is not None and not self.command.force:
            ago = (self.clocks.now - ended_at).total_seconds()
            self.warnings.append(
                f"the lease of {self.lease.holder} ended {ago:.0f} s ago by this clock; if the clocks differ by "
                f"more than {self.snapshot.policy.claims_skew} s it may still be at work; what it writes is refused"
            )
        self.acquire()

    def attempt(self) -> None:
        self.todo = replace(self.todo, attempts=self.todo.attempts + 1)

    def renew(self) -> None:
        self.lease = renewed(self.lease, self.actor, self._ttl(self.lease.ttl_s), self.clocks, self.request)

    def end(self) -> None:
        if not self._acts_as_holder():
            self.prev = f"{self.lease.holder}@{self.lease.epoch}"
        self.lease = ended(self.lease, _ENDS[self.command.operation], self.request)

    def fence(self) -> None:
        self.lease = fenced(self.lease, self.request)

    def handover(self) -> None:
        if self.command.to is None:
            raise UsageError("transfer needs the receiving agent", hint="--to AGENT")
        receiver = self._active_peer(ids.check("agent", self.command.to))
        _refuse(conditions.fitness(receiver, self.todo))
        self.prev = f"{self.lease.holder}@{self.lease.epoch}"
        self.lease = handed_over(self.lease, receiver.agent, self.clocks, self.request)

    def back(self) -> None:
        status = self.todo.status
        if self.command.status is not None:
            status = Status(self.command.status)
        elif status is Status.IN_PROGRESS:
            status = Status.OPEN
        if self.command.operation is Operation.RECLAIM:
            limit = self.snapshot.policy.claims_max_attempts
            status = Status.NEEDS_HUMAN if self.todo.attempts >= limit else status
        self.todo = replace(self.todo, status=status)

    def edit(self) -> None:
        self.todo = edited(self.snapshot, self.todo, self.command.fields)

    def finish(self) -> None:
        status = FINISHED[self.command.operation]
        if status is Status.COMPLETED and self.before.validate not in ((), self.command.validated):
            raise NeedsValidation(self.before, self.lease_before)
        done = self.clocks.now if status is Status.COMPLETED else self.todo.completed_at
        self.todo = replace(self.todo, status=status, completed_at=done, soft_claims=())
        if self.command.successor is not None:
            self._link(self.command.successor)
        elif self.command.operation is Operation.SUPERSEDE:
            raise UsageError(
                "supersede needs what carries on", hint="--by TODO, or --by-title 'the title of a new todo'"
            )

    def _link(self, successor: str) -> None:
        title = self.command.successor_title
        if title is None:
            other = succession.found(self.snapshot, self.todo, successor)
        else:
            other = succession.made(self.todo, successor, title, self.actor, self.clocks)
        former = succession.unlinked(self.snapshot, self.todo)
        if former is not None and former.id != other.id:
            self.others.append(former)
        self.todo = replace(self.todo, successor=other.id)
        self.others.append(other)

    def reopen(self) -> None:
        other = succession.unlinked(self.snapshot, self.todo)
        if other is not None:
            self.others.append(other)
        self.todo = replace(self.todo, status=Status.OPEN, completed_at=None, successor=None)

    def move(self) -> None:
        self.todo = replace(self.todo, archived=True)

    def soft_add(self) -> None:
        self._active_peer(self.actor.name)
        if self.actor.name not in self.todo.soft_claims:
            self.todo = replace(self.todo, soft_claims=(*self.todo.soft_claims, self.actor.name))

    def soft_remove(self) -> None:
        left = tuple(name for name in self.todo.soft_claims if name != self.actor.name)
        self.todo = replace(self.todo, soft_claims=left)

    def leave(self) -> None:
        """As `soft_remove`; the last one puts the todo back to open. `change_set` sets a status that is given."""
        self.soft_remove()
        if not self.todo.soft_claims and self.todo.status is Status.IN_PROGRESS:
            self.todo = replace(self.todo, status=Status.OPEN)

    def note(self) -> None:
        """Check who may add it; `change_set` appends every note."""
        peer = self.snapshot.peer(self.actor.name)
        if peer is None or peer.agent != self.actor.name or peer.status is PeerStatus.RETIRED:
            raise NotAllowed(
                f"{self.actor.name} is not a registered peer, and only a peer may add a note without the claim",
                hint=f"git loopx peer register {self.actor.name}"
                if peer is None
                else f"git loopx peer show {peer.agent}",
                about={"agent": self.actor.name},
            )

    # -- what the effects need

    def _acts_as_holder(self) -> bool:
        return self.lease.holder == self.actor.name and self.lease.session in (None, self.actor.session)

    def _active_peer(self, agent: str) -> Peer:
        known = self.snapshot.peer(agent)
        if known is not None and known.agent == agent:
            if known.status is not PeerStatus.ACTIVE:
                raise NotAllowed(
                    f"the peer {agent} is {known.status}",
                    hint=f"git loopx peer show {agent}",
                    about={"agent": agent},
                )
            return known
        if known is None and agent == self.actor.name and self.snapshot.policy.peers_auto_register:
            self.peer = Peer(ids.check("agent", agent), self.clocks.now, agent)
            return self.peer
        spelt = f"; did you mean {known.agent}?" if known is not None else ""
        raise NotAllowed(
            f"{agent} is not a registered peer{spelt}",
            hint=f"git loopx peer register {agent}" if known is None else f"--agent {known.agent}",
            about={"agent": agent},
        )

    def _conditions(self) -> None:
        _refuse(conditions.fitness(self._active_peer(self.actor.name), self.todo))
        if self.lease.holder != self.actor.name:
            _refuse(conditions.readiness(self.snapshot, self.todo, self.clocks))
            _refuse(conditions.limit(self.snapshot, self.actor, self.clocks))
        _refuse(conditions.scope_overlap(self.snapshot, self.todo, self.actor, self.clocks))

    def _renewals(self, writes: list[Write]) -> tuple[str, ...]:
        """Renew on the way what the caller holds and is due, so that working keeps a claim alive."""
        wanted, found = self.command.renewals, []
        if wanted == () or not self.actor.is_agent:
            return ()
        for goal in self.snapshot.goal_ids():
            for lease in self.snapshot.leases(goal):
                mine = lease.holder == self.actor.name and lease.session == self.actor.session
                if not mine or lease.todo == self.todo.id or is_late(lease, self.clocks):
                    continue
                chosen = is_due(lease, self.clocks) if wanted is None else lease.id in wanted
                if chosen:
                    found.append(lease.id)
                    writes.append(PutLease(goal, renewed(lease, self.actor, lease.ttl_s, self.clocks, self.request)))
        return tuple(found)


def _refuse(unmet: NotAllowed | None) -> None:
    if unmet is not None:
        raise unmet


_EFFECTS: dict[Effect, Callable[[_Grant], None]] = {effect: getattr(_Grant, effect.value) for effect in Effect}
