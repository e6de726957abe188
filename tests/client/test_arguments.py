"""The client's door: converted or refused by name, and read back by everybody as it was accepted."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum, StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from clones import Clone, World, populate
from hypothesis import given, settings
from hypothesis import strategies as st

from loopx_git import LoopXClient, LoopXError, UsageError
from loopx_git.client import arguments
from loopx_git.client.base import fingerprint
from loopx_git.client.client import Client
from loopx_git.core.change import Actor
from loopx_git.core.commands import OnTodo
from loopx_git.core.table import Operation
from loopx_git.core.times import UNSET

NAMESPACES = ("todo", "task_lease", "goal", "peer", "policy", "heartbeat", "history", "loop", "propose", "setup")


class Colour(StrEnum):
    RED = "red"


class Old(str, Enum):  # noqa: UP042 - the older kind, whose str() is another text than its value
    WORD = "word"


class Word(str):
    """A subclass that shows itself as something else."""

    def __str__(self) -> str:
        return "shown"


class Index:
    """What NumPy's integers are: no int, and yet a whole number."""

    def __index__(self) -> int:
        return 3


@pytest.mark.parametrize(
    ("kind", "value", "plain"),
    [
        (arguments.text, "x", "x"),
        (arguments.text, Colour.RED, "red"),
        (arguments.text, Old.WORD, "word"),
        (arguments.text, Word("x"), "x"),
        (arguments.text, None, None),
        (arguments.prose, "a\r\nb", "a\nb"),
        (arguments.identifier, 42, "42"),
        (arguments.identifier, Word("fix"), "fix"),
        (arguments.whole, 3.0, 3),
        (arguments.whole, "3", 3),
        (arguments.whole, Index(), 3),
        (arguments.whole, None, None),
        (arguments.duration, 600.0, 600),
        (arguments.duration, "10m", 600),
        (arguments.duration, "none", None),
        (arguments.duration, "unset", UNSET),
        (arguments.duration, UNSET, UNSET),
        (arguments.duration, timedelta(minutes=2), 120),
        (arguments.words, "abc", ("abc",)),
        (arguments.words, ["a", Word("b")], ("a", "b")),
        (arguments.words, (name for name in "ab"), ("a", "b")),
        (arguments.words, {"b", "a"}, ("a", "b")),
        (arguments.words, None, ()),
        (arguments.identifiers, 42, ("42",)),
        (arguments.identifiers, [42, "x"], ("42", "x")),
        (arguments.command, ["make", "test"], ("make", "test")),
        (arguments.moment, "2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        (
            arguments.moment,
            datetime(2026, 1, 2, 5, 4, 5, tzinfo=timezone(timedelta(hours=2))),
            datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        ),
    ],
)  # fmt: skip
def test_what_is_converted(kind: Callable[[str, Any], Any], value: Any, plain: Any) -> None:
    found = kind("argument", value)
    assert found == plain
    assert type(found) is type(plain)
    for item in found if isinstance(found, tuple) else ():
        assert type(item) is str


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *((arguments.text, value) for value in (1, 1.5, True, b"x", ["x"], "\ud800")),
        *((arguments.identifier, value) for value in (True, 1.0, b"x", ["x"], {"x": 1}, "\udfff")),
        *((arguments.whole, value) for value in (True, False, 1.5, float("nan"), float("inf"), "x", "", "1.5", b"")),
        *((arguments.duration, value) for value in (True, 600.5, "soon", "", b"10m", [600], timedelta(seconds=1.5))),
        *((arguments.flag, value) for value in (1, 0, "yes", None, [])),
        *((arguments.moment, value) for value in (1, True, "tomorrow", datetime(2026, 1, 2), b"x")),
        *((arguments.words, value) for value in (1.5, True, b"ab", {"a": 1}, [1], [None], ["\ud800"], object())),
        *((arguments.identifiers, value) for value in (1.5, True, [True], [1.5], [b"x"])),
        *((arguments.command, value) for value in ("make test", b"make", [1], {"make": 1})),
        *((arguments.argv, value) for value in ("make", b"make", [1], ["a\0"], 5)),
    ],
)  # fmt: skip
def test_what_is_refused_names_the_argument(kind: Callable[[str, Any], Any], value: Any) -> None:
    with pytest.raises(UsageError, match="argument=") as caught:
        kind("argument", value)
    assert caught.value.hint
    assert len(caught.value.message) < 200


