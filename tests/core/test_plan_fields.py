"""Every field of a todo, a goal and a peer: what is refused, with which code, and that nothing is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import ALICE, BOB, OPERATOR, World, at, tid

from loopx_git.core.change import Actor
from loopx_git.core.commands import (
    AddTodo,
    Beat,
    CloseGoal,
    Command,
    CreateGoal,
    OnTodo,
    RegisterPeer,
    RenewAll,
    SetPeerStatus,
    SetPolicy,
)
from loopx_git.core.edit import edited
from loopx_git.core.fields import CHECKS, EDITABLE, why_bad
from loopx_git.core.peer import ClaimMode, GoalStatus, PeerKind, PeerStatus
from loopx_git.core.table import FORCEABLE, Operation
from loopx_git.core.todo import TITLE_MAX, Status
from loopx_git.errors import LoopXError

#: field -> bad values with their exit code and a word of the message.
BAD: dict[str, list[tuple[Any, int, str]]] = {
    "title": [
        ("", 2, "is empty"),
        (" \t ", 2, "is empty"),
        (" x", 2, "white space"),
        ("x ", 2, "white space"),
        ("x" * (TITLE_MAX + 1), 2, "1001 characters"),
        ("a\nLoopx-Agent: mallory", 2, "U\\+000A"),
        ("a\rb", 2, "U\\+000D"),
        ("a\u2028b", 2, "U\\+2028"),
        ("a\u2029b", 2, "U\\+2029"),
        ("a\x1b[31mb", 2, "U\\+001B"),
        ("a\x00b", 2, "U\\+0000"),
        ("a\x85b", 2, "U\\+0085"),
        ("a\x7fb", 2, "U\\+007F"),
        ("a\ufeffb", 2, "byte order mark"),
        ("a\ud800b", 2, "not valid Unicode"),
    ],
    "body": [
        ("a\x00", 2, "U\\+0000"),
        ("a\rb", 2, "U\\+000D"),
        ("\ud800", 2, "not valid Unicode"),
        ("ä" * 33_000, 2, "more than 65536 bytes"),
    ],
    "alias": [
        ("-x", 2, "not a valid alias"),
        ("", 2, "not a valid alias"),
        ("a b", 2, "not a valid alias"),
        ("a/b", 2, "not a valid alias"),
        ("x" * 65, 2, "not a valid alias"),
        ("x\n", 2, "not a valid alias"),
        ("Taken", 15, "belongs to"),
        ("tAKEN", 15, "belongs to"),
        ("archived", 15, "belongs to"),
    ],
    "priority": [(-1, 2, "priority"), (5, 2, "priority"), ("1", 2, "priority"), (1.0, 2, "priority")],
    "scope": [
        (("src", "a//b"), 2, "'a//b'"),
        (("!src",), 2, "scope pattern"),
        (("src", "src"), 2, "twice"),
        (("../x",), 2, "scope pattern"),
        (("a\nb",), 2, "scope pattern"),
        (tuple(f"d{n}" for n in range(101)), 2, "101 items"),
    ],
    "requires": [(("a b",), 2, "not a valid capability"), (("",), 2, "capability"), (("a", "a"), 2, "twice")],
    "excluded": [(("-a",), 2, "not a valid agent"), (("a@example.org",), 2, "agent"), (("a", "a"), 2, "twice")],
    "labels": [(("a,b",), 2, "not a valid label"), (("x" * 65,), 2, "label"), (("a", "a"), 2, "twice")],
    "validate": [
        (("make", "a\x00"), 2, "U\\+0000"),
        (("x" * 4097,), 2, "longer than 4096"),
        (("x",) * 101, 2, "101 items"),
    ],
    "branch": [
        ("-x", 2, "not a branch name"),
        ("a..b", 2, "not a branch name"),
        ("a b", 2, "not a branch name"),
        ("a.lock", 2, "not a branch name"),
        ("/a", 2, "not a branch name"),
        ("a/", 2, "not a branch name"),
        ("a//b", 2, "not a branch name"),
        ("a\\b", 2, "not a branch name"),
        ("@{-1}", 2, "not a branch name"),
        ("a:b", 2, "not a branch name"),
        ("", 2, "is empty"),
        ("x" * 201, 2, "201 characters"),
        ("a\nb", 2, "U\\+000A"),
    ],
    "depends_on": [
        (("todo_ffffffffffff",), 17, "there is no todo"),
        (("no such",), 2, "not a todo id"),
        (("0000",), 17, "more than one"),
    ],
}
CASES = [(field, value, code, words) for field, rows in BAD.items() for value, code, words in rows]


@pytest.fixture
def world() -> World:
    """Todos 0 to 2; 0 is alice's, 1 has the alias Taken, 2 is archived under an alias of its own."""
    world = World().begin(todos=3)
    clone = world.first
    for number, alias in ((1, "Taken"), (2, "archived")):
        clone.on(Operation.CLAIM, number, ALICE)
        clone.on(Operation.UPDATE, number, ALICE, fields={"alias": alias})
    clone.on(Operation.CANCEL, 2, ALICE)
    clone.on(Operation.ARCHIVE, 2, ALICE)
    clone.on(Operation.CLAIM, 0, ALICE)
    return world


