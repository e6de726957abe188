"""A peer (registered agent, human or loop) and a goal (named set of todos)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class PeerKind(StrEnum):
    """What a peer is."""

    AGENT = "agent"
    HUMAN = "human"
    LOOP = "loop"


class PeerStatus(StrEnum):
    """Whether a peer may claim. RETIRED is final."""

    ACTIVE = "active"
    PAUSED = "paused"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Peer:
    """A registered peer. Agent names are unique ignoring case."""

    agent: str
    created_at: datetime
    created_by: str
    kind: PeerKind = PeerKind.AGENT
    status: PeerStatus = PeerStatus.ACTIVE
    capabilities: tuple[str, ...] = ()
    last_seen: datetime | None = None
    body: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)


class GoalStatus(StrEnum):
    """Whether todos can be added to a goal and claimed in it."""

    OPEN = "open"
    CLOSED = "closed"


class ClaimMode(StrEnum):
    """What a plain `todo claim` means in a goal."""

    EXCLUSIVE = "exclusive"
    SOFT = "soft"


@dataclass(frozen=True, slots=True)
class Goal:
    """A named set of todos. `claims` None follows the policy's claims.mode."""

    id: str
    title: str
    created_at: datetime
    created_by: str
    status: GoalStatus = GoalStatus.OPEN
    claims: ClaimMode | None = None
    body: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)
