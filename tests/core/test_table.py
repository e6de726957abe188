"""The table of rules: each cell has one answer, each answer makes sense, and the planner does what it says."""

from __future__ import annotations

import string
from dataclasses import dataclass, replace
from typing import Any

import pytest
from builders import ALICE, BOB, NOW, REQUEST, applied, goal_of, lease_of, state, tid, todo_of
from rules_page import EFFECT_WORDS, HOLD_WORDS

from loopx_git.core.change import Actor, PutLease
from loopx_git.core.commands import OnTodo
from loopx_git.core.lease import Clocks, Ended, Lease
from loopx_git.core.peer import ClaimMode
from loopx_git.core.plan import plan
from loopx_git.core.plan_todo import decide
from loopx_git.core.table import (
    FINISHED,
    FORCEABLE,
    NEEDS_CLAIM,
    REASONS,
    ROWS,
    SOFTLY,
    Effect,
    HoldState,
    Operation,
    Row,
    Verdict,
    cells,
    look_up,
    rows_of,
)
from loopx_git.core.times import format_time
from loopx_git.core.todo import TERMINAL, Note, Status, Todo
from loopx_git.errors import LoopXError

ACQUIRING = {Operation.CLAIM, Operation.RESUME}
LEASE_EFFECTS = {Effect.ACQUIRE, Effect.TAKEOVER, Effect.RENEW, Effect.END, Effect.FENCE, Effect.HANDOVER}
HELD = {
    HoldState.MINE,
    HoldState.LATE,
    HoldState.SIBLING,
    HoldState.SIBLING_LAPSED,
    HoldState.OTHER,
    HoldState.OTHER_LAPSED,
}
OVER = {*TERMINAL, Status.ARCHIVED}


# -- the table by itself


def test_each_cell_has_exactly_one_row() -> None:
    wrong = {cell: len(rows_of(*cell)) for cell in cells() if len(rows_of(*cell)) != 1}
    assert not wrong


def test_the_cells_are_all_there_are() -> None:
    found = list(cells())
    assert len(found) == len(set(found)) == (len(Operation) + len(FORCEABLE)) * len(Status) * len(HoldState)
    assert {operation for operation, _, _, forced in found if forced} == FORCEABLE


def test_a_cell_without_one_row_is_our_bug() -> None:
    with pytest.raises(AssertionError, match="0 rows"):
        look_up(Operation.RENEW, Status.OPEN, HoldState.MINE, True)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join([*sorted(row.operations), row.reason][:3]))
def test_a_row_is_of_use(row: Row) -> None:
    """It names something of everything, answers a cell, and no effect twice."""
    assert row.operations and row.statuses and row.holds
    assert any(rows_of(*cell) == [row] for cell in cells())
    assert len(set(row.effects)) == len(row.effects)
    assert row.forced is not True or row.operations <= FORCEABLE


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join([*sorted(row.operations), row.reason][:3]))
def test_a_row_grants_with_effects_or_answers_with_a_reason(row: Row) -> None:
    if row.verdict is Verdict.GRANT:
        assert row.effects and not row.reason and row.code == 0
    else:
        assert not row.effects
        assert (row.verdict is Verdict.REFUSE) == (REASONS[row.reason].code != 0)
        assert row.code == REASONS[row.reason].code


def test_every_reason_and_every_effect_is_used() -> None:
    assert {row.reason for row in ROWS if row.reason} == set(REASONS)
    assert {effect for row in ROWS for effect in row.effects} == set(Effect)


def test_every_effect_and_every_hold_is_described() -> None:
    assert set(EFFECT_WORDS) == set(Effect)
    assert set(HOLD_WORDS) == set(HoldState)
    assert all(text.strip() for text in (*EFFECT_WORDS.values(), *HOLD_WORDS.values()))


def test_the_codes_are_the_designs() -> None:
    """0 done or nothing to do, 11 held by another, 12 not your claim, 15 not allowed, 16 invalid."""
    assert {reason.code for reason in REASONS.values()} == {0, 11, 12, 15, 16}


def test_reasons_use_only_words_that_the_planner_has() -> None:
    known = {"todo", "status", "holder", "session", "whose", "epoch", "given", "until"}
    for name, reason in REASONS.items():
        for text in (reason.message, reason.hint):
            used = {field for _, field, _, _ in string.Formatter().parse(text) if field is not None}
            assert used <= known, name
        assert "{todo}" in reason.message, name
        assert (reason.hint != "") == (reason.code != 0), name