def refused(world: World, command: Command, code: int, words: str | None = None, by: Actor = ALICE) -> LoopXError:
    """The refusal of a command, which must leave no trace."""
    before = world.tip
    with pytest.raises(LoopXError, match=words) as caught:
        world.first.submit(command, by=by)
    assert caught.value.code == code, caught.value
    assert world.tip == before
    assert not world.first.pending.records
    assert not world.first.publisher.anchors  # type: ignore[attr-defined]
    return caught.value


@pytest.mark.parametrize(("field", "value", "code", "words"), CASES)
def test_a_bad_value_is_refused_by_add_and_by_update(
    world: World, field: str, value: Any, code: int, words: str
) -> None:
    added = refused(world, replace(AddTodo(tid(9), "a title"), **{field: value}), code, words)
    changed = refused(world, OnTodo(Operation.UPDATE, tid(0), fields={field: value}), code, words)
    if code == 2 and field != "depends_on":
        assert added.about == changed.about == {"field": field}
    assert added.hint and changed.hint
    assert len(added.message) < 1500


def test_every_editable_field_has_bad_values() -> None:
    """resume_after is a datetime; whatever is one can be stored."""
    assert set(BAD) == set(EDITABLE) - {"resume_after"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", "x" * TITLE_MAX),
        ("title", "fix: the \"bug\" - no 'yes' # [x] \u202e ä 💥"),
        ("body", "two\nlines\twith a tab\n\n## Heading\n\u2028"),
        ("alias", "v1.2_x-Y"),
        ("alias", None),
        ("priority", 0),
        ("priority", 4),
        ("scope", tuple(f"d{n}" for n in range(100))),
        ("scope", ()),
        ("requires", ("gpu", "python3.11")),
        ("excluded", ("bob", "dave")),
        ("labels", ("bug", "P1")),
        ("validate", ("make", "make", "", "a b\n# c")),
        ("branch", "feature/x@y"),
        ("branch", None),
        ("depends_on", (tid(1), tid(2))),
        ("depends_on", ("taken",)),
        ("resume_after", at(60)),
        ("resume_after", None),
    ],
)
def test_a_good_value_is_stored_by_add_and_by_update(world: World, field: str, value: Any) -> None:
    stored = (tid(1),) if value == ("taken",) else value
    world.first.submit(replace(AddTodo(tid(9), "a title"), **{field: value}))
    assert getattr(world.todo(9), field) == stored
    world.first.on(Operation.UPDATE, 9, ALICE, force=True, reason="undo", fields={"alias": None})
    world.first.on(Operation.UPDATE, 0, ALICE, fields={field: value, "labels": ("touched",)} | {field: value})
    assert getattr(world.todo(0), field) == stored
    assert not world.faults()


# -- add