def _methods() -> Iterator[tuple[str, inspect.Signature]]:
    client = LoopXClient.__new__(LoopXClient)
    for name in NAMESPACES:
        namespace = getattr(Client, name).func(client)
        assert type(namespace).__name__ == Client.__annotations__[name]
        for method, function in inspect.getmembers(namespace, callable):
            if not method.startswith("_"):
                yield f"{name}.{method}", inspect.signature(function)


def test_every_argument_of_every_method_has_a_kind() -> None:
    """A new argument without a kind would be stored as whatever a caller hands over."""
    known = {*arguments.KINDS, "self", "fields", "args", "values", "settings"}
    named = [(name, wanted) for name, signature in _methods() for wanted in signature.parameters]
    assert [one for one in named if one[1] not in known] == []
    assert len(list(_methods())) > 40


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[LoopXClient, Clone, str]:
    """A ledger with one todo that alice holds, and another clone that reads it."""
    world = World(tmp_path_factory.mktemp("door") / "world").start()
    clone = world.clone("one")
    clone.run("init")
    todo = populate(clone, peers=["alice"], titles=["first"])[0]
    client = LoopXClient(clone.path, agent="alice", session="one", env=clone.env)
    return client, world.clone("two"), todo


#: Calls that an argument of a wrong type reaches: each writes when all is well.
CALLS: dict[str, Callable[[LoopXClient, str, Any], Any]] = {
    "ttl of acquire": lambda client, todo, value: client.task_lease.acquire(todo_id=todo, ttl=value),
    "ttl of claim": lambda client, todo, value: client.todo.claim(todo, ttl=value),
    "ttl of next": lambda client, todo, value: client.todo.next(claim=True, ttl=value),
    "ttl of hold": lambda client, todo, value: client.hold(todo, ttl=value).__enter__(),
    "ttl of run": lambda client, todo, value: client.run(["true"], todo_id=todo, ttl=value),
    "priority of add": lambda client, todo, value: client.todo.add("x", priority=value),
    "title of add": lambda client, todo, value: client.todo.add(value),
    "body of add": lambda client, todo, value: client.todo.add("x", body=value),
    "labels of add": lambda client, todo, value: client.todo.add("x", labels=value),
    "scope of add": lambda client, todo, value: client.todo.add("x", scope=value),
    "validate of add": lambda client, todo, value: client.todo.add("x", validate=value),
    "resume_after of add": lambda client, todo, value: client.todo.add("x", resume_after=value),
    "epoch of update": lambda client, todo, value: client.todo.update(todo, epoch=value, note="x"),
    "todo of claim": lambda client, todo, value: client.todo.claim(value),
    "key of policy": lambda client, todo, value: client.policy.set("claims.ttl", value),
    "capabilities": lambda client, todo, value: client.peer.register("alice", capabilities=value),
}  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [600.5, True, b"x", object(), {"a": 1}, "\ud800", [1.5]],
    # No address in a name: workers that share the tests must collect the same names.
    ids=["fraction", "bool", "bytes", "object", "dict", "surrogate", "list"],
)
@pytest.mark.parametrize("call", CALLS)
def test_what_is_refused_writes_nothing(place: tuple[LoopXClient, Clone, str], call: str, value: Any) -> None:
    client, other, todo = place
    tip = other.git("ls-remote", "origin")
    with pytest.raises(LoopXError) as caught:
        CALLS[call](client, todo, value)
    assert caught.value.code in (2, 17), caught.value
    assert other.git("ls-remote", "origin") == tip


