"""Loops and ticks as lines for people."""

from __future__ import annotations

from datetime import datetime

from loopx_git.cli.output import relative, safe
from loopx_git.client.loop_state import LoopView
from loopx_git.client.tick import Tick


def loop_line(view: LoopView, now: datetime) -> str:
    """`nightly  running  12 ticks  last 5 min ago  todo_ab12cd34ef56 (epoch 3)`."""
    loop = view.loop
    last = "never ticked" if loop.last_tick is None else f"last {relative(loop.last_tick, now)}"
    task = "no task"
    if loop.current_task is not None:
        task = f"{loop.current_task} (" + (f"epoch {view.claim.lease.epoch})" if view.claim else "not held any more)")
    return f"{safe(loop.name):20}  {loop.status:8}  {loop.iterations:5} ticks  {last:18}  {task}"


def tick_words(ticked: Tick) -> str:
    """What a tick did: `SKIP why`, or the result."""
    if ticked.skipped:
        return f"SKIP {ticked.skipped}" + (f": {safe(ticked.detail)}" if ticked.detail else "")
    end = f"{ticked.task} has ended and is released" if ticked.released else f"{ticked.task} continues"
    return f"loopx: tick {ticked.loop.loop.iterations}: the command ended with {ticked.code}; {end}"
