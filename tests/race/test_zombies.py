"""Holders that stop, are overtaken, and wake up: nothing they do changes anything."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from clones import Clone, World
from servers import git_daemon, http_backend

from loopx_git import LoopXClient, NotYourClaim
from loopx_git.client.connect import Overrides
from loopx_git.store.clock import SystemClock

#: Holds a todo under a short lease, says so, and after each line on standard input tries something.
HOLDER = """
import json, sys
from loopx_git import LoopXClient, LoopXError
client = LoopXClient(sys.argv[1], agent="alice")
told = []
with client.hold(sys.argv[2], ttl=int(sys.argv[3]), on_lost=lambda error: told.append(error.about)) as claim:
    print(json.dumps({"epoch": claim.epoch, "session": claim.session}), flush=True)
    for line in sys.stdin:
        word, session = line.strip(), claim.session
        attempts = {
            "checkpoint": claim.checkpoint,
            "renew": lambda: client.task_lease.renew(claim.lease_id, session=session),
            "update": lambda: client.todo.update(sys.argv[2], note="late", status="blocked", session=session),
            "complete": lambda: client.todo.complete(sys.argv[2], session=session),
            "release": lambda: client.todo.release(sys.argv[2], session=session),
            "transfer": lambda: client.todo.transfer(sys.argv[2], "carol", session=session),
            "supersede": lambda: client.todo.supersede(sys.argv[2], by_title="x", session=session),
            "cancel": lambda: client.todo.cancel(sys.argv[2], session=session),
            "end": lambda: None,
        }
        if word == "end":
            break
        try:
            attempts[word]()
        except LoopXError as error:
            print(json.dumps({"code": error.code, **error.about}), flush=True)
        else:
            print(json.dumps({"code": 0}), flush=True)
print(json.dumps({"lost": [item.get("holder") for item in told]}), flush=True)
"""
DEEDS = ("checkpoint", "renew", "update", "complete", "release", "transfer", "supersede", "cancel")


class Holder:
    """The process that holds; `ask` makes it try one deed."""

    def __init__(self, clone: Clone, todo: str, ttl: int = 5) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(clone.path), todo, str(ttl)],
            env=dict(clone.env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.began = self.answer()

    def answer(self) -> dict[str, object]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the holder has died"
        found: dict[str, object] = json.loads(line)
        return found

    def ask(self, deed: str) -> dict[str, object]:
        assert self.process.stdin is not None
        self.process.stdin.write(deed + "\n")
        self.process.stdin.flush()
        return self.answer()

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def __enter__(self) -> Holder:
        return self

    def __exit__(self, *_: object) -> None:
        with self.process:
            self.process.kill()


def strict(clone: Clone) -> None:
    """No allowance for clocks: these clones share one."""
    clone.run("policy", "set", "claims.skew", "0s")


def wait_until_claimed(clone: Clone, todo: str, agent: str, seconds: float = 30) -> int:
    """The epoch under which `agent` gets the todo, once it lapses."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        done = clone.run("todo", "claim", todo, "--ttl", "1h", agent=agent, check=(0, 11))
        if done.code == 0:
            return int(done.json["lease"]["epoch"])
        time.sleep(0.2)
    raise AssertionError("the lease never lapsed")


@pytest.mark.parametrize("transport", ["path", "http"])
def test_a_zombie_changes_nothing(ledger: World, tmp_path: Path, transport: str) -> None:
    with reached(ledger, transport) as url:
        alice, bob = ledger.clone("alice", url=url), ledger.clone("bob", url=url)
        strict(bob)
        todo = bob.add("one")
        with Holder(alice, todo) as holder:
            assert holder.began["epoch"] == 1
            assert holder.ask("checkpoint") == {"code": 0}
            holder.signal(signal.SIGSTOP)
            epoch = wait_until_claimed(bob, todo, "bob")
            assert epoch == 2
            tip = ledger.tip()
            holder.signal(signal.SIGCONT)
            for deed in DEEDS:
                answer = holder.ask(deed)
                assert answer["code"] == 12, (deed, answer)
                if deed != "checkpoint":
                    assert (answer["holder"], answer["epoch"]) == ("bob", 2), (deed, answer)
            assert holder.process.stdin is not None
            holder.process.stdin.write("end\n")
            holder.process.stdin.close()
            assert len(holder.answer()["lost"]) == 1  # type: ignore[arg-type]
        assert ledger.tip() == tip
        shown = bob.show(todo)
        assert (shown["lease"]["holder"], shown["todo"]["notes"]) == ("bob", [])
        assert bob.verified()["ok"]


@contextmanager
def reached(world: World, transport: str) -> Iterator[str]:
    """The remote's URL over a transport."""
    if transport == "path":
        yield str(world.remote)
    elif transport == "daemon":
        with git_daemon(world.root) as base:
            yield f"{base}remote.git"
    else:
        world.git("config", "http.receivepack", "true", folder=world.remote)
        with http_backend(world.root) as base:
            yield f"{base}remote.git"


def test_a_holder_that_lives_is_never_robbed(ledger: World) -> None:
    alice, bob = ledger.clone("alice"), ledger.clone("bob")
    strict(bob)
    todo = bob.add("one")
    with Holder(alice, todo, ttl=9) as holder:
        ends = time.monotonic() + 12
        while time.monotonic() < ends:
            bob.run("todo", "claim", todo, agent="bob", check=11)
        assert holder.ask("checkpoint") == {"code": 0}
    log = bob.run("log", "--todo-id", todo, "--fresh").json["entries"]
    assert {entry["agent"] for entry in log if entry["op"] in ("claim", "renew")} == {"alice"}
    assert sum(entry["op"] == "renew" for entry in log) >= 3
    assert bob.verified()["ok"]