def test_a_stale_epoch_changes_nothing_whatever_is_asked() -> None:
    for operation, status, hold, forced in cells():
        row = look_up(operation, status, hold, forced)
        if hold is HoldState.STALE:
            assert (row.verdict, row.code, row.effects) == (Verdict.REFUSE, 12, ())


def test_only_what_acquires_answers_11_and_only_when_somebody_else_is_in_time() -> None:
    for operation, status, hold, forced in cells():
        row = look_up(operation, status, hold, forced)
        if row.code == 11:
            assert operation in ACQUIRING and hold in (HoldState.OTHER, HoldState.SIBLING)
        if operation in ACQUIRING and status not in OVER and hold is HoldState.OTHER and not forced:
            assert row.code == 11


def test_what_needs_the_claim_answers_12_without_it() -> None:
    for operation in NEEDS_CLAIM:
        for status in set(Status) - OVER:
            for hold in set(HoldState) - {HoldState.MINE, HoldState.LATE}:
                softly = operation in SOFTLY and hold is HoldState.SOFT
                human = operation is Operation.COMPLETE and status is Status.NEEDS_HUMAN
                assert look_up(operation, status, hold, False).code == (12 if not softly else 15 if human else 0)
            for hold in (HoldState.MINE, HoldState.LATE):
                row = look_up(operation, status, hold, False)
                in_time = hold is HoldState.MINE or operation in (Operation.RENEW, Operation.RELEASE)
                needs_human = operation is Operation.COMPLETE and status is Status.NEEDS_HUMAN
                assert row.code == (0 if in_time and not needs_human else 12 if not in_time else 15)


def test_a_soft_claim_writes_no_lease() -> None:
    """What it grants leaves the record as it is: no lease is made, ended or fenced by it."""
    for operation in (*SOFTLY, Operation.SOFT, Operation.UNSOFT):
        for status in set(Status) - OVER:
            assert not LEASE_EFFECTS & set(look_up(operation, status, HoldState.SOFT, False).effects)


def test_a_note_and_a_triage_leave_the_claim_alone() -> None:
    """Anybody's note, an operator's priority and labels: neither epoch, holder nor lease changes."""
    for status in set(Status) - OVER:
        for hold in set(HoldState) - {HoldState.STALE, HoldState.WAS_MINE, HoldState.LATE}:
            assert look_up(Operation.NOTE, status, hold, False).effects == (Effect.NOTE,)
        for hold in set(HoldState) - {HoldState.STALE}:
            assert look_up(Operation.TRIAGE, status, hold, True).effects == (Effect.EDIT,)
            unforced = look_up(Operation.TRIAGE, status, hold, False)
            assert unforced.code == (0 if hold is HoldState.MINE else 12)
    assert Operation.NOTE not in NEEDS_CLAIM and Operation.NOTE not in FORCEABLE


def test_an_ended_todo_is_changed_by_nothing_but_reopen_and_archive() -> None:
    for operation, status, hold, forced in cells():
        row = look_up(operation, status, hold, forced)
        if status in OVER and row.verdict is Verdict.GRANT:
            assert (operation, row.effects) in (
                (Operation.REOPEN, (Effect.FENCE, Effect.REOPEN)),
                (Operation.ARCHIVE, (Effect.MOVE,)),
            )
        if status is Status.ARCHIVED:
            assert row.verdict is not Verdict.GRANT


def test_an_ended_todo_with_a_holder_is_invalid_for_every_operation() -> None:
    for operation, status, hold, forced in cells():
        if status in OVER and hold in HELD:
            assert look_up(operation, status, hold, forced).code == 16


def test_an_operator_can_force_what_is_forceable_against_any_holder() -> None:
    for operation in FORCEABLE - {Operation.CLAIM}:
        for status in set(Status) - OVER:
            for hold in HELD:
                row = look_up(operation, status, hold, True)
                assert row.verdict is Verdict.GRANT
                ends = Effect.END in row.effects
                own = operation is Operation.RELEASE and hold in (HoldState.MINE, HoldState.LATE)
                # To end somebody's claim from outside raises the epoch, so that the former holder is refused.
                assert (Effect.FENCE in row.effects) == (ends and not own)


