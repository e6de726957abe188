"""A commit that the check of our own commits refuses leaves nothing of the earlier tries of its request behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from builders import ALICE, BOB, World, tid

from loopx_git.core.change import ChangeSet
from loopx_git.core.commands import OnTodo
from loopx_git.core.table import Operation
from loopx_git.errors import InternalError
from loopx_git.store.base import Pushed


def test_a_refused_try_after_a_lost_race_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(2).begin(todos=2)
    slow, quick = world.clones
    push: Callable[..., Pushed] = slow.publisher.push
    anchored: list[dict[str, str]] = []

    def late(*args: Any) -> Pushed:
        anchored.append(dict(slow.publisher.anchors))
        if len(anchored) == 1:
            quick.on(Operation.CLAIM, 1, BOB)
        return push(*args)

    monkeypatch.setattr(slow.publisher, "push", late)
    job = slow.job([OnTodo(Operation.CLAIM, tid(0))], ALICE)
    tries: list[tuple[ChangeSet, ...]] = []

    def decide(*args: Any) -> Any:
        planned = job.decide(*args)
        assert isinstance(planned, tuple)
        tries.append(planned)
        # The first try is legal and loses its race; the second disagrees with the lease that it writes.
        return planned if len(tries) == 1 else tuple(replace(change, epoch=5) for change in planned)

    with pytest.raises(InternalError, match="nothing was pushed"):
        slow.ledger.submit(replace(job, decide=decide))
    assert (len(tries), len(anchored), len(anchored[0])) == (2, 1, 1)
    assert (slow.publisher.anchors, slow.pending.records) == ({}, {})
    assert world.lease(0) is None
    assert world.faults() == []
