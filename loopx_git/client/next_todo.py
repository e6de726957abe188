"""`client.todo.next`: pick a todo that fits and claim it; try the next one when another agent was faster."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Protocol, Unpack

from loopx_git.client.base import BaseClient
from loopx_git.client.parameters import Choosing, Claiming
from loopx_git.client.views import Reading, TodoView
from loopx_git.core import resolve
from loopx_git.core.change import Actor
from loopx_git.core.peer import ClaimMode, Peer, PeerStatus
from loopx_git.core.query import Skipped, contended, covering, fitting
from loopx_git.core.todo import Todo
from loopx_git.errors import Contention, HeldByAnother, NotAllowed, NotFound, UsageError
from loopx_git.ledger.snapshot import TreeSnapshot

#: As many todos are looked at as there are agents, between these bounds.
FEW_MIN, FEW_MAX = 4, 32


@dataclass(frozen=True, slots=True)
class Picked:
    """The todo (claimed, if requested), what was passed over and why, the lost races, and the number of tries."""

    view: TodoView
    skipped: Sequence[Skipped]
    lost: Sequence[str]
    tries: int
    reading: Reading
    #: Of a look: the best that fit, as many as were asked for, and how many more fit.
    best: Sequence[TodoView] = ()
    left_out: int = 0


class Before(Protocol):
    """What must be prepared before a todo is claimed: its branch or worktree."""

    @property
    def without(self) -> Container[str]:
        """The todos that are not to be picked."""

    def ready(self, view: TodoView) -> bool:
        """Prepare it. False when that fails: the todo is then in `without`."""

    def withdraw(self) -> None:
        """Remove what was prepared: the claim was not acquired."""


def next_todo(
    client: BaseClient,
    *,
    claim: Callable[..., TodoView] | None,
    before: Before | None = None,
    **how: Unpack[Choosing],
) -> Picked:
    """The next todo for the caller. Raises NotFound, with what was passed over, when no todo fits.

    `claim` is `client.todo.claim`, or None to only look. With `before`, each todo is prepared before it is claimed,
    and left out when that fails. `statuses` narrows the choice; a look shows the best `limit` (None: all).
    """
    statuses, limit, offline = how.get("statuses", ()), how.get("limit", 1), how.get("offline", False)
    for name in statuses:
        if name not in ("open", "in_progress"):
            raise UsageError(f"a todo that is {name!r} fits nobody", hint="--status open, or --status in_progress")
    if limit is not None and limit < 1:
        raise UsageError(f"a limit of {limit} shows nothing", hint="--limit 5")
    if claim is not None and limit != 1:
        raise UsageError("--claim takes one todo, and --limit says how many to show", hint="leave out one of the two")
    actor = client.connection.actor(how.get("agent_id"), how.get("session"))
    if not actor.is_agent:
        raise UsageError("next needs an agent", hint=resolve.WHO_ACTS)
    if claim is not None and offline:
        raise UsageError("--claim needs the remote", hint="leave out --offline")
    started, lost, tries = client.connection.overrides.clock.counting(), list[str](), 0
    reading = client.read(fresh=how.get("fresh", False), offline=offline)
    while True:
        snapshot = client.snapshot(reading)
        goals = resolve.goals(snapshot, how.get("goal_id"))
        peer = peer_of(snapshot, actor, client)
        without = () if before is None else before.without
        most = few(snapshot) if limit == 1 else len(snapshot.all_ids())
        fits, skipped = fitting(snapshot, goals, peer, actor, client.clocks(), most, without, statuses)
        if not fits and reading.age > 0 and not offline:
            reading = client.read(fresh=True)
            continue
        if not fits:
            raise _nothing(skipped, tries)
        if claim is None:
            views = [client.view(snapshot, one.goal, one.id) for one in fits[:limit]]
            return Picked(views[0], skipped, (), 0, reading, views, len(fits) - len(views))
        todo = drawn(client, fits, len(lost), actor)
        if before is not None and not before.ready(client.view(snapshot, todo.goal, todo.id)):
            continue
        tries += 1
        try:
            given = {name: value for name, value in how.items() if name in Claiming.__annotations__}
            view = claim(todo.id, **{**given, "goal_id": todo.goal, "exclusive": True})
        except BaseException as error:
            if before is not None:
                before.withdraw()
            if not isinstance(error, HeldByAnother | NotAllowed):
                raise
            # Another was faster, or what it took stands in the way: the tip just read says so; look again there.
            lost.append(error.message)
            if client.connection.overrides.clock.counting() - started >= client.connection.settings.timeout:
                raise Contention(
                    f"lost {len(lost)} races in {client.connection.settings.timeout:.0f} s",
                    hint="run the same command again",
                    about={"lost": lost[-5:]},
                ) from error
            reading = client.read_known()
            continue
        return Picked(view, skipped, lost, tries, reading)


def few(snapshot: TreeSnapshot) -> int:
    """How many of the best todos are looked at, so that agents that look at the same moment can part."""
    return min(FEW_MAX, max(FEW_MIN, sum(1 for one in snapshot.peers() if one.status is PeerStatus.ACTIVE)))


def drawn(client: BaseClient, fits: Sequence[Todo], lost: int, actor: Actor) -> Todo:
    """One of the best of `fits`, by chance; of more of them after `lost` lost races."""
    among = contended(fits, lost, actor.name)
    return among[int(client.connection.overrides.jitter() * len(among))]


def free_for(client: BaseClient, tip: str, paths: Sequence[str]) -> tuple[Todo, int, bool] | None:
    """The todo that the caller could claim at `tip` and whose scope covers most of the paths, how many it covers, and
    whether a plain claim of it is soft.

    A person is not a peer, and gets a todo that any agent could claim. It uses no network.
    """
    snapshot, actor = client.connection.ledger.snapshot(tip), client.connection.actor()
    peer = peer_of(snapshot, actor, client) if actor.is_agent else None
    found = covering(snapshot, peer, actor, client.clocks(), paths)
    if found is None:
        return None
    goal = snapshot.goal(found[0].goal)
    return (*found, goal is not None and goal.claims is ClaimMode.SOFT)


def peer_of(snapshot: TreeSnapshot, actor: Actor, client: BaseClient) -> Peer:
    """The actor's peer, or the peer that automatic registration would make. Raises NotAllowed without either."""
    peer = snapshot.peer(actor.name)
    if peer is not None:
        return peer
    if snapshot.policy.peers_auto_register:
        return Peer(actor.name, client.clocks().now, actor.name)
    raise NotAllowed(
        f"{actor.name} is not a registered peer",
        hint=f"git loopx peer register {actor.name}",
        about={"agent": actor.name},
    )


def _nothing(skipped: Sequence[Skipped], tries: int) -> NotFound:
    first = "; ".join(item.words for item in skipped[:3])
    more = f"; and {len(skipped) - 3} more" if len(skipped) > 3 else ""
    return NotFound(
        "no todo fits now" + (f": {first}{more}" if skipped else ": there is none"),
        hint="git loopx todo list",
        about={"skipped": [{"todo_id": item.todo, "why": item.why} for item in skipped], "tries": tries},
    )