def test_a_forced_claim_takes_what_is_ready_from_anybody_and_leaves_its_own_alone() -> None:
    for status in (Status.OPEN, Status.IN_PROGRESS):
        for hold in HELD - {HoldState.MINE, HoldState.LATE}:
            row = look_up(Operation.CLAIM, status, hold, True)
            assert row.verdict is Verdict.GRANT
            assert row.effects[0] is Effect.TAKEOVER
        assert look_up(Operation.CLAIM, status, HoldState.MINE, True).reason == "already_yours"
    for status in (Status.BLOCKED, Status.NEEDS_HUMAN):
        assert look_up(Operation.CLAIM, status, HoldState.OTHER, True).reason == "not_ready"


def test_the_epoch_rises_at_most_once_and_never_at_a_renewal() -> None:
    rising = {Effect.ACQUIRE, Effect.TAKEOVER, Effect.FENCE, Effect.HANDOVER}
    for row in ROWS:
        assert len(rising & set(row.effects)) <= 1
        assert Effect.RENEW not in row.effects or row.effects == (Effect.RENEW,)


def test_a_claim_ends_when_the_todo_does() -> None:
    for operation, status, hold, forced in cells():
        row = look_up(operation, status, hold, forced)
        if Effect.FINISH in row.effects:
            assert operation in FINISHED
            assert (Effect.END in row.effects) == (hold in HELD)


# -- the table against the program

#: Cells whose state cannot be stored, with the reason. Every state of a todo and a lease record can be: also
#: those that only a foreign program would leave behind (a holder on an ended todo).
NOT_STORABLE: dict[tuple[Operation, Status, HoldState, bool], str] = {}

OTHER_SESSION = Actor(ALICE.name, "another-session")
LONG_AGO = 7200 + 60 + 1.0
TOO_LATE = 7200 - 29.0


@dataclass(frozen=True)
class Scene:
    """A way to bring a hold about: the record (None: never claimed) and the epoch that the caller names."""

    name: str
    lease: Lease | None
    epoch: int | None = None


#: As alice sees it.
SCENES: dict[HoldState, list[Scene]] = {
    HoldState.FREE: [Scene("never claimed", None), Scene("released", lease_of(1)), Scene("epoch 0", None, 0)],
    HoldState.WAS_MINE: [Scene("named", lease_of(1), 3)],
    HoldState.SOFT: [Scene("never claimed", None), Scene("released", lease_of(1)), Scene("named", lease_of(1), 3)],
    HoldState.MINE: [
        Scene("in time", lease_of(1, ALICE)),
        Scene("named", lease_of(1, ALICE), 3),
        Scene("unbound", lease_of(1, ALICE, session=None)),
        Scene("without a ttl", lease_of(1, ALICE, age=1e8, ttl_s=None)),
    ],
    HoldState.LATE: [
        Scene("past the deadline", lease_of(1, ALICE, age=TOO_LATE)),
        Scene("free for others", lease_of(1, ALICE, age=LONG_AGO), 3),
    ],
    HoldState.SIBLING: [Scene("other session", lease_of(1, OTHER_SESSION))],
    HoldState.SIBLING_LAPSED: [Scene("other session", lease_of(1, OTHER_SESSION, age=LONG_AGO), 3)],
    HoldState.OTHER: [Scene("bob", lease_of(1, BOB)), Scene("bob, within the skew", lease_of(1, BOB, age=7259.0))],
    HoldState.OTHER_LAPSED: [Scene("bob", lease_of(1, BOB, age=LONG_AGO))],
    HoldState.STALE: [
        Scene("mine", lease_of(1, ALICE), 2),
        Scene("others", lease_of(1, BOB), 2),
        Scene("a later one", lease_of(1, ALICE), 4),
        Scene("released", lease_of(1), 2),
        Scene("never claimed", None, 1),
    ],
}


def stored(status: Status, lease: Lease | None, *soft: str) -> Todo:
    """The todo in a state. A superseded one has a successor, number 2."""
    known: dict[str, Any] = {
        "claimed_by": None if lease is None else lease.holder,
        "attempts": 1,
        "soft_claims": soft,
    }
    if status is Status.ARCHIVED:
        return todo_of(1, status=Status.COMPLETED, completed_at=NOW, archived=True, **known)
    if status is Status.COMPLETED:
        known["completed_at"] = NOW
    if status is Status.SUPERSEDED:
        known["successor"] = tid(2)
    return todo_of(1, status=status, **known)


