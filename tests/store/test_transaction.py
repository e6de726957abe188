"""The transaction by hand: every outcome of a push, and what is asked for and answered after it.

The generator is driven by a Stage that answers its steps: pushes and looks at the remote as a test wrote them
down, decisions by tip, and a clock that only waits and slow pushes move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from builders import ALICE, tid, todo_of

from loopx_git.core.change import ChangeSet, Op
from loopx_git.errors import Contention, HeldByAnother, LoopXError, NotYourClaim, OutcomeUnknown, RemoteFailure
from loopx_git.store import transaction as tx
from loopx_git.store.base import Fetched, Pushed, PushKind

GRANT = (ChangeSet(Op.ADD, ALICE, "add", (todo_of(1),), todo=tid(1)),)
NOTHING = (ChangeSet(Op.CLAIM, ALICE, "", facts={"unchanged": "already_yours"}),)
HELD = HeldByAnother("held by bob", about={"holder": "bob", "epoch": 2})
LIMITS = tx.Limits()
Decision = tuple[ChangeSet, ...] | LoopXError

LANDED, LOST, REJECTED, DECLINED, BROKEN, THROTTLED, UNREACHABLE, UNKNOWN = (Pushed(kind) for kind in PushKind)
#: No answer, and not even a connection.
DEAD = Pushed(PushKind.UNKNOWN, connected=False, said="could not resolve host")
DOWN = Fetched(error="could not resolve host")


def test_the_kinds_in_their_order() -> None:
    assert [
        item.kind for item in (LANDED, LOST, REJECTED, DECLINED, BROKEN, THROTTLED, UNREACHABLE, UNKNOWN)
    ] == list(PushKind)


@dataclass
class Stage:
    """Answers the steps. The last of `pushes` and of `looks` holds for ever; a look is a tip, None or a Fetched.

    `landed` says which of the built commits lies in the history of a tip.
    """

    pushes: Sequence[Pushed] = (LANDED,)
    looks: Sequence[str | Fetched | None] = ("t1",)
    known: str | None = "t1"
    decide: Callable[[str | None], Decision] = lambda tip: GRANT
    landed: dict[str, str] = field(default_factory=dict)
    slow: float = 0.0
    now: float = 0.0
    log: list[tx.Step] = field(default_factory=list)
    kept: bool = False

    def answer(self, step: tx.Step) -> Any:
        self.log.append(step)
        match step:
            case tx.KnownTip():
                return self.known
            case tx.Fetch():
                look = self._next(self.looks, tx.Fetch)
                return look if isinstance(look, Fetched) else Fetched(look)
            case tx.Decide(tip):
                return self.decide(tip)
            case tx.Build():
                self.kept = True
                return f"c{self.count(tx.Build)}"
            case tx.Push():
                self.now += self.slow
                return self._next(self.pushes, tx.Push)
            case tx.FindLanded(tip):
                return self.landed.get(tip) if tip else None
            case tx.Wait(seconds, least):
                assert seconds >= 0 and least >= 0
                self.now += seconds + least
            case tx.Elapsed():
                return self.now
            case tx.Forget():
                self.kept = False
        return None

    def _next(self, answers: Sequence[Any], kind: type[tx.Step]) -> Any:
        return answers[min(self.count(kind), len(answers)) - 1]

    def count(self, kind: type[tx.Step]) -> int:
        return sum(isinstance(step, kind) for step in self.log)

    def run(self, limits: tx.Limits = LIMITS, **flags: bool) -> tx.Result:
        steps = tx.transaction(limits, **flags)
        answer: Any = None
        try:
            for _ in range(20_000):
                answer = self.answer(steps.send(answer))
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        finally:
            self.check()
        raise AssertionError("the transaction does not end")

    def fails(self, error: type[LoopXError], limits: tx.Limits = LIMITS, **flags: bool) -> LoopXError:
        with pytest.raises(error) as caught:
            self.run(limits, **flags)
        assert type(caught.value) is error
        return caught.value

    def check(self) -> None:
        """What holds whatever happened: a push has the parent that was decided and built on, and each commit
        that is pushed was built last."""
        decided: str | None = None
        built, builds = "", 0
        for step in self.log:
            match step:
                case tx.Decide(tip):
                    decided, built = tip, ""
                case tx.Build(tip, changes):
                    assert tip == decided and any(change.writes for change in changes)
                    builds += 1
                    built = f"c{builds}"
                case tx.Push(parent, oid):
                    assert built and (parent, oid) == (decided, built)

    def names(self) -> list[str]:
        return [type(step).__name__ for step in self.log]

    def waits(self) -> list[float]:
        return [step.seconds for step in self.log if isinstance(step, tx.Wait)]


def by_tip(**decisions: Decision) -> Callable[[str | None], Decision]:
    return lambda tip: decisions[str(tip)]


# -- the way it goes


def test_the_plain_way_has_no_fetch_before_the_push() -> None:
    stage = Stage()
    result = stage.run()
    assert stage.names() == ["KnownTip", "Decide", "Build", "Elapsed", "Push"]
    assert result == tx.Result(GRANT, "c1", "c1", True, losses=0, pushes=1)
    assert stage.log[-1] == tx.Push("t1", "c1")


def test_without_a_known_tip_it_looks_first() -> None:
    stage = Stage(known=None, looks=[None])
    assert stage.run().oid == "c1"
    assert stage.names() == ["KnownTip", "Fetch", "FindLanded", "Decide", "Build", "Elapsed", "Push"]
    assert stage.log[-1] == tx.Push(None, "c1")


# -- every answer without a push is taken on a freshly read tip


@pytest.mark.parametrize("decision", [HELD, NOTHING, ()])
def test_an_answer_without_a_push_is_taken_on_a_fresh_tip(decision: Decision) -> None:
    """What the known tip says is asked again at the tip that was read."""
    stage = Stage(looks=["t2"], decide=by_tip(t1=decision, t2=GRANT))
    assert stage.run() == tx.Result(GRANT, "c1", "c1", pushes=1)
    assert stage.log[-1] == tx.Push("t2", "c1")
    stage = Stage(looks=["t2"], decide=by_tip(t1=decision, t2=decision))
    if isinstance(decision, LoopXError):
        assert stage.fails(HeldByAnother) is decision
    else:
        assert stage.run() == tx.Result(decision, "t2")
    assert stage.names() == ["KnownTip", "Decide", "Fetch", "FindLanded", "Decide", "Forget"]


def test_what_is_granted_at_the_known_tip_may_be_refused_at_the_next() -> None:
    stage = Stage(pushes=[LOST], looks=["t2"], decide=by_tip(t1=GRANT, t2=HELD))
    assert stage.fails(HeldByAnother) is HELD
    assert stage.count(tx.Push) == 1 and not stage.kept


def test_a_dry_run_is_answered_on_a_fresh_tip_and_builds_nothing() -> None:
    stage = Stage(looks=["t2"])
    assert stage.run(dry_run=True) == tx.Result(GRANT, "t2")
    assert stage.names() == ["KnownTip", "Decide", "Fetch", "FindLanded", "Decide", "Forget"]
    assert Stage(looks=[DOWN]).fails(RemoteFailure, dry_run=True).code == 14


@pytest.mark.parametrize("decision", [HELD, NOTHING])
@pytest.mark.parametrize("known", [None, "t1"])
def test_a_tip_that_cannot_be_read_is_no_answer(decision: Decision, known: str | None) -> None:
    stage = Stage(known=known, looks=[DOWN], decide=lambda tip: decision)
    error = stage.fails(RemoteFailure)
    assert "could not resolve host" in error.message and error.hint
    assert stage.count(tx.Push) == 0


# -- one row of the table of push outcomes after the other


def test_landed() -> None:
    assert Stage([LANDED]).run().confirmed


def test_up_to_date_is_a_landing_of_ours() -> None:
    """The nonce makes the commit ours alone, so a ref that stands at it was moved by us."""
    stage = Stage([DEAD, LANDED])
    assert stage.run().pushes == 2
    assert [step for step in stage.log if isinstance(step, tx.Push)] == [tx.Push("t1", "c1")] * 2


def test_lost_and_decided_again() -> None:
    stage = Stage([LOST, LOST, LANDED], ["t2", "t3"])
    result = stage.run()
    assert [step for step in stage.log if isinstance(step, tx.Push)] == [
        tx.Push("t1", "c1"), tx.Push("t2", "c2"), tx.Push("t3", "c3"),
    ]  # fmt: skip
    assert result == tx.Result(GRANT, "c3", "c3", True, losses=2, pushes=3)
    assert [type(step).__name__ for step in stage.log[4:10]] == [
        "Push", "Wait", "Fetch", "Elapsed", "FindLanded", "Decide",
    ]  # fmt: skip


def test_lost_but_ours_all_the_same() -> None:
    """A push of ours that never answered landed, and was built upon: history says so, not the server's words."""
    stage = Stage([UNKNOWN, LOST], ["t1", "t2"], landed={"t2": "c1"})
    assert stage.run() == tx.Result(GRANT, "t2", "c1", confirmed=False, pushes=2)


