"""What one claim costs: each stored file is parsed once, and no JSON is made that nobody prints."""

from __future__ import annotations

import os
from collections import Counter
from types import ModuleType
from typing import Any

import pytest
from clones import Clone

from loopx_git.cli.main import main
from loopx_git.client.client import Client
from loopx_git.client.views import TodoView
from loopx_git.format import document, files, lease_record
from loopx_git.format.yaml_block import BlockLoader


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the texts that the YAML reader is given."""
    counted: Counter[str] = Counter()

    class Counting(BlockLoader):
        def __init__(self, source: str) -> None:
            counted[source] += 1
            super().__init__(source)

    monkeypatch.setattr(document, "BlockLoader", Counting)
    document._handler.cache_clear()
    document._source.cache_clear()
    return counted


def test_a_claim_parses_every_version_of_a_file_once(alice: Clone, parsed: Counter[str]) -> None:
    todo = alice.add("first", "--alias", "first")
    assert Client(alice.path, alice.env, {"agent": "alice"}).todo.claim("first").acquired
    assert set(parsed.values()) == {1}
    # The goal, the peer, the todo as it was, and as the claim leaves it.
    kinds = Counter("todo" if f"id: {todo}\n" in text else text.split(":")[0] for text in parsed)
    assert kinds == {"todo": 2, "---\nid": 1, "---\nagent": 1}


def test_a_claim_makes_every_item_once(alice: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """The todo and its lease record before and after, and the claim that is held beside it: each version once."""
    alice.add("first", "--alias", "first", "--scope", "first")
    alice.add("second", "--alias", "second", "--scope", "second")
    client = Client(alice.path, alice.env, {"agent": "alice"})
    assert client.todo.claim("second").acquired
    made: Counter[str] = Counter()
    for module, name in ((files, "load_todo"), (files, "load_peer"), (files, "load_goal"), (lease_record, "load")):
        _count(monkeypatch, module, name, made)
    assert client.todo.claim("first").acquired
    # The claim before read the peer, the goal and every alias. New are the todo and the record that this one leaves.
    assert made == {"load_todo": 1, "load": 1}
    made.clear()
    client = Client(alice.path, alice.env, {"agent": "alice"})
    assert client.todo.release("first").lease.holder is None
    assert made == {"load_todo": 3, "load": 3, "load_goal": 1}


def _count(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, made: Counter[str]) -> None:
    load = getattr(module, name)

    def counting(*given: Any, **more: Any) -> Any:
        made[name] += 1
        return load(*given, **more)

    monkeypatch.setattr(module, name, counting)


@pytest.mark.parametrize(("flags", "made"), [((), 0), (("--json",), 1)])
def test_only_json_output_makes_json(
    alice: Clone, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], made: int
) -> None:
    alice.add("first", "--alias", "first")
    asked: list[str] = []
    as_json = TodoView.as_json

    def counting(view: TodoView) -> dict[str, Any]:
        asked.append(view.id)
        return as_json(view)

    monkeypatch.setattr(TodoView, "as_json", counting)
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in alice.env.items():
        monkeypatch.setenv(name, value)
    assert main(["-C", str(alice.path), "todo", "claim", "first", "--agent", "alice", *flags]) == 0
    assert len(asked) == made
