"""The verdict over commits of code: is every change covered by a claim that the ledger granted?

Pure: plain values in, findings out. What a claim is worth was read from the ledger's history by `history`, what a
commit changed by `range`. No date decides: a claim counts while its epoch is current, or when its holder ended it by
completing or superseding the todo.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from loopx_git.core.scope import compile_scope
from loopx_git.format.code_claim import CodeClaims, split

CONFIG = ".loopx/config.toml"


class Standing(StrEnum):
    """What has become of a granted epoch."""

    CURRENT = "current"
    DONE = "done"
    ENDED = "ended"
    TAKEN_OVER = "taken-over"


@dataclass(frozen=True, slots=True)
class Claim:
    """One epoch of a todo as history shows it. `scope` is that of the epoch's last state, `how` the word for its
    end (released, transferred, ...), `after` who came next (agent@epoch), `granted` the commit that granted it, and
    `unproven` why that commit's signature does not prove the holder, where the policy asks for one."""

    todo: str
    epoch: int
    holder: str
    title: str = ""
    scope: tuple[str, ...] = ()
    standing: Standing = Standing.CURRENT
    how: str = ""
    after: str = ""
    granted: str = ""
    unproven: str = ""

    @property
    def id(self) -> str:
        return f"{self.todo}@{self.epoch}"


