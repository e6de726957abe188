"""The rules of claims and leases as one table of data: state x operation x actor -> verdict, exit code, writes.

The planner, `verify`, the receive check, the tests and the docs all read ROWS; no rule stands anywhere else.
A cell is (operation, status of the todo, hold as the actor sees it, forced or not); exactly one row answers it
(`tests/core/test_table.py` proves it). What a row cannot know (dependencies, capabilities, limits, scopes) is a
condition that the planner checks once the row grants.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from loopx_git.core.todo import TERMINAL, Status


class Operation(StrEnum):
    """What is asked of one todo. RESUME is `claim --resume`; UNSOFT takes a soft claim back; RECLAIM returns a
    lapsed todo to the pool. NOTE and TRIAGE are updates that leave the claim and its holder alone: a note by any
    peer, and an operator's change of nothing but priority and labels (`core.meaning` tells them from UPDATE)."""

    CLAIM = "claim"
    RESUME = "resume"
    RENEW = "renew"
    RELEASE = "release"
    UPDATE = "update"
    NOTE = "note"
    TRIAGE = "triage"
    COMPLETE = "complete"
    SUPERSEDE = "supersede"
    CANCEL = "cancel"
    REOPEN = "reopen"
    TRANSFER = "transfer"
    ARCHIVE = "archive"
    SOFT = "soft"
    UNSOFT = "unsoft"
    RECLAIM = "reclaim"


class HoldState(StrEnum):
    """The lease record as the actor sees it: the record's state and the actor's relation to it in one word.
    docs/rules.md says what each means."""

    FREE = "free"
    WAS_MINE = "was_mine"
    SOFT = "soft"
    MINE = "mine"
    LATE = "late"
    SIBLING = "sibling"
    SIBLING_LAPSED = "sibling_lapsed"
    OTHER = "other"
    OTHER_LAPSED = "other_lapsed"
    STALE = "stale"


class Verdict(StrEnum):
    """The answer of a row: the operation is granted, changes nothing, or is refused."""

    GRANT = "grant"
    NOTHING = "nothing"
    REFUSE = "refuse"


