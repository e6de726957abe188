"""Commands that die, hang or lose the connection at the worst moment: a claim is never granted twice and never lost,
the same command again says how it ended, and another command is not confused by what is pending."""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from clones import COORD, PROGRAM, Clone, Result, World, plant, populate
from servers import descendants

from loopx_git.client.client import Client
from loopx_git.store import remote

# -- a git that fails at the push


class Git:
    """A `git` that stands first on PATH and treats pushes (and, if told so, fetches) badly.

    before  it ends, by SIGKILL, before the push
    after   it ends, by SIGKILL, once the server has moved the ref
    silent  it ends with 137 and says nothing, once the server has moved the ref
    stuck   it hangs before the push
    hanging it hangs once the server has moved the ref
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "git-wrapper"
        real = shutil.which("git")
        state = self.folder / "state"
        state.mkdir(parents=True)
        self.state = state
        plant(
            self.folder / "git",
            f"""#!/bin/sh
what=
for word; do
    case $word in push|fetch|ls-remote) what=$word; break;; esac
done
if test "$what" = push && test -s "{state}/pushes"; then
    mode=$(head -n 1 "{state}/pushes")
    sed -i 1d "{state}/pushes"
    case $mode in
        before) kill -9 $$;;
        after) "{real}" "$@" >/dev/null 2>&1; kill -9 $$;;
        silent) "{real}" "$@" >/dev/null 2>&1; exit 137;;
        stuck) exec sleep 600;;
        hanging) "{real}" "$@" >/dev/null 2>&1; exec sleep 600;;
    esac
    test "$mode" != cut || {{ : > "{state}/cut"; "{real}" "$@" >/dev/null 2>&1; kill -9 $$; }}
fi
if test -n "$what" && test -e "{state}/cut"; then
    echo "fatal: the network is gone" >&2
    exit 128
