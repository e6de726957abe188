"""Among which todos `next --claim` draws: equals of the best priority, and more after lost races."""

from __future__ import annotations

import pytest
from builders import todo_of

from loopx_git.core.query import contended, ranked


@pytest.mark.parametrize(
    ("priorities", "lost", "among"),
    [
        ((0, 1, 2, 3, 4), 0, 1),
        ((0, 0, 0, 1, 1), 0, 3),
        ((2, 2, 2, 2), 0, 4),
        ((0, 1, 2, 3, 4), 1, 2),
        ((0, 1, 2, 3, 4), 2, 4),
        ((0, 1, 2, 3, 4), 9, 5),
        ((0, 0, 0, 1, 1), 1, 3),
        ((0,), 5, 1),
    ],
)
def test_drawn_among(priorities: tuple[int, ...], lost: int, among: int) -> None:
    fits = [todo_of(number, priority=priority) for number, priority in enumerate(priorities)]
    assert list(contended(fits, lost, "alice")) == fits[:among]


def test_what_others_have_a_soft_claim_of_is_no_equal() -> None:
    fits = [todo_of(1), todo_of(2, soft_claims=("alice",)), todo_of(3, soft_claims=("bob",)), todo_of(4, priority=3)]
    assert ranked(reversed(fits), "alice") == fits
    assert list(contended(fits, 0, "alice")) == fits[:2]
    assert list(contended(fits[2:], 0, "alice")) == fits[2:3]
