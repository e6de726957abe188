"""`client.history`: the log of operations, and its verification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from loopx_git.client.arguments import checked
from loopx_git.client.base import Namespace
from loopx_git.client.changes import changes
from loopx_git.client.config import SIGNERS
from loopx_git.client.views import Reading
from loopx_git.core import resolve
from loopx_git.core.times import format_time
from loopx_git.errors import InvalidState
from loopx_git.format import layout, message, version
from loopx_git.ledger.commits import Commit, Unreadable, newest_first
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.ledger.validation import check_state
from loopx_git.store.ledger import not_initialised


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of checking the whole history: `commits` checked, `findings` as (commit, rule, message).

    `complete` is False in a shallow clone, where the oldest part could not be checked.
    """

    commits: int
    findings: Sequence[dict[str, str]]
    tip: str
    ledger: str
    complete: bool = True

    @property
    def ok(self) -> bool:
        """True when nothing was found."""
        return not self.findings


@checked()
class History(Namespace):
    """The history of operations, and the proof that each one was legal."""

    def log(
        self, *, limit: int | None = 50, todo_id: str | None = None, agent: str | None = None,
        goal_id: str | None = None, op: str | None = None, since: datetime | None = None, fresh: bool = False,
        offline: bool = False,
    ) -> tuple[list[dict[str, Any]], Reading]:  # grouped by meaning  # fmt: skip
        """Operations, newest first.

        An entry has commit, time, op, goal, todo, epoch, agent, session, prev, reason, and `changes`: each changed
        field as {of, field, from, to}. Raises NotFound when there is no such todo.
        """
        reading = self._client.read(fresh=fresh, offline=offline)
        todo = None if todo_id is None else resolve.todo(self._client.snapshot(reading), todo_id)[1]
        wanted = {"todo": todo, "agent": agent, "goal": goal_id, "op": op}
        entries: list[dict[str, Any]] = []
        for commit in newest_first(self._client.connection.ledger.objects, reading.tip):
            if since is not None and commit.time < since:
                break
            entry = entry_of(commit)
            renews = todo is not None and any(item.startswith(f"{todo}@") for item in entry.get("renew", ()))
            if all(value is None or entry.get(key) == value for key, value in wanted.items()) or renews:
                entry["changes"] = changes(self._client.connection.ledger, commit)
                entries.append(entry)
                if limit is not None and len(entries) >= limit:
                    break
        return entries, reading

    def verify(self, *, offline: bool = False, signatures: bool = False) -> Verification:
        """Replay every commit against the table of rules, then check the state at the tip.

        With `signatures`, a key that .loopx/allowed_signers of the code branch binds to the agent must have signed
        each operation. Raises RemoteFailure when the coordination ref cannot be read, InvalidState for a newer
        format, or with the file when an object cannot be read here. Findings are returned, not raised.
        """
        tip = self._tip_to_verify(offline)
        ledger = self._client.connection.ledger
        oids = ledger.objects.between(None, tip, 10**9)
        findings = [
            {"commit": fault.commit, "rule": fault.rule, "message": fault.message}
            for fault in ledger.faults(tip, 10**9)
        ]
        tree = ledger.objects.tree(tip)
        # A newer format is not a finding: it takes a newer program to judge it.
        version.check(tree.blob(layout.FORMAT))
        try:
            # Not the ledger's own snapshot: that raises when the tip cannot be read, and here it is a finding.
            wrong = check_state(TreeSnapshot(tree, ledger.memo))
        except InvalidState as error:
            wrong = [error]
        for found in wrong:
            if isinstance(found, Unreadable):
                raise found
        findings += [{"commit": tip, "rule": "state", "message": error.message} for error in wrong]
        if signatures:
            findings += self._unproven(oids)
        complete = not ledger.objects.commit(oids[0]).parents
        return Verification(len(oids), findings, tip, oids[0], complete)

    def _unproven(self, oids: Sequence[str]) -> list[dict[str, str]]:
        from loopx_git.store.signatures import Verifier  # only --signatures

        connection = self._client.connection
        verifier = Verifier(connection.ledger.objects, connection.env, connection.reviewed(SIGNERS)[0])
        found = [(oid, verifier.why_not(oid)) for oid in oids]
        return [{"commit": oid, "rule": "signature", "message": why} for oid, why in found if why]

    def _tip_to_verify(self, offline: bool) -> str:
        """The remote's tip even when it is illegal: finding out is what verify is for."""
        if offline:
            return self._client.read(offline=True).tip
        connection = self._client.connection
        fetched = connection.ledger.publisher.fetch(connection.left)
        tip = fetched.read(hint="what was fetched last: git loopx verify --offline")
        if tip is None:
            raise not_initialised()
        return tip


def entry_of(commit: Commit) -> dict[str, Any]:
    """One log entry. A commit that is not an operation has op `foreign` and its subject."""
    base: dict[str, Any] = {"commit": commit.oid, "time": format_time(commit.time)}
    try:
        said = message.load(commit.message)
    except InvalidState:
        return {
            **base,
            "op": "foreign",
            "agent": commit.author.name,
            "subject": commit.message.split("\n")[0][:200],
        }
    base["op"] = said.op.value
    base["subject"] = said.subject
    for key in ("agent", "goal", "todo", "epoch", "session", "prev", "reason", "code"):
        value = getattr(said, key)
        if value is not None:
            base[key] = value
    if said.renew:
        base["renew"] = list(said.renew)
    base["request"] = said.request
    return base
