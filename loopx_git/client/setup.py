"""`client.setup`: begin a ledger, and update a clone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from loopx_git.client.arguments import checked
from loopx_git.client.base import Namespace
from loopx_git.client.config import FILE, HERE, dump_file, load_file
from loopx_git.client.location import network_home_of
from loopx_git.core.commands import Init
from loopx_git.errors import InvalidState
from loopx_git.store.lock import write_file


@dataclass(frozen=True, slots=True)
class Initialised:
    """What `init` did. `created`: it began the ledger. `config`: "written", "kept", or "none" (a bare repository)."""

    ledger: str
    ref: str
    remote: str | None
    created: bool
    config: str
    config_text: str
    warnings: tuple[str, ...] = ()


@checked()
class Setup(Namespace):
    """Begin a ledger, join one, and follow it."""

    def init(self, *, dry_run: bool = False) -> Initialised:
        """Begin a ledger on the coordination ref, or join the one that is there; then write .loopx/config.toml if
        missing.

        It is safe to run twice, and from two clones at once: one creates, the other joins. Raises InvalidState when
        .loopx is not a plain folder, or when the configured ledger is not the one on the ref.
        """
        client, connection = self._client, self._client.connection
        settings, ledger = connection.settings, connection.ledger
        text_path = self._config_path()
        answer = client.submit([Init()], connection.actor(), dry_run=dry_run, words="init")
        created = answer.facts[0].get("created", False)
        if answer.tip is None:
            return Initialised("", settings.ref, _remote(settings.remote), created, "none", "")
        root = ledger.root(answer.tip)
        home = network_home_of(connection.repository, settings.remote)
        text = dump_file(settings.remote, settings.ref, root, home)
        config = "none"
        if text_path is not None:
            config = self._write_config(text_path, text, root, dry_run=dry_run)
        return Initialised(
            root, settings.ref, _remote(settings.remote), created, config, text, self._warnings(created)
        )

    def _config_path(self) -> str | None:
        top = self._client.connection.repository.top
        if top is None:
            return None
        path = os.path.join(top, FILE)
        folder = os.path.dirname(path)
        if os.path.islink(folder) or (os.path.exists(folder) and not os.path.isdir(folder)):
            raise InvalidState(
                f"{folder} is not a plain folder; loopx writes nothing through it", hint=f"ls -ld {folder}"
            )
        return path

    def _write_config(self, path: str, text: str, root: str, *, dry_run: bool) -> str:
        known = load_file(path)
        if known:
            pinned = known.get("coordination", {}).get("ledger")
            return "kept" if pinned == root else "incomplete"
        if dry_run:
            return "missing"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_file(path, text.encode("utf-8"))
        return "written"

    def _warnings(self, created: bool) -> tuple[str, ...]:
        if created and not self._client.connection.ledger.publisher.branches_elsewhere(10.0):
            return (
                "the remote had no branch yet; some hosts make the first one the default branch: push your code "
                "branch, then check the default branch in the host's settings",
            )
        return ()

    def sync(self) -> dict[str, Any]:
        """Fetch and check new operations: tip, ledger, remote, ref, number of operations fetched.

        Raises RemoteFailure when the remote cannot be read, InvalidState when a fetched commit is not legal.
        """
        client, connection = self._client, self._client.connection
        before = connection.ledger.tip()
        reading = client.read(fresh=True)
        objects = connection.ledger.objects
        new = objects.between(before, reading.tip, 10**9) if before != reading.tip else ()
        pin = connection.pin
        return {
            "tip": reading.tip,
            "ledger": None if pin is None else pin.ledger,
            "remote": _remote(connection.settings.remote),
            "ref": connection.settings.ref,
            "fetched": len(new),
            "warnings": list(reading.warnings),
        }

    def accept_tip(self, tip: str, reason: str) -> dict[str, Any]:
        """After the coordination ref was rewritten: accept its new tip.

        `tip` must be the full id of the remote's tip, whose history must be legal. `reason` is kept in accepted.log
        of this clone. Raises UsageError when `tip` is not a full id, NotAllowed when it is not the remote's tip,
        InvalidState when its history is not legal.
        """
        from loopx_git.client.recovery import accept  # rare

        accept(self._client, tip, reason)
        return self.sync()

    def adopt(self, *, dry_run: bool = False, discard: bool = False) -> dict[str, Any]:
        """Adopt what was merged or edited on the coordination ref outside the operations.

        New todos and edited fields are admitted as far as the rules allow; the rest is restored. `discard` admits
        nothing. Facts: adopted (False when the tip is a legal operation), admitted, undone (with reasons), tip,
        commit. Raises RemoteFailure when the coordination ref cannot be read.
        """
        from loopx_git.client.adoption import adopt  # rare

        return adopt(self._client.connection, self._client.connection.actor(), dry_run=dry_run, discard=discard)

    def publish(self) -> dict[str, Any]:
        """Move a ledger from this repository to the remote: remote, ref, ledger, tip, config.

        Raises UsageError when there is no remote, NotAllowed when the remote has another history on that ref.
        """
        from loopx_git.client.recovery import publish  # rare

        return publish(self._client)


def _remote(name: str) -> str | None:
    return None if name == HERE else name
