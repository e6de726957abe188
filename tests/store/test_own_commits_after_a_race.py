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
from loopx_git.store import driver
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


@pytest.mark.parametrize("where", ["planning", "encoding"])
@pytest.mark.parametrize("error", [AssertionError, TypeError, ValueError, KeyError], ids=lambda error: error.__name__)
@pytest.mark.parametrize("number", [1, 2], ids=["first", "after a lost race"])
def test_an_error_that_nobody_meant_is_a_bug_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, where: str, error: type[Exception], number: int
) -> None:
    world = World(2).begin(todos=2)
    slow, quick = world.clones
    push: Callable[..., Pushed] = slow.publisher.push
    pushes: list[int] = []

    def late(*args: Any) -> Pushed:
        pushes.append(1)
        if len(pushes) == 1:
            quick.on(Operation.CLAIM, 1, BOB)
        return push(*args)

    monkeypatch.setattr(slow.publisher, "push", late)
    job = slow.job([OnTodo(Operation.CLAIM, tid(0))], ALICE)
    tries: list[int] = []

    def decide(*args: Any) -> Any:
        tries.append(1)
        if len(tries) < number:
            return job.decide(*args)
        if where == "planning":
            raise error("nobody thought of it")
        planned = job.decide(*args)
        assert isinstance(planned, tuple)

        def broken(*args: Any) -> Any:
            raise error("nobody thought of it")

        monkeypatch.setattr(driver, "encode", broken)
        return planned

    with pytest.raises(InternalError, match="nobody thought of it") as caught:
        slow.ledger.submit(replace(job, decide=decide))
    assert isinstance(caught.value.__cause__, error)
    # A plan on the tip as it was known is made again on a fresh one before anything is answered.
    assert len(tries) == number + (where == "planning" and number == 1)
    assert len(pushes) == number - 1
    assert (slow.publisher.anchors, slow.pending.records) == ({}, {})
    assert world.lease(0) is None
    assert world.faults() == []
