"""`review check`: one range of commits against the ledger that its base names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loopx_git.client.client import Client
from loopx_git.client.config import HERE
from loopx_git.client.connect import Hooks
from loopx_git.errors import InvalidState
from loopx_git.format.code_claim import split
from loopx_git.review.check import CONFIG, Change, Claims, Finding, Rules, judge
from loopx_git.review.history import Prover, read_claims
from loopx_git.review.policy import SIGNERS, Tables, changed_keys, file_at, rules_of, tables_at
from loopx_git.review.range import CodeRange
from loopx_git.review.todos import is_ledger, proposal_findings
from loopx_git.store.repository import Repository, open_repository


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome: what was judged, at which tip of the ledger, and what was found."""

    base: str
    head: str
    findings: Sequence[Finding]
    changes: Sequence[Change]
    claims: Claims
    ledger: str | None = None
    judged: int = 0

    @property
    def ok(self) -> bool:
        return not any(finding.level == "error" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "base": self.base,
            "head": self.head,
            "ledger": self.ledger,
            "tip": self.claims.tip or None,
            "commits": len(self.changes),
            "judged": self.judged,
            "findings": [finding.as_json() for finding in self.findings],
        }


class Review:
    """A range of code under review, with the ledger and the policy that its base names."""

    def __init__(
        self, folder: str, env: Mapping[str, str], base: str, head: str, flags: Mapping[str, Any], hooks: Hooks
    ) -> None:
        self.env, self.flags, self.hooks, self.folder = env, flags, hooks, folder
        self.repository: Repository = open_repository(folder, {**env, "LC_MESSAGES": "C", "LANGUAGE": "C"})
        remotes = self.repository.remotes()
        named = flags.get("remote") or env.get("LOOPX_REMOTE") or self.repository.value("loopx.remote")
        only = "origin" if "origin" in remotes else remotes[0] if len(remotes) == 1 else None
        self.range = CodeRange(self.repository, base, head, only if named in (None, HERE) else named)
        self.tables: Tables | None = tables_at(self.repository, self.range.base)
        self.rules = Rules(mode="off") if self.tables is None else rules_of(self.tables, f"{CONFIG} of the base")
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """The ledger of the base, whatever the work tree or the head say."""
        if self._client is None:
            tables = {name: dict(keys) for name, keys in (self.tables or {}).items()}
            # A shallow ledger would hide the grants.
            tables.get("sync", {}).pop("depth", None)
            self._client = Client(self.folder, self.env, {**self.flags, "tables": tables}, self.hooks)
        return self._client

    def check(self, *, strict: bool = False) -> Verdict:
        """Judge every commit of the range; `strict` makes every warning an error."""
        changes = self.range.changes(self.rules.since)
        if is_ledger(self.repository, self.range.base):
            now = self.hooks.clock.wall()
            found = proposal_findings(self.repository, self.range.base, self.range.head, now)
            return Verdict(self.range.base, self.range.head, found, changes, Claims({}, {}), None, len(changes))
        found = self._config_findings(changes)
        claims, ledger = Claims({}, {}), None
        rules = self.rules
        if self.tables is None:
            found.append(
                Finding("unguarded", "error" if strict else "notice", self.range.base,
                        f"the base has no {CONFIG}: nothing is judged", "git loopx init, and merge that file first")
            )  # fmt: skip
        elif rules.mode != "off":
            rules = Rules("block" if strict else rules.mode, rules.paths, rules.exempt, rules.since)
            claims, ledger = self.claims(changes)
            found += judge(changes, claims, rules)
        judged = sum(1 for change in changes if not change.early)
        return Verdict(self.range.base, self.range.head, found, changes, claims, ledger, judged)

    def claims(self, changes: Sequence[Change]) -> tuple[Claims, str]:
        """What the ledger says about every claim that is named, and its root."""
        named = {split(claim)[0] for change in changes for claim in change.claims.claims}
        reading = self.client.read(fresh=True)
        self._whole()
        ledger = self._ledger(reading.tip)
        around = self.client.connection.ledger.around
        return read_claims(around.objects, around.memo, named, reading.tip, self._prover()), ledger

    def _prover(self) -> Prover | None:
        """Where the policy asks for signed claims: what proves that a claim is its holder's."""
        if not self.rules.signed:
            return None
        from loopx_git.store.signatures import Verifier

        signers = file_at(self.repository, self.range.base, SIGNERS)
        objects = self.client.connection.ledger.around.objects
        return Verifier(objects, self.env, signers).why_not

    def _whole(self) -> None:
        """Make the ledger's history whole where this clone has only its end."""
        publisher = self.client.connection.ledger.around.publisher
        deepen = getattr(publisher, "deepen", None)
        if deepen is not None:
            deepen(self.client.connection.settings.timeout)

    def _ledger(self, tip: str) -> str:
        """The root of the ledger, which must be the one that the base pins."""
        objects = self.client.connection.ledger.around.objects
        root = objects.between(None, tip, 10**9)[0]
        pinned = self.client.connection.settings.ledger
        if objects.commit(root).parents:
            raise InvalidState("the ledger's history is cut here", hint="git loopx review check in a fresh clone")
        if pinned is not None and pinned != root:
            raise InvalidState(
                f"the base pins the ledger {pinned}, and the coordination ref belongs to {root}",
                hint=f"check {CONFIG} of the base branch and the remote: git remote -v",
                about={"ledger": pinned, "root": root},
            )
        return root

    def _config_findings(self, changes: Sequence[Change]) -> list[Finding]:
        """A change of the policy is shown whether or not a claim covers it."""
        touching = [change.commit for change in changes if CONFIG in change.paths]
        if not touching:
            return []
        try:
            lines = changed_keys(self.tables, tables_at(self.repository, self.range.head))
        except InvalidState as error:
            lines = [error.message]
        text = "; ".join(lines) or "no key differs at the head"
        return [
            Finding("config", "notice", touching[-1], f"it changes {CONFIG}: {text}",
                    "look at it closely: from the merge on it is the policy", CONFIG)
        ]  # fmt: skip


def review(
    folder: str, env: Mapping[str, str], base: str, head: str, flags: Mapping[str, Any], hooks: Hooks
) -> Review:
    """The review of base..head in the repository that `folder` lies in."""
    return Review(folder, env, base, head, flags, hooks)