@pytest.mark.parametrize("pushed", [LOST, REJECTED])
def test_refused_with_a_moved_tip_is_lost(pushed: Pushed) -> None:
    stage = Stage([pushed, LANDED], ["t2"])
    assert stage.run().losses == 1


@pytest.mark.parametrize("pushed", [LOST, REJECTED, BROKEN])
def test_three_refusals_over_five_seconds_with_an_unmoved_tip_are_a_fault(pushed: Pushed) -> None:
    stage = Stage([replace(pushed, said="cannot lock ref")], slow=1.0)
    error = stage.fails(RemoteFailure)
    assert "a fault of the server" in error.message and "cannot lock ref" in error.message
    assert stage.count(tx.Push) >= 3 and stage.now >= 5.0
    assert stage.kept, "the record stays until somebody knows"


def test_two_refusals_are_no_fault_and_neither_are_many_at_once() -> None:
    assert Stage([REJECTED, REJECTED, LANDED], slow=6.0).run().pushes == 3
    many = [REJECTED] * 4
    assert Stage([*many, LANDED]).run(replace(LIMITS, faults_spread=100.0)).pushes == 5


def test_a_move_of_the_tip_forgives_the_refusals_before_it() -> None:
    stage = Stage([REJECTED, REJECTED, REJECTED, REJECTED, LANDED], ["t1", "t1", "t2", "t2"], slow=3.0)
    assert stage.run().pushes == 5


