"""The asyncio face: hold and next in tasks, and what becomes of a task whose claim is lost."""

from __future__ import annotations

import asyncio

import pytest
from clones import Clone

from loopx_git import HeldByAnother, LoopXClient, NotFound, NotYourClaim


def client(clone: Clone, agent: str = "alice") -> LoopXClient:
    return LoopXClient(clone.path, agent=agent, env=clone.env)


def test_hold_and_complete(alice: Clone) -> None:
    todo = alice.add("held")

    async def work() -> int:
        async with client(alice).aio.hold(todo, ttl=60) as held:
            await asyncio.sleep(0.01)
            held.claim.checkpoint()
            await held.complete("done")
            return held.claim.epoch

    assert asyncio.run(work()) == 1
    assert alice.show(todo)["todo"]["status"] == "completed"


def test_the_event_loop_goes_on_while_the_remote_is_asked(alice: Clone) -> None:
    alice.add("picked")

    async def work() -> tuple[str, int]:
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                beats += 1
                await asyncio.sleep(0.001)

        beating = asyncio.create_task(beat())
        picked = await client(alice).aio.next(claim=True)
        beating.cancel()
        with pytest.raises(NotFound):
            await client(alice).aio.next(claim=True, agent_id="bob")
        return picked.view.todo.title, beats

    title, beats = asyncio.run(work())
    assert title == "picked"
    assert beats > 3


def test_an_error_in_the_block_releases(alice: Clone) -> None:
    todo = alice.add("fails")

    async def work() -> None:
        async with client(alice).aio.hold(todo):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(work())
    assert alice.show(todo)["lease"]["holder"] is None


def test_a_lost_claim_cancels_the_block_and_nothing_else(alice: Clone, bob: Clone) -> None:
    todo = alice.add("lost")

    async def work() -> str:
        try:
            async with client(alice).aio.hold(todo, ttl=3):
                await asyncio.to_thread(
                    bob.run, "todo", "release", todo, "--force", "--reason", "wedged", agent="bob"
                )
                await asyncio.sleep(60)
        except NotYourClaim as error:
            await asyncio.sleep(0)  # the task itself goes on
            return error.message
        return "not noticed"

    assert todo in asyncio.run(work())


def test_a_cancelled_task_releases(alice: Clone) -> None:
    todo = alice.add("cancelled")

    async def work() -> None:
        async def hold() -> None:
            async with client(alice).aio.hold(todo):
                entered.set()
                await asyncio.sleep(60)

        entered = asyncio.Event()
        task = asyncio.create_task(hold())
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        early = asyncio.create_task(hold())
        await asyncio.sleep(0)
        early.cancel()
        with pytest.raises(asyncio.CancelledError):
            await early

    asyncio.run(work())
    assert alice.show(todo)["lease"]["holder"] is None


def test_what_somebody_else_holds(alice: Clone, bob: Clone) -> None:
    todo = alice.add("held")
    bob.run("todo", "claim", todo, agent="bob")

    async def work() -> None:
        async with client(alice).aio.hold(todo):
            raise AssertionError("not granted")

    with pytest.raises(HeldByAnother):
        asyncio.run(work())
