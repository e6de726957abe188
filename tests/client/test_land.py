"""Landing: the code is in and the todo completed by its holder, or neither; never half."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clones import COORD, Clone, Result, World, plant
from servers import git_daemon, http_backend

from loopx_git import LoopXClient, NotYourClaim
from loopx_git.client.lease_renewer import LeaseRenewer

MAIN = "refs/heads/main"


def held(clone: Clone, title: str, *args: str, agent: str = "alice") -> str:
    todo = clone.add(title, *args)
    clone.run("todo", "claim", todo, agent=agent)
    return todo


def work(clone: Clone, name: str = "work.txt") -> str:
    """One commit of work; its id."""
    clone.commit(name, f"{name}\n", f"work on {name}")
    return clone.git("rev-parse", "HEAD")


def land(clone: Clone, *args: str, code: int = 0, agent: str = "alice") -> Result:
    return clone.run("land", *args, agent=agent, check=code)


def branch(ledger: World, name: str = MAIN) -> str:
    return ledger.tip(ref=name)


def sound(clone: Clone) -> None:
    """The user's repository has nothing broken, and no ref or object of ours."""
    assert "missing" not in clone.git("fsck", "--full", "--strict")
    assert "loopx" not in clone.git("for-each-ref", "refs/heads", "refs/loopx")


def untouched(ledger: World, before: tuple[str, str]) -> None:
    assert (ledger.tip(), branch(ledger)) == before


def test_code_and_completion_land_together(ledger: World, alice: Clone) -> None:
    todo = held(alice, "lands")
    oid = work(alice)
    refs = alice.git("for-each-ref", "--format=%(refname)")
    answer = land(alice, "--todo-id", todo, "--note", "done").json
    assert (answer["code"], answer["already"], answer["atomic"]) == (f"{MAIN}@{oid}", False, True)
    assert (answer["todo"]["status"], answer["lease"]["holder"]) == ("completed", None)
    assert branch(ledger) == oid
    entry = ledger.log()[-1]
    assert (entry["op"], entry["todo"], entry["code"]) == ("complete", todo, f"{MAIN}@{oid}")
    # As after a push of the user's own: the tracking ref follows, and no other ref is there.
    assert alice.git("rev-parse", "origin/main") == oid
    assert alice.git("for-each-ref", "--format=%(refname)") == refs
    sound(alice)
    assert list(alice.home.glob("landing-*")) == []
    assert ledger.clone("reader").verified()["ok"]


def test_landing_twice_has_no_second_effect(ledger: World, alice: Clone) -> None:
    todo = held(alice, "twice")
    work(alice)
    land(alice, "--todo-id", todo)
    before = (ledger.tip(), branch(ledger))
    assert land(alice, "--todo-id", todo).json["already"] is True
    untouched(ledger, before)
    # Other code, or somebody else, is not the same landing.
    land(alice, "--todo-id", todo, agent="bob", code=12)
    work(alice, "more.txt")
    land(alice, "--todo-id", todo, code=12)
    untouched(ledger, before)


def test_a_stale_holder_lands_nothing(ledger: World, alice: Clone, bob: Clone) -> None:
    todo = held(alice, "taken over")
    work(alice)
    bob.run("todo", "release", todo, "--force", "--reason", "gone", agent="bob")
    bob.run("todo", "claim", todo, agent="bob")
    before = (ledger.tip(), branch(ledger))
    assert land(alice, "--todo-id", todo, code=12).error["holder"] == "bob"
    assert land(alice, "--todo-id", todo, "--epoch", "1", code=12).error["epoch"] == 3
    untouched(ledger, before)