def test_declined_stops_at_once() -> None:
    stage = Stage([Pushed(PushKind.DECLINED, said="remote: not on a Friday")])
    error = stage.fails(RemoteFailure)
    assert "not on a Friday" in error.message
    assert stage.count(tx.Push) == 1 and not stage.kept


def test_declined_while_nothing_can_be_read_stops_at_once_too() -> None:
    """A server that wants other credentials refuses the look as well; no waiting makes it better."""
    stage = Stage([Pushed(PushKind.DECLINED, said="Authentication failed")], [DOWN])
    assert "Authentication failed" in stage.fails(RemoteFailure).message
    assert stage.count(tx.Push) == 1 and not stage.kept


def test_declined_after_an_unknown_keeps_the_record() -> None:
    stage = Stage([UNKNOWN, DECLINED])
    stage.fails(RemoteFailure)
    assert stage.kept, "the first push may land yet"


def test_declined_on_a_moved_tip_is_decided_again() -> None:
    stage = Stage([DECLINED], ["t2"], decide=by_tip(t1=GRANT, t2=HELD))
    assert stage.fails(HeldByAnother) is HELD


def test_broken_is_built_again_on_the_same_parent() -> None:
    stage = Stage([BROKEN, LANDED])
    assert stage.run().oid == "c2"
    assert [step for step in stage.log if isinstance(step, tx.Push)] == [tx.Push("t1", "c1"), tx.Push("t1", "c2")]
    assert stage.count(tx.Decide) == 2, "the rule is asked again"


def test_throttled_waits_as_told_and_pushes_the_same_commit() -> None:
    stage = Stage([replace(THROTTLED, retry_after=7.0), LANDED])
    assert stage.run().oid == "c1"
    (wait,) = (step for step in stage.log if isinstance(step, tx.Wait))
    assert wait.least == 7.0 and wait.seconds > 0, "as told, and a random time more"


# -- unknown


def test_unknown_then_landed() -> None:
    stage = Stage([UNKNOWN], ["c1"], landed={"c1": "c1"})
    assert stage.run() == tx.Result(GRANT, "c1", "c1", confirmed=False, pushes=1)


def test_unknown_then_landed_and_gone_on() -> None:
    stage = Stage([UNKNOWN], ["t5"], landed={"t5": "c1"})
    assert stage.run() == tx.Result(GRANT, "t5", "c1", confirmed=False, pushes=1)


def test_unknown_and_unmoved_pushes_the_same_commit_again() -> None:
    stage = Stage([UNKNOWN, UNKNOWN, LANDED])
    assert stage.run().pushes == 3
    assert {step for step in stage.log if isinstance(step, tx.Push)} == {tx.Push("t1", "c1")}