class Effect(StrEnum):
    """What a grant writes, in words that the planner carries out in this order. docs/rules.md says what each
    does."""

    ACQUIRE = "acquire"
    TAKEOVER = "takeover"
    ATTEMPT = "attempt"
    RENEW = "renew"
    END = "end"
    FENCE = "fence"
    HANDOVER = "handover"
    BACK = "back"
    EDIT = "edit"
    FINISH = "finish"
    REOPEN = "reopen"
    MOVE = "move"
    SOFT_ADD = "soft_add"
    SOFT_REMOVE = "soft_remove"
    LEAVE = "leave"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Row:
    """One rule: the cells it answers and the answer. `forced` None answers both."""

    operations: frozenset[Operation]
    statuses: frozenset[Status]
    holds: frozenset[HoldState]
    forced: bool | None
    verdict: Verdict
    effects: tuple[Effect, ...] = ()
    reason: str = ""

    @property
    def code(self) -> int:
        """The exit code: 0 for a grant or nothing to do, else the reason's."""
        return REASONS[self.reason].code if self.verdict is Verdict.REFUSE else 0


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a row does not grant: exit code, sentence and the next command, as str.format templates over
    todo, status, holder, session, whose, epoch, given, until."""

    code: int
    message: str
    hint: str = ""


REASONS: Mapping[str, Reason] = {
    "already_yours": Reason(0, "{todo} is already yours (epoch {epoch})"),
    "already_done": Reason(0, "{todo} is already completed (epoch {epoch})"),
    "already_archived": Reason(0, "{todo} is already archived"),
    "nobody": Reason(0, "nobody holds {todo}"),
    "held": Reason(
        11, "{todo} is held by {holder} (epoch {epoch}{until})", "take another: git loopx todo list --ready"
    ),
    "own_session": Reason(
        11,
        "{todo} is held by another session of {holder} (epoch {epoch}{until}): {session}",
        "if that session is gone: git loopx todo claim {todo} --resume",
    ),
    "other_session": Reason(
        12,
        "{todo} is not this session's: another session of {holder} holds it (epoch {epoch}{until}): {session}",
        "if that session is gone: git loopx todo claim {todo} --resume",
    ),
    "stale": Reason(
        12,
        "epoch {given} of {todo} is not current: the epoch is {epoch} and {whose}",
        "stop working on it; look: git loopx todo show {todo}",
    ),
    "late": Reason(
        12,
        "your claim of {todo} (epoch {epoch}) is past its deadline; the record still names {holder}",
        "git loopx task-lease renew {todo}",
    ),
    "not_yours": Reason(
        12,
        "{todo} is not yours: {whose} (epoch {epoch}{until})",
        "look: git loopx todo show {todo}",
    ),
    "not_held": Reason(
        12,
        "{todo} is not yours: nobody holds it (epoch {epoch}, status {status})",
        "git loopx todo claim {todo}",
    ),
    "only_soft": Reason(
        12,
        "you have only a soft claim of {todo}, and nobody holds its lease (epoch {epoch}, status {status})",
        "git loopx task-lease acquire {todo}",
    ),
    "not_held_ended": Reason(
        12, "{todo} is not yours: it is {status} and nobody holds it (epoch {epoch})", "git loopx todo show {todo}"
    ),
    "not_ready": Reason(
        15,
        "{todo} is {status}; only an open or in_progress todo can be claimed",
        "why: git loopx todo show {todo}   what opens it again: git loopx todo reopen -h",
    ),
    "ended": Reason(15, "{todo} is {status}", "git loopx todo list --ready"),
    "needs_human": Reason(
        15, "{todo} needs a human and cannot be completed yet", "git loopx todo update {todo} --status open"
    ),
    "use_update": Reason(
        15, "{todo} is yours and {status}", "git loopx todo update {todo} --status open"
    ),
    "not_ended": Reason(
        15, "{todo} is {status}; this takes a todo that has ended", "git loopx todo show {todo}"
    ),
    "not_lapsed": Reason(
        15, "{todo} has not lapsed: {holder} holds it (epoch {epoch}{until})", "git loopx todo show {todo}"
    ),
    "ended_but_held": Reason(
        16, "{todo} is {status} and yet its lease names {holder} as holder", "git loopx verify"
    ),
}  # a list of words  # fmt: skip

_OPEN = frozenset({Status.OPEN})
_READY = frozenset({Status.OPEN, Status.IN_PROGRESS})
_STUCK = frozenset({Status.BLOCKED, Status.NEEDS_HUMAN})
_BLOCKED = frozenset({Status.BLOCKED})
_HUMAN = frozenset({Status.NEEDS_HUMAN})
_LIVE = _READY | _STUCK
_DONE = frozenset({Status.COMPLETED})
_ENDED = frozenset(TERMINAL)
_ARCHIVED = frozenset({Status.ARCHIVED})
_OVER = _ENDED | _ARCHIVED
_ALL = _LIVE | _OVER

_SOFT = frozenset({HoldState.SOFT})
_WAS_MINE = frozenset({HoldState.WAS_MINE})
_FREE = frozenset({HoldState.FREE}) | _WAS_MINE | _SOFT
_MINE = frozenset({HoldState.MINE})
_LATE = frozenset({HoldState.LATE})
_OWN = _MINE | _LATE
_SIBLINGS = frozenset({HoldState.SIBLING, HoldState.SIBLING_LAPSED})
_OTHERS = frozenset({HoldState.OTHER, HoldState.OTHER_LAPSED})
_FOREIGN = _SIBLINGS | _OTHERS
_HELD = _OWN | _FOREIGN
_LAPSED = frozenset({HoldState.SIBLING_LAPSED, HoldState.OTHER_LAPSED})
_STALE = frozenset({HoldState.STALE})

_O, _E = Operation, Effect
#: Operations that act on the caller's own claim: without one they answer 12.
NEEDS_CLAIM = frozenset(
    {_O.RENEW, _O.RELEASE, _O.UPDATE, _O.TRIAGE, _O.COMPLETE, _O.SUPERSEDE, _O.CANCEL, _O.TRANSFER}
)
#: Of these, what a soft claim permits in a goal whose claims are soft, while no lease is held.
SOFTLY = frozenset({_O.UPDATE, _O.COMPLETE, _O.SUPERSEDE, _O.CANCEL})
#: What an operator may do with --force --reason. A claim is forced for a loop only (`loop claim --force`).
FORCEABLE = frozenset({_O.CLAIM, _O.RELEASE, _O.UPDATE, _O.TRIAGE, _O.SUPERSEDE, _O.CANCEL, _O.TRANSFER})
#: The status that FINISH writes.
FINISHED: Mapping[Operation, Status] = {
    _O.COMPLETE: Status.COMPLETED,
    _O.SUPERSEDE: Status.SUPERSEDED,
    _O.CANCEL: Status.CANCELLED,
}
#: The lease effect of an operation that ends another agent's claim: the claim ends, and the epoch rises.
_FORCED_END = (_E.END, _E.FENCE)


def _grant(
    operations: Iterable[Operation], statuses: frozenset[Status], holds: frozenset[HoldState],
    effects: tuple[Effect, ...], forced: bool | None = None,
) -> Row:  # grouped by meaning  # fmt: skip
    return Row(frozenset(operations), statuses, holds, forced, Verdict.GRANT, effects)


def _answer(
    operations: Iterable[Operation], statuses: frozenset[Status], holds: frozenset[HoldState],
    reason: str, forced: bool | None = None,
) -> Row:  # grouped by meaning  # fmt: skip
    verdict = Verdict.REFUSE if REASONS[reason].code else Verdict.NOTHING
    return Row(frozenset(operations), statuses, holds, forced, verdict, (), reason)


_ENDING = (_O.SUPERSEDE, _O.CANCEL)
_ACQUIRING = (_O.CLAIM, _O.RESUME)

ROWS: tuple[Row, ...] = (
    # An operation that carries a stale epoch changes nothing, whatever else it says.
    _answer(Operation, _ALL, _STALE, "stale"),
    # A terminal todo whose lease still names a holder was not written by this program.
    _answer(Operation, _OVER, _HELD, "ended_but_held"),
    # -- claim, claim --resume
    _grant(_ACQUIRING, _READY, _FREE, (_E.ACQUIRE,)),
    _answer(_ACQUIRING, _LIVE, _MINE, "already_yours"),
    _answer([_O.CLAIM], _LIVE, _LATE, "late"),
    _answer([_O.CLAIM], _LIVE, frozenset({HoldState.SIBLING}), "own_session", forced=False),
    _grant([_O.CLAIM], _READY, frozenset({HoldState.SIBLING_LAPSED}), (_E.TAKEOVER, _E.ATTEMPT)),
    _answer([_O.CLAIM], _STUCK, frozenset({HoldState.SIBLING_LAPSED}), "not_ready"),
    _grant([_O.RESUME], _LIVE, _LATE | _SIBLINGS, (_E.TAKEOVER,)),
    _answer(_ACQUIRING, _LIVE, frozenset({HoldState.OTHER}), "held", forced=False),
    _grant([_O.CLAIM], _READY, frozenset({HoldState.SIBLING, HoldState.OTHER}), (_E.TAKEOVER,), forced=True),
    _answer([_O.CLAIM], _STUCK, frozenset({HoldState.SIBLING, HoldState.OTHER}), "not_ready", forced=True),
    _grant(_ACQUIRING, _READY, frozenset({HoldState.OTHER_LAPSED}), (_E.TAKEOVER, _E.ATTEMPT)),
    _answer(_ACQUIRING, _STUCK, _FREE | frozenset({HoldState.OTHER_LAPSED}), "not_ready"),
    _answer(_ACQUIRING, _OVER, _FREE, "ended"),
    # -- what needs the caller's claim
    _answer(NEEDS_CLAIM, _LIVE, _FREE - _SOFT, "not_held", forced=False),
    _answer(NEEDS_CLAIM - SOFTLY, _LIVE, _SOFT, "only_soft", forced=False),
    _answer(NEEDS_CLAIM, _LIVE, _OTHERS, "not_yours", forced=False),
    _answer(NEEDS_CLAIM, _LIVE, _SIBLINGS, "other_session", forced=False),
    _answer(NEEDS_CLAIM - {_O.COMPLETE}, _OVER, _FREE, "not_held_ended", forced=False),
    _answer(NEEDS_CLAIM - {_O.RENEW, _O.RELEASE}, _LIVE, _LATE, "late", forced=False),
    _grant([_O.RENEW], _LIVE, _OWN, (_E.RENEW,), forced=False),
    _grant([_O.RELEASE], _LIVE, _OWN, (_E.END, _E.BACK)),
    _grant([_O.UPDATE], _LIVE, _MINE | _SOFT, (_E.EDIT,), forced=False),
    _grant([_O.TRIAGE], _LIVE, _MINE, (_E.EDIT,), forced=False),
    _grant([_O.COMPLETE], _READY | _BLOCKED, _MINE, (_E.END, _E.FINISH), forced=False),
    # Under a soft claim there is no lease to end: the record stays as it is.
    _grant([_O.COMPLETE], _READY | _BLOCKED, _SOFT, (_E.FINISH,), forced=False),
    _answer([_O.COMPLETE], _HUMAN, _MINE | _SOFT, "needs_human", forced=False),
    _answer([_O.COMPLETE], _DONE, _WAS_MINE, "already_done", forced=False),
    _answer([_O.COMPLETE], _DONE, frozenset({HoldState.FREE}) | _SOFT, "not_held_ended", forced=False),
    _answer([_O.COMPLETE], _OVER - _DONE, _FREE, "not_held_ended", forced=False),
    _grant(_ENDING, _LIVE, _MINE, (_E.END, _E.FINISH), forced=False),
    _grant(_ENDING, _LIVE, _SOFT, (_E.FINISH,), forced=False),
    _grant([_O.TRANSFER], _LIVE, _MINE, (_E.HANDOVER,), forced=False),
    # -- what needs no claim and leaves the holder, its epoch and its lease alone
    _grant([_O.NOTE], _LIVE, (_FREE - _WAS_MINE) | _FOREIGN | _MINE, (_E.NOTE,)),
    _answer([_O.NOTE], _LIVE, _WAS_MINE, "not_held"),
    _answer([_O.NOTE], _LIVE, _LATE, "late"),
    _answer([_O.NOTE], _OVER, _FREE, "not_held_ended"),
    _grant([_O.TRIAGE], _LIVE, _HELD | _FREE, (_E.EDIT,), forced=True),
    # -- an operator with --force --reason
    _answer([_O.RELEASE], _ALL, _FREE, "nobody", forced=True),
    _grant([_O.RELEASE], _LIVE, _FOREIGN, (*_FORCED_END, _E.BACK), forced=True),
    _grant([_O.UPDATE], _LIVE, _HELD | _FREE, (_E.EDIT,), forced=True),
    _grant(_ENDING, _LIVE, _FREE, (_E.FINISH,), forced=True),
    _grant(_ENDING, _LIVE, _HELD, (*_FORCED_END, _E.FINISH), forced=True),
    _grant([_O.TRANSFER], _LIVE, _HELD, (_E.HANDOVER,), forced=True),
    _answer([_O.TRANSFER], _LIVE, _FREE, "not_held", forced=True),
    _answer(FORCEABLE - {_O.RELEASE, _O.CLAIM}, _OVER, _FREE, "ended", forced=True),
    # -- the rest of a todo's life
    _grant([_O.REOPEN], _STUCK | _ENDED, _FREE, (_E.FENCE, _E.REOPEN), forced=False),
    _answer([_O.REOPEN], _READY, _FREE, "not_ended", forced=False),
    _answer([_O.REOPEN], _LIVE, _OWN, "use_update", forced=False),
    _answer([_O.REOPEN], _LIVE, _FOREIGN, "not_yours", forced=False),
    _answer([_O.REOPEN], _ARCHIVED, _FREE, "ended", forced=False),
    _grant([_O.ARCHIVE], _ENDED, _FREE, (_E.MOVE,), forced=False),
    _answer([_O.ARCHIVE], _ARCHIVED, _FREE, "already_archived", forced=False),
    _answer([_O.ARCHIVE], _LIVE, _FREE | _HELD, "not_ended", forced=False),
    _grant([_O.SOFT], _LIVE, _FREE | _HELD, (_E.SOFT_ADD,), forced=False),
    _answer([_O.SOFT], _OVER, _FREE, "ended", forced=False),
    _grant([_O.UNSOFT], _LIVE, (_FREE - _SOFT) | _HELD, (_E.SOFT_REMOVE,), forced=False),
    _grant([_O.UNSOFT], _LIVE, _SOFT, (_E.LEAVE,), forced=False),
    _answer([_O.UNSOFT], _OVER, _FREE, "ended", forced=False),
    # -- heartbeat reclaim: what has lapsed goes back to the pool
    _grant([_O.RECLAIM], _LIVE, _LAPSED, (_E.END, _E.ATTEMPT, _E.BACK), forced=False),
    _answer([_O.RECLAIM], _LIVE, _HELD - _LAPSED, "not_lapsed", forced=False),
    _answer([_O.RECLAIM], _ALL, _FREE, "nobody", forced=False),
)


def cells() -> Iterable[tuple[Operation, Status, HoldState, bool]]:
    """Every cell of the table; `forced` only where an operator may ask for it."""
    for operation in Operation:
        for status in Status:
            for hold in HoldState:
                yield operation, status, hold, False
                if operation in FORCEABLE:
                    yield operation, status, hold, True


def rows_of(operation: Operation, status: Status, hold: HoldState, forced: bool) -> list[Row]:
    """The rows that answer a cell: one, or the table is wrong."""
    return [
        row
        for row in ROWS
        if operation in row.operations
        and status in row.statuses
        and hold in row.holds
        and row.forced in (None, forced)
    ]


@cache
def look_up(operation: Operation, status: Status, hold: HoldState, forced: bool) -> Row:
    """The rule for a cell."""
    found = rows_of(operation, status, hold, forced)
    if len(found) != 1:
        raise AssertionError(f"{len(found)} rows for {operation} {status} {hold} forced={forced}")
    return found[0]
