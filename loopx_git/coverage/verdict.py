"""The verdict: may these paths be changed under these claims? Pure: policy, paths, claims, who, when -> groups.

One engine for an agent's edit, the commit, the push, a range, the pull request and the server's gate. It imports
nothing but the patterns and the rules: an agent's hook runs it at every edit.
"""

from __future__ import annotations

from loopx_git.coverage.patterns import Index
from loopx_git.coverage.rules import RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from loopx_git.coverage.changes import CodeCommit
    from loopx_git.coverage.policy import GuardPolicy

    #: Whether what a commit does to the paths was there at those commits; None where that cannot be told.
    Position = Callable[[tuple[str, ...], CodeCommit, Sequence[str]], bool | None]
    Ground = tuple[str, tuple["Claim", ...], Mapping[str, Any]]

_NOTHING: Mapping[str, Any] = {}


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

    def covers(self, path: str) -> bool:
        """True when the path is in its scope. A claim without a scope covers every path."""
        return self.tests is None or Index([(self, self.tests)]).any(path)

    def has_lapsed(self, now: float) -> bool:
        """Whether others may take it over."""
        return self.lapses_at is not None and now > self.lapses_at

    def is_late(self, now: float, remaining: Mapping[str, float]) -> bool:
        """True when its holder must renew it first.

        `remaining` maps lease ids to the seconds until the holder's own deadline. An absent claim is judged by the
        wall clock.
        """
        left = remaining.get(self.lease) if self.ttl_s is not None else None
        if left is not None:
            return left <= 0
        return self.late_at is not None and now > self.late_at

    def is_of(self, agent: str | None, session: str | None) -> bool:
        """True when this session holds it. After a transfer it is the agent's, until the agent writes."""
        return self.holder == agent and (None in (self.session, session) or self.session == session)


class Who:
    """The editor: its agent and session, or None for a person."""

    __slots__ = ("agent", "session")

    def __init__(self, agent: str | None, session: str | None) -> None:
        self.agent, self.session = agent, session

    def has(self, claim: Claim) -> bool:
        """True when the claim is the editor's."""
        return claim.is_of(self.agent, self.session)


class Named:
    """A claim that the work stands on: named by a commit, or the session's own before there is a commit.

    `fault` is the rule against it (None: it is valid). `done`: its todo was completed, so claims that others hold now
    do not matter; `ends` are the commits at which the work stood then. `yields`: the one who holds the todo now
    comes first. `claim` is None when there is no such claim. The fields are for the messages.
    """

    __slots__ = ("claim", "done", "ends", "fault", "fields", "yields")

    def __init__(
        self, claim: Claim | None, fault: str | None = None, *, done: bool = False, ends: tuple[str, ...] = (),
        yields: bool = False, fields: Mapping[str, Any] = _NOTHING,
    ) -> None:  # fmt: skip
        self.claim, self.fault, self.fields = claim, fault, fields
        self.done, self.ends, self.yields = done, ends, yields

    def placed(self, commit: CodeCommit, paths: Sequence[str], position: Position | None) -> Named:
        """What it is worth for these paths of that commit: a completed claim covers what was committed by then.

        Where that cannot be told, it covers what is in its scope, as long as nobody else holds that.
        """
        if not self.done or self.claim is None:
            return self
        was_there = position(self.ends, commit, paths) if position is not None and self.ends else None
        if was_there:
            return self
        if was_there is None and self.claim.tests is not None:
            return Named(self.claim, yields=True, fields=self.fields)
        why = f"the work stood at {self.ends[0][:12]}" if self.ends else "it has no scope, and no commit was recorded"
        return Named(self.claim, "completed", fields={**self.fields, "completed": why})


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
        """True when the rule allows the paths."""
        return RULES[self.rule].allowed