fi
exec "{real}" "$@"
""",
        )

    def will(self, mode: str, times: int = 1) -> None:
        """What the next pushes come to."""
        (self.state / "pushes").write_text(f"{mode}\n" * times)

    def heal(self) -> None:
        (self.state / "pushes").write_text("")
        (self.state / "cut").unlink(missing_ok=True)

    def under(self, clone: Clone) -> Clone:
        return clone.having(PATH=f"{self.folder}:{clone.env['PATH']}")


@pytest.fixture
def bad_git(ledger: World) -> Git:
    return Git(ledger.root)


MODES = ("before", "after", "silent", "stuck", "hanging")
LANDS = {"after", "silent", "hanging", "cut"}


@pytest.mark.parametrize("mode", MODES)
def test_one_bad_push_is_survived(ledger: World, alice: Clone, bob: Clone, bad_git: Git, mode: str) -> None:
    todo = alice.add("one bad push")
    bad_git.will(mode)
    done = bad_git.under(alice).run("todo", "claim", todo, "--timeout", "5", agent="alice").json
    assert (done["acquired"], done["lease"]["holder"], done["lease"]["epoch"]) == (True, "alice", 1)
    assert bob.run("todo", "claim", todo, agent="bob", check=11).error["holder"] == "alice"
    assert [claim["agent"] for claim in ledger.claims(todo)] == ["alice"]
    settled(alice)


@pytest.mark.parametrize(
    ("mode", "then"),
    [
        *itertools.product(["before", "cut"], ["the same", "another", "an add", "bob first"]),
        ("stuck", "the same"),
    ],
)
def test_a_push_of_unknown_outcome(
    ledger: World, alice: Clone, bob: Clone, bad_git: Git, mode: str, then: str
) -> None:
    """Every push of the command goes wrong, or one does and then the network is gone for good."""
    todo, other = populate(alice, titles=["unknown", "other"])
    bad_git.will(mode, 1 if mode == "cut" else 1000)
    ended = bad_git.under(alice).run(
        "todo", "claim", todo, "--timeout", "2" if mode == "stuck" else "1", agent="alice", check=(14, 18)
    )
    assert ended.code == (14 if mode == "cut" else 18)
    assert "same command again" in ended.error["hint"]
    assert len(list((alice.home / "pending").glob("*.json"))) == 1
    bad_git.heal()
    landed = len(ledger.claims(todo))
    assert landed == (mode in LANDS)

    if then == "another":
        view = alice.run("todo", "claim", other, agent="alice").json
        assert (view["todo"]["id"], view["acquired"], "found" in view) == (other, True, False)
    elif then == "an add":
        view = alice.run("todo", "add", "third").json
        assert (view["todo"]["title"], view["lease"]["epoch"], "found" in view) == ("third", 0, False)
    elif then == "bob first":
        answer = bob.run("todo", "claim", todo, agent="bob", check=(0, 11))
        assert answer.code == (11 if landed else 0)
    again = alice.run("todo", "claim", todo, agent="alice", check=(0, 11))
    if then == "bob first" and not landed:
        assert (again.code, again.error["holder"], again.error["epoch"]) == (11, "bob", 1)
        assert [claim["agent"] for claim in ledger.claims(todo)] == ["bob"]
    else:
        assert (again.code, again.json["acquired"], again.json["lease"]["epoch"]) == (0, True, 1)
        assert [claim["agent"] for claim in ledger.claims(todo)] == ["alice"]
    settled(alice)


def test_landed_unheard_and_taken_over_meanwhile(ledger: World, alice: Clone, bob: Clone, bad_git: Git) -> None:
    """The claim had landed, an operator ended it, and bob has the todo: alice is told which epoch was hers."""
    todo = alice.add("taken over")
    bad_git.will("cut")
    bad_git.under(alice).run("todo", "claim", todo, "--timeout", "1", agent="alice", check=14)
    bad_git.heal()
    bob.run("todo", "release", todo, "--force", "--reason", "stuck", agent="bob")
    bob.run("todo", "claim", todo, agent="bob")
    again = alice.run("todo", "claim", todo, agent="alice", check=12).error
    assert (again["holder"], again["epoch"], again["former_epoch"]) == ("bob", 3, 1)
    assert alice.run("todo", "claim", todo, agent="alice", check=11).error["holder"] == "bob"
    assert [claim["epoch"] for claim in ledger.claims(todo)] == ["1", "3"]
    settled(alice)


def settled(*clones: Clone) -> None:
    """Nothing is pending, and history is what the rules allow."""
    for clone in clones:
        assert list((clone.home / "pending").glob("*")) == []
        assert Client(clone.path, clone.env).history.verify().ok
        coord = Clone(clone.home / "coord.git", clone.env)
        assert coord.git("for-each-ref", "refs/loopx/pending") == ""


# -- a command that dies at a step


STEPS = {"built": False, "pushing": False, "pushed": True, "landed": True}


def dies(clone: Clone, step: str, *args: str, agent: str | None = "alice") -> None:
    result = clone.run(*args, agent=agent, env={"LOOPX_FAILPOINT": f"{step}=kill"}, check=-signal.SIGKILL)
    assert result.out == ""


@pytest.mark.parametrize(
    ("step", "then"),
    [
        *((step, "the same") for step in STEPS),
        *itertools.product(["built", "landed"], ["another", "bob first"]),
    ],
)
def test_a_claim_that_dies(ledger: World, alice: Clone, bob: Clone, step: str, then: str) -> None:
    todo, other = populate(alice, titles=["dies", "other"])
    dies(alice, step, "todo", "claim", todo)
    landed = STEPS[step]
    assert len(ledger.claims(todo)) == landed
    if then == "another":
        view = alice.run("todo", "claim", other, agent="alice").json
        assert (view["todo"]["id"], view["acquired"]) == (other, True)
        assert alice.run("todo", "add", "third").json["todo"]["title"] == "third"
    elif then == "bob first":
        bob.run("todo", "claim", todo, agent="bob", check=11 if landed else 0)
    lost = then == "bob first" and not landed
    again = alice.run("todo", "claim", todo, agent="alice", check=11 if lost else 0)
    if lost:
        assert (again.error["holder"], again.error["epoch"]) == ("bob", 1)
    else:
        view = again.json
        assert (view["acquired"], view["lease"]["holder"], view["lease"]["epoch"]) == (True, "alice", 1)
        assert bool(view.get("found")) == landed
    assert [claim["agent"] for claim in ledger.claims(todo)] == ["bob" if lost else "alice"]
    # From now on the answer is the ordinary one.
    if not lost:
        assert alice.run("todo", "claim", todo, agent="alice").json["acquired"] is False
    settled(alice)


def test_a_claim_that_dies_at_first_contact(ledger: World, alice: Clone, bob: Clone) -> None:
    todo = bob.add("first contact")
    dies(alice, "fetched", "todo", "claim", todo)
    assert ledger.claims(todo) == []
    assert alice.run("todo", "claim", todo, agent="alice").json["acquired"] is True
    assert len(ledger.claims(todo)) == 1
    settled(alice)


@pytest.mark.parametrize("step", STEPS)
def test_an_add_that_dies_is_not_added_twice(ledger: World, alice: Clone, step: str) -> None:
    alice.run("sync")
    dies(alice, step, "todo", "add", "once", agent=None)
    first = [entry["todo"] for entry in ledger.log() if entry["op"] == "add"]
    again = alice.run("todo", "add", "once").json
    added = [entry["todo"] for entry in ledger.log() if entry["op"] == "add"]
    assert added == [again["todo"]["id"]]
    assert first in ([], added)
    settled(alice)
    # It was answered: the same words once more are a new wish.
    alice.run("todo", "add", "once")
    assert [entry["op"] for entry in ledger.log()].count("add") == 2


def test_an_add_that_died_does_not_answer_for_another(ledger: World, alice: Clone, bob: Clone) -> None:
    alice.run("sync")
    dies(alice, "landed", "todo", "add", "once", agent=None)
    assert alice.run("todo", "add", "twice").json["todo"]["title"] == "twice"
    assert alice.run("todo", "add", "once", "--priority", "1").json["todo"]["priority"] == 1
    assert alice.run("todo", "add", "once", agent="bob").json["todo"]["created_by"] == "bob"
    assert bob.run("todo", "add", "once").json.get("found") is None
    assert [entry["op"] for entry in ledger.log()].count("add") == 5


def test_a_claim_that_died_does_not_answer_for_another_session(ledger: World, alice: Clone) -> None:
    todo = alice.add("session")
    dies(alice, "landed", "todo", "claim", todo, "--session", "one")
    assert alice.run("todo", "claim", todo, "--session", "two", agent="alice", check=11).error["holder"] == "alice"
    assert alice.run("todo", "claim", todo, "--session", "one", agent="alice").json["acquired"] is True
    assert len(ledger.claims(todo)) == 1


def test_a_claim_that_dies_without_a_remote(world: World) -> None:
    clone = world.repository("alone")
    clone.run("init")
    todos = populate(clone, peers=["alice", "bob"], titles=list(STEPS))
    for todo, (step, landed) in zip(todos, STEPS.items(), strict=True):
        dies(clone, step, "todo", "claim", todo)
        assert len(world.claims(todo, clone.path)) == landed
        assert clone.run("todo", "claim", todo, agent="bob", check=11 if landed else 0)
        clone.run("todo", "claim", todo, agent="alice", check=0 if landed else 11)
        assert [claim["agent"] for claim in world.claims(todo, clone.path)] == ["alice" if landed else "bob"]
    assert clone.git("for-each-ref", "refs/loopx") == ""
    assert clone.verified()["ok"]


def test_an_init_that_dies(world: World) -> None:
    clone = world.clone("clone")
    for step in ("fetched", "built", "pushing", "pushed"):
        dies(clone, step, "init", agent=None)
    made = clone.run("init").json
    assert (clone.path / ".loopx/config.toml").exists()
    assert [entry["op"] for entry in world.log()] == ["init"]
    assert made["ledger"] == world.tip()


# -- death at any moment


@pytest.mark.parametrize("tries", [30, pytest.param(300, marks=pytest.mark.soak)])
def test_killed_at_a_random_moment(ledger: World, tries: int) -> None:
    chance = random.Random(tries)
    clones = ledger.clones(3)
    todos = populate(clones[0], titles=[f"todo {number}" for number in range(tries)])
    for clone in clones:
        clone.run("sync")
    acknowledged = set()
    for number, todo in enumerate(todos):
        argv = [*PROGRAM, "--json", "--agent", "alice", "todo", "claim", todo, "--timeout", "8"]
        process = subprocess.Popen(
            argv,
            cwd=clones[number % 3].path,
            env=dict(clones[number % 3].env),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        with process:
            time.sleep(chance.uniform(0.05, 0.45))
            # At times the machine dies with everything on it, at times the command alone.
            below = descendants(process.pid) if number % 2 else {}
            process.kill()
            for pid in below:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            out = process.stdout.read() if process.stdout else b""
        if process.returncode == 0:
            assert b'"acquired": true' in out
            acknowledged.add(todo)
    unlock(ledger)
    for todo in acknowledged:
        assert len(ledger.claims(todo)) == 1
    for number, todo in enumerate(todos):
        before = len(ledger.claims(todo))
        assert before <= 1
        asked = clones[number % 3]
        assert Client(asked.path, asked.env, {"agent": "alice"}).todo.claim(todo).lease.lease.holder == "alice"
        if number % 5 == 0:
            refused = clones[(number + 1) % 3].run("todo", "claim", todo, agent="bob", check=11).error
            assert (refused["holder"], refused["epoch"]) == ("alice", 1)
        assert len(ledger.claims(todo)) == 1
    settled(*clones)
    assert len(acknowledged) < tries, "no command was killed: the delays are too long"


def unlock(world: World) -> None:
    """A server that was killed in the middle of a push may have left its lock; see the tests below."""
    deadline = time.monotonic() + 5
    while (lock := world.remote / f"{COORD}.lock").exists():
        if time.monotonic() > deadline:
            lock.unlink()
        time.sleep(0.1)


# -- a server at fault, and a server that is gone


def test_a_stale_lock_on_the_server_is_the_servers_fault(ledger: World, alice: Clone, bob: Clone) -> None:
    todo = alice.add("locked")
    lock = ledger.remote / f"{COORD}.lock"
    lock.touch()
    tip = ledger.tip()
    error = alice.run("todo", "claim", todo, agent="alice", check=14).error
    assert "fault of the server" in error["message"]
    assert ".lock" in error["hint"]
    assert ledger.tip() == tip
    lock.unlink()
    assert alice.run("todo", "claim", todo, agent="alice").json["acquired"] is True
    assert bob.run("todo", "claim", todo, agent="bob", check=11).error["holder"] == "alice"
    assert len(ledger.claims(todo)) == 1
    settled(alice)


@pytest.mark.parametrize("name", ["refs/loopx/tip", "refs/loopx/fetched", "packed-refs"])
def test_a_stale_lock_in_the_clones_own_repository_is_removed(
    ledger: World, alice: Clone, bob: Clone, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A command that is killed while it moves a ref of coord.git leaves the lock; the next one holds the clone's lock
    and knows that it is nobody's."""
    todo = alice.add("locked here")
    bob.run(
        "todo", "update", todo, "--note", "x", "--force", "--reason", "so that there is something new", agent="bob"
    )
    coord = Clone(alice.home / "coord.git", alice.env)
    if name == "packed-refs":
        dies(alice, "built", "todo", "claim", todo)
        coord.git("pack-refs", "--all")
    (coord.path / f"{name}.lock").touch()
    monkeypatch.setattr(remote, "_LOCK_WAIT", 0.2)
    assert Client(alice.path, alice.env, {"agent": "alice"}).todo.claim(todo).acquired is True
    assert len(ledger.claims(todo)) == 1
    assert not (coord.path / f"{name}.lock").exists()
    settled(alice)


