"""A todo's own check before it is completed: fails, hangs, is not allowed, floods, kills itself."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from clones import Clone, World

from loopx_git import NotAllowed, NotYourClaim
from loopx_git.client import validation
from loopx_git.client.lease_renewer import LeaseRenewer
from loopx_git.sdk import LoopXClient

CHECKS = {
    "passes": "exit 0",
    "fails": "echo three tests failed; exit 3",
    "floods": "yes 0123456789012345678901234567890123456789 | head -c 10000000",
    "dies": "kill -9 $$",
    "hangs": "sleep 600",
    "slow": "sleep 5; test $(cat go 2>/dev/null || echo no) = yes",
    "asks": "read answer; test -z $answer",
    "leaves": "(sleep 600; touch outlived) & exit 0",
}


@pytest.fixture
def checked(ledger: World) -> Clone:
    """A clone whose reviewed config.toml allows `sh checks/NAME` for every name above but `unreviewed`."""
    clone = ledger.clone("alice")
    for name, text in {**CHECKS, "unreviewed": "touch ran"}.items():
        clone.commit(f"checks/{name}", text + "\n")
    config = clone.path / ".loopx/config.toml"
    allowed = ", ".join(f'["sh", "checks/{name}"]' for name in CHECKS)
    clone.commit(".loopx/config.toml", config.read_text() + f"\n[validate]\nallow = [{allowed}]\n")
    clone.git("push", "-q", "origin", "main")
    return clone


def claimed(clone: Clone, check: str, *, ttl: str = "1h") -> str:
    todo = clone.add(f"work with {check}", "--validate", f"sh checks/{check}")
    clone.run("todo", "claim", todo, "--ttl", ttl, agent="alice")
    return todo


def test_a_check_that_passes_completes(checked: Clone) -> None:
    todo = claimed(checked, "passes")
    assert checked.run("todo", "complete", todo, agent="alice").json["todo"]["status"] == "completed"
    assert checked.verified()["ok"]


@pytest.mark.parametrize(("check", "said"), [("fails", "three tests failed"), ("dies", "signal 9")])
def test_a_check_that_fails_leaves_everything_as_it_was(checked: Clone, check: str, said: str) -> None:
    todo = claimed(checked, check)
    refused = checked.run("todo", "complete", todo, agent="alice", check=15).error
    assert said in refused["message"]
    shown = checked.show(todo)
    assert (shown["todo"]["status"], shown["lease"]["holder"]) == ("open", "alice")


def test_a_check_that_prints_ten_megabytes_neither_blocks_nor_is_kept(checked: Clone) -> None:
    todo = claimed(checked, "floods")
    done = checked.run("todo", "complete", todo, agent="alice")
    assert done.json["todo"]["status"] == "completed"
    assert len(done.err) > 9_000_000
    assert len(done.out) < 5_000


def test_a_check_has_no_standard_input_to_wait_for(checked: Clone) -> None:
    checked.run("todo", "complete", claimed(checked, "asks"), agent="alice", timeout=30)


def test_nothing_that_a_check_started_outlives_it(checked: Clone) -> None:
    checked.run("todo", "complete", claimed(checked, "leaves"), agent="alice", timeout=30)
    assert not (checked.path / "outlived").exists()


def test_a_command_that_the_reviewed_branch_does_not_allow_never_runs(checked: Clone) -> None:
    todo = claimed(checked, "unreviewed")
    assert "unreviewed" in checked.run("todo", "complete", todo, agent="alice", check=15).error["message"]
    assert not (checked.path / "ran").exists()


def test_what_a_work_tree_or_a_branch_allows_does_not_count(checked: Clone) -> None:
    todo = claimed(checked, "unreviewed")
    config = checked.path / ".loopx/config.toml"
    text = config.read_text().replace("allow = [", 'allow = [["sh", "checks/unreviewed"], ')
    config.write_text(text)
    checked.run("todo", "complete", todo, agent="alice", check=15)
    checked.git("checkout", "-q", "-b", "feature")
    checked.commit(".loopx/config.toml", text)
    checked.run("todo", "complete", todo, agent="alice", check=15)
    assert not (checked.path / "ran").exists()
    checked.git("push", "-q", "origin", "feature:main")
    checked.run("todo", "complete", todo, agent="alice")
    assert (checked.path / "ran").exists()


def test_nothing_runs_for_a_claim_that_is_not_the_callers(checked: Clone, ledger: World) -> None:
    todo = claimed(checked, "unreviewed")
    bob = ledger.clone("bob")
    bob.run("todo", "complete", todo, agent="bob", check=12)
    assert not (bob.path / "ran").exists()


def test_update_to_completed_is_the_same_door(checked: Clone) -> None:
    todo = claimed(checked, "fails")
    checked.run("todo", "update", todo, "--status", "completed", agent="alice", check=15)
    assert checked.show(todo)["todo"]["status"] == "open"


def test_a_dry_run_runs_nothing(checked: Clone) -> None:
    todo = claimed(checked, "unreviewed")
    checked.run("todo", "complete", todo, "--dry-run", agent="alice", check=15)
    assert not (checked.path / "ran").exists()


def test_a_check_that_hangs_is_stopped_at_its_time(checked: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    todo = claimed(checked, "hangs")
    monkeypatch.setattr(validation.validate, "__defaults__", (1.0,))
    client = LoopXClient(checked.path, env=checked.env, agent="alice")
    began = time.monotonic()
    with pytest.raises(NotAllowed, match="did not end within 1 s"):
        client.todo.complete(todo)
    assert time.monotonic() - began < 30
    assert client.todo.show(todo)[0].lease.lease.holder == "alice"


def test_the_lease_is_renewed_while_the_check_runs(checked: Clone) -> None:
    todo = claimed(checked, "slow", ttl="9s")
    (checked.path / "go").write_text("yes")
    done = checked.run("todo", "complete", todo, agent="alice").json
    assert done["todo"]["status"] == "completed"
    log = checked.run("log", "--todo-id", todo).json["entries"]
    assert [entry["op"] for entry in log].count("renew") >= 1
    assert checked.verified()["ok"]


def test_a_claim_lost_meanwhile_ends_the_check(checked: Clone, ledger: World, tmp_path: Path) -> None:
    todo = claimed(checked, "hangs", ttl="3s")
    bob = ledger.clone("bob")
    client = LoopXClient(checked.path, env=checked.env, agent="alice")
    taken: list[int] = []

    def sink(chunk: bytes) -> None:
        raise AssertionError("sleep prints nothing")

    def take(*_: object) -> None:
        if not taken:
            bob.run("todo", "release", todo, "--force", "--reason", "needed", agent="bob")
            taken.append(bob.run("todo", "claim", todo, agent="bob").json["lease"]["epoch"])

    renewing = LeaseRenewer.start

    def start(self: LeaseRenewer) -> None:
        take()
        renewing(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LeaseRenewer, "start", start)
        with pytest.raises(NotYourClaim) as refusal:
            client.todo.complete(todo, sink=sink)
    assert (refusal.value.about["holder"], refusal.value.about["epoch"]) == ("bob", taken[0])
    assert bob.show(todo)["lease"]["holder"] == "bob"
    assert bob.verified()["ok"]


def test_a_check_ends_at_the_deadline_of_a_claim_that_cannot_be_renewed(
    checked: Clone, ledger: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    todo = claimed(checked, "hangs", ttl="4s")
    client = LoopXClient(checked.path, env=checked.env, agent="alice")
    away, start = ledger.remote.with_name("away.git"), LeaseRenewer.start

    def without_remote(self: LeaseRenewer) -> None:
        ledger.remote.rename(away)
        start(self)

    monkeypatch.setattr(LeaseRenewer, "start", without_remote)
    with pytest.raises(NotYourClaim, match="could not be renewed and is past its deadline"):
        client.todo.complete(todo)
    assert len([note for note in client.notes if note.startswith("a renewal did not go through")]) == 1
    away.rename(ledger.remote)
    assert checked.show(todo)["todo"]["status"] == "open"