@dataclass(frozen=True, slots=True)
class Claims:
    """What the ledger knows: the todos asked for that it has (with their holder at the tip), their epochs by
    todo@epoch, and every claim that is live at the tip."""

    todos: Mapping[str, str | None]
    granted: Mapping[str, Claim]
    live: Sequence[Claim] = ()
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """One commit: its own changes (for a merge, what differs from every parent), and the claims it names. `early`
    tells that it lies before the policy's cut-off."""

    commit: str
    subject: str
    author: str
    paths: tuple[str, ...] = ()
    claims: CodeClaims = field(default_factory=CodeClaims)
    merge: bool = False
    early: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """The guard's policy of the base: what needs a claim, and whether a finding blocks (`block`), is only told
    (`warn`), or nothing is judged (`off`)."""

    mode: str = "block"
    paths: tuple[str, ...] = ("**",)
    exempt: tuple[str, ...] = (".loopx/**",)
    since: str | None = None
    branches: tuple[str, ...] = ()
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know: `level` is error, warning or notice; `way_out` is what to do about it."""

    rule: str
    level: str
    commit: str
    message: str
    way_out: str = ""
    file: str | None = None
    todo: str | None = None
    epoch: int | None = None
    holder: str | None = None

    def as_json(self) -> dict[str, Any]:
        shown = asdict(self)
        if self.file is not None:
            shown["file"] = self.file.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        return shown


def judge(changes: Sequence[Change], claims: Claims, rules: Rules) -> list[Finding]:
    """The findings over all commits, in their order."""
    if rules.mode == "off":
        return []
    level = "error" if rules.mode == "block" else "warning"
    guarded, exempt = compile_scope(rules.paths), compile_scope(rules.exempt)
    found: list[Finding] = []
    for change in changes:
        paths = [path for path in change.paths if guarded(path) and not exempt(path)]
        if paths and not change.early:
            found += _commit(change, paths, claims, level)
    return found


def _commit(change: Change, paths: Sequence[str], claims: Claims, level: str) -> list[Finding]:
    found: list[Finding] = []
    good: list[Claim] = []
    bad: list[Finding] = []
    for name in change.claims.claims:
        claim = claims.granted.get(name)
        if claim is not None and claim.standing in (Standing.CURRENT, Standing.DONE) and not claim.unproven:
            good.append(claim)
        else:
            bad.append(_worthless(change, name, claims, level))
    for line in change.claims.malformed:
        bad.append(
            Finding(
                "malformed", level, change.commit, f"the trailer {line!r} is none",
                "write it as: Loopx-Claim: todo_ab12cd34ef56@3", paths[0],
            )
        )  # fmt: skip
    covers = [compile_scope(claim.scope) if claim.scope else None for claim in good]
    told = False
    for path in paths:
        if any(cover is not None and cover(path) for cover in covers):
            continue
        others = _live_on(path, claims, good)
        if not others and any(cover is None for cover in covers):
            # A todo without a scope covers what no other live claim covers.
            continue
        if bad:
            found += [_at(finding, path) for finding in bad]
            told = True
        elif not good:
            found.append(_missing(change, path, others, level))
        elif others:
            found.append(_foreign(change, path, others[0], good, level))
        else:
            found.append(_outside(change, path, good, level))
    return found if told else [*(_at(finding, paths[0]) for finding in bad), *found]


def _at(finding: Finding, path: str) -> Finding:
    return Finding(**{**asdict(finding), "file": path})


def _live_on(path: str, claims: Claims, own: Sequence[Claim]) -> list[Claim]:
    mine = {claim.todo for claim in own}
    return [
        claim for claim in claims.live if claim.todo not in mine and claim.scope and compile_scope(claim.scope)(path)
    ]


def _worthless(change: Change, name: str, claims: Claims, level: str) -> Finding:
    """Why a named claim covers nothing."""
    todo, epoch = split(name)
    claim = claims.granted.get(name)
    if todo not in claims.todos:
        return Finding(
            "unknown", level, change.commit, f"{todo} is no todo of this ledger",
            "name a claim of this repository's own ledger: git loopx todo list", None, todo, epoch,
        )  # fmt: skip
    if claim is None:
        holder = claims.todos[todo]
        return Finding(
            "forged", level, change.commit, f"the epoch {epoch} of {todo} was never granted",
            f"claim it, and name the epoch that was granted: git loopx todo show {todo}", None, todo, epoch, holder,
        )  # fmt: skip
    if claim.standing is Standing.TAKEN_OVER:
        return Finding(
            "taken-over", level, change.commit,
            f"{name} of {claim.holder} is no longer current: {claim.after} came after it",
            f"agree with {claim.after.partition('@')[0]}, who holds its own claim: git loopx todo show {todo}",
            None, todo, epoch, claims.todos[todo],
        )  # fmt: skip
    if claim.unproven:
        return Finding(
            "signature", level, change.commit, f"{name} of {claim.holder} is not proven: {claim.unproven}",
            "git config loopx.sign true   and a key of the agent in .loopx/allowed_signers", None, todo, epoch,
            claim.holder,
        )  # fmt: skip
    return Finding(
        "ended", level, change.commit, f"{name} of {claim.holder} ended without completing the todo ({claim.how})",
        f"git loopx todo claim {todo}   then name the new epoch in the commit", None, todo, epoch,
        claims.todos[todo],
    )  # fmt: skip


def _foreign(change: Change, path: str, other: Claim, good: Sequence[Claim], level: str) -> Finding:
    own = f"{good[0].id} of {good[0].holder}"
    return Finding(
        "foreign", level, change.commit, f"{other.id} of {other.holder} covers it, not {own}",
        f"leave it to {other.holder}, or wait until {other.todo} is done: git loopx todo show {other.todo}",
        path, other.todo, other.epoch, other.holder,
    )  # fmt: skip


def _outside(change: Change, path: str, good: Sequence[Claim], level: str) -> Finding:
    first = good[0]
    return Finding(
        "outside", level, change.commit,
        f"no claim of the commit ({', '.join(claim.id for claim in good[:3])}) has it in its scope",
        f"widen the scope while you hold it: git loopx todo update {first.todo} --scope PATTERN"
        if first.standing is Standing.CURRENT
        else "claim a todo whose scope covers it, and name that claim too",
        path, first.todo, first.epoch, first.holder,
    )  # fmt: skip


def _missing(change: Change, path: str, others: Sequence[Claim], level: str) -> Finding:
    if change.merge:
        message = "the merge itself changed it, and names no claim"
    elif change.claims.stray:
        message = "its Loopx-Claim line does not stand in the last paragraph of the message, where alone it counts"
    else:
        message = "the commit names no claim"
    if others:
        message += f"; {others[0].id} of {others[0].holder} covers it"
    return Finding(
        "missing", level, change.commit, message,
        "git loopx todo claim TODO   then add to the message's last paragraph: Loopx-Claim: TODO@EPOCH", path,
        others[0].todo if others else None, others[0].epoch if others else None,
        others[0].holder if others else None,
    )  # fmt: skip