def test_an_id_is_used_once(world: World) -> None:
    for number in (0, 2):
        refused(world, AddTodo(tid(number), "again"), 2, "is taken")
    for bad in ("todo_1", "../../x", "todo_ABCDEF123456"):
        refused(world, AddTodo(bad, "x"), 2, "not a valid todo")


def test_a_todo_goes_into_a_goal_that_is_there(world: World) -> None:
    refused(world, AddTodo(tid(9), "x", goal="nope"), 17, "there is no goal 'nope'")
    refused(world, AddTodo(tid(9), "x", goal="NO"), 2, "not a valid goal")
    world.first.submit(CreateGoal("other", "another goal", ClaimMode.SOFT))
    world.first.submit(AddTodo(tid(9), "x", goal="other"))
    assert world.todo(9).goal == "other"
    assert world.snapshot().goal("other").claims is ClaimMode.SOFT  # type: ignore[union-attr]


def test_a_person_without_an_agent_may_add(world: World) -> None:
    world.first.submit(AddTodo(tid(9), "x"), by=OPERATOR)
    assert world.todo(9).created_by == OPERATOR.name
    assert world.messages()[-1].agent == OPERATOR.name


# -- dependencies


def test_dependencies_never_go_round_in_a_circle(world: World) -> None:
    clone = world.first
    clone.submit(AddTodo(tid(9), "last", depends_on=(tid(1),)))
    clone.on(Operation.UPDATE, 0, ALICE, fields={"depends_on": (tid(9),)})
    for wanted in ((tid(1),), (tid(9),), (tid(0),)):
        error = refused(
            world, OnTodo(Operation.UPDATE, tid(1), fields={"depends_on": wanted}), 15, "wait for each other"
        )
        assert error.about["cycle"][0] == error.about["cycle"][-1]
    refused(world, AddTodo(tid(10), "x", depends_on=(tid(10),)), 17)


def test_a_dependency_named_twice_is_stored_once(world: World) -> None:
    world.first.submit(AddTodo(tid(9), "x", depends_on=(tid(1), "taken", "Taken", tid(2))))
    assert world.todo(9).depends_on == (tid(1), tid(2))


# -- update, release, notes


@pytest.mark.parametrize(
    "field",
    ["id", "goal", "status", "attempts", "claimed_by", "soft_claims", "created_at", "created_by", "notes", "extra",
     "archived", "completed_at", "successor", "supersedes", "nonsense"],
)  # fmt: skip
def test_what_cannot_be_edited(world: World, field: str) -> None:
    refused(world, OnTodo(Operation.UPDATE, tid(0), fields={field: "x"}), 2, f"'{field}' cannot be edited")


def test_an_update_that_names_nothing(world: World) -> None:
    refused(world, OnTodo(Operation.UPDATE, tid(0)), 2, "names nothing to change")


def test_an_update_to_what_is_there_writes_nothing(world: World) -> None:
    before = world.tip
    answer = world.first.on(Operation.UPDATE, 0, ALICE, fields={"title": "todo number 0"}, status="open")
    assert not answer.wrote and world.tip == before
    assert answer.facts[0]["unchanged"] == "same"


@pytest.mark.parametrize("operation", [Operation.UPDATE, Operation.RELEASE])
@pytest.mark.parametrize(
    ("status", "hint"),
    [
        ("completed", "todo complete"),
        ("superseded", "todo supersede"),
        ("cancelled", "todo cancel"),
        ("archived", "one of open"),
        ("done", "one of open"),
        ("", "one of open"),
        ("Open", "one of open"),
    ],
)
def test_a_status_that_cannot_be_set(world: World, operation: Operation, status: str, hint: str) -> None:
    command = OnTodo(operation, tid(0), status=status, note="x")
    assert hint in refused(world, command, 2, "cannot be set").hint


@pytest.mark.parametrize("operation", sorted({*Operation} - {Operation.UPDATE, Operation.RELEASE, Operation.UNSOFT}))
def test_only_update_and_release_give_a_status(world: World, operation: Operation) -> None:
    refused(world, OnTodo(operation, tid(0), status="blocked", to="bob"), 2, "gives no status")