@pytest.mark.parametrize("ending", ["release", "takeover", "reopen"])
def test_a_frozen_renewal_revives_nothing(ledger: World, ending: str) -> None:
    """A renewal is stopped between its commit and its push, and thawed when the claim is over."""
    alice, bob = ledger.clone("alice"), ledger.clone("bob")
    strict(bob)
    todo = bob.add("one")
    alice.run("todo", "claim", todo, "--ttl", "2s", agent="alice", env={"LOOPX_SESSION": "s1"})
    frozen = subprocess.Popen(
        [sys.executable, "-m", "loopx_git", "--json", "task-lease", "renew", todo, "--agent", "alice"],
        cwd=alice.path, env={**alice.env, "LOOPX_SESSION": "s1", "LOOPX_FAILPOINT": "pushing=stop"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with frozen:
        os.waitpid(frozen.pid, os.WUNTRACED)
        other = ledger.clone("elsewhere")
        if ending == "release":
            other.run("todo", "release", todo, agent="alice", env={"LOOPX_SESSION": "s1"})
        elif ending == "takeover":
            wait_until_claimed(bob, todo, "bob")
        else:
            wait_until_claimed(bob, todo, "bob")
            bob.run("todo", "complete", todo, agent="bob")
            bob.run("todo", "reopen", todo, agent="bob")
        before = bob.show(todo)["lease"]
        os.kill(frozen.pid, signal.SIGCONT)
        _, err = frozen.communicate(timeout=60)
        assert frozen.returncode == 12, err
    assert bob.show(todo)["lease"] == before
    assert bob.verified()["ok"]


def test_after_four_hands_the_first_session_comes_back(ledger: World) -> None:
    clone = ledger.clone("alice")
    todo = clone.add("one")
    for hand in range(4):
        clone.run("todo", "claim", todo, agent=f"agent-0{hand}")
        clone.run("todo", "release", todo, agent=f"agent-0{hand}")
    clone.run("todo", "claim", todo, agent="agent-04")
    for words in (["todo", "complete", todo, "--epoch", "1"], ["task-lease", "renew", f"{todo}@1"],
                  ["todo", "release", todo, "--epoch", "1"]):  # fmt: skip
        error = clone.run(*words, agent="agent-00", check=12).error
        assert (error["holder"], error["epoch"]) == ("agent-04", 5)
    assert clone.verified()["ok"]


def test_a_suspend_ends_the_holders_time(ledger: World) -> None:
    """The machine sleeps: its counting clock jumps, and the holder knows before anybody tells it."""
    clone = ledger.clone("alice")
    todo = clone.add("one")
    awake = LoopXClient(clone.path, env=clone.env, agent="alice")
    awake.todo.claim(todo, ttl=600)
    slept = LoopXClient(clone.path, env=clone.env, agent="alice", overrides=Overrides(clock=SystemClock(slept=601)))
    tip = ledger.tip()
    for deed in (slept.todo.complete, lambda name: slept.todo.update(name, note="x"), slept.todo.claim):
        with pytest.raises(NotYourClaim) as refusal:
            deed(todo)
        assert "renew" in refusal.value.hint
    assert ledger.tip() == tip
    slept.task_lease.renew(todo)
    slept.todo.complete(todo)
    assert clone.verified()["ok"]


def test_the_deadline_counts_from_before_the_push(ledger: World, tmp_path: Path) -> None:
    """A slow push eats into the holder's time: it is not counted from the answer."""
    clone = ledger.clone("alice")
    todo = clone.add("one")
    real = shutil.which("git")
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    push = f'case " $* " in *" push "*) "{real}" "$@"; code=$?; sleep 2; exit $code;; esac'
    slow.write_text(f'#!/bin/sh\n{push}\nexec "{real}" "$@"\n')
    slow.chmod(0o755)
    clone.run(
        "todo", "claim", todo, "--ttl", "100s", agent="alice", env={"PATH": f"{slow.parent}:{clone.env['PATH']}"}
    )
    ended = SystemClock().counting()
    kept = json.loads((clone.home / "deadlines.json").read_text())[f"{todo}@1"]
    # The push took two seconds and ended before now; what counts from its beginning is that much earlier.
    assert kept["until"] <= ended - 2 + (100 - 10)


def test_hold_releases_and_never_renews_after(ledger: World) -> None:
    clone = ledger.clone("alice")
    todo = clone.add("one")
    client = LoopXClient(clone.path, env=clone.env, agent="alice")
    with client.hold(todo, ttl=6) as claim:
        claim.checkpoint()
        time.sleep(3)
    tip = ledger.tip()
    time.sleep(3)
    assert ledger.tip() == tip
    shown = clone.show(todo)["lease"]
    assert (shown["state"], shown["ended"]) == ("free", "released")
    with client.hold(todo, ttl=60) as claim:
        claim.complete(note="done")
    assert clone.show(todo)["todo"]["status"] == "completed"
    assert clone.verified()["ok"]


def test_hold_keeps_what_it_cannot_ask_about_until_its_own_deadline(ledger: World) -> None:
    clone = ledger.clone("alice")
    todo = clone.add("one")
    client = LoopXClient(clone.path, env=clone.env, agent="alice", timeout=1)
    lost: list[NotYourClaim] = []
    away = ledger.root / "away.git"
    with client.hold(todo, ttl=9, on_lost=lost.append) as claim:
        began = time.monotonic()
        ledger.remote.rename(away)
        time.sleep(4)
        claim.checkpoint()
        while not lost and time.monotonic() - began < 60:
            time.sleep(0.05)
        with pytest.raises(NotYourClaim, match="deadline"):
            claim.checkpoint()
    away.rename(ledger.remote)
    assert len(lost) == 1
    assert clone.verified()["ok"]
