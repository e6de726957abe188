"""`client.todo.show` and `client.todo.list`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from loopx_git.client.arguments import checked, identifier, words
from loopx_git.client.base import BaseClient, Namespace
from loopx_git.client.next_todo import peer_of
from loopx_git.client.views import Reading, TodoView
from loopx_git.core import conditions, resolve
from loopx_git.core.change import Actor
from loopx_git.core.lease import Clocks, Lease, LeaseState
from loopx_git.core.query import Skipped, waits_for, why_not
from loopx_git.core.todo import TERMINAL, Status, Todo
from loopx_git.errors import InvalidState, NotAllowed, UsageError
from loopx_git.ledger.snapshot import TreeSnapshot


@dataclass(frozen=True, slots=True)
class TodoList:
    """What `list` found: the todos in order, how many were cut, what could not be read, and the time of the state.

    With `ready`: what the agent could not claim and why, and one sentence why nothing is ready ("" if something is).
    """

    todos: Sequence[TodoView]
    left_out: int
    broken: Sequence[InvalidState]
    reading: Reading
    skipped: Sequence[Skipped] = ()
    nothing: str = ""


def _texts(todo: Todo) -> Iterator[str]:
    """What a text is looked for in."""
    yield from (todo.title, todo.id, todo.alias or "", todo.body)


def not_ready(snapshot: TreeSnapshot, view: TodoView, clocks: Clocks) -> str | None:
    """Why no agent could claim what `list` found, as a word of NOTHING; None when one could."""
    if view.lease.state is LeaseState.HELD:
        return "held"
    if view.status not in (Status.OPEN, Status.IN_PROGRESS):
        return view.status.value
    if view.waits:
        return "wait"
    return None if conditions.readiness(snapshot, view.todo, clocks) is None else "other"


def _claimable(
    client: BaseClient, snapshot: TreeSnapshot, found: Sequence[TodoView], actor: Actor
) -> tuple[list[TodoView], list[Skipped]]:
    """What of the ready todos the actor could claim now, and why not the others; "*" stands for all of them."""
    try:
        peer = peer_of(snapshot, actor, client)
    except NotAllowed as error:
        return [], [Skipped("*", f"{error.message}: {error.hint}")]
    clocks = client.clocks()
    over = conditions.limit(snapshot, actor, clocks)
    if over is not None:
        return [], [Skipped("*", over.message)]
    reasons = [(view, why_not(snapshot, view.todo, peer, actor, clocks)) for view in found]
    return (
        [view for view, why in reasons if why is None],
        [Skipped.of(view.todo, why) for view, why in reasons if why is not None],
    )


#: Why todos are not ready: word -> (of one, of several).
NOTHING = {
    "held": ("is held", "are held"),
    "wait": ("waits", "wait"),
    "blocked": ("is blocked", "are blocked"),
    "needs_human": ("needs a human", "need a human"),
    "other": ("was given up too often, or its goal is closed", "were given up too often, or their goal is closed"),
}


def _nothing(passed: Counter[str], skipped: int, agent: str | None) -> str:
    """Why nothing is ready, in a sentence."""
    parts = [f"{count} {NOTHING[why][count > 1]}" for why in NOTHING if (count := passed[why])]
    if not parts and not skipped:
        return "nothing is ready: there is no todo that is open"
    return f"nothing is ready{f' for {agent}' if skipped else ''}{': ' if parts else ''}{', '.join(parts)}"


@checked(status=words, holder=identifier)
class TodoReads(Namespace):
    """What `client.todo` reads."""

    def show(
        self, todo_id: str, *, goal_id: str | None = None, fresh: bool = False, offline: bool = False
    ) -> tuple[TodoView, Reading]:
        """One todo with its lease. Raises NotFound when there is none, or when a prefix fits several."""
        snapshot, reading = self._state(fresh=fresh, offline=offline)
        goal, todo = resolve.todo(snapshot, todo_id, goal_id)
        view = self._client.view(snapshot, goal, todo)
        return replace(view, waits=waits_for(snapshot, view.todo, self._client.clocks())), reading

    def list(
        self, *, goal_id: str | None = None, status: Sequence[str] = (), ready: bool = False, mine: bool = False,
        label: Sequence[str] = (), holder: str | None = None, text: str | None = None, waiting: bool = False,
        blocked: bool = False, archived: bool = False, limit: int | None = None, fresh: bool = False,
        offline: bool = False, agent_id: str | None = None, session: str | None = None,
    ) -> TodoList:  # grouped by meaning  # fmt: skip
        """Todos of one goal or of all goals, by priority, then age. Without `status`: those that have not ended.

        `ready`: todos that the agent could claim now (no agent is set: that any agent could claim). `holder`: todos
        that this agent holds. `text`: searched in title, alias, id and body, ignoring case. `waiting`: todos that
        wait for another todo or for a time. `blocked`: todos with that status. Raises UsageError for an unknown
        status, NotFound for an unknown goal.
        """
        if ready and (waiting or blocked):
            raise UsageError(
                f"--ready and --{'waiting' if waiting else 'blocked'} exclude each other: such a todo is not ready",
                hint="leave out --ready",
            )
        if blocked:
            status = (*status, Status.BLOCKED.value)
        for name in status:
            if name not in {item.value for item in Status} - {"archived"} | {"all"}:
                raise UsageError(
                    f"{name!r} is not a status",
                    hint="one of open, in_progress, blocked, needs_human, completed, superseded, cancelled, all",
                )
        (snapshot, reading), clocks = self._state(fresh=fresh, offline=offline), self._client.clocks()
        goals = resolve.goals(snapshot, goal_id)
        agent = agent_id or self._client.connection.settings.agent
        actor = self._client.connection.actor(agent_id, session) if ready and agent is not None else None
        found_by = None if text is None else text.casefold()
        if mine and agent is None:
            raise UsageError("--mine needs an agent", hint=resolve.who_acts(snapshot))
        found: list[TodoView] = []
        broken: list[InvalidState] = []
        passed: Counter[str] = Counter()
        for goal in goals:
            broken += snapshot.broken(goal)
            records = {item.todo: item for item in snapshot.records(goal) if isinstance(item, Lease)}
            unreadable = {str(error.todo_id) for error in broken}
            for todo in snapshot.todos(goal, archived=archived):
                wanted = not status or "all" in status or todo.status.value in status
                if not wanted or (not status and not archived and todo.status in TERMINAL):
                    continue
                if (label and not set(label) <= set(todo.labels)) or todo.id in unreadable:
                    continue
                if found_by is not None and not any(found_by in item.casefold() for item in _texts(todo)):
                    continue
                view = self._client.view_of(snapshot, todo, records.get(todo.id))
                if mine and view.holder != agent and agent not in todo.soft_claims:
                    continue
                if holder is not None and view.holder != holder:
                    continue
                view = replace(view, waits=waits_for(snapshot, todo, clocks))
                why = not_ready(snapshot, view, clocks) if ready else None
                if why is not None:
                    passed[why] += 1
                elif view.waits or not waiting:
                    found.append(view)
        found.sort(key=lambda view: (view.todo.priority, view.todo.created_at, view.todo.id))
        skipped: list[Skipped] = []
        if actor is not None and actor.is_agent:
            found, skipped = _claimable(self._client, snapshot, found, actor)
        nothing = _nothing(passed, len(skipped), agent) if ready and not found else ""
        shown = found if limit is None else found[:limit]
        return TodoList(shown, len(found) - len(shown), broken, reading, skipped, nothing)

    def short_ids(self) -> int:
        """How many hex digits (at least 4) distinguish every todo id in the last fetched state.

        Raises NotInitialised.
        """
        tip = self._client.connection.ledger.tip()
        ids = [] if tip is None else self._client.connection.ledger.snapshot(tip).all_ids()
        digits = [todo.removeprefix("todo_") for todo in ids]
        shared = (next(at for at in range(13) if one[: at + 1] != two[: at + 1]) for one, two in pairwise(digits))
        return max(4, max(shared, default=0) + 1)
