"""`review check`: one range of commits against the ledger that its base names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loopx_git.client.client import Client
from loopx_git.client.config import HERE, SIGNERS
from loopx_git.client.connect import Overrides
from loopx_git.core.lease import Clocks
from loopx_git.coverage.changes import CodeCommit
from loopx_git.coverage.history import Granted, Prover, ledger_of
from loopx_git.coverage.position import Positions
from loopx_git.errors import InvalidState
from loopx_git.review.check import CONFIG, ReviewFinding, findings
from loopx_git.review.policy import (
    base_policy,
    changed_keys,
    holds_for,
    is_rule_file,
    not_an_operator,
    restores,
    rule_changes,
    tables_at,
    why_unreadable,
)
from loopx_git.review.range import CodeRange
from loopx_git.review.todos import is_ledger, proposal_findings
from loopx_git.store.environment import judging
from loopx_git.store.repository import Repository, open_repository


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The outcome: what was judged, at which tip of the ledger, and the findings."""

    base: str
    head: str
    findings: Sequence[ReviewFinding]
    changes: Sequence[CodeCommit]
    claims: Granted
    ledger: str | None = None
    judged: int = 0

    @property
    def ok(self) -> bool:
        """True without a finding of the level error."""
        return not any(finding.level == "error" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command line."""
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
        self,
        folder: str,
        env: Mapping[str, str],
        base: str,
        head: str,
        flags: Mapping[str, Any],
        overrides: Overrides,
    ) -> None:
        self.env, self.flags, self.overrides, self.folder = env, flags, overrides, folder
        self.repository: Repository = open_repository(folder, judging(env))
        remotes = self.repository.remotes()
        named = flags.get("remote") or env.get("LOOPX_REMOTE") or self.repository.value("loopx.remote")
        only = "origin" if "origin" in remotes else remotes[0] if len(remotes) == 1 else None
        self.range = CodeRange(self.repository, base, head, only if named in (None, HERE) else named)
        self.rules = base_policy(self.repository, self.range.base, f"{CONFIG} of the base")
        self.tables, self.policy, self.problem = self.rules.tables, self.rules.policy, self.rules.problem
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """The ledger of the base, whatever the work tree or the head say."""
        if self._client is None:
            tables = {name: dict(keys) for name, keys in (self.tables or {}).items()}
            # A shallow ledger would hide the grants.
            tables.get("sync", {}).pop("depth", None)
            self._client = Client(self.folder, self.env, {**self.flags, "tables": tables}, self.overrides)
        return self._client

    def check(self, *, strict: bool = False, guarded: bool = False, rule_changes: str | None = None) -> Reviewed:
        """Judge every commit of the range.

        `strict` makes every warning an error, `guarded` a base without a policy. `rule_changes` ("operators" or
        "anyone") says who may change the rules, whatever the base's policy says.
        """
        changes, early = self.range.changes(self.policy.since)
        late = [commit for commit in changes if commit.oid not in early]
        base, head = self.range.base, self.range.head
        if is_ledger(self.repository, base):
            found = proposal_findings(self.repository, base, head, self.overrides.clock.wall())
            return Reviewed(base, head, found, changes, Granted(), None, len(changes))
        if self.problem and not self._only_mends(changes):
            raise InvalidState(self.problem, hint=f"mend {CONFIG} on the base branch, in a change of its own")
        found, granted, ledger = [], Granted(), None
        if not changes:
            why = "no commit lies between base and head, so nothing was judged"
            found.append(ReviewFinding("empty", "notice", head, why, f"git log --oneline {base[:12]}..{head[:12]}"))
        if self.tables is None and not self.problem:
            level, why = "error" if strict or guarded else "notice", f"the base has no {CONFIG}: nothing is judged"
            found.append(ReviewFinding("unguarded", level, base, why, "git loopx init, and merge that file first"))
        elif self.tables is not None and self.policy.mode != "off":
            granted, ledger = self.granted(changes)
            found += findings(late, granted, self.policy, strict=strict)
        # Who may change the rules is not for the cut-off to say.
        found += self._rule_findings(changes, granted, strict, rule_changes or self.policy.rule_changes)
        return Reviewed(base, head, found, changes, granted, ledger, len(late))

    def _only_mends(self, changes: Sequence[CodeCommit]) -> bool:
        """Whether the range makes the base's policy readable again, and does nothing else."""
        paths = [path for commit in changes for path in commit.paths]
        return bool(paths) and all(map(is_rule_file, paths)) and not why_unreadable(self.repository, self.range.head)

    def granted(self, changes: Sequence[CodeCommit]) -> tuple[Granted, str]:
        """What the ledger says about every claim that is named, and its root."""
        tip = self.client.read(fresh=True).tip
        ledger = ledger_of(self.client, tip)
        root = self._pinned(ledger.root())
        names = [name for commit in changes for name in commit.claims.claims]
        clocks = Clocks(self.overrides.clock.wall())
        position = Positions(self.range.code, changes, self.range.bring)
        return ledger.granted(names, "review", clocks, self.policy.require, self._prover(), position), root

    def _prover(self) -> Prover | None:
        """Where the policy asks for signed claims: what proves that a claim is its holder's."""
        if not self.policy.signed:
            return None
        from loopx_git.store.signatures import Verifier

        signers = self.repository.file_at(self.range.base, SIGNERS)
        objects = self.client.connection.ledger.objects
        return Verifier(objects, self.env, signers).why_not

    def _pinned(self, root: str) -> str:
        """The root of the ledger, which must be the one that the base pins."""
        pinned = self.client.connection.settings.ledger
        if pinned is not None and pinned != root:
            raise InvalidState(
                f"the base pins the ledger {pinned}, and the coordination ref belongs to {root}",
                hint=f"check {CONFIG} of the base branch and the remote: git remote -v",
                about={"ledger": pinned, "root": root},
            )
        return root

    def _rule_findings(
        self, changes: Sequence[CodeCommit], granted: Granted, strict: bool, who: str
    ) -> list[ReviewFinding]:
        """A change of the rules is always shown. It is an error unless an operator of the base makes it."""
        is_operators = holds_for(self.policy, granted)
        level = "error" if self.policy.mode == "block" or strict else "warning"
        open_to_all = who == "anyone" or self.tables is None or self.policy.mode == "off"
        changed, found = list(rule_changes(changes)), []
        open_to_all |= restores(self.repository, self.rules, self.range.head, [path for _, path in changed])
        for commit, path in changed:
            may = open_to_all or is_operators(commit, path)
            text = f"it changes {path}: {self._difference(path)}"
            way_out = "look at it closely: from the merge on it is what is judged by"
            if not may:
                text += "; " + not_an_operator(self.policy)
                way_out = f"an operator claims a todo whose scope names {path}, and the commit names that claim"
            found.append(ReviewFinding("config", "notice" if may else level, commit.oid, text, way_out, path))
        unreadable = why_unreadable(self.repository, self.range.head) if found else ""
        if unreadable:
            way_out = f"mend {CONFIG}: nothing could be judged after the merge"
            found.append(ReviewFinding("config", "error", self.range.head, unreadable, way_out, CONFIG))
        return found

    def _difference(self, path: str) -> str:
        if path != CONFIG:
            return "it decides whose word counts" if path == SIGNERS else "it is a file of the ledger's"
        try:
            lines = changed_keys(self.tables, tables_at(self.repository, self.range.head))
        except InvalidState as error:
            lines = [error.message]
        return "; ".join(lines) or "no key differs at the head"


def review(
    folder: str, env: Mapping[str, str], base: str, head: str, flags: Mapping[str, Any], overrides: Overrides
) -> Review:
    """The review of base..head in the repository that contains `folder`."""
    return Review(folder, env, base, head, flags, overrides)