def test_the_three_refusals_differ(ledger: World, alice: Clone, bob: Clone) -> None:
    todo = held(alice, "refused")
    oid = work(alice)
    work(bob, "other.txt")
    bob.git("push", "-q", "origin", "main")
    before = (ledger.tip(), branch(ledger))
    forward = land(alice, "--todo-id", todo, code=15).error
    assert "not a fast-forward of main" in forward["message"]
    assert (forward["code"], forward["branch"]) == (15, "main")
    untouched(ledger, before)
    hook = plant(
        ledger.remote / "hooks/update",
        '#!/bin/sh\ntest "$1" != refs/heads/main || { echo no direct pushes; exit 1; }\n',
    )
    alice.git("pull", "-q", "--rebase", "origin", "main")
    assert alice.git("rev-parse", "HEAD") != oid
    declined = land(alice, "--todo-id", todo, code=14).error
    assert "does not take this push to main" in declined["message"]
    assert "no direct pushes" in declined["message"]
    untouched(ledger, before)
    assert list((alice.home / "pending").glob("*")) == []
    hook.unlink()
    assert land(alice, "--todo-id", todo).json["already"] is False
    bob.run("todo", "show", todo, "--fresh")


def test_a_new_branch_the_branch_of_the_todo_and_a_worktree(ledger: World, alice: Clone) -> None:
    todo = held(alice, "elsewhere", "--branch", "feature/x")
    oid = work(alice)
    assert land(alice, "--todo-id", todo).json["code"] == f"refs/heads/feature/x@{oid}"
    assert branch(ledger, "refs/heads/feature/x") == oid
    tree = alice.at("../tree")
    alice.git("worktree", "add", "-q", "-b", "topic", str(tree.path))
    todo = held(tree, "in a worktree")
    oid = work(tree, "tree.txt")
    assert land(tree, "--to", "main").json["code"] == f"{MAIN}@{oid}"
    sound(alice)


def test_what_names_nothing_to_land(ledger: World, alice: Clone) -> None:
    assert "holds 0 todos" in land(alice, code=2).error["message"]
    todo = held(alice, "usage")
    for args in (
        ("--rev", "no-such"), ("--rev", "--upload-pack=x"), ("--to", "bad..name"), ("--to", "-x"),
        ("--to", COORD.removeprefix("refs/heads/")),
    ):  # fmt: skip
        assert land(alice, "--todo-id", todo, *args, code=2).error["hint"]
    alice.git("checkout", "-q", "--detach")
    assert "--to" in land(alice, "--todo-id", todo, code=2).error["hint"]
    assert (
        "no check of its own"
        in land(alice, "--todo-id", todo, "--to", "main", "--validate", code=15).error["message"]
    )


def test_hook_and_check_run_once_and_before(ledger: World, alice: Clone, tmp_path: Path) -> None:
    log = tmp_path / "log"
    hook = plant(alice.common_dir / "hooks/pre-push", f'#!/bin/sh\necho "hook $1" >> {log}\ncat >> {log}\nexit 0\n')
    check = plant(tmp_path / "check", f"#!/bin/sh\necho check >> {log}\n")
    file = alice.path / ".loopx/config.toml"
    alice.commit(".loopx/config.toml", f'{file.read_text()}\n[validate]\nallow = [["{check}"]]\n', "allow")
    alice.git("push", "-q", "--no-verify", "origin", "main")
    todo = held(alice, "checked", "--validate", str(check))
    old, oid = branch(ledger), work(alice)
    land(alice, "--todo-id", todo, "--validate")
    assert log.read_text().splitlines() == ["check", "hook origin", f"{MAIN} {oid} {MAIN} {old}"]
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 3\n")
    todo = held(alice, "refused by the hook")
    work(alice, "more.txt")
    before = (ledger.tip(), branch(ledger))
    refused = land(alice, "--todo-id", todo, code=15)
    assert "pre-push hook refused" in refused.error["message"]
    assert "not today" in refused.err
    untouched(ledger, before)
    land(alice, "--todo-id", todo, "--no-verify")


