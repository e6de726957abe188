"""A change set: what one commit will write, and what it says about itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypedDict

from loopx_git.core.lease import Lease
from loopx_git.core.loop import Loop
from loopx_git.core.peer import Goal, Peer
from loopx_git.core.policy import Policy
from loopx_git.core.todo import Todo


class Op(StrEnum):
    """The values of the Loopx-Op trailer."""

    INIT = "init"
    POLICY = "policy"
    GOAL = "goal"
    PEER = "peer"
    ADD = "add"
    CLAIM = "claim"
    RENEW = "renew"
    RELEASE = "release"
    UPDATE = "update"
    COMPLETE = "complete"
    SUPERSEDE = "supersede"
    REOPEN = "reopen"
    CANCEL = "cancel"
    TRANSFER = "transfer"
    ARCHIVE = "archive"
    SOFT = "soft"
    LOOP = "loop"
    RECLAIM = "reclaim"
    ADOPT = "adopt"


@dataclass(frozen=True, slots=True)
class PutLease:
    """The lease record after the change, and the goal whose folder it lies in."""

    goal: str
    lease: Lease


@dataclass(frozen=True, slots=True)
class PutFormat:
    """The format file of a new ledger."""


@dataclass(frozen=True, slots=True)
class Restore:
    """Restore every other path to the last good state. An adoption begins with it."""


#: What a commit writes: an object as it is after the change (a todo says itself whether it is archived), or more.
Write = Todo | Peer | Loop | Goal | Policy | PutLease | PutFormat | Restore


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts. `name` is the agent's id, or the git identity's e-mail for commands that need no agent."""

    name: str
    session: str | None = None

    @property
    def is_agent(self) -> bool:
        """False for a person, who acts under an e-mail address."""
        return "@" not in self.name


class Facts(TypedDict, total=False):
    """What an operation tells its caller, from the planner to the terminal: plain values, as clones keep them in a
    pending record. A key that says nothing of an operation is left out.

    operation, hold  the row of the table that granted it
    unchanged        why nothing was written, as a reason of the table or "same"; `message` says it to people
    acquired, former the claim is new, and the one that was taken over (agent@epoch); for others the value before
    released, goes_on which of lease and soft claim was taken back and which stays; for a loop the task let go of
    """

    op: str
    todo: str | None
    goal: str | None
    epoch: int | None
    operation: str
    hold: str
    unchanged: str
    message: str
    warnings: list[str]
    acquired: bool
    former: str | None
    released: str | None
    goes_on: str
    soft: bool
    without_claim: bool
    successor: str | None
    renewed: list[str]
    created: bool
    closed: bool
    agent: str
    status: str
    loop: str
    iterations: int
    key: str
    value: str
    adopted: bool
    admitted: list[dict[str, str | None]]
    undone: list[dict[str, str | None]]
    # What the client adds to a view of a todo.
    found: bool
    losses: int
    dry_run: bool
    handover: dict[str, Any]


def place_of(facts: Facts) -> tuple[str, str]:
    """(goal, todo) of an operation on one todo."""
    goal, todo = facts["goal"], facts["todo"]
    assert goal is not None and todo is not None
    return goal, todo


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """One operation: at most one commit. No writes means that nothing needs to be done, and `reason` says why.

    `prev` is the claim taken over as agent@epoch, `renewed` the claims renewed on the way as todo@epoch, and
    `facts` what a caller wants to know.
    """

    op: Op
    actor: Actor
    subject: str
    writes: tuple[Write, ...] = ()
    goal: str | None = None
    todo: str | None = None
    epoch: int | None = None
    prev: str | None = None
    reason: str | None = None
    code: str | None = None
    renewed: tuple[str, ...] = ()
    facts: Facts = field(default_factory=Facts)