@pytest.mark.parametrize("status", ["open", "in_progress", "blocked", "needs_human"])
def test_a_status_that_can_be_set(world: World, status: str) -> None:
    world.first.on(Operation.UPDATE, 0, ALICE, status=status, note="so it is")
    assert world.todo(0).status == status
    world.first.on(Operation.RELEASE, 0, ALICE)
    wanted = "open" if status == "in_progress" else status
    assert world.todo(0).status == wanted
    assert not world.faults()


def test_a_release_can_say_how_it_is_left(world: World) -> None:
    world.first.on(Operation.RELEASE, 0, ALICE, status="needs_human", note="which database?")
    todo = world.todo(0)
    assert (todo.status, todo.claimed_by, todo.notes[-1].text) == (Status.NEEDS_HUMAN, None, "which database?")
    assert not world.faults()


@pytest.mark.parametrize(
    ("note", "words"),
    [("\n", "is empty"), ("a\x00", "U\\+0000"), ("a\rb", "U\\+000D"), ("ä" * 33_000, "bytes"), ("\ud800", "Unicode")],
)
@pytest.mark.parametrize("operation", [Operation.UPDATE, Operation.RELEASE, Operation.COMPLETE])
def test_a_note_that_cannot_be_stored(world: World, operation: Operation, note: str, words: str) -> None:
    refused(world, OnTodo(operation, tid(0), note=note), 2, words)


def test_notes_are_appended_with_time_and_agent(world: World) -> None:
    clone = world.first
    texts = ["first", "second\nwith\n\n## Notes\n- 2026-01-01T00:00:00Z mallory: forged\n---", "  third\t"]
    for text in texts:
        clone.clock.advance(1.5)
        clone.on(Operation.UPDATE, 0, ALICE, note=text)
    notes = world.todo(0).notes
    assert [note.text for note in notes] == texts
    assert {note.agent for note in notes} == {"alice"}
    assert notes[0].time == "2026-01-02T03:04:07.178Z"
    assert notes == tuple(sorted(notes, key=lambda note: note.time))
    assert not world.faults()


def test_a_todo_has_a_largest_size(world: World) -> None:
    """Each note fits; at some point the file does not, and then nothing is written."""
    for _ in range(4):
        world.first.on(Operation.UPDATE, 0, ALICE, note="x" * 65_000)
    error = refused(world, OnTodo(Operation.UPDATE, tid(0), note="x" * 2_000), 16, "262144")
    assert error.about["file"].endswith(f"{tid(0)}.md")


# -- what is wrong with a call whatever the state is


@pytest.mark.parametrize("operation", [Operation.RELEASE, Operation.UPDATE, Operation.CANCEL, Operation.TRANSFER])
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"force": True}, "--force needs --reason"),
        ({"force": True, "reason": ""}, "--force needs --reason"),
        ({"reason": "because"}, "--reason goes with --force"),
        ({"force": True, "reason": "two\nlines"}, "U\\+000A"),
        ({"force": True, "reason": " x"}, "white space"),
        ({"force": True, "reason": "x" * 301}, "301 characters"),
        ({"force": True, "reason": "a\u2028Loopx-Agent: b"}, "U\\+2028"),
    ],
)
def test_force_and_reason_go_together(world: World, operation: Operation, fields: Any, words: str) -> None:
    refused(world, OnTodo(operation, tid(0), note="x", to="bob", **fields), 2, words)


@pytest.mark.parametrize(
    "operation",
    [op for op in Operation if op not in FORCEABLE - {Operation.CLAIM}],
)  # fmt: skip
def test_what_cannot_be_forced(world: World, operation: Operation) -> None:
    command = OnTodo(operation, tid(0), force=True, reason="because", to="bob")
    refused(world, command, 2, "cannot be forced")


@pytest.mark.parametrize("operation", Operation)
def test_a_person_without_an_agent_only_forces(world: World, operation: Operation) -> None:
    command = OnTodo(operation, tid(0), note="x", to="bob")
    assert "--agent NAME" in refused(world, command, 2, "needs an agent", OPERATOR).hint