def test_none_is_not_given_or_is_refused(place: tuple[LoopXClient, Clone, str]) -> None:
    client, _, todo = place
    made = client.todo.add("nothing said", priority=None, body=None, labels=None, scope=None)  # type: ignore[arg-type]
    assert (made.todo.priority, made.todo.body, made.todo.labels) == (2, "", ())
    for call in (client.todo.claim, client.todo.show, client.todo.add, client.task_lease.renew, client.peer.show):
        with pytest.raises(LoopXError) as caught:
            call(None)  # type: ignore[arg-type]
        assert caught.value.code == 2
    for name in ("title", "priority"):
        with pytest.raises(UsageError):
            client.todo.update(todo, force=True, reason="r", **{name: None})


def test_calls_of_the_client_itself_are_checked_where_they_are_made(place: tuple[LoopXClient, Clone, str]) -> None:
    client, other, todo = place
    tip = other.git("ls-remote", "origin")
    calls: dict[str, Callable[[], Any]] = {
        "todo_id=None is not given": lambda: client.hold(None),  # type: ignore[arg-type]
        "ttl=600.5 is not a whole number of seconds": lambda: client.hold(todo, ttl=600.5),  # type: ignore[arg-type]
        "argv='true' is not a list of words": lambda: client.run("true", todo_id=todo),
        "epoch='x' is not a whole number": lambda: client.land(todo, epoch="x"),
        "resume='yes' is not True or False": lambda: client.aio.hold(todo, resume="yes"),  # type: ignore[arg-type]
    }
    for said, call in calls.items():
        with pytest.raises(UsageError) as caught:
            call()
        assert caught.value.message == said
    assert other.git("ls-remote", "origin") == tip


def test_a_shared_parameter_is_in_the_signature_and_no_other_name_is_taken(
    place: tuple[LoopXClient, Clone, str],
) -> None:
    client, _, todo = place
    named = inspect.signature(client.todo.cancel).parameters
    assert list(named) == [
        "todo_id", "agent_id", "session", "goal_id", "epoch", "note", "force", "reason", "dry_run",
    ]  # fmt: skip
    assert (named["force"].default, named["note"].default, named["epoch"].annotation) == (False, None, "int | None")
    assert inspect.signature(client.todo.next).parameters["limit"].default == 1
    assert inspect.signature(client.hold).parameters["ttl"].default is UNSET
    for call in (client.todo.cancel, client.task_lease.renew, client.hold, client.aio.hold):
        with pytest.raises(TypeError, match="unexpected keyword argument 'epohc'"):
            call(todo, epohc=1)  # type: ignore[call-arg]


def test_the_constructor_has_the_same_door(place: tuple[LoopXClient, Clone, str]) -> None:
    _, other, _ = place
    make = partial(LoopXClient, other.path, env=other.env)
    assert make(agent=Word("alice")).connection.settings.agent == "alice"
    assert make(agent=42).connection.settings.agent == "42"  # type: ignore[arg-type]
    for wrong in ({"agent": b"alice"}, {"session": 1.5}, {"timeout": True}, {"timeout": "soon"}, {"ref": 1.5}):
        with pytest.raises(UsageError):
            make(**wrong)  # type: ignore[arg-type]


def test_a_number_is_an_alias(place: tuple[LoopXClient, Clone, str]) -> None:
    client, other, _ = place
    made = client.todo.add("by number", alias=4711)  # type: ignore[arg-type]
    assert client.todo.show(4711)[0].id == made.id  # type: ignore[arg-type]
    assert other.run("todo", "show", "4711", "--fresh").json["todo"]["id"] == made.id


