"""The two audited ways to change which history a clone follows: accept a rewritten tip, publish a local ledger."""

from __future__ import annotations

import json
import os
from typing import Any

from loopx_git.client import location
from loopx_git.client.base import BaseClient
from loopx_git.client.config import HERE, dump_file
from loopx_git.core import ids
from loopx_git.core.times import format_time
from loopx_git.core.todo import bad_line
from loopx_git.errors import Contention, InvalidState, LoopXError, NotAllowed, RemoteFailure, UsageError
from loopx_git.ledger.validation import FIRST_CHECK, Checker
from loopx_git.store.base import Pushed, PushKind
from loopx_git.store.lock import locked


def accept(client: BaseClient, tip: str, reason: str) -> None:
    """Accept `tip`, which must be the remote's current tip and a legal history."""
    if not ids.OID.fullmatch(tip):
        raise UsageError(
            f"{tip[:60]!r} is not a full commit id", hint="--accept-tip takes the 40 digits that exit 16 names"
        )
    bad = bad_line(reason, 300)
    if bad:
        raise UsageError(f"the reason {bad}", hint="--reason TEXT")
    connection = client.connection
    ledger = connection.ledger
    publisher, home = ledger.publisher, connection.repository.home
    with locked(home, connection.left):
        known = publisher.known_tip()
        shown = publisher.fetch(connection.left).read()
        if shown != tip:
            raise NotAllowed(f"the remote's tip is {shown or 'absent'}, not {tip}", hint="look again: git loopx sync")
        for fault in ledger.faults(tip, FIRST_CHECK):
            raise fault.error()
        root = ledger.root(tip)
        at, by = format_time(client.clocks().now), connection.actor().name
        line = {"at": at, "from": known, "to": tip, "reason": reason, "by": by, "ledger": root}
        path = os.path.join(home, "accepted.log")
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        publisher.accept(tip)
        pin = connection.pin
        if pin is not None and pin.ledger != root:
            connection.store_pin(root)


def publish(client: BaseClient) -> dict[str, Any]:
    """Push the local ledger to the remote, where the ref must be absent, and coordinate there from then on."""
    connection = client.connection
    repository, settings = connection.repository, connection.settings
    pin = location.load(repository)
    if pin is None or pin.home != HERE:
        raise NotAllowed("this clone's ledger does not live in this repository alone", hint="git loopx config show")
    if settings.remote == HERE:
        raise UsageError("there is no remote to publish to", hint="git remote add origin URL, or: --remote NAME")
    if settings.ref != pin.ref:
        raise InvalidState(f"the ledger's ref is {pin.ref}", hint=f"git config loopx.ref {pin.ref}")
    with locked(repository.home, connection.left):
        publisher = connection.open_remote()
        local = repository.resolve(pin.ref)
        if local is None:
            raise InvalidState(f"{pin.ref} is not in this repository any more", hint="git branch --all")
        args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", repository.common_dir]
        copied = publisher.own.git([*args, f"+{pin.ref}:refs/loopx/published"], connection.left)
        if copied.code:
            raise InvalidState(f"the ledger could not be copied: {copied.complaint}", hint="git fsck")
        for fault in Checker(publisher.objects, {}).walk(None, local, 10**9):
            raise fault.error()
        shown = publisher.fetch(connection.left).read("the remote")
        if shown is not None and shown != local:
            raise NotAllowed(
                f"{pin.ref} exists on {settings.remote} already, at {shown}",
                hint="join that ledger in a fresh clone, or: git config loopx.ref REF",
            )
        if shown is None:
            pushed = publisher.push(None, local, connection.left)
            if pushed.kind is not PushKind.LANDED:
                raise not_taken("the remote", pushed)
        publisher.accept(local)
        connection.store_pin(pin.ledger)
    home = location.network_home_of(repository, settings.remote)
    return {
        "remote": settings.remote,
        "ref": pin.ref,
        "ledger": pin.ledger,
        "tip": local,
        "config": dump_file(settings.remote, pin.ref, pin.ledger, home),
    }


def not_taken(what: str, pushed: Pushed) -> LoopXError:
    """The error of a push that did not land: another was faster, or the remote is unreachable or refuses."""
    if pushed.kind in (PushKind.LOST, PushKind.REJECTED):
        return Contention(f"{what} did not take it: {pushed.said}", hint="run the same command again")
    return RemoteFailure(
        f"{what} did not take it: {pushed.said}", hint="git ls-remote; then run the same command again"
    )