class Case:
    """The claims that some work stands on, and the live claims of others, for any number of paths.

    A live claim of another session on a path is always a finding, except when the work's own claim was completed
    before. A claim without a scope covers what no other live claim covers.
    """

    def __init__(self, named: Sequence[Named], live: Iterable[Claim], agents: Iterable[str | None]) -> None:
        standing = [item.claim for item in named if item.fault is None and item.claim is not None]
        known = {item.claim.todo for item in named if item.claim is not None and not item.yields}
        known |= {str(item.fields["todo"]) for item in named if "todo" in item.fields and not item.yields}
        self._agents = {*agents, *(claim.holder for claim in standing)}
        self._done = {item.claim for item in named if item.done}
        others = [
            claim for claim in live
            if claim.todo not in known and not any(claim.is_of(own.holder, own.session) for own in standing)
        ]  # fmt: skip
        self._others, self._scoped = (
            Index((claim, claim.tests) for claim in part if claim.tests is not None) for part in (others, standing)
        )
        self._everywhere = tuple(claim for claim in standing if claim.tests is None)
        self.faults = [item for item in named if item.fault is not None]

    def ground(self, path: str) -> Ground:
        """What decides about one guarded path: the rule, the claims, the fields of its message."""
        covering = tuple(self._scoped.find(path))
        if self._done and not self._done.isdisjoint(covering):
            return "covered", covering, _NOTHING
        others = self._others.find(path)
        if others:
            return self._held(others[0])
        covering = covering or self._everywhere
        return ("covered", covering, _NOTHING) if covering else self._open(path)

    def _held(self, other: Claim) -> Ground:
        return "sibling" if other.holder in self._agents else "held", (other,), _NOTHING

    def _open(self, path: str) -> Ground:
        """What is said of a path that nothing covers."""
        raise NotImplementedError


class PlannedEdit(Case):
    """An edit in the making: the session's own claims stand for what its commit would name.

    `now` is in seconds since 1970; `require` is claim or lease.
    """

    def __init__(
        self, claims: Iterable[Claim], who: Who, now: float, remaining: Mapping[str, float], require: str
    ) -> None:
        own: list[Named] = []
        others = []
        for claim in claims:
            if who.has(claim):
                late = "late" if claim.is_late(now, remaining) else None
                own.append(Named(claim, late or fault_of(claim, require)))
            elif not claim.has_lapsed(now):
                others.append(claim)
        super().__init__(own, others, [who.agent])
        #: The session's claims that it may work under now.
        self.live = tuple(item.claim for item in own if item.fault != "late" and item.claim is not None)
        self._rule = "unidentified" if who.agent is None else "unclaimed"
        self._over = Index((item, item.claim.tests or _ANYTHING) for item in self.faults if item.claim is not None)

    def _open(self, path: str) -> Ground:
        for item in sorted(self._over.find(path), key=lambda item: item.fault == "late"):
            return item.fault, (item.claim,), _NOTHING
        return self._rule, (), _NOTHING


_ANYTHING = (("", "", "**"),)


def fault_of(claim: Claim, require: str) -> str | None:
    """What the policy has against a claim that stands."""
    return "unbounded" if require == "lease" and claim.ttl_s is None else None


class CommitCase(Case):
    """A commit: it stands on what it names. `notes` are the fields of every message about it; `every` leads to the
    live claims by path."""

    def __init__(self, named: Sequence[Named], live: Sequence[Claim], every: Index, notes: Mapping[str, Any]) -> None:
        super().__init__(named, live, ())
        self._named, self._every = named, every
        first = named[0].fields if named else {}
        some = ", ".join(str(item.fields.get("named", "")) for item in named[:3])
        self._notes = {**notes, "by_name": bool(named)}
        self._outside = {**first, **self._notes, "named": some}

    def ground(self, path: str) -> Ground:
        # Where all claims that it names are at fault, that is the finding, whoever else holds the path.
        return super().ground(path) if len(self.faults) < len(self._named) else self._open(path)

    def _held(self, other: Claim) -> Ground:
        return (*super()._held(other)[:2], self._notes)

    def _open(self, path: str) -> Ground:
        for item in self.faults:
            return item.fault or "", () if item.claim is None else (item.claim,), item.fields
        if self._named:
            return "outside", (), self._outside
        return "missing", tuple(self._every.find(path)[:1]), self._notes


