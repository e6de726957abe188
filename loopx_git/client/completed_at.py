"""Where the work stands when its todo is completed: the claim covers what was committed by then."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from loopx_git.core import resolve
from loopx_git.core.ids import OID
from loopx_git.core.times import format_time
from loopx_git.errors import LoopXError

if TYPE_CHECKING:
    from loopx_git.client.base import BaseClient
    from loopx_git.core.change import Actor

#: How many commits that name the claim are looked at, and how many separate lines of work are told.
_LOOKED_AT = 50
_LINES_MAX = 6


def completed_at(client: BaseClient, todo_id: str, goal_id: str | None, actor: Actor) -> str | None:
    """`HEAD@<commit>`, for the trailer Loopx-Code: the newest commit of this clone that names the caller's claim,
    else the one that is checked out. Further lines of work under the claim stand before the `@`, each after a `+`.

    None where the caller has no claim, and where the clone has no commit.
    """
    repository = client.connection.repository
    try:
        snapshot = client.snapshot(client.read_known())
        goal, todo = resolve.todo(snapshot, todo_id, goal_id)
        lease = snapshot.lease(goal, todo)
    except LoopXError:
        # What is wrong with it is said on the tip that is planned on.
        return None
    if lease is None or lease.holder != actor.name or lease.acquired_at is None:
        return None
    head = repository.resolve("HEAD")
    # A clock may have been wrong by a day. The date only ends the search.
    since = format_time(lease.acquired_at - timedelta(days=1))
    coordination = client.connection.settings.ref
    short = coordination.removeprefix("refs/heads/")
    asked = repository.git([
        "log", f"--max-count={_LOOKED_AT}", "--format=%H", f"--since={since}", "-E", "-i",
        f"--grep=loopx-claim *: *{todo}@{lease.epoch}([^0-9]|$)",
        f"--exclude={coordination}", "--glob=refs/heads", f"--exclude=refs/remotes/*/{short}", "--glob=refs/remotes",
        *([head] if head is not None else []), "--",
    ])  # fmt: skip
    found = [oid for oid in asked.text.split() if OID.fullmatch(oid)] if asked.code == 0 else []
    if len(found) > 1:
        ends = repository.git(["merge-base", "--independent", *found])
        apart = set(ends.text.split()) if ends.code == 0 else set(found[:1])
        found = [oid for oid in found if oid in apart][:_LINES_MAX]
    if not found:
        return None if head is None else f"HEAD@{head}"
    return f"{'+'.join(['HEAD', *found[1:]])}@{found[0]}"


def commits_of(code: str | None) -> tuple[str, ...]:
    """The commits that a Loopx-Code trailer names."""
    if code is None:
        return ()
    name, _, newest = code.rpartition("@")
    return (newest, *(part for part in name.split("+")[1:] if OID.fullmatch(part)))