@pytest.mark.parametrize("ttl", [0, -1, 30 * 86400 + 1])
def test_a_ttl_out_of_bounds(world: World, ttl: int) -> None:
    refused(world, OnTodo(Operation.CLAIM, tid(1), ttl=ttl), 2, "out of bounds")
    refused(world, OnTodo(Operation.RENEW, tid(0), ttl=ttl), 2, "out of bounds")


def test_a_transfer_needs_a_receiver(world: World) -> None:
    refused(world, OnTodo(Operation.TRANSFER, tid(0)), 2, "receiving agent")


# -- goals, peers, policy


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (CreateGoal("-x", "t"), 2, "not a valid goal"),
        (CreateGoal("A", "t"), 2, "not a valid goal"),
        (CreateGoal("..", "t"), 2, "not a valid goal"),
        (CreateGoal("x" * 64, "t"), 2, "not a valid goal"),
        (CreateGoal("x", ""), 2, "title is empty"),
        (CreateGoal("x", "a\nb"), 2, "U\\+000A"),
        (CreateGoal("main", "a\nb"), 2, "U\\+000A"),
        (CreateGoal("main", None, ClaimMode.SOFT), 15, "is in use"),
        (SetPolicy("claims.mode", "soft"), 15, "is in use"),
        (CloseGoal("main"), 15, "claims are live in the goal main"),
        (CloseGoal("nope"), 17, "no goal"),
        (SetPeerStatus("alice", PeerStatus.RETIRED), 15, "alice holds"),
        (SetPeerStatus("nobody", PeerStatus.PAUSED), 17, "no peer"),
        (Beat(), 15, "is not a registered peer"),
        (RenewAll(), 2, "needs an agent"),
        (RegisterPeer("-x"), 2, "not a valid agent"),
        (RegisterPeer("a@b"), 2, "not a valid agent"),
        (RegisterPeer("x", capabilities=("a b",)), 2, "not a valid capability"),
        (RegisterPeer("ALICE"), 15, "registered already"),
        (RegisterPeer("alice", new=True), 15, "registered already"),
        (SetPolicy("claims.nope", "1"), 2, "not a policy key"),
        (SetPolicy("claims.ttl", "soon"), 2, "claims.ttl"),
        (SetPolicy("claims.ttl", "31d"), 2, "out of bounds"),
        (SetPolicy("claims.skew", "none"), 2, "not an allowance"),
        (SetPolicy("claims.max_attempts", "0"), 2, "whole number"),
        (SetPolicy("claims.scope_overlap", "maybe"), 2, "none of refuse, allow"),
        (SetPolicy("peers.auto_register", "yes"), 2, "none of true, false"),
    ],
)
def test_what_is_refused_of_goals_peers_and_policy(world: World, command: Command, code: int, words: str) -> None:
    refused(world, command, code, words, OPERATOR)


@pytest.mark.parametrize(
    "command",
    [
        CreateGoal("main", "main"),
        CreateGoal("main"),
        SetPeerStatus("alice", PeerStatus.ACTIVE),
        RegisterPeer("alice"),
        SetPolicy("claims.ttl", "2h"),
        SetPolicy("claims.ttl", "120m"),
    ],
)
def test_what_is_so_already_writes_nothing(world: World, command: Command) -> None:
    before = world.tip
    assert not world.first.submit(command).wrote
    assert world.tip == before


def test_a_goal_can_change_its_title_and_while_idle_its_mode(world: World) -> None:
    clone = world.first
    clone.submit(CreateGoal("idle", "a title"))
    clone.submit(CreateGoal("idle", None, ClaimMode.SOFT))
    clone.submit(CreateGoal("idle", "another title"))
    goal = world.snapshot().goal("idle")
    assert goal is not None and (goal.title, goal.claims) == ("another title", ClaimMode.SOFT)
    clone.submit(CloseGoal("idle"))
    goal = world.snapshot().goal("idle")
    assert goal is not None and goal.status is GoalStatus.CLOSED
    refused(world, CreateGoal("idle", "a third title"), 15, "the goal idle is closed", OPERATOR)
    refused(world, AddTodo(tid(9), "x", goal="idle"), 15, "the goal idle is closed", OPERATOR)
    assert not clone.submit(CloseGoal("idle")).wrote
    assert not world.faults()