def command_of(operation: Operation, hold: HoldState, scene: Scene, forced: bool) -> OnTodo:
    command = OnTodo(operation, tid(1), epoch=scene.epoch, force=forced, reason="because" if forced else None)
    match operation:
        case Operation.UPDATE:
            # A soft claim changes status and notes only.
            fields = {} if hold is HoldState.SOFT else {"title": "another title"}
            # A note alone would be a NOTE where the claim is another's; an exclusive update is the claim's.
            return replace(command, fields=fields, note="so far", exclusive=True)
        case Operation.NOTE:
            return replace(command, note="so far")
        case Operation.TRIAGE:
            return replace(command, fields={"priority": 0, "labels": ("urgent",)})
        case Operation.RELEASE:
            return replace(command, exclusive=True)
        case Operation.TRANSFER:
            return replace(command, to="carol")
        case Operation.SUPERSEDE:
            return replace(command, successor=tid(2))
        case Operation.CLAIM:
            return replace(command, exclusive=hold is HoldState.SOFT)
    return command


def expected(command: OnTodo, row: Row, before: Todo, lease: Lease, actor: Actor) -> tuple[Todo, Lease, str | None]:
    """Todo, lease and former claim after a row's effects, carried out by the words of EFFECT_WORDS alone."""
    todo, former, operation = before, f"{lease.holder}@{lease.epoch}", command.operation
    prev = None
    for effect in row.effects:
        match effect:
            case Effect.ACQUIRE | Effect.TAKEOVER:
                prev = former if effect is Effect.TAKEOVER else None
                lease = Lease(
                    tid(1), lease.epoch + 1, actor.name, actor.session, 0, 7200, NOW, NOW, REQUEST
                )  # fmt: skip
            case Effect.ATTEMPT:
                todo = replace(todo, attempts=todo.attempts + 1)
            case Effect.RENEW:
                lease = replace(
                    lease, seq=lease.seq + 1, renewed_at=NOW, session=actor.session, last_request=REQUEST
                )  # fmt: skip
            case Effect.END:
                prev = (
                    None if (lease.holder, lease.session or actor.session) == (actor.name, actor.session) else former
                )
                how = {
                    Operation.RELEASE: Ended.RELEASED,
                    Operation.COMPLETE: Ended.COMPLETED,
                    Operation.SUPERSEDE: Ended.SUPERSEDED,
                    Operation.CANCEL: Ended.CANCELLED,
                    Operation.RECLAIM: Ended.EXPIRED,
                }[operation]
                lease = replace(lease, holder=None, session=None, ttl_s=None, last_request=REQUEST, ended=how)
            case Effect.FENCE:
                lease = replace(lease, epoch=lease.epoch + 1, last_request=REQUEST)
            case Effect.HANDOVER:
                prev = former
                lease = Lease(tid(1), lease.epoch + 1, "carol", None, 0, lease.ttl_s, NOW, NOW, REQUEST)
            case Effect.BACK:
                todo = replace(todo, status=Status.OPEN if todo.status is Status.IN_PROGRESS else todo.status)
            case Effect.EDIT | Effect.NOTE:
                notes = () if command.note is None else (Note(format_time(NOW), actor.name, command.note),)
                todo = replace(todo, notes=notes, **command.fields)
            case Effect.FINISH:
                done = NOW if operation is Operation.COMPLETE else None
                link = todo.successor if operation is not Operation.SUPERSEDE else tid(2)
                todo = replace(
                    todo, status=FINISHED[operation], completed_at=done, soft_claims=(), successor=link
                )  # fmt: skip
            case Effect.REOPEN:
                todo = replace(todo, status=Status.OPEN, completed_at=None, successor=None)
            case Effect.MOVE:
                todo = replace(todo, archived=True)
            case Effect.SOFT_ADD:
                todo = replace(todo, soft_claims=tuple(dict.fromkeys((*todo.soft_claims, actor.name))))
            case Effect.SOFT_REMOVE:
                todo = replace(todo, soft_claims=tuple(n for n in todo.soft_claims if n != actor.name))
            case Effect.LEAVE:
                left = tuple(n for n in todo.soft_claims if n != actor.name)
                opens = todo.status is Status.IN_PROGRESS and not left
                todo = replace(todo, soft_claims=left, status=Status.OPEN if opens else todo.status)
    if lease.holder == actor.name and lease.session is None:
        # The first write of the new holder binds the session that a transfer left open.
        lease = replace(lease, session=actor.session)
    return replace(todo, claimed_by=lease.holder), lease, prev


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize(
    ("operation", "forced"),
    [
        (operation, forced)
        for operation in Operation
        for forced in (False, True)
        if not forced or operation in FORCEABLE
    ],
    ids=lambda value: {True: "forced", False: ""}.get(value, str(value)),
)
def test_the_planner_answers_each_cell_as_its_row_says(operation: Operation, status: Status, forced: bool) -> None:
    for hold in HoldState:
        if (operation, status, hold, forced) in NOT_STORABLE:
            continue
        for scene in SCENES[hold]:
            check_cell(operation, status, hold, forced, scene)


