"""One agent of the demo, a process of its own: look, claim, work, complete, until nothing is left.

`python -m loopx_git.cli.demo.agent CLONE NAME SEED MARK`: tells what it does as JSON lines on standard output.
The first agent at its second claim makes the file MARK, stops in mid-work and waits to be killed.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time

from loopx_git.client.views import TodoView
from loopx_git.errors import Contention, HeldByAnother, NotAllowed, NotYourClaim
from loopx_git.sdk import LoopXClient

#: How long one todo's work takes, in seconds: between these.
WORK = (0.2, 0.6)
#: How long an idle agent waits before it looks again, in seconds.
IDLE = 0.3
#: Out of how many of the best todos an agent picks, so that eight do not all want the first.
FEW = 12


def tell(event: str, **facts: object) -> None:
    """Write one event as a JSON line to standard output."""
    sys.stdout.write(json.dumps({"event": event, "at": time.time(), **facts}) + "\n")
    sys.stdout.flush()


def main(clone: str, name: str, seed: int, mark: str) -> None:
    """Work until every todo has ended."""
    client, chance = LoopXClient(clone, agent=name), random.Random(seed)
    claims = 0
    while True:
        waiting = client.todo.list(fresh=True).todos
        if not waiting:
            break
        ready = client.todo.list(ready=True, offline=True).todos
        if not ready:
            time.sleep(IDLE * chance.uniform(0.5, 1.5))
            continue
        claimed = claim(client, chance.choice(ready[:FEW]))
        if claimed is None:
            continue
        claims += 1
        if claims == 2 and is_victim(mark):
            tell("stuck", todo=claimed.id, epoch=claimed.lease.lease.epoch)
            while True:
                time.sleep(60)
        work(client, claimed, chance)
    tell("done")


def is_victim(mark: str) -> bool:
    """True for the one agent that makes the file."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True


def claim(client: LoopXClient, wanted: TodoView) -> TodoView | None:
    """Try to claim one todo. A lost race is reported and costs nothing."""
    try:
        claimed = client.todo.claim(wanted.id)
    except HeldByAnother as error:
        tell("lost", todo=wanted.id, holder=error.holder, epoch=error.epoch)
        return None
    except (NotAllowed, Contention) as error:
        tell("refused", todo=wanted.id, why=error.message)
        return None
    lease = claimed.lease.lease
    tell(
        "claimed", todo=claimed.id, epoch=lease.epoch, title=claimed.todo.title, races=claimed.facts.get("losses", 0)
    )
    return claimed


def work(client: LoopXClient, claimed: TodoView, chance: random.Random) -> None:
    """Do the work, then complete the todo under the granted epoch."""
    time.sleep(chance.uniform(*WORK))
    epoch = claimed.lease.lease.epoch
    try:
        client.todo.complete(claimed.id, epoch=epoch, note=f"done by {client.connection.settings.agent}")
    except NotYourClaim as error:
        tell("fenced", todo=claimed.id, epoch=epoch, why=error.message)
        return
    tell("completed", todo=claimed.id, epoch=epoch)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
