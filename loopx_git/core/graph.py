"""Walks over the links between todos: dependencies (many for each) and successors (at most one).

The graph is a function from an id to the ids that it points at, asked once for each id. Nothing here
recurses: stored data may hold chains of any length, and cycles, whatever the rules of writing say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


class CycleError(ValueError):
    """The links form a cycle; `cycle` ends with its first id."""

    def __init__(self, cycle: list[str]) -> None:
        shown = cycle if len(cycle) <= 8 else [*cycle[:4], "...", *cycle[-3:]]
        super().__init__(f"the links go round in a circle: {' -> '.join(shown)}")
        self.cycle = cycle


def find_cycle(start: str, edges: Callable[[str], Iterable[str]]) -> list[str] | None:
    """The first cycle found from start, depth first and in the order of the edges, or None.

    The cycle lists its ids in the direction of the edges and ends with its first id. It need not contain start.
    `edges` should return nothing for an unknown id; what `edges` raises is passed on.
    """
    path = [start]
    place = {start: 0}
    done: set[str] = set()
    ahead: list[Iterator[str]] = [iter(edges(start))]
    while ahead:
        following = next(ahead[-1], None)
        if following is None:
            ahead.pop()
            left = path.pop()
            del place[left]
            done.add(left)
        elif following in place:
            return [*path[place[following] :], following]
        elif following not in done:
            place[following] = len(path)
            path.append(following)
            ahead.append(iter(edges(following)))
    return None


def chain(start: str, next: Callable[[str], str | None]) -> list[str]:
    """The ids from start to the last one, each the `next` of the one before it; None ends the chain.

    Raises CycleError, a ValueError, with the cycle when an id comes a second time.
    """
    place: dict[str, int] = {}
    current: str | None = start
    while current is not None:
        if current in place:
            raise CycleError([*list(place)[place[current] :], current])
        place[current] = len(place)
        current = next(current)
    return list(place)
