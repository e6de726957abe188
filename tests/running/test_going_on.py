"""`run` and `hold` of a todo that the caller's agent holds: its own session goes on, another one's is taken over."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from clones import PROGRAM, Clone, World

from loopx_git.client.client import Client
from loopx_git.errors import HeldByAnother, NotYourClaim, UsageError


def run(clone: Clone, todo: str, *more: str, script: str = "echo $LOOPX_EPOCH $LOOPX_SESSION", code: int = 0) -> Any:
    return clone.run("run", "--todo-id", todo, *more, "--", "sh", "-c", script, agent="alice", check=code)


def test_what_the_session_holds_is_gone_on_with(ledger: World, alice: Clone) -> None:
    todo = alice.add("mine", "--alias", "mine-X")
    held = alice.run("todo", "claim", todo, "--ttl", "1h", agent="alice").json["lease"]
    done = run(alice, "mine-X")
    assert done.out.splitlines()[0] == f"1 {held['session']}"
    assert "already held by alice (epoch 1)" in done.err
    assert len(ledger.claims(todo)) == 1
    assert [entry["op"] for entry in ledger.log()][-3:] == ["claim", "renew", "complete"]
    assert alice.verified()["ok"]


@pytest.mark.parametrize("more", [(), ("--worktree",), ("--branch",)], ids=["here", "worktree", "branch"])
def test_another_session_of_the_agent_keeps_it_unless_resume_is_given(
    ledger: World, alice: Clone, bob: Clone, more: tuple[str, ...]
) -> None:
    todo = alice.add("mine")
    # The same agent at work in another clone.
    bob.run("todo", "claim", todo, agent="alice")
    answer = run(alice, todo, *more, code=11)
    assert "another session of alice" in answer.error["message"]
    assert f"git loopx run --todo-id {todo} --resume --agent alice -- " in answer.error["hint"]
    assert alice.git("branch", "--list", "loopx/*") == ""
    assert run(alice, todo, *more, "--resume").out.splitlines()[0].startswith("2 r-")
    assert [claim.get("prev") for claim in ledger.claims(todo)] == [None, "alice@1"]
    assert alice.verified()["ok"]


def test_the_hint_of_the_refusal_leads_on(alice: Clone, bob: Clone) -> None:
    """`todo claim --resume`, which other refusals advise, is enough as well: the next `run` goes on."""
    todo = alice.add("mine")
    bob.run("todo", "claim", todo, agent="alice")
    alice.run("todo", "claim", todo, "--resume", agent="alice")
    assert run(alice, todo).out.startswith("2 s-")


def test_another_agents_claim_is_no_ones_to_resume(alice: Clone, bob: Clone) -> None:
    todo = alice.add("bobs")
    bob.run("todo", "claim", todo, agent="bob")
    for more in ((), ("--resume",)):
        answer = run(alice, todo, *more, code=11)
        assert answer.error["holder"] == "bob"
        assert "--resume" not in answer.error["hint"]
    alice.run("run", "--next", "--resume", "--", "true", agent="alice", check=2)


def test_a_transferred_claim_is_bound_to_the_run(ledger: World, alice: Clone, bob: Clone) -> None:
    """Its session is open: the command's own session binds it, so that it is not taken for lost at the first look."""
    todo = bob.add("handed over")
    bob.run("todo", "claim", todo, agent="bob")
    bob.run("todo", "transfer", todo, "--to", "alice", agent="bob")
    done = run(alice.having(LOOPX_MAX_AGE="1"), todo, script="sleep 1.5")
    assert done.json["outcome"] == "completed"
    assert ledger.log()[-2]["op"] == "renew"


def test_a_claim_past_its_deadline_is_gone_on_with(ledger: World, alice: Clone) -> None:
    todo = alice.add("late")
    alice.run("todo", "claim", todo, "--ttl", "10m", agent="alice")
    late = alice.having(LOOPX_NOW="+3h")
    assert run(late, todo).out.startswith("1 s-")
    assert len(ledger.claims(todo)) == 1


def test_one_run_at_a_time_goes_on_with_a_claim(alice: Clone, tmp_path: Path) -> None:
    todo, go = alice.add("one at a time"), tmp_path / "go"
    os.mkfifo(go)
    alice.run("todo", "claim", todo, agent="alice")
    words = [*PROGRAM, "--agent", "alice", "run", "--todo-id", todo, "--", "sh", "-c", f"echo ready; read x < {go}"]
    with subprocess.Popen(words, cwd=alice.path, env=dict(alice.env), stdout=subprocess.PIPE) as first:
        assert first.stdout is not None and first.stdout.readline() == b"ready\n"
        answer = run(alice, todo, script="echo must not run", code=15)
        assert str(first.pid) in answer.error["message"]
        assert answer.out == ""
        go.write_text("x\n")
        assert first.wait(60) == 0


def test_a_command_that_cannot_be_started_leaves_the_callers_claim(alice: Clone, tmp_path: Path) -> None:
    """A claim that the run did not make is not the run's to give back."""
    todo = alice.add("kept")
    alice.run("todo", "claim", todo, agent="alice")
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    alice.run("run", "--todo-id", todo, "--", str(broken), agent="alice", check=2)
    assert alice.show(todo)["lease"]["holder"] == "alice"


def test_hold_goes_on_too(ledger: World, alice: Clone, bob: Clone) -> None:
    todo = alice.add("held")
    client = Client(alice.path, alice.env, {"agent": "alice"})
    lease = client.todo.claim(todo).lease
    with client.hold(todo) as hold:
        assert (hold.lease_id, hold.session) == (lease.id, lease.session)
        hold.checkpoint()
        with pytest.raises(HeldByAnother) as refused, Client(bob.path, bob.env, {"agent": "alice"}).hold(todo):
            raise AssertionError("held twice")
        assert refused.value.hint.endswith(f"client.hold('{todo}', resume=True)")
        with Client(bob.path, bob.env, {"agent": "alice"}).hold(todo, resume=True) as other:
            assert other.epoch == 2
            with pytest.raises(NotYourClaim):
                client.todo.update(todo, title="too late", session=hold.session)
            other.complete()
        hold._renewer.lose(NotYourClaim("taken"))  # type: ignore[union-attr]
    with pytest.raises(UsageError):
        client.hold(todo, resume="yes")  # type: ignore[arg-type]


def test_a_loop_takes_over_what_its_own_agent_holds(alice: Clone) -> None:
    """A claim that was made by hand under the loop's name is another session of it."""
    alice.run("loop", "create", "nightly")
    todo = alice.add("by hand")
    alice.run("todo", "claim", todo, agent="nightly")
    answer = alice.run("loop", "claim", "nightly", "--task", todo, check=2)
    assert f"git loopx loop claim nightly --task {todo} --resume" in answer.error["hint"]
    ticked = alice.run("loop", "tick", "nightly", "--task", todo, "--", "true").json
    assert ticked["skipped"]
    ticked = alice.run("loop", "tick", "nightly", "--task", todo, "--resume", "--", "true").json
    assert not ticked["skipped"], json.dumps(ticked)
    shown = alice.show(todo)
    assert (shown["lease"]["holder"], shown["lease"]["epoch"]) == ("nightly", 2)
    alice.run("loop", "claim", "nightly", "--task", todo)
    assert alice.verified()["ok"]