def test_a_server_that_declines_is_not_asked_again(ledger: World, alice: Clone) -> None:
    todo = alice.add("declined")
    hook = plant(ledger.remote / "hooks/pre-receive", "#!/bin/sh\necho 'branch loopx is protected' >&2\nexit 1\n")
    started = time.monotonic()
    error = alice.run("todo", "claim", todo, agent="alice", check=14).error
    assert "branch loopx is protected" in error["message"]
    assert time.monotonic() - started < 10
    hook.unlink()
    assert alice.run("todo", "claim", todo, agent="alice").json["acquired"] is True
    assert len(ledger.claims(todo)) == 1


def gone(world: World) -> Path:
    return world.remote.rename(world.root / "gone.git")


ASKING: Sequence[tuple[str, ...]] = (
    ("todo", "claim", "FREE"),
    ("todo", "claim", "MINE"),
    ("todo", "claim", "HELD"),
    ("todo", "claim", "FREE", "--dry-run"),
    ("todo", "complete", "MINE"),
    ("todo", "complete", "HELD"),
    ("todo", "update", "MINE", "--note", "x"),
    ("todo", "release", "MINE"),
    ("todo", "release", "FREE", "--force", "--reason", "x"),
    ("task-lease", "renew", "MINE"),
    ("todo", "add", "x"),
    ("peer", "register", "alice"),
    ("init",),
    ("sync",),
    ("verify",),
    ("todo", "list", "--fresh"),
)


