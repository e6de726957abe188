"""Proposals: todos as files on a branch, accepted as ordinary operations or refused with the reason."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from clones import COORD, World, differences, footprint, populate
from hypothesis import given, settings
from hypothesis import strategies as st
from review.coding import Coding
from review.test_adopt import Forge

from loopx_git.client import propose
from loopx_git.client.client import Client
from loopx_git.core.change import ChangeSet
from loopx_git.core.todo import Todo
from loopx_git.errors import InternalError, LoopXError, NotAllowed, NotFound, UsageError

BRANCH = "plans"


@pytest.fixture
def forge(ledger: World) -> Forge:
    clone = ledger.clone("agents")
    held, free = populate(clone, titles=["held", "free"])
    agents = Client(clone.path, clone.env, {"agent": "alice", "session": "one"})
    agents.todo.claim(held)
    return Forge(ledger, ledger.clone("forge", "--branch=loopx/coord"), agents, held, free)


def ops(forge: Forge) -> list[str]:
    return [entry["op"] for entry in forge.world.log() if "op" in entry]


def test_a_proposal_is_accepted_as_ordinary_operations(forge: Forge) -> None:
    client = forge.agents
    before, refs = ops(forge), footprint(forge.checkout)
    added = client.propose.add(BRANCH, "from a plan", scope=("web/**",), body="why")
    client.propose.add(BRANCH, "needs the other", depends_on=(added["todo"],))
    client.propose.edit(BRANCH, forge.free, title="reworded", note="see the plan", priority=0)
    assert ops(forge) == before
    # The agents go on meanwhile.
    client.todo.update(forge.held, note="meanwhile")
    proposal = client.propose.show(BRANCH)
    assert (len(proposal.edits), proposal.refused) == (3, [])
    done = client.propose.accept(BRANCH)
    assert done["operations"] == 3
    assert ops(forge) == [*before, "update", "add", "add", "update"]
    shown = client.todo.show(added["todo"])[0].todo
    assert (shown.title, shown.scope, shown.body) == ("from a plan", ("web/**",), "why")
    reworded = client.todo.show(forge.free)[0].todo
    assert (reworded.title, reworded.priority) == ("reworded", 0)
    assert [note.text for note in reworded.notes] == ["see the plan"]
    assert client.history.verify().ok
    assert differences(refs, footprint(forge.checkout)) == {}
    with pytest.raises(NotAllowed, match="is taken"):
        client.propose.accept(BRANCH)


def test_a_dry_run_accepts_nothing(forge: Forge) -> None:
    forge.agents.propose.add(BRANCH, "x")
    tip = forge.world.tip()
    assert forge.agents.propose.accept(BRANCH, dry_run=True)["operations"] == 1
    assert forge.world.tip() == tip


REFUSED: dict[str, tuple[Callable[[Forge], None], str]] = {
    "a hand-set claim": (lambda f: f.edit(f.free, "claimed_by:", "claimed_by: bob"), "cannot be set by hand"),
    "a lease record": (lambda f: f.edit(f.held, '"epoch": 1', '"epoch": 2', "leases"), "lease record"),
    "an illegal transition": (lambda f: f.edit(f.free, "status: open", "status: completed"), "does not become"),
    "an unreadable file": (lambda f: f.edit(f.free, "title: free", "title: [a, b]"), "title"),
    "another id": (
        lambda f: f.edit(f.free, f"id: {f.free}", "id: todo_00000000beef"),
        "does not agree with the path",
    ),
    "a removed todo": (lambda f: f.path(f.free).unlink(), "never deleted"),
    "a bad pattern": (lambda f: f.edit(f.free, "scope: []", 'scope: ["a//b"]'), "empty segment"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_breaks_a_rule_is_refused_with_the_reason(forge: Forge, name: str) -> None:
    make, reason = REFUSED[name]
    forge.checkout.git("checkout", "-q", "-b", BRANCH)
    make(forge)
    forge.commit("a plan")
    forge.checkout.git("push", "-q", "origin", BRANCH)
    tip = forge.world.tip()
    with pytest.raises(NotAllowed, match=re.escape(reason)) as refused:
        forge.agents.propose.accept(BRANCH)
    assert refused.value.about["refused"][0]["path"].startswith(".loopx/goals/main/")
    assert forge.world.tip() == tip


def test_an_id_that_was_taken_meanwhile_is_refused(forge: Forge) -> None:
    forge.checkout.git("checkout", "-q", "-b", BRANCH)
    forge.add()
    forge.commit("a plan")
    forge.checkout.git("push", "-q", "origin", BRANCH)
    from loopx_git.core.commands import AddTodo

    forge.agents.submit([AddTodo("todo_eeee00000001", "the same id")], forge.agents.connection.actor())
    with pytest.raises(NotAllowed, match="the id todo_eeee00000001 is taken"):
        forge.agents.propose.accept(BRANCH)


def test_a_field_that_was_changed_meanwhile_is_refused(forge: Forge) -> None:
    forge.agents.propose.edit(BRANCH, forge.held, title="from the plan")
    forge.agents.todo.update(forge.held, title="from its holder")
    with pytest.raises(NotAllowed, match="changed on the coordination ref meanwhile"):
        forge.agents.propose.accept(BRANCH)


def test_a_branch_is_named_and_is_not_the_coordination_ref(forge: Forge) -> None:
    with pytest.raises(NotFound):
        forge.agents.propose.show("nowhere")
    with pytest.raises(UsageError):
        forge.agents.propose.add(COORD, "x")
    with pytest.raises(UsageError):
        forge.agents.propose.add("--upload-pack=x y", "x")


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_a_proposal_merged_on_the_forge_while_agents_claim(forge: Forge, how: str) -> None:
    """The other way in: nobody accepts, somebody merges; nothing is lost, nothing granted twice."""
    todo = forge.agents.propose.add(BRANCH, "merged on the forge")["todo"]
    forge.agents.todo.claim(forge.free)
    forge.update()
    forge.checkout.git("checkout", "-q", "-B", "main-line", "FETCH_HEAD")
    forge.checkout.git("fetch", "-q", "origin", BRANCH)
    if how == "merge":
        forge.checkout.git("merge", "-q", "--no-ff", "-m", "Merge pull request #7", "FETCH_HEAD")
    else:
        forge.checkout.git("merge", "-q", "--squash", "FETCH_HEAD")
        forge.commit("plan (#7)")
    forge.push()
    assert forge.agents.todo.claim(todo).lease.lease.epoch == 1
    assert forge.agents.todo.update(forge.free, note="still mine").lease.lease.epoch == 1
    assert forge.agents.history.verify().ok


def test_a_pull_request_against_the_coordination_ref_is_judged_as_todos(forge: Forge) -> None:
    coding = Coding(forge.world, forge.checkout)
    forge.checkout.git("checkout", "-q", "-b", BRANCH)
    forge.add()
    forge.commit("a plan")
    verdict = coding.check(base="origin/loopx/coord")
    assert (verdict.ok, list(verdict.findings)) == (True, [])
    forge.edit(forge.held, "title: held", "title: other")
    forge.edit(forge.free, "status: open", "status: cancelled")
    forge.commit("worse")
    verdict = coding.check(base="origin/loopx/coord")
    assert sorted((item.rule, item.level, item.todo, item.holder) for item in verdict.findings) == sorted([
        ("proposal", "error", forge.free, None), ("proposal", "warning", forge.held, "alice"),
    ])  # fmt: skip


def test_the_commands(forge: Forge) -> None:
    clone = forge.checkout
    todo = clone.run("propose", "add", BRANCH, "a title", "--scope", "a/**").json["todo"]
    clone.run("propose", "edit", BRANCH, forge.free, "--title", "b")
    clone.run("propose", "edit", BRANCH, forge.free, check=2)
    assert clone.run("propose", "show", BRANCH).json["ok"] is True
    assert set(clone.run("propose", "accept", BRANCH).json["todos"]) == {todo, forge.free}
    assert clone.run("propose", "accept", BRANCH, check=15).error["refused"]


def test_without_a_remote(world: World) -> None:
    clone = world.repository("alone")
    clone.commit("a.py")
    clone.run("init")
    client = Client(clone.path, clone.env)
    todo = client.propose.add(BRANCH, "alone")["todo"]
    assert client.propose.accept(BRANCH)["todos"] == [todo]
    assert client.history.verify().ok


def _todo(change: ChangeSet, **fields: Any) -> ChangeSet:
    writes = tuple(replace(write, **fields) if isinstance(write, Todo) else write for write in change.writes)
    return replace(change, writes=writes)


#: What a planner with a fault could hand over.
FAULTS: dict[str, Callable[[ChangeSet], ChangeSet]] = {
    "a title of two lines": lambda change: _todo(change, title="one\ntwo"),
    "a priority that is none": lambda change: _todo(change, priority=9),
    "a claim": lambda change: _todo(change, claimed_by="bob"),
    "a title that is not text": lambda change: _todo(change, title=7),
    "labels that are none": lambda change: _todo(change, labels=(object(),)),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("how", ["add", "edit"])
def test_nothing_is_pushed_that_would_not_be_accepted(
    forge: Forge, fault: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, plan = forge.agents, propose.plan
    refs = forge.world.git("for-each-ref", folder=forge.world.remote)
    with monkeypatch.context() as patched:
        patched.setattr(propose, "plan", lambda *args: FAULTS[fault](plan(*args)))
        with pytest.raises(InternalError, match="nothing was pushed"):
            if how == "add":
                client.propose.add(BRANCH, "x")
            else:
                client.propose.edit(BRANCH, forge.free, title="y")
    assert forge.world.git("for-each-ref", folder=forge.world.remote) == refs
    assert client.propose.accept(client.propose.add(BRANCH, "x")["branch"])["operations"] == 1


WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
NAMES = st.lists(st.from_regex(r"[a-z][a-z0-9-]{0,7}", fullmatch=True), max_size=3, unique=True)
FIELDS = st.fixed_dictionaries(
    {"title": WORDS},
    optional={
        "body": WORDS, "priority": st.integers(-1, 5), "scope": st.lists(WORDS, max_size=2), "labels": NAMES,
        "requires": NAMES, "excluded": NAMES, "validate": st.lists(WORDS, max_size=2),
        "resume_after": st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)),
    },
)  # fmt: skip


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Client:
    """A repository that coordinates alone: no push takes time."""
    world = World(tmp_path_factory.mktemp("alone") / "world")
    clone = world.repository("alone")
    clone.commit("a.py")
    clone.run("init")
    populate(clone, peers=["alice"])
    return Client(clone.path, clone.env, {"agent": "alice"})


@settings(max_examples=12, deadline=None)
@given(first=FIELDS, second=FIELDS, note=WORDS)
def test_a_proposal_is_refused_by_name_or_accepted_as_it_was_given(
    alone: Client, first: dict[str, Any], second: dict[str, Any], note: str
) -> None:
    """For any text: what `propose` takes is shown without an objection, and is the todo that everybody reads."""
    branch = f"plan-{secrets.token_hex(4)}"
    try:
        todo = alone.propose.add(branch, **first)["todo"]
    except LoopXError as error:
        assert isinstance(error, UsageError), error
        return
    wanted = dict(first)
    notes: list[str] = []
    for fields, text in ((second, None), ({}, note)):
        try:
            alone.propose.edit(branch, todo, note=text, **fields)
        except LoopXError as error:
            # A new todo of the branch gets no notes: that would not be accepted.
            assert isinstance(error, UsageError | NotAllowed), error
            continue
        wanted |= fields
        notes += [] if text is None else [text.replace("\r\n", "\n")]
    assert alone.propose.show(branch).refused == []
    alone.propose.accept(branch)
    found = alone.todo.show(todo)[0].todo
    assert [entry.text for entry in found.notes] == notes
    for name, value in wanted.items():
        stored = getattr(found, name)
        if name == "body":
            stored, value = stored.strip("\n"), value.replace("\r\n", "\n").strip("\n")
        elif name == "resume_after":
            value = value.replace(microsecond=value.microsecond // 1000 * 1000)
        assert stored == (tuple(value) if isinstance(value, list) else value), name


def test_fields_have_the_names_of_todo_add(forge: Forge) -> None:
    todo = forge.agents.propose.add(BRANCH, "x", goal_id="main", requires="python")["todo"]
    forge.agents.propose.accept(BRANCH)
    assert forge.agents.todo.show(todo)[0].todo.requires == ("python",)
    with pytest.raises(UsageError, match="'colour' is not a field"):
        forge.agents.propose.add(BRANCH, "x", colour="red")


def test_times_and_joined_words_are_taken_as_by_todo_add(forge: Forge) -> None:
    clone = forge.checkout.having(LOOPX_NOW="2026-03-04T05:06:07Z")
    added = clone.run("propose", "add", BRANCH, "later", "--resume-after", "2h", "--scope", "a,b")
    assert "--scope a --scope b" in added.err
    joined = f"{forge.held} x"
    edited = clone.run("propose", "edit", BRANCH, forge.free, "--depends-on", joined, check=None)
    assert f"--depends-on {forge.held} --depends-on x" in edited.err
    clone.run("propose", "edit", BRANCH, forge.free, "--resume-after", "2026-05-01")
    assert clone.run("propose", "add", BRANCH, "x", "--resume-after", "soon", check=2).error["hint"]
    clone.run("propose", "accept", BRANCH)
    times = {todo: clone.show(todo)["todo"]["resume_after"] for todo in (added.json["todo"], forge.free)}
    assert times[forge.free].startswith("2026-05-01T00:00:00")
    assert times[added.json["todo"]].startswith("2026-03-04T07:06")


def test_an_edit_that_would_not_be_accepted_is_refused_at_once(forge: Forge) -> None:
    """A todo that is new on the branch is replayed as one addition, which has neither notes nor another status."""
    todo = forge.agents.propose.add(BRANCH, "new")["todo"]
    for wish, why in (
        ({"note": "x"}, "notes: a new todo has none yet"),
        ({"status": "blocked"}, "a new todo is open"),
    ):
        with pytest.raises(NotAllowed, match=why) as refused:
            forge.agents.propose.edit(BRANCH, todo, **wish)
        assert refused.value.hint
    forge.agents.propose.edit(BRANCH, todo, body="x")
    forge.agents.propose.edit(BRANCH, forge.free, note="x", status="blocked")
    assert forge.agents.propose.accept(BRANCH)["operations"] == 2