def test_unknown_then_moved_is_decided_again() -> None:
    """Once the tip is not our parent any more, what we built can never land."""
    stage = Stage([UNKNOWN, LANDED], ["t2"], decide=by_tip(t1=GRANT, t2=GRANT))
    assert stage.run() == tx.Result(GRANT, "c2", "c2", losses=1, pushes=2)
    stage = Stage([UNKNOWN], ["t2"], decide=by_tip(t1=GRANT, t2=HELD))
    assert stage.fails(HeldByAnother) is HELD
    assert not stage.kept


@pytest.mark.parametrize(
    ("pushes", "looks", "error"),
    [
        ([UNKNOWN], ["t1"], OutcomeUnknown),
        ([UNKNOWN], [DOWN], OutcomeUnknown),
        ([DEAD], ["t1"], OutcomeUnknown),  # the look did connect
        ([DEAD], [DOWN], RemoteFailure),
        ([DEAD, UNKNOWN, DEAD], [DOWN], OutcomeUnknown),
        ([DEAD], [DOWN, "t1", DOWN], OutcomeUnknown),
        ([THROTTLED], [DOWN], OutcomeUnknown),
        ([UNKNOWN, REJECTED, UNKNOWN], ["t1"], OutcomeUnknown),
    ],
)
def test_unknown_to_the_end(pushes: list[Pushed], looks: list[Any], error: type[LoopXError]) -> None:
    stage = Stage(pushes, looks, slow=1.0)
    caught = stage.fails(error)
    assert stage.kept and LIMITS.budget / 2 <= stage.now < LIMITS.budget + 5
    if looks == ["t1"]:
        assert stage.now >= LIMITS.budget
    if error is OutcomeUnknown:
        assert caught.about["pushes"] == stage.count(tx.Push) and "run the same command again" in caught.hint


def test_a_look_that_fails_once_is_tried_again() -> None:
    stage = Stage([UNKNOWN], [DOWN, DOWN, "c1"], landed={"c1": "c1"})
    assert stage.run().oid == "c1"


def test_a_refusal_is_never_given_while_the_tip_cannot_be_read() -> None:
    stage = Stage([LOST], [DOWN], decide=by_tip(t1=GRANT), slow=1.0)
    assert stage.fails(RemoteFailure).code == 14


# -- refused before anything was sent, and patience

REFUSED = Pushed(PushKind.UNREACHABLE, connected=False, said="not found", sent=False)
BUSY = Pushed(PushKind.THROTTLED, said="error: 502", sent=False)
LOGIN = Fetched(error="a login page", lasting=True)


def test_refused_before_anything_was_sent_ends_at_once() -> None:
    stage = Stage([REFUSED])
    error = stage.fails(RemoteFailure)
    assert "not found" in error.message and "nothing was written" in error.message
    assert (stage.count(tx.Push), stage.count(tx.Fetch), stage.count(tx.Wait)) == (1, 0, 0)
    assert not stage.kept


def test_refused_after_a_lost_race_leaves_nothing_open() -> None:
    stage = Stage([LOST, REFUSED], ["t2"])
    stage.fails(RemoteFailure)
    assert stage.count(tx.Push) == 2 and not stage.kept


@pytest.mark.parametrize("later", [REFUSED, BUSY])
def test_what_an_earlier_push_left_open_stays_open(later: Pushed) -> None:
    stage = Stage([UNKNOWN, later])
    stage.fails(OutcomeUnknown)
    assert stage.kept and stage.count(tx.Push) > 2, "it is looked for to the end"
    stage = Stage([UNKNOWN, later], ["t1", "t1", "t4"], landed={"t4": "c1"})
    assert stage.run().oid == "c1"


@pytest.mark.parametrize("pushed", [BUSY, Pushed(PushKind.UNKNOWN, False, "reset by peer", sent=False)])
def test_a_remote_that_is_overloaded_is_asked_a_few_times(pushed: Pushed) -> None:
    stage = Stage([pushed], slow=0.1)
    error = stage.fails(RemoteFailure)
    assert pushed.said in error.message and not stage.kept
    least = [step.least for step in stage.log if isinstance(step, tx.Wait)]
    assert 3 <= stage.count(tx.Push) <= 6 and stage.count(tx.Fetch) == 0
    assert min(least) >= 1.0 and least[:3] == sorted(least[:3]) and stage.now <= LIMITS.budget
    assert Stage([pushed, pushed, LANDED]).run().oid == "c1"