def test_a_remote_that_cannot_be_read_gives_no_answer(ledger: World, alice: Clone, bob: Clone) -> None:
    """Whatever the clone saw last: it cannot tell."""
    free, mine, held = populate(alice, titles=["free", "mine", "held"])
    alice.run("todo", "claim", mine, agent="alice")
    bob.run("todo", "claim", held, agent="bob")
    alice.run("sync")
    away = gone(ledger)
    tip = ledger.tip(away)
    names = {"FREE": free, "MINE": mine, "HELD": held}
    for args in ASKING:
        typed = [names.get(word, word) for word in args]
        result = alice.run(*typed, "--timeout", "0.2", agent="alice", check=None)
        assert result.code == 14, f"{args}: {result}"
        assert result.out == ""
        assert result.error["hint"]
        assert not any(word in result.error["message"] for word in ("unclaimed", "yours", "nobody")), args
    away.rename(ledger.remote)
    assert ledger.tip() == tip
    assert alice.run("todo", "claim", free, agent="alice").json["acquired"] is True
    assert alice.run("todo", "claim", mine, agent="alice").json["acquired"] is False
    assert alice.run("todo", "claim", held, agent="alice", check=11).error["holder"] == "bob"
    assert alice.run("todo", "complete", mine, agent="alice").json["todo"]["status"] == "completed"
    assert alice.verified()["ok"]