def judge(paths: Iterable[str], policy: GuardPolicy, case: Case) -> list[Group]:
    """The findings for `paths` (relative to the top, `/`-separated, other bytes by surrogateescape).

    Every path is in exactly one group.
    """
    groups: dict[tuple[str, tuple[Claim, ...], int], Group] = {}
    plain: Ground = ("unguarded", (), _NOTHING)
    for path in paths:
        rule, claims, fields = case.ground(path) if policy.is_guarded(path) else plain
        key = (rule, claims, id(fields))
        found = groups.get(key)
        if found is None:
            found = groups[key] = Group(rule, claims, fields)
        found.paths.append(path)
    return list(groups.values())


class CommitJudge:
    """Judges commits. `granted` is what every claim that they name is worth, `live` what is held now, and `position`
    tells what was there when a todo was completed."""

    def __init__(
        self, policy: GuardPolicy, granted: Mapping[str, Named], live: Sequence[Claim],
        position: Position | None = None,
    ) -> None:  # fmt: skip
        self.policy, self.granted, self.live, self.position = policy, granted, live, position
        self._every = Index((claim, claim.tests) for claim in live if claim.tests is not None)
        self._cases: dict[tuple[object, ...], CommitCase] = {}

    def judge(self, commit: CodeCommit) -> list[Group]:
        """The findings of one commit. A claim that is not valid is a finding even where others cover the path."""
        guarded = [path for path in commit.paths if self.policy.is_guarded(path)]
        if not guarded:
            return [Group("unguarded", (), paths=list(commit.paths))]
        case = self._case(commit, guarded)
        groups = judge(commit.paths, self.policy, case)
        told = {id(group.fields) for group in groups}
        for item in case.faults:
            if id(item.fields) not in told:
                claims = () if item.claim is None else (item.claim,)
                groups.append(Group(item.fault or "", claims, item.fields, guarded[:1]))
        return groups

    def _case(self, commit: CodeCommit, guarded: Sequence[str]) -> CommitCase:
        said, merge = commit.claims, commit.is_merge
        named = self._named(commit, guarded)
        key = (said, merge, tuple((item.fault, item.done) for item in named))
        found = self._cases.get(key)
        if found is None:
            for value in said.malformed:
                line = f"Loopx-Claim: {value}"[:120]
                named.append(Named(None, "malformed", fields={"line": line, "by_name": True}))
            notes = {"stray": said.stray, "merge": merge}
            found = self._cases[key] = CommitCase(named, self.live, self._every, notes)
        return found

    def _named(self, commit: CodeCommit, guarded: Sequence[str]) -> list[Named]:
        """What the claims that it names are worth for it. One without a scope is asked for what no other has."""
        named = [self.granted[name] for name in commit.claims.claims]
        if not any(item.done for item in named):
            return named
        scoped = [item.claim for item in named if item.claim is not None and item.claim.tests is not None]
        rest = [path for path in guarded if not any(claim.covers(path) for claim in scoped)]
        return [
            item.placed(
                commit,
                rest if item.claim is None or item.claim.tests is None else list(filter(item.claim.covers, guarded)),
                self.position,
            )
            for item in named
        ]


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


def says(group: Group, who: Who) -> tuple[str, str, str]:
    """(what is said of the paths, the next command, the whole way out)."""
    rule, fields = RULES[group.rule], fields_of(group, who)
    message = rule.message.format_map(fields)
    if group.rule == "missing":
        if fields.get("merge"):
            message = "the merge itself changed it, and names no claim"
        elif fields.get("stray"):
            message = (
                "its Loopx-Claim line does not stand where git sees a trailer: in the last paragraph, not indented"
            )
        if group.claims and who.agent is not None and who.has(group.claims[0]):
            # The hook names it, once it runs.
            command = "git commit --amend --no-edit"
            return f"{message}; your claim {group.claims[0].lease} covers this", command, command
        if group.claims:
            message += "; " + RULES["held"].message.format_map(fields)
    return message, rule.command.format_map(fields), rule.way_out.format_map(fields)
