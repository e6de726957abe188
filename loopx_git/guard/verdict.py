"""The verdict: may this session change these paths? Pure: policy, paths, claims as known, who, when -> findings.

One engine for the commit, the push, a range, a path, and an agent's edit. It imports nothing but the patterns: an
agent's hook runs it at every edit.
"""

from __future__ import annotations

from loopx_git.guard.patterns import Index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

#: rule -> (allowed, what is said of the paths, the one next command). `{...}` are fields of the claim and the actor.
RULES: dict[str, tuple[bool, str, str]] = {
    "unguarded": (True, "not guarded", ""),
    "covered": (True, "covered by {lease}", ""),
    "held": (False, "{holder} holds {lease} ({title}), whose scope covers this", "git loopx todo show {todo}"),
    "sibling": (
        False, "another session of {agent} holds {lease} ({title})", "git loopx todo claim {todo} --resume",
    ),
    "late": (False, "your claim {lease} is past its deadline", "git loopx task-lease renew {todo}"),
    "unbounded": (
        False, "your claim {lease} has no time bound, and the policy asks for a lease",
        "git loopx task-lease renew {todo} --ttl 2h",
    ),
    "unclaimed": (False, "no live claim of {agent} covers this", "git loopx todo next --claim"),
    "unidentified": (
        False, "no agent is set here, so no claim covers this",
        "git loopx peer list   then one of them: git config loopx.agent NAME",
    ),
    # Of the pushed commits only: what their trailers say, held against the remote.
    "stale": (
        False, "the commit names {named}, and the epoch is {epoch} now ({holder} holds it)",
        "git loopx todo show {todo}",
    ),
    "ended": (False, "the commit names {named}, which was given up ({ended})", "git loopx todo claim {todo}"),
    "lapsed": (False, "the commit names {named}, whose time is over", "git loopx task-lease renew {todo}"),
    "unknown": (False, "the commit names {named}, and there is no such claim", "git loopx sync"),
    "outside": (False, "the commit names {named}, whose scope does not cover this", "git loopx todo show {todo}"),
}  # fmt: skip


class Claim:
    """One claim as known here. `lapses_at`, `late_at` in seconds since 1970 (None: never); `tests` None: no scope."""

    __slots__ = ("epoch", "holder", "lapses_at", "late_at", "session", "tests", "title", "todo", "ttl_s")

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.todo: str = found["todo"]
        self.title: str = found["title"]
        self.epoch: int = found["epoch"]
        self.holder: str = found["holder"]
        self.session: str | None = found["session"]
        self.ttl_s: int | None = found["ttl_s"]
        self.lapses_at: float | None = found["lapses_at"]
        self.late_at: float | None = found["late_at"]
        self.tests: list[list[str | None]] | None = found["tests"]

    @property
    def lease(self) -> str:
        """todo@epoch."""
        return f"{self.todo}@{self.epoch}"


class Who:
    """The editor: its agent and session, or None for a person."""

    __slots__ = ("agent", "session")

    def __init__(self, agent: str | None, session: str | None) -> None:
        self.agent, self.session = agent, session

    def has(self, claim: Claim) -> bool:
        """Whether the claim is this session's. One that was handed over and not taken up is the agent's."""
        return claim.holder == self.agent and claim.session in (None, self.session)


class Group:
    """Paths to which one rule applied for one reason. `claims` are those that decided (several may cover)."""

    __slots__ = ("claims", "fields", "paths", "rule")

    def __init__(
        self, rule: str, claims: tuple[Claim, ...], fields: Mapping[str, Any] | None = None,
        paths: list[str] | None = None,
    ) -> None:  # fmt: skip
        self.rule, self.claims = rule, claims
        self.paths: list[str] = [] if paths is None else paths
        self.fields: Mapping[str, Any] = fields or {}

    @property
    def allowed(self) -> bool:
        return RULES[self.rule][0]


class Bench:
    """The claims as they stand for one editor at one moment, ready for any number of paths.

    `now` is in seconds since 1970; `remaining` has the seconds until the holder's own deadline by lease id (what is
    absent is judged by the wall clock); `require` is claim or lease.
    """

    def __init__(
        self, claims: Iterable[Claim], who: Who, now: float, remaining: Mapping[str, float], require: str
    ) -> None:
        self.who, self.require = who, require
        own, others = [], []
        for claim in claims:
            if who.has(claim):
                own.append(claim)
            elif claim.lapses_at is None or now <= claim.lapses_at:
                others.append(claim)
        self._late = [claim for claim in own if _is_late(claim, now, remaining)]
        live = [claim for claim in own if claim not in self._late]
        self.live: tuple[Claim, ...] = tuple(live)
        self._others, self._own, self._over = (
            Index((claim, claim.tests) for claim in part if claim.tests is not None)
            for part in (others, live, self._late)
        )
        # A claim without a scope covers what no other live claim covers.
        self._everywhere = tuple(claim for claim in live if claim.tests is None)
        self._late_everywhere = tuple(claim for claim in self._late if claim.tests is None)

    def others_on(self, path: str) -> Sequence[Claim]:
        """The live claims of others whose scope covers the path."""
        return self._others.find(path)

    def rule(self, path: str) -> tuple[str, tuple[Claim, ...]]:
        """The rule for one guarded path, and the claims that decided."""
        others = self._others.find(path)
        if others:
            sibling = others[0].holder == self.who.agent
            return "sibling" if sibling else "held", (others[0],)
        covering = tuple(self._own.find(path)) or self._everywhere
        if covering:
            if self.require != "lease":
                return "covered", covering
            bounded = tuple(claim for claim in covering if claim.ttl_s is not None)
            return ("covered", bounded) if bounded else ("unbounded", covering[:1])
        late = tuple(self._over.find(path)) or self._late_everywhere
        if late:
            return "late", late[:1]
        return "unidentified" if self.who.agent is None else "unclaimed", ()


def _is_late(claim: Claim, now: float, remaining: Mapping[str, float]) -> bool:
    left = remaining.get(claim.lease)
    if left is not None and claim.ttl_s is not None:
        return left <= 0
    return claim.late_at is not None and now > claim.late_at


def judge(paths: Iterable[str], guarded: Sequence[Index], bench: Bench) -> list[Group]:
    """The findings for `paths` (relative to the top, `/`-separated, other bytes by surrogateescape).

    `guarded` is the policy's (guarded, exempt) patterns. Every path is in exactly one group.
    """
    wanted, exempt = guarded
    groups: dict[tuple[str, tuple[Claim, ...]], list[str]] = {}
    plain: tuple[str, tuple[Claim, ...]] = ("unguarded", ())
    for path in paths:
        key = bench.rule(path) if wanted.any(path) and not exempt.any(path) else plain
        found = groups.get(key)
        if found is None:
            found = groups[key] = []
        found.append(path)
    return [Group(*key, paths=found) for key, found in groups.items()]


def fields_of(group: Group, who: Who) -> dict[str, Any]:
    """What the messages of RULES need."""
    fields: dict[str, Any] = {"agent": who.agent or "you", **group.fields}
    if group.claims:
        claim = group.claims[0]
        fields = {
            "lease": claim.lease, "todo": claim.todo, "title": claim.title, "holder": claim.holder,
            "epoch": claim.epoch, **fields,
        }  # fmt: skip
    return fields


def says(group: Group, who: Who) -> tuple[str, str]:
    """(what is said of the paths, the next command)."""
    _, message, command = RULES[group.rule]
    fields = fields_of(group, who)
    return message.format_map(fields), command.format_map(fields)
