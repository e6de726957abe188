"""`validate`: a todo's own check. It runs before completion, and only if the reviewed branch allows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loopx_git.client.base import BaseClient
from loopx_git.client.config import FILE, allow_of, parse_tables
from loopx_git.client.lease_renewer import LeaseRenewer
from loopx_git.core.change import Actor
from loopx_git.core.plan_todo import NeedsValidation
from loopx_git.errors import About, NotAllowed
from loopx_git.store.user_command import watched

#: How long a check may take, in seconds.
TIMEOUT = 3600.0


def allowed(client: BaseClient) -> tuple[tuple[tuple[str, ...], ...], str]:
    """(the commands in `[validate] allow` of the code branch, the revision that was read)."""
    data, name = client.connection.reviewed(FILE)
    if data is None:
        return (), name
    return allow_of(parse_tables(data, f"{FILE} of {name}"), FILE), name


def validate(
    client: BaseClient, needed: NeedsValidation, actor: Actor, sink: Callable[[bytes], None], timeout: float = TIMEOUT
) -> None:
    """Run the todo's check, and renew its lease meanwhile.

    Raises NotAllowed when the check may not run or fails, NotYourClaim as soon as the claim is lost.
    """
    argv, lease = needed.argv, needed.lease
    known, where = allowed(client)
    about: About = {"todo_id": lease.todo, "validate": list(argv)}
    if argv not in known:
        raise NotAllowed(
            f"{lease.todo} is to be checked by {_shown(argv)}, "
            f"which [validate] allow in {FILE} of {where} does not name",
            hint="have it added there, by a commit that is reviewed; look: git loopx config show",
            about=about,
        )
    repository = client.connection.repository
    claim = {"LOOPX_TODO": lease.todo, "LOOPX_EPOCH": str(lease.epoch), "LOOPX_AGENT": actor.name}
    folder, env = repository.top or repository.cwd, {**client.connection.env, **claim}
    with LeaseRenewer(client, lease, session=actor.session) as renewer:
        done = watched(argv, cwd=folder, env=env, timeout=timeout, tick=renewer.checkpoint, sink=sink)
    client.connection.begin_again()
    if done.timed_out:
        raise NotAllowed(
            f"{_shown(argv)} did not end within {timeout:.0f} s and was stopped; {lease.todo} stays as it was",
            hint="fix what it reports, then complete the todo again",
            about=about,
        )
    if done.code:
        how = f"was ended by signal {-done.code}" if done.code < 0 else f"ended with {done.code}"
        last = done.tail.decode("utf-8", "replace").strip().splitlines()[-5:]
        raise NotAllowed(
            f"{_shown(argv)} {how}; {lease.todo} stays as it was" + (": " + " | ".join(last) if last else ""),
            hint="fix what it reports, then complete the todo again",
            about={**about, "exit": done.code},
        )


def _shown(argv: Sequence[str]) -> str:
    return "'" + " ".join(argv)[:200] + "'"