def check_cell(operation: Operation, status: Status, hold: HoldState, forced: bool, scene: Scene) -> None:
    alone = hold is HoldState.SOFT or operation is Operation.UNSOFT
    for others in [("carol",), ()] if alone else [("carol",)]:
        check_scene(operation, status, hold, forced, scene, others)


def check_scene(
    operation: Operation, status: Status, hold: HoldState, forced: bool, scene: Scene, others: tuple[str, ...]
) -> None:
    actor, lease = ALICE, scene.lease or Lease(tid(1))
    softly = operation is Operation.UNSOFT or hold is HoldState.SOFT
    before = stored(status, scene.lease, *others, *([actor.name] if softly else []))
    mode = goal_of("main", claims=ClaimMode.SOFT if hold is HoldState.SOFT else None)
    other = todo_of(2, supersedes=(tid(1),) if before.successor else ())
    snapshot = state(mode, before, other, *([scene.lease] if scene.lease else []))
    row = look_up(operation, status, hold, forced)
    where = f"{operation} {status} {hold} ({scene.name})"
    command = command_of(operation, hold, scene, forced)
    try:
        # A claim is forced through a loop's own command, which asks the same table.
        change = (decide if forced and operation is Operation.CLAIM else plan)(
            snapshot, command, actor, Clocks(NOW), REQUEST
        )
    except LoopXError as refusal:
        assert row.verdict is Verdict.REFUSE, f"{where}: {refusal}"
        assert refusal.code == row.code, where
        assert tid(1) in refusal.message and refusal.hint, where
        assert (refusal.about["holder"], refusal.about["epoch"]) == (lease.holder, lease.epoch), where
        assert refusal.about["status"] == status, where
        return
    assert change.facts["hold"] == hold, where
    if row.verdict is Verdict.NOTHING:
        assert change.writes == () and change.facts["unchanged"] == row.reason, where
        assert change.epoch == lease.epoch, where
        return
    assert row.verdict is Verdict.GRANT, where
    wanted_todo, wanted_lease, prev = expected(command, row, before, lease, actor)
    after = applied(snapshot, change)
    assert after.goals_of(tid(1)) == ["main"], where
    assert after.todo("main", tid(1)) == wanted_todo, where
    written = after.lease("main", tid(1))
    assert (written or Lease(tid(1))) == wanted_lease, where
    if (wanted_todo, wanted_lease) == (before, lease):
        assert change.writes == () and change.facts["unchanged"] == "same", where
        return
    assert (change.epoch, change.prev) == (wanted_lease.epoch, prev), where
    assert bool(change.facts.get("acquired")) == bool({Effect.ACQUIRE, Effect.TAKEOVER} & set(row.effects)), where
    assert (wanted_todo in change.writes) == (wanted_todo != before), where
    assert (PutLease("main", wanted_lease) in change.writes) == (wanted_lease != lease), where
    if not LEASE_EFFECTS & set(row.effects) and lease.session is not None:
        assert wanted_lease == lease, where
    # Links between todos are kept both ways.
    links = (tid(1),) if wanted_todo.successor else ()
    assert after.todo("main", tid(2)) == replace(other, supersedes=links), where
    assert len(change.writes) == len({str(write) for write in change.writes}) <= 3, where


def test_no_cell_is_left_out_for_a_reason_that_is_gone() -> None:
    assert set(NOT_STORABLE) <= set(cells())
    assert set(SCENES) == set(HoldState)