@pytest.mark.parametrize("told", [0.0, 3.0])
def test_a_remote_that_says_how_long_is_not_asked_sooner(told: float) -> None:
    stage = Stage([replace(BUSY, retry_after=told), LANDED])
    stage.run()
    assert [step.least for step in stage.log if isinstance(step, tx.Wait)] == [max(1.0, told)]


def test_a_remote_that_wants_more_time_than_there_is_is_not_waited_for() -> None:
    stage = Stage([replace(BUSY, retry_after=60.0)])
    stage.fails(RemoteFailure)
    assert stage.count(tx.Push) == 1 and not stage.count(tx.Wait) and not stage.kept


def test_what_was_sent_is_looked_for_also_without_time_for_another_wait() -> None:
    """A gateway's error in answer to the commit itself: it may have landed."""
    stage = Stage([replace(THROTTLED, retry_after=60.0)], ["c1"], landed={"c1": "c1"})
    assert stage.run().oid == "c1"
    stage = Stage([replace(THROTTLED, retry_after=60.0)])
    stage.fails(OutcomeUnknown)
    assert stage.count(tx.Push) == 1 and stage.kept


def test_the_first_look_waits_for_an_overloaded_remote_too() -> None:
    busy = Fetched(error="error: 429", throttled=True)
    stage = Stage(known=None, looks=[busy])
    stage.fails(RemoteFailure)
    assert 3 <= stage.count(tx.Fetch) <= 6 and stage.count(tx.Push) == 0
    assert Stage(known=None, looks=[busy, busy, None]).run().oid == "c1"
    stage = Stage(known=None, looks=[replace(busy, retry_after=60.0)])
    stage.fails(RemoteFailure)
    assert stage.count(tx.Fetch) == 1


def test_a_look_that_will_be_the_same_the_next_time_ends_it() -> None:
    stage = Stage([LOST], [LOGIN])
    assert "a login page" in stage.fails(RemoteFailure).message
    assert (stage.count(tx.Push), stage.count(tx.Fetch)) == (1, 1) and not stage.kept
    stage = Stage([UNKNOWN], [LOGIN])
    stage.fails(OutcomeUnknown)
    assert stage.kept and stage.count(tx.Push) <= 8


# -- a fresh commit on the same parent


def test_a_commit_that_has_grown_old_is_built_again_on_the_same_parent() -> None:
    stage = Stage([UNKNOWN] * 5 + [LANDED], slow=2.0)
    result = stage.run(tx.Limits(budget=1000.0, fresh_after=5.0))
    pushes = [step for step in stage.log if isinstance(step, tx.Push)]
    assert {step.parent for step in pushes} == {"t1"}
    assert [step.oid for step in pushes] == ["c1"] * 3 + ["c2"] * 3
    assert result.losses == 0 and result.pushes == 6


def test_a_commit_is_not_built_again_while_the_tip_cannot_be_read() -> None:
    stage = Stage([UNKNOWN] * 9 + [LANDED], [DOWN], slow=2.0)
    assert stage.run(tx.Limits(budget=1000.0, fresh_after=5.0)).oid == "c1"


def test_a_rule_that_meanwhile_refuses_does_not_forget_what_may_land_yet() -> None:
    """Deciding again on the same parent takes nothing back that is under way."""
    late = NotYourClaim("past its deadline")
    answers = iter([GRANT, late])
    stage = Stage([UNKNOWN], decide=lambda tip: next(answers), slow=2.0)
    assert stage.fails(NotYourClaim, tx.Limits(budget=1000.0, fresh_after=1.0)) is late
    assert stage.kept


# -- the budget


def test_the_budget_ends_a_run_of_losses() -> None:
    tips = [f"t{number}" for number in range(2, 2000)]
    stage = Stage([LOST], tips, slow=1.0)
    error = stage.fails(Contention)
    assert error.about["losses"] == stage.count(tx.Push) and not stage.kept
    assert LIMITS.budget <= stage.now < LIMITS.budget + 5


def test_the_last_look_still_counts() -> None:
    """The budget is over, and the commit is found all the same."""
    stage = Stage([UNKNOWN], ["c1"], landed={"c1": "c1"}, slow=100.0)
    assert stage.run().oid == "c1"
    stage = Stage([LOST], ["t2"], landed={"t2": "c1"}, slow=100.0)
    assert stage.run().oid == "c1"