def test_a_remote_without_atomic_pushes(ledger: World, alice: Clone, bob: Clone) -> None:
    ledger.git("config", "receive.advertiseAtomic", "false", folder=ledger.remote)
    todo = held(alice, "two steps")
    oid = work(alice)
    before = (ledger.tip(), branch(ledger))
    refused = land(alice, "--todo-id", todo, code=14)
    assert "--two-step" in refused.error["hint"]
    untouched(ledger, before)
    answer = land(alice, "--todo-id", todo, "--two-step")
    assert (answer.json["atomic"], branch(ledger)) == (False, oid)
    assert "without its code" in answer.json["caveat"]
    todo = held(alice, "half")
    work(bob, "other.txt")
    bob.git("pull", "-q", "--rebase", "origin", "main")
    bob.git("push", "-q", "origin", "main")
    work(alice, "mine.txt")
    half = land(alice, "--todo-id", todo, "--two-step", code=15)
    assert "is completed, but its code is not on main" in half.error["message"]


def test_uncommitted_changes_are_told_of(alice: Clone) -> None:
    todo = held(alice, "dirty")
    work(alice)
    (alice.path / "work.txt").write_text("changed\n")
    assert "not committed were left out" in land(alice, "--todo-id", todo).err
    assert (alice.path / "work.txt").read_text() == "changed\n"


@pytest.mark.parametrize("kind", [("--depth=1",), ("--filter=blob:none",), ("--filter=tree:0",)], ids=" ".join)
def test_shallow_and_partial_clones_land(ledger: World, alice: Clone, kind: tuple[str, ...]) -> None:
    for number in range(3):
        work(alice, f"dir/{number}.txt")
    alice.git("push", "-q", "origin", "main")
    ledger.git("config", "uploadpack.allowFilter", "true", folder=ledger.remote)
    thin = ledger.clone("thin", *kind, url=f"file://{ledger.remote}")
    todo = held(thin, "thin")
    oid = work(thin, "dir/new.txt")
    assert land(thin, "--todo-id", todo).json["code"].endswith(oid)
    assert branch(ledger) == oid
    ledger.git("fsck", "--full", folder=ledger.remote)