def test_lists_work_from_the_cache_and_say_how_old_it_is(ledger: World, alice: Clone) -> None:
    todo = alice.add("cached")
    alice.run("todo", "claim", todo, agent="alice")
    gone(ledger)
    young = alice.run("todo", "list")
    assert (young.err, len(young.json["todos"])) == ("", 1)
    old = alice.run("todo", "list", env={"LOOPX_NOW": "+45m"})
    assert old.err.startswith("warning: ")
    assert 2695 < old.json["age_s"] < 2790
    said = re.search(r"this is (\d+) s old", old.err)
    assert said is not None
    assert abs(int(said[1]) - old.json["age_s"]) <= 1
    assert old.json["todos"][0]["lease"]["holder"] == "alice"
    assert alice.run("todo", "show", todo, "--offline", env={"LOOPX_NOW": "+45m"}).err == ""
    text = alice.run("todo", "list", json=False, env={"LOOPX_NOW": "+45m"})
    assert "warning" in text.err
    assert "cached" in text.out


def test_without_a_cache_an_unreadable_remote_is_an_error(ledger: World, alice: Clone) -> None:
    gone(ledger)
    for args in (["todo", "list"], ["todo", "show", "todo_000000000000"], ["log"], ["peer", "list"]):
        assert alice.run(*args, check=14).error["hint"]
    assert alice.run("todo", "list", "--offline", check=10).error["hint"] == "git loopx sync"


def test_one_command_at_a_time_in_a_clone(ledger: World, alice: Clone, bad_git: Git) -> None:
    """The second waits for the first; when its time is over it says who is in the way."""
    first, second = populate(alice, titles=["first", "second"])
    bad_git.will("stuck")
    argv = [*PROGRAM, "--json", "--agent", "alice", "todo", "claim", first, "--timeout", "60"]
    with subprocess.Popen(
        argv,
        cwd=alice.path,
        env=dict(bad_git.under(alice).env),
        stdout=subprocess.DEVNULL,
    ) as process:
        wait_until(lambda: bool(list((alice.home / "pending").glob("*.json"))))
        error = alice.run("todo", "claim", second, "--timeout", "1", agent="alice", check=13).error
        assert error["pid"] == str(process.pid)
        stuck = descendants(process.pid)
        process.kill()
        for pid in stuck:
            os.kill(pid, signal.SIGKILL)
    # flock: a killed owner leaves nothing behind.
    assert alice.run("todo", "claim", second, agent="alice").json["acquired"] is True
    assert alice.run("todo", "claim", first, agent="alice").json["acquired"] is True
    settled(alice)


def wait_until(condition: object, within: float = 20) -> None:
    deadline = time.monotonic() + within
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def test_the_wrapper_is_what_the_program_runs(ledger: World, alice: Clone, bad_git: Git) -> None:
    """Else every test above would pass for no reason."""
    todo = alice.add("wrapped")
    bad_git.will("before", 3)
    result: Result = bad_git.under(alice).run("todo", "claim", todo, agent="alice")
    assert result.json["acquired"] is True
    assert (bad_git.state / "pushes").read_text() == ""
