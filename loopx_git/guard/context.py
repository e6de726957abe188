"""What a verdict is reached on: the policy, the claims as known, the editor, the time."""

from __future__ import annotations

from loopx_git.coverage.verdict import Claim, PlannedEdit, Who

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from loopx_git.coverage.policy import GuardPolicy
    from loopx_git.guard.free import Finder


class Problem:
    """Why the claims are not known well enough, and the one command that mends it."""

    __slots__ = ("command", "message", "rule")

    def __init__(self, rule: str, message: str, command: str) -> None:
        self.rule, self.message, self.command = rule, message, command


class Context:
    """Everything that is known. `now` and `age` in seconds (age: since the claims were fetched); `problem` tells that
    the claims are not known; `notes` is for the reader, whatever the verdict; `free` finds what could be claimed."""

    def __init__(
        self, policy: GuardPolicy, who: Who, *, now: float, age: float = 0.0, tip: str | None = None,
        claims: Sequence[Mapping[str, Any]] = (), remaining: Mapping[str, float] | None = None,
        problem: Problem | None = None, notes: Sequence[str] = (), free: Finder | None = None,
    ) -> None:  # fmt: skip
        self.policy, self.who, self.now, self.age, self.tip = policy, who, now, age, tip
        self.claims = [Claim(item) for item in claims]
        self.remaining = dict(remaining or {})
        self.notes = list(notes)
        self.free = free
        self.problem = problem
        if problem is None and policy.stale_after is not None and age > policy.stale_after:
            self.problem = Problem(
                "old", f"what is known of the claims here is older than {policy.stale_after} s", "git loopx sync"
            )

    def edit(self) -> PlannedEdit:
        """The claims as they stand for an edit of the editor's now."""
        return PlannedEdit(self.claims, self.who, self.now, self.remaining, self.policy.require)

    def is_late(self, claim: Claim) -> bool:
        """Whether a claim that a commit names is to be renewed first: the own by its deadline, any by its lapse."""
        return claim.has_lapsed(self.now) or (self.who.has(claim) and claim.is_late(self.now, self.remaining))