def test_a_pre_push_hook_ends_when_the_claim_is_lost(
    ledger: World, alice: Clone, bob: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(alice.common_dir / "hooks/pre-push", "#!/bin/sh\nexec sleep 600\n")
    todo = alice.add("taken meanwhile")
    alice.run("todo", "claim", todo, "--ttl", "4s", agent="alice")
    oid, start = work(alice), LeaseRenewer.start

    def taken(self: LeaseRenewer) -> None:
        bob.run("todo", "release", todo, "--force", "--reason", "needed", agent="bob")
        start(self)

    monkeypatch.setattr(LeaseRenewer, "start", taken)
    with pytest.raises(NotYourClaim):
        LoopXClient(alice.path, env=alice.env, agent="alice").land(todo)
    assert branch(ledger) != oid


def test_without_a_remote_both_refs_move_in_one_transaction(tmp_path: Path) -> None:
    world = World(tmp_path / "world")
    alone = world.repository("alone")
    alone.commit("code.py")
    alone.run("init")
    alone.run("peer", "register", "alice")
    tree = alone.at("../tree")
    alone.git("worktree", "add", "-q", "-b", "topic", str(tree.path))
    todo = held(tree, "local")
    oid = work(tree)
    # main is checked out in the first worktree: moving it would show as changes there.
    assert "checked out" in land(tree, "--todo-id", todo, "--to", "main", code=15).error["message"]
    assert land(tree, "--todo-id", todo, "--to", "release").json["code"] == f"refs/heads/release@{oid}"
    assert alone.git("rev-parse", "release") == oid
    todo = held(tree, "where it is")
    oid = work(tree, "b.txt")
    assert land(tree).json["code"] == f"refs/heads/topic@{oid}"
    todo = held(alone, "no forward")
    alone.git("update-ref", "refs/heads/other", alone.git("commit-tree", "-m", "x", "HEAD^{tree}"))
    assert "not a fast-forward" in land(alone, "--todo-id", todo, "--to", "other", code=15).error["message"]
    assert "two steps" in land(alone, "--todo-id", todo, "--two-step", code=15).error["message"]
    assert alone.show(todo)["todo"]["status"] == "open"
    assert alone.verified()["ok"]


# -- races


@pytest.fixture(params=["path", "daemon", "http"])
def url(ledger: World, request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "path":
        yield str(ledger.remote)
        return
    ledger.git("config", "http.receivepack", "true", folder=ledger.remote)
    ledger.git("config", "daemon.receivepack", "true", folder=ledger.remote)
    with (git_daemon if request.param == "daemon" else http_backend)(ledger.root) as base:
        yield f"{base}{ledger.remote.name}"


def race_of_one(ledger: World, url: str, rounds: int, draw: random.Random) -> dict[str, int]:
    """A lands while B takes the todo over by force: counts of how the rounds went."""
    from loopx_git.client.client import Client
    from loopx_git.errors import LoopXError, NotYourClaim

    alice, bob = ledger.clone("lander", url=url), ledger.clone("taker", url=url)
    counts = {"landed": 0, "taken": 0}
    for number in range(rounds):
        todo = held(alice, f"round {number}")
        bob.run("sync")
        oid, before = work(alice, f"{number}.txt"), branch(ledger)
        outcomes: dict[str, Any] = {}

        def lands(todo: str = todo, outcomes: dict[str, Any] = outcomes, wait: float = draw.uniform(0, 0.15)) -> None:
            time.sleep(wait)
            try:
                outcomes["land"] = Client(alice.path, alice.env, {"agent": "alice"}).land(todo)
            except NotYourClaim as error:
                outcomes["lost"] = error

        def takes(todo: str = todo, outcomes: dict[str, Any] = outcomes, wait: float = draw.uniform(0, 0.4)) -> None:
            time.sleep(wait)
            client = Client(bob.path, bob.env, {"agent": "bob"})
            try:
                client.todo.release(todo, force=True, reason="it takes too long")
                outcomes["take"] = client.todo.claim(todo)
            except LoopXError as error:
                outcomes["late"] = error

        threads = [threading.Thread(target=lands), threading.Thread(target=takes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ("land" in outcomes) != ("lost" in outcomes), outcomes
        completed = [e for e in ledger.log() if e["op"] == "complete" and e["todo"] == todo]
        if "land" in outcomes:
            assert branch(ledger) == oid
            assert [(e["agent"], e["code"]) for e in completed] == [("alice", f"{MAIN}@{oid}")]
            counts["landed"] += 1
        else:
            assert (branch(ledger), completed) == (before, [])
            counts["taken"] += 1
            alice.git("reset", "-q", "--hard", "origin/main")
            if "take" in outcomes:
                bob.run("todo", "release", todo, agent="bob")
            bob.run("todo", "cancel", todo, "--force", "--reason", "the round is over", agent="bob")
    sound(alice)
    assert ledger.clone("reader").verified()["ok"]
    return counts


@pytest.mark.parametrize("url", ["path", "http"], indirect=True)
def test_land_races(ledger: World, url: str) -> None:
    """Ten rounds: in every one either the code is in and the todo completed by A, or neither."""
    counts = race_of_one(ledger, url, 10, random.Random(url.partition(":")[0]))
    assert sum(counts.values()) == 10


@pytest.mark.soak
def test_land_races_a_hundred_rounds(ledger: World, url: str) -> None:
    counts = race_of_one(ledger, url, 100, random.Random())
    assert min(counts.values()) >= 5, counts


def test_two_landings_of_different_todos_on_one_branch(ledger: World, alice: Clone, bob: Clone) -> None:
    """Both hold what they land; the code of only one is a fast-forward. The other keeps its claim and tries again."""
    first, second = held(alice, "one"), held(bob, "two", agent="bob")
    work(alice, "one.txt")
    work(bob, "two.txt")
    land(alice, "--todo-id", first)
    assert "not a fast-forward" in land(bob, "--todo-id", second, agent="bob", code=15).error["message"]
    assert bob.show(second)["lease"]["holder"] == "bob"
    bob.git("pull", "-q", "--rebase", "origin", "main")
    land(bob, "--todo-id", second, agent="bob")
    assert ledger.git("log", "--format=%s", "main", folder=ledger.remote).splitlines()[:2] == [
        "work on two.txt", "work on one.txt",
    ]  # fmt: skip
