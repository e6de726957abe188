"""The tree layout: each path has one meaning, and every other path is foreign."""

from __future__ import annotations

import pytest
from builders import tid
from hypothesis import given
from hypothesis import strategies as st

from loopx_git.errors import InvalidState
from loopx_git.format import layout
from loopx_git.format.layout import PathKind, PathParts, parse

TODO = "todo_ab12cd34ef56"
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)
goals = st.from_regex(r"[a-z0-9][a-z0-9-]{0,62}", fullmatch=True)
todos = st.integers(0, 2**48 - 1).map(tid)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (".loopx/format", PathParts(PathKind.FORMAT)),
        (".loopx/policy.toml", PathParts(PathKind.POLICY)),
        (".loopx/peers/codex-1.md", PathParts(PathKind.PEER, name="codex-1")),
        (".loopx/peers/a.md.md", PathParts(PathKind.PEER, name="a.md")),
        (".loopx/goals/main/goal.md", PathParts(PathKind.GOAL, "main")),
        (f".loopx/goals/main/todos/ab/{TODO}.md", PathParts(PathKind.TODO, "main", TODO)),
        (f".loopx/goals/main/archive/ab/{TODO}.md", PathParts(PathKind.ARCHIVED, "main", TODO)),
        (f".loopx/goals/main/leases/ab/{TODO}.json", PathParts(PathKind.LEASE, "main", TODO)),
    ],
)
def test_the_paths_of_the_format(path: str, place: PathParts) -> None:
    assert parse(path) == place


@given(goals, todos, names)
def test_paths_are_read_back_alike(goal: str, todo: str, name: str) -> None:
    assert parse(layout.todo(goal, todo)) == PathParts(PathKind.TODO, goal, todo)
    assert parse(layout.todo(goal, todo, archived=True)) == PathParts(PathKind.ARCHIVED, goal, todo)
    assert parse(layout.lease(goal, todo)) == PathParts(PathKind.LEASE, goal, todo)
    assert parse(layout.goal(goal)) == PathParts(PathKind.GOAL, goal)
    assert parse(layout.peer(name)) == PathParts(PathKind.PEER, name=name)


def test_shards_are_the_first_two_digits() -> None:
    assert layout.shard(TODO) == "ab"
    assert layout.lease("main", TODO).split("/")[-2] == "ab"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "README.md",
        ".loopx",
        ".loopx/",
        ".loopx/format/",
        ".loopx/Format",
        "/.loopx/format",
        "./.loopx/format",
        ".loopx/../.loopx/format",
        ".LOOPX/format",
        ".loopx/config.toml",
        ".loopx/peers/x",
        ".loopx/peers/.md",
        ".loopx/peers/-x.md",
        ".loopx/peers/a b.md",
        ".loopx/peers/a/b.md",
        ".loopx/peers/..md",
        ".loopx/peers/x\x00.md",
        ".loopx/peers/é.md",
        ".loopx/goals/main",
        ".loopx/goals/Main/goal.md",
        ".loopx/goals/../goal.md",
        ".loopx/goals/main/Goal.md",
        ".loopx/goals/main/goal.md/x",
        f".loopx/goals/main/todos/{TODO}.md",
        f".loopx/goals/main/todos/cd/{TODO}.md",
        f".loopx/goals/main/todos/AB/{TODO}.md",
        f".loopx/goals/main/todos/ab/{TODO}.json",
        f".loopx/goals/main/todos/ab/{TODO}.md.md",
        ".loopx/goals/main/todos/ab/todo_AB12CD34EF56.md",
        ".loopx/goals/main/todos/ab/.git",
        f".loopx/goals/main/todos/ab/x/{TODO}.md",
        f".loopx/goals/main/leases/ab/{TODO}.md",
        f".loopx/goals/main/leases/xx/{TODO}.json",
        f".loopx/goals/main/done/ab/{TODO}.md",
        f".loopx\\goals\\main\\todos\\ab\\{TODO}.md",
        ".git/config",
        ".loopx/.git/config",
        "x" * 5000,
    ],
)
def test_a_foreign_path(path: str) -> None:
    with pytest.raises(InvalidState, match="not a path of this format") as caught:
        parse(path)
    assert len(caught.value.message) < 400
    assert caught.value.about["file"].startswith(path[:100])