_SPECIAL = [Word("w"), Colour.RED, Old.WORD, "a\r\nb", "\ud800", "no", "12:30", "010"]
_TEXT = st.text(max_size=20) | st.sampled_from(_SPECIAL)
_ODD = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(), st.binary(max_size=3), _TEXT)
_LIST = st.lists(st.sampled_from(["a", "b", Word("c"), 7]), unique=True) | st.lists(_TEXT | _ODD, max_size=3) | _ODD
#: Most values are fine, so that most calls reach the ledger.
_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "title": st.text("ab: #'\"ü{}[]-", min_size=1, max_size=9).map(lambda text: f"t{text}t") | _TEXT | _ODD,
    "body": _TEXT | st.none(),
    "priority": st.integers(0, 4) | st.sampled_from([2.0, "3", True, None]),
    "labels": _LIST,
    "scope": st.sampled_from(["src/**", ["a", "b/"], Word("docs"), []]) | _LIST,
    "validate": st.sampled_from([(), ["make", Word("test")]]) | _LIST,
    "branch": st.sampled_from([None, "work", Word("work/x")]) | _ODD,
}
_CALL = st.lists(st.sampled_from(sorted(_FIELDS)), max_size=2).flatmap(
    lambda names: st.fixed_dictionaries({name: _FIELDS[name] for name in {"title", *names}})
)


@settings(max_examples=80, deadline=None)
@given(fields=_CALL)
def test_what_is_accepted_is_read_back_equal(place: tuple[LoopXClient, Clone, str], fields: dict[str, Any]) -> None:
    client, other, _ = place
    before = other.git("ls-remote", "origin")
    try:
        made = client.todo.add(**fields)
    except UsageError:
        assert other.git("ls-remote", "origin") == before
        return
    reader = LoopXClient(other.path, env=other.env)
    view, _ = reader.todo.show(made.id, fresh=True)
    assert view.todo == made.todo
    plain = arguments.converted({name: value for name, value in fields.items() if value is not None})
    for name, value in plain.items():
        stored = getattr(view.todo, name)
        assert stored == (value.strip("\n") if name == "body" else value), name
        assert type(stored) in (str, int, tuple, type(None)), name


def test_history_is_whole_after_all_that(place: tuple[LoopXClient, Clone, str], tmp_path: Path) -> None:
    assert place[1].verified()["ok"] is True


@pytest.mark.parametrize(
    "kind", [arguments.text, arguments.prose, arguments.identifier], ids=lambda kind: kind.__name__
)
def test_a_nul_is_refused_at_the_door(kind: Callable[[str, Any], Any]) -> None:
    with pytest.raises(UsageError, match=r"title='a\\x00b' is not text without a NUL character"):
        kind("title", "a\0b")
    with pytest.raises(UsageError, match="scope"):
        arguments.words("scope", ["good", "a\0b"])


@pytest.mark.parametrize(
    ("kind", "most"),
    [(arguments.words, arguments.LIST_MAX), (arguments.identifiers, arguments.LIST_MAX),
     (arguments.command, arguments.LIST_MAX), (arguments.argv, arguments.ARGV_MAX)],
    ids=["words", "identifiers", "command", "argv"],
)  # fmt: skip
def test_a_list_without_end_is_refused_by_name(kind: Callable[[str, Any], Any], most: int) -> None:
    with pytest.raises(UsageError, match=f"labels has more than {most} items"):
        kind("labels", itertools.repeat("x"))
    assert len(kind("labels", itertools.repeat("x", most))) == most


def test_a_duration_that_nobody_gave_reads_the_same_in_the_records_of_clones() -> None:
    assert (repr(UNSET), str(UNSET)) == ("UNSET", "unset")
    claim = OnTodo(Operation.CLAIM, "one")
    # A clone keeps this of a command whose outcome is not known, also over an upgrade of the program.
    assert fingerprint([claim], Actor("alice", "s")).startswith("2890e5838273d1f9")
    assert fingerprint([replace(claim, ttl=None)], Actor("alice", "s")).startswith("557eddd069f7d6ec")
