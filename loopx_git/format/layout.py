"""The tree layout: which path holds what, and back. Every path segment is checked; an unknown path is foreign."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from loopx_git.core import ids
from loopx_git.errors import InvalidState

ROOT = ".loopx"
FORMAT = f"{ROOT}/format"
POLICY = f"{ROOT}/policy.toml"
PEERS = f"{ROOT}/peers"
LOOPS = f"{ROOT}/loops"
GOALS = f"{ROOT}/goals"


class PathKind(StrEnum):
    """What is stored at a path."""

    FORMAT = "format"
    POLICY = "policy"
    PEER = "peer"
    LOOP = "loop"
    GOAL = "goal"
    TODO = "todo"
    ARCHIVED = "archived"
    LEASE = "lease"


@dataclass(frozen=True, slots=True)
class PathParts:
    """What is stored at a path: its kind, and the ids in the path."""

    kind: PathKind
    goal: str = ""
    name: str = ""


def peer(agent: str) -> str:
    """The path of a peer file."""
    return f"{PEERS}/{agent}.md"


def loop(name: str) -> str:
    """The path of a loop's record."""
    return f"{LOOPS}/{name}.json"


def goal(goal_id: str) -> str:
    """The path of a goal file."""
    return f"{GOALS}/{goal_id}/goal.md"


def todo_folder(goal_id: str, *, archived: bool) -> str:
    """The folder of a goal's todo files."""
    return f"{GOALS}/{goal_id}/{'archive' if archived else 'todos'}"


def lease_folder(goal_id: str) -> str:
    """The folder of a goal's lease records."""
    return f"{GOALS}/{goal_id}/leases"


def shard(todo_id: str) -> str:
    """The first two hex digits: 256 folders keep a commit small at 100,000 todos."""
    return todo_id[5:7]


def todo(goal_id: str, todo_id: str, *, archived: bool = False) -> str:
    """The path of a todo file."""
    return f"{todo_folder(goal_id, archived=archived)}/{shard(todo_id)}/{todo_id}.md"


def lease(goal_id: str, todo_id: str) -> str:
    """The path of a lease record."""
    return f"{lease_folder(goal_id)}/{shard(todo_id)}/{todo_id}.json"


def parse(path: str) -> PathParts:
    """The kind and ids of a path of this format. Raises InvalidState for any other path."""
    if path == FORMAT:
        return PathParts(PathKind.FORMAT)
    if path == POLICY:
        return PathParts(PathKind.POLICY)
    parts = path.split("/")
    match parts:
        case [".loopx", "peers", file] if file.endswith(".md") and ids.is_valid("agent", file[:-3]):
            return PathParts(PathKind.PEER, name=file[:-3])
        case [".loopx", "loops", file] if file.endswith(".json") and ids.is_valid("agent", file[:-5]):
            return PathParts(PathKind.LOOP, name=file[:-5])
        case [".loopx", "goals", goal_id, "goal.md"] if ids.is_valid("goal", goal_id):
            return PathParts(PathKind.GOAL, goal=goal_id)
        case [".loopx", "goals", goal_id, folder, _, file] if ids.is_valid("goal", goal_id):
            for name, ending, kind in (
                ("todos", ".md", PathKind.TODO),
                ("archive", ".md", PathKind.ARCHIVED),
                ("leases", ".json", PathKind.LEASE),
            ):
                todo_id = file.removesuffix(ending)
                if folder == name and file.endswith(ending) and ids.is_valid("todo", todo_id):
                    if parts[4] == shard(todo_id):
                        return PathParts(kind, goal_id, todo_id)
                    break
    shown = path if len(path) <= 120 else path[:117] + "..."
    raise InvalidState(f"{shown!r} is not a path of this format", hint="git loopx verify", about={"file": shown})
