"""Cycles and chains, compared with the obvious slow definitions on small random graphs."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopx_git.core.graph import CycleError, chain, find_cycle

Graph = dict[str, list[str]]


class Edges:
    """A graph as a function, which counts how often each id is asked for."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.asked: list[str] = []

    def __call__(self, node: str) -> list[str]:
        self.asked.append(node)
        return self.graph.get(node, [])


@pytest.mark.parametrize(
    ("graph", "cycle"),
    [
        ({}, None),
        ({"a": ["b"], "b": ["c"]}, None),
        ({"a": ["b", "c"], "b": ["d"], "c": ["d"]}, None),  # two ways to d are not a cycle
        ({"a": ["a"]}, ["a", "a"]),
        ({"a": ["b"], "b": ["a"]}, ["a", "b", "a"]),
        ({"a": ["b"], "b": ["c"], "c": ["d"], "d": ["b"]}, ["b", "c", "d", "b"]),  # not through a
        ({"a": ["x", "b"], "b": ["c"], "c": ["a"]}, ["a", "b", "c", "a"]),
        ({"a": ["b", "c"], "b": ["b"], "c": ["c"]}, ["b", "b"]),  # the first in the order of the edges
        ({"b": ["b"]}, None),  # not reached from a
    ],
)
def test_find_cycle(graph: Graph, cycle: list[str] | None) -> None:
    assert find_cycle("a", Edges(graph)) == cycle


def test_long_chains_need_no_deep_stack() -> None:
    length = 50_000
    graph = {str(n): [str(n + 1)] for n in range(length)}
    assert find_cycle("0", Edges(graph)) is None
    graph[str(length)] = ["1"]
    cycle = find_cycle("0", Edges(graph))
    assert cycle == [*(str(n) for n in range(1, length + 1)), "1"]


def test_each_id_is_asked_for_once() -> None:
    layers = {f"{n}{side}": [f"{n + 1}a", f"{n + 1}b"] for n in range(200) for side in "ab"}
    edges = Edges(layers)
    assert find_cycle("0a", edges) is None
    assert len(edges.asked) == len(set(edges.asked)) == 401


def test_what_edges_raises_is_passed_on() -> None:
    graph = {"a": ("b",)}
    with pytest.raises(KeyError):
        find_cycle("a", graph.__getitem__)


GRAPH = st.dictionaries(st.sampled_from("abcdefg"), st.lists(st.sampled_from("abcdefgh"), max_size=4))


@given(GRAPH)
def test_a_cycle_is_found_exactly_when_one_can_be_reached(graph: Graph) -> None:
    reach = {node: set(graph.get(node, [])) for node in "abcdefgh"}
    for _ in range(8):
        reach = {node: seen.union(*(reach[other] for other in seen)) for node, seen in reach.items()}
    expected = any(node in reach[node] for node in {"a"} | reach["a"])
    edges = Edges(graph)
    cycle = find_cycle("a", edges)
    assert (cycle is not None) == expected
    assert len(edges.asked) == len(set(edges.asked))
    if cycle is not None:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1
        assert all(after in graph[before] for before, after in pairwise(cycle))


def test_chain() -> None:
    links = {"a": "b", "b": "c"}
    assert chain("a", links.get) == ["a", "b", "c"]
    assert chain("c", links.get) == ["c"]
    assert len(chain("0", lambda n: str(int(n) + 1) if int(n) < 50_000 else None)) == 50_001


@pytest.mark.parametrize(
    ("links", "cycle"),
    [
        ({"a": "a"}, ["a", "a"]),
        ({"a": "b", "b": "a"}, ["a", "b", "a"]),
        ({"a": "b", "b": "c", "c": "b"}, ["b", "c", "b"]),
    ],
)
def test_chain_refuses_a_circle(links: dict[str, str], cycle: list[str]) -> None:
    with pytest.raises(ValueError, match=" -> ".join(cycle)) as caught:
        chain("a", links.get)
    assert isinstance(caught.value, CycleError)
    assert caught.value.cycle == cycle


def test_a_long_circle_has_a_short_message() -> None:
    with pytest.raises(CycleError) as caught:
        chain("0", lambda n: str((int(n) + 1) % 1000))
    assert len(caught.value.cycle) == 1001
    assert str(caught.value).endswith("0 -> 1 -> 2 -> 3 -> ... -> 998 -> 999 -> 0")