def test_a_retired_peer_gives_its_soft_claims_back_and_its_name_is_gone(world: World) -> None:
    clone = world.first
    clone.on(Operation.SOFT, 1, BOB)
    clone.submit(SetPeerStatus("bob", PeerStatus.PAUSED))
    refused(world, OnTodo(Operation.SOFT, tid(0)), 15, "the peer bob is paused", BOB)
    clone.submit(SetPeerStatus("bob", PeerStatus.ACTIVE))
    clone.submit(SetPeerStatus("bob", PeerStatus.RETIRED))
    assert world.todo(1).soft_claims == ()
    for command in (SetPeerStatus("bob", PeerStatus.ACTIVE), RegisterPeer("bob"), RegisterPeer("BOB")):
        refused(world, command, 15, "registered already|not used again", OPERATOR)
    assert not world.faults()


def test_a_peer_can_change_kind_and_capabilities(world: World) -> None:
    world.first.submit(RegisterPeer("alice", PeerKind.HUMAN, ("b", "a", "b")))
    peer = world.snapshot().peer("alice")
    assert peer is not None
    assert (peer.kind, peer.capabilities) == (PeerKind.HUMAN, ("b", "a"))
    assert not world.faults()


# -- the checks by themselves


def test_every_check_is_of_a_field() -> None:
    from loopx_git.core.todo import Todo

    assert set(CHECKS) <= set(Todo.__dataclass_fields__)
    assert set(EDITABLE) <= set(Todo.__dataclass_fields__)


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("attempts", [0, 1_000_000], [-1, 1_000_001, "1"]),
        ("claimed_by", ["alice"], ["a b", "a@b"]),
        ("created_by", ["alice", "a@example.org"], ["a b", "@", "a@b@c"]),
        ("successor", [tid(1)], ["todo_1", "x"]),
        ("supersedes", [(), (tid(1), tid(2))], [(tid(1), tid(1)), ("x",)]),
        ("soft_claims", [("alice",)], [("a b",), ("a", "a")]),
        ("id", [tid(1)], ["x"]),
        ("goal", ["main"], ["Main"]),
    ],
)
def test_checks_of_what_is_never_given(field: str, good: list[Any], bad: list[Any]) -> None:
    assert all(why_bad(field, value) is None for value in good)
    assert all(why_bad(field, value) for value in bad)


def test_null_is_well_formed_and_so_is_a_field_without_a_rule() -> None:
    assert all(why_bad(field, None) is None for field in CHECKS)
    assert why_bad("completed_at", object()) is None


def test_edited_leaves_the_rest_alone(world: World) -> None:
    todo = world.todo(0)
    assert edited(world.snapshot(), todo, {"priority": 0}) == replace(todo, priority=0)


# -- who acts


@pytest.mark.parametrize(
    ("actor", "words"),
    [
        (Actor("alice", "s\nLoopx-Agent: mallory"), "not a valid session"),
        (Actor("alice", ""), "not a valid session"),
        (Actor("alice", "x" * 65), "not a valid session"),
        (Actor("alice\n", "s"), "neither an agent's id"),
        (Actor("", "s"), "neither an agent's id"),
        (Actor("a b@example.org"), "neither an agent's id"),
        (Actor("a@b@example.org"), "neither an agent's id"),
    ],
)
@pytest.mark.parametrize("command", [OnTodo(Operation.CLAIM, tid(1)), AddTodo(tid(9), "x"), RegisterPeer("dave")])
def test_an_actor_that_no_commit_can_name(world: World, command: Command, actor: Actor, words: str) -> None:
    world.first.submit(SetPolicy("peers.auto_register", "true"))
    refused(world, command, 2, words, actor)
