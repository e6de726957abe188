"""Commands: what a caller asks for, as plain data. `todo` is an id, a unique prefix, or an alias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from loopx_git.core.loop import LoopStatus
from loopx_git.core.peer import ClaimMode, PeerKind, PeerStatus
from loopx_git.core.table import Operation
from loopx_git.core.times import UNSET, Ttl
from loopx_git.core.todo import Todo


@dataclass(frozen=True, slots=True)
class Init:
    """Begin a ledger: format, policy, and the goal `main`."""


@dataclass(frozen=True, slots=True)
class SetPolicy:
    """Set one key of the policy; `value` is text, as on the command line."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class CreateGoal:
    """Create a goal, or change one's title or mode of claims; None leaves them as they are."""

    goal: str
    title: str | None = None
    claims: ClaimMode | None = None


@dataclass(frozen=True, slots=True)
class CloseGoal:
    """Close a goal. No todo can be added to it or claimed in it after that."""

    goal: str


@dataclass(frozen=True, slots=True)
class SetPeerStatus:
    """Pause, resume or retire a peer. Retiring removes its soft claims; its name is never used again."""

    agent: str
    status: PeerStatus


@dataclass(frozen=True, slots=True)
class RegisterPeer:
    """Register a peer, or change the kind and capabilities of a registered one.

    None leaves a field as it is; a new peer is an agent without capabilities. `new` refuses a peer that exists.
    """

    agent: str
    kind: PeerKind | None = None
    capabilities: tuple[str, ...] | None = None
    new: bool = False


@dataclass(frozen=True, slots=True)
class Beat:
    """Note that the acting peer is alive."""


@dataclass(frozen=True, slots=True)
class RenewAll:
    """Renew every lease of the acting session; `renewals` (lease ids) narrows it."""

    renewals: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class DropSoftClaim:
    """Remove the soft claim of a peer that is stale, retired or not registered.

    `stays`: the last one leaves the todo in progress, as versions wrote it that did not put it back.
    """

    todo: str
    agent: str
    stays: bool = False


@dataclass(frozen=True, slots=True)
class AddTodo:
    """Add a todo under `id` (random, from the caller). References in depends_on may be prefixes or aliases."""

    id: str
    title: str
    goal: str | None = None
    alias: str | None = None
    priority: int = 2
    body: str = ""
    scope: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    resume_after: datetime | None = None
    validate: tuple[str, ...] = ()
    branch: str | None = None

    @classmethod
    def of(cls, todo: Todo) -> AddTodo:
        """The command that adds this todo."""
        return cls(**{name: getattr(todo, name) for name in cls.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class OnTodo:
    """An operation of the table on one todo.

    epoch    the caller's claim by number; any other current epoch refuses the operation
    force    an operator acts on somebody else's todo; `reason` is then required and audited
    ttl      for a claim or renewal: seconds, None (no bound) or UNSET (the policy's, or unchanged)
    status   for release, unsoft and update: the status to leave the todo in
    fields   for update: new values by Todo attribute
    note     text appended to the notes
    to       for transfer: the receiving agent
    exclusive  the lease is meant: for claim even where the goal's claims are soft, for release even where the
             caller has a soft claim, for update no note beside somebody's claim
    successor  for supersede and complete: the todo that carries on, or with `successor_title` the id of the
               todo that is made for it
    validated  for complete: the todo's validate command, once it has been run and has passed
    code       for complete: what lands with it, ref@oid
    renewals claims to renew on the way (lease ids); None: those of the caller that are due
    """

    operation: Operation
    todo: str
    goal: str | None = None
    epoch: int | None = None
    force: bool = False
    reason: str | None = None
    ttl: Ttl = UNSET
    status: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None
    to: str | None = None
    exclusive: bool = False
    successor: str | None = None
    successor_title: str | None = None
    validated: tuple[str, ...] = ()
    code: str | None = None
    renewals: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class CreateLoop:
    """Create a loop: its record, and its peer if it is not registered yet."""

    loop: str


@dataclass(frozen=True, slots=True)
class SetLoopStatus:
    """Pause, resume or halt a loop. `reason` explains a halt; `approve` lets a halted loop continue."""

    loop: str
    status: LoopStatus
    approve: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimTask:
    """A loop claims a todo as its task, without a time bound. The actor is the loop with its session.

    `resume` moves the loop and its claim to the actor's session (epoch + 1). `force` takes the todo from its holder;
    `reason` is then required and goes into history.
    """

    loop: str
    todo: str
    goal: str | None = None
    resume: bool = False
    force: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class CountTick:
    """A loop has ended tick number `iteration`.

    The same commit releases a task that has ended or that the loop no longer holds. A tick is counted once.
    """

    loop: str
    iteration: int


Command = (
    Init
    | SetPolicy
    | CreateGoal
    | CloseGoal
    | RegisterPeer
    | SetPeerStatus
    | Beat
    | RenewAll
    | DropSoftClaim
    | AddTodo
    | OnTodo
    | CreateLoop
    | SetLoopStatus
    | ClaimTask
    | CountTick
)
