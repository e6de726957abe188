"""What a caller types (id, prefix, alias, goal) against what is stored."""

from __future__ import annotations

import pytest
from builders import goal_of, state, todo_of

from loopx_git.core import resolve
from loopx_git.core.todo import Status
from loopx_git.errors import InvalidState, LoopXError, NotFound, UsageError

FIRST, SECOND, THIRD = "todo_ab12cd34ef56", "todo_ab12ffffffff", "todo_00000000cafe"


def todo(full: str, **fields: object):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    return replace(todo_of(0), id=full, **fields)


SNAPSHOT = state(
    goal_of("other"),
    todo(FIRST, alias="Parser"),
    todo(SECOND, goal="other", alias="cafe"),
    todo(THIRD, status=Status.CANCELLED, archived=True, alias="old.one"),
)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (FIRST, ("main", FIRST)),
        (SECOND, ("other", SECOND)),
        (THIRD, ("main", THIRD)),
        ("ab12c", ("main", FIRST)),
        ("todo_ab12f", ("other", SECOND)),
        ("0000", ("main", THIRD)),
        ("todo_00000000caf", ("main", THIRD)),
        ("Parser", ("main", FIRST)),
        ("pARSER", ("main", FIRST)),
        ("old.one", ("main", THIRD)),
        ("cafe", ("other", SECOND)),  # an alias that looks like a prefix of nothing
    ],
)
def test_what_names_a_todo(given: str, found: tuple[str, str]) -> None:
    assert resolve.todo(SNAPSHOT, given) == found
    assert resolve.todo(SNAPSHOT, given, found[0]) == found


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("ab12", NotFound, f"more than one todo: {FIRST}, {SECOND}"),
        ("todo_ab12", NotFound, "more than one todo"),
        ("todo_123456789abc", NotFound, "there is no todo todo_123456789abc"),
        ("dddd", NotFound, "there is no todo 'dddd'"),
        ("nothing-so-called", NotFound, "there is no todo"),
        ("abc", NotFound, "there is no todo"),  # too short for a prefix, but an alias might be called so
        ("ab", NotFound, "a prefix of an id has 4 hex digits or more"),
        ("todo_0", NotFound, "a prefix of an id has 4 hex digits or more"),
        ("parsr", NotFound, "the nearest alias is Parser"),
        ("old-one", NotFound, "there is no todo 'old-one'$"),  # what is archived is nobody's next work
        ("AB12C", NotFound, "there is no todo"),
        ("", UsageError, "not a todo id, not a prefix of one and not an alias"),
        ("-x", UsageError, "not a todo id"),
        ("a b", UsageError, "not a todo id"),
        ("../../etc/passwd", UsageError, "not a todo id"),
        ("todo_ab12cd34ef56\n", UsageError, "not a todo id"),
        ("ä" * 500, UsageError, "not a todo id"),
    ],
)
def test_what_names_none(given: str, error: type[LoopXError], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        resolve.todo(SNAPSHOT, given)
    assert caught.value.hint
    assert len(caught.value.message) < 300


def test_candidates_are_in_the_answer() -> None:
    with pytest.raises(NotFound) as caught:
        resolve.todo(SNAPSHOT, "ab12")
    assert caught.value.about == {"candidates": [FIRST, SECOND]}


def test_an_exact_alias_wins_over_a_prefix_of_another_id() -> None:
    snapshot = state(todo(FIRST), todo(THIRD, alias="ab12"))
    assert resolve.todo(snapshot, "ab12") == ("main", THIRD)
    assert resolve.todo(snapshot, "todo_ab12") == ("main", FIRST)
    assert resolve.todo(state(todo(FIRST, alias="ab12")), "ab12") == ("main", FIRST)


@pytest.mark.parametrize("alias", ["42", "0000", "7", "007", "123456789012"])
def test_a_number_is_an_alias_like_any_other(alias: str) -> None:
    assert resolve.todo(state(todo(FIRST), todo(THIRD, alias=alias)), alias) == ("main", THIRD)


def test_the_only_todo_that_a_short_prefix_begins_is_named() -> None:
    with pytest.raises(NotFound) as caught:
        resolve.todo(SNAPSHOT, "00")
    assert caught.value.hint == "git loopx todo show 00000000cafe"
    assert caught.value.about == {"candidates": [THIRD]}


def test_the_goal_must_be_the_todos() -> None:
    with pytest.raises(NotFound, match=f"{FIRST} belongs to the goal main, not to other") as caught:
        resolve.todo(SNAPSHOT, "Parser", "other")
    assert caught.value.about == {"todo_id": FIRST, "goal": "main"}
    with pytest.raises(UsageError, match="not a valid goal"):
        resolve.todo(SNAPSHOT, "Parser", "Not A Goal")


@pytest.mark.parametrize("archived", [False, True])
def test_one_id_under_two_goals(archived: bool) -> None:
    """The archive counts: an id is never used twice."""
    twin = todo(FIRST, goal="other", archived=archived, status=Status.COMPLETED)
    snapshot = state(goal_of("other"), todo(FIRST), twin)
    for given in (FIRST, "ab12"):
        with pytest.raises(InvalidState, match=f"{FIRST} is in two goals: main, other"):
            resolve.todo(snapshot, given, "main")


def test_a_todo_both_live_and_archived_is_invalid() -> None:
    snapshot = state(todo(FIRST), todo(FIRST, archived=True, status=Status.COMPLETED))
    assert resolve.todo(snapshot, FIRST) == ("main", FIRST)
    with pytest.raises(InvalidState, match="both in todos and in the archive"):
        snapshot.todo("main", FIRST)


@pytest.mark.parametrize(
    ("goals", "given", "found"),
    [
        ([], None, "main"),
        (["a", "b"], None, "main"),
        (["a", "b"], "b", "b"),
    ],
)
def test_the_goal_to_work_in(goals: list[str], given: str | None, found: str) -> None:
    assert resolve.goal(state(*map(goal_of, goals)), given) == found


class Goals:
    """A snapshot of which only the goals are asked for."""

    def __init__(self, *names: str) -> None:
        self.names = sorted(names)

    def goal_ids(self) -> list[str]:
        return self.names

    def goal(self, name: str) -> str | None:
        return name if name in self.names else None


def test_the_only_goal_whatever_it_is_called() -> None:
    assert resolve.goal(Goals("only"), None) == "only"  # type: ignore[arg-type]


def test_of_several_goals_one_must_be_named() -> None:
    with pytest.raises(UsageError, match="say which one") as caught:
        resolve.goal(Goals("b", "a"), None)  # type: ignore[arg-type]
    assert "goals: a, b" in caught.value.hint


@pytest.mark.parametrize(
    ("given", "error"), [("nope", NotFound), ("../main", UsageError), ("", UsageError), ("-a", UsageError)]
)
def test_a_goal_that_is_not_there(given: str, error: type[LoopXError]) -> None:
    with pytest.raises(error):
        resolve.goal(SNAPSHOT, given)
