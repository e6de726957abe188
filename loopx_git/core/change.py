"""A change set: what one commit will write, and what it says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

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
class PutTodo:
    """The todo after the change; `archived` says in which folder."""

    todo: Todo


@dataclass(frozen=True, slots=True)
class PutLease:
    """The lease record after the change, and the goal whose folder it lies in."""

    goal: str
    lease: Lease


@dataclass(frozen=True, slots=True)
class PutPeer:
    """The peer after the change."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class PutLoop:
    """The loop's record after the change."""

    loop: Loop


@dataclass(frozen=True, slots=True)
class PutGoal:
    """The goal after the change."""

    goal: Goal


@dataclass(frozen=True, slots=True)
class PutPolicy:
    """The policy after the change."""

    policy: Policy


@dataclass(frozen=True, slots=True)
class PutFormat:
    """The format file of a new ledger."""


@dataclass(frozen=True, slots=True)
class Restore:
    """Restore every other path to the last good state. An adoption begins with it."""


Write = PutTodo | PutLease | PutPeer | PutLoop | PutGoal | PutPolicy | PutFormat | Restore


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts. `name` is the agent's id, or the git identity's e-mail for commands that need no agent."""

    name: str
    session: str | None = None

    @property
    def is_agent(self) -> bool:
        """False for a person, who acts under an e-mail address."""
        return "@" not in self.name


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """One operation: at most one commit. No writes means that nothing needs to be done, and `reason` says why.

    `prev` is the claim taken over as agent@epoch, `renewed` the claims renewed on the way as todo@epoch, and
    `facts` what a caller wants to know (todo, goal, acquired, hand-over, warnings), in plain values.
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
    facts: Mapping[str, Any] = field(default_factory=dict)