def test_refusals_until_the_end_are_no_unknown_outcome() -> None:
    stage = Stage([REJECTED], slow=20.0)
    error = stage.fails(RemoteFailure, replace(LIMITS, faults=99))
    assert "the coordination ref did not move" in error.message


def test_waits_grow_up_to_a_bound_and_grow_with_the_losses() -> None:
    stage = Stage([UNKNOWN])
    stage.fails(OutcomeUnknown)
    waits = stage.waits()
    assert waits[:6] == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0] and max(waits) == LIMITS.longest_wait
    lost = Stage([LOST] * 4 + [LANDED], ["t2", "t3", "t4", "t5"])
    lost.run()
    assert lost.waits() == [0.05, 0.1, 0.2, 0.4]


# -- resumed: commits of an earlier run may still land


def test_resumed_looks_first_and_finds_what_landed() -> None:
    stage = Stage(looks=["t7"], landed={"t7": "c0"})
    assert stage.run(resumed=True) == tx.Result((), "t7", "c0", confirmed=False)
    assert stage.names() == ["KnownTip", "Fetch", "FindLanded"]


def test_resumed_without_a_trace_decides_anew() -> None:
    stage = Stage(looks=["t2"])
    assert stage.run(resumed=True).oid == "c1"
    assert stage.names()[:3] == ["KnownTip", "Fetch", "FindLanded"]
    assert Stage(looks=[DOWN]).fails(RemoteFailure, resumed=True).code == 14


def test_resumed_may_find_the_earlier_commit_late() -> None:
    """It landed between our look and our push. Its facts are in the earlier record, not among our changes."""
    stage = Stage([LOST], ["t1", "t2"], landed={"t2": "c0"})
    assert stage.run(resumed=True) == tx.Result((), "t2", "c0", confirmed=False, losses=0, pushes=1)


def test_resumed_and_refused_keeps_the_record() -> None:
    stage = Stage(decide=lambda tip: HELD, kept=True)
    stage.fails(HeldByAnother, resumed=True)
    assert stage.kept


def test_resumed_and_unreachable_to_the_end_is_unknown() -> None:
    stage = Stage([DEAD], ["t1", DOWN], slow=1.0)
    stage.fails(OutcomeUnknown, resumed=True)
    assert stage.kept


# -- everything at once


@pytest.mark.parametrize("seed", range(300))
def test_whatever_happens_it_ends_as_it_should(seed: int) -> None:
    """Random outcomes; the Stage checks each push, and here is what may come of it."""
    import random

    draw = random.Random(seed)
    tips = ["t1"]
    looks: list[Any] = []
    for _ in range(60):
        if draw.random() < 0.3:
            tips.append(f"t{len(tips) + 1}")
        looks.append(DOWN if draw.random() < 0.2 else tips[-1])
    pushes = [
        draw.choice([LOST, REJECTED, DECLINED, BROKEN, THROTTLED, UNKNOWN, UNKNOWN, DEAD, LANDED]) for _ in range(60)
    ]
    refused = {tip for tip in tips if draw.random() < 0.1}
    landed = {draw.choice(tips): "c1"} if draw.random() < 0.3 else {}
    stage = Stage(
        pushes, looks, draw.choice([None, "t1"]), lambda tip: HELD if tip in refused else GRANT, landed,
        draw.choice([0.0, 0.5, 3.0]),
    )  # fmt: skip
    unknown = any(pushed.kind in (PushKind.UNKNOWN, PushKind.THROTTLED) for pushed in pushes)
    try:
        result = stage.run(resumed=draw.random() < 0.2)
    except LoopXError as error:
        assert type(error) in (HeldByAnother, RemoteFailure, OutcomeUnknown, Contention)
        if isinstance(error, (HeldByAnother, Contention)):
            last = [step for step in stage.log if isinstance(step, (tx.Fetch, tx.Push))][-1]
            assert isinstance(last, tx.Fetch), "answered on what was read last"
        if isinstance(error, OutcomeUnknown):
            assert stage.kept or stage.count(tx.Build) == 0
            assert unknown or DOWN in looks
        return
    assert result.oid is not None
    assert result.pushes == stage.count(tx.Push) and not stage.count(tx.Forget)
    if result.confirmed:
        assert stage.log[-1] == tx.Push(stage.log[-1].parent, result.oid)  # type: ignore[union-attr]
