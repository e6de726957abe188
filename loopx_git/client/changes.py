"""What one operation changed: each field's old and new value, read from the trees before and after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from loopx_git.client.views import goal_json, peer_json, todo_json
from loopx_git.core.policy import KEYS, get
from loopx_git.errors import InvalidState
from loopx_git.format import layout
from loopx_git.format.layout import PathKind, PathParts
from loopx_git.ledger.commits import Commit
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.store.ledger import Ledger

_Read = Callable[[TreeSnapshot, PathParts], Mapping[str, Any] | None]


def changes(ledger: Ledger, commit: Commit) -> list[dict[str, Any]]:
    """The changed fields of todos, goals, peers and the policy: of (an id, `goal G`, `peer P`, `policy`), field,
    from, to.

    What is new or archived has no changes. A body is given by its length, notes by their number. A state that cannot
    be read, or that lies before a shallow history begins, gives no changes.
    """
    if not commit.parents:
        return []
    try:
        paths = ledger.objects.changed(commit.parents[0], commit.oid)
        before, after = (ledger.snapshot(oid) for oid in (commit.parents[0], commit.oid))
        # A todo is the same in the archive.
        places = dict.fromkeys(
            replace(place, kind=PathKind.TODO) if place.kind is PathKind.ARCHIVED else place
            for place in map(layout.parse, paths)
        )
        return [change for place in places for change in _of_place(before, after, place)]
    except InvalidState:
        return []


def _of_place(before: TreeSnapshot, after: TreeSnapshot, place: PathParts) -> list[dict[str, Any]]:
    if place.kind not in _READ:
        return []
    read, called = _READ[place.kind]
    old, new = read(before, place), read(after, place)
    if old is None or new is None:
        return []
    return [
        {"of": called.format(goal=place.goal, name=place.name), "field": name, "from": old[name], "to": new[name]}
        for name in new
        if old[name] != new[name]
    ]


def _todo(snapshot: TreeSnapshot, place: PathParts) -> Mapping[str, Any] | None:
    if place.goal not in snapshot.goals_of(place.name):
        return None
    todo = snapshot.todo(place.goal, place.name)
    return {**todo_json(todo), "body": f"{len(todo.body)} characters", "notes": len(todo.notes)}


def _goal(snapshot: TreeSnapshot, place: PathParts) -> Mapping[str, Any] | None:
    goal = snapshot.goal(place.goal)
    return None if goal is None else goal_json(goal)


def _peer(snapshot: TreeSnapshot, place: PathParts) -> Mapping[str, Any] | None:
    peer = snapshot.peer(place.name)
    return None if peer is None else peer_json(peer)


def _policy(snapshot: TreeSnapshot, _: PathParts) -> Mapping[str, Any]:
    return {name: get(snapshot.policy, name) for name in KEYS}


#: kind of file -> (the function that reads its fields, its name in the answer).
_READ: Mapping[PathKind, tuple[_Read, str]] = {
    PathKind.TODO: (_todo, "{name}"),
    PathKind.GOAL: (_goal, "goal {goal}"),
    PathKind.PEER: (_peer, "peer {name}"),
    PathKind.POLICY: (_policy, "policy"),
}
