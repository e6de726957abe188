"""Every hint of the program leads on: its commands are pasted in the state that produced them.

The sites are found in the source, so a new hint without a scenario fails here. A hint without a command is prose;
a command that has nothing to fill in is pasted in a clone (CONSTANT); a command that is filled in has a scenario, or
stands in LEFT with the reason why it has none.
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from clones import PROGRAM, Clone, Env, Result, World, populate
from hint_sites import PLACEHOLDER, pattern, sites

from loopx_git.cli.did_you_mean import ENDS
from loopx_git.cli.next_command import commands, repeated

Key = tuple[str, str]
COMMANDS: set[Key] = {(site.module, command) for site in sites() for command in site.commands}
FILLED = {key for key in COMMANDS if "{" in key[1] and not PLACEHOLDER.search(key[1])}
CONSTANT = sorted({command for _, command in COMMANDS if "{" not in command and not PLACEHOLDER.search(command)})

#: Commands that end something and are printed ready to paste all the same, with the reason.
ENDING = {
    "git loopx todo transfer {} --to {}": "the holder named the receiver: it is what was asked for",
    "git loopx todo reopen {}": "ends nothing: it opens what has ended",
}
#: Constant commands that do not end with 0 in a clone where all is well, or are not run here.
UNPASTED = {
    "git loopx adopt --dry-run": "there is nothing to adopt in a sound clone; tests/review/test_adopt.py",
    "git loopx demo --keep": "the demo takes long and leaves repositories; tests/test_docs.py runs it",
    "git loopx guard install --force": "writes hooks of a runner that is not here; tests/guard/test_install.py",
    "git loopx review check": "needs a pull request; tests/review",
    "git loopx sync --publish": "needs a ledger without a remote; tests/client/test_location.py",
    "git fetch --unshallow": "needs a shallow clone; tests/review",
    "git config --show-origin core.hooksPath": "fails where no hooks path is set; the hint is for where one is",
    "git config loopx.remote .": "turns this clone away from its remote, as its hint says",
    "git config loopx.remote upstream": "there is no such remote here",
    "git init --object-format=sha1": "makes another repository",
    "git init": "makes another repository",
    "git config loopx.sign true": "there is no key here",
    "git commit --amend": "edits the user's commit",
    "git push": "pushes the user's code",
}
#: Filled-in commands without a scenario, with the reason.
LEFT: dict[Key, str] = {
    ("client/base.py", "git loopx todo show {}"): "needs a takeover between a push and its answer; tests/race",
    ("client/lease_renewer.py", "git loopx todo show {}"): "told to a program whose claim was lost; tests/running",
    ("client/run.py", "git loopx todo show {}"): "told when a run's claim was lost; tests/running",
    ("client/tick.py", "git loopx loop show {}"): "the task is taken within a tick; tests/running",
    ("client/land.py", "git loopx todo reopen {}"): "the second of two steps fails; tests/client/test_land.py",
    ("client/recovery.py", "git config loopx.ref {}"): "a ledger without a remote that moves; tests/environment",
    ("store/remote.py", "git config loopx.ref refs/heads/{}"): "a branch in the way; tests/environment",
    ("client/probe.py", "git ls-remote {}"): "a remote that fails in the middle of a probe; tests/review",
    ("client/worktree.py", "git log --oneline {}"): "a branch that cannot be removed; tests/running",
    ("client/doctor.py", "git -C {} fsck"): "a coord.git that was set aside; tests/environment/test_damaged_coord.py",
    ("client/doctor.py", "git remote get-url --all {}"): "a remote with two URLs; tests/client/test_doctor.py",
    ("core/conditions.py", "git loopx peer show {}"): "of suggestions only: a claim is refused before, by plan_todo",
    ("store/repository.py", "git fetch origin {}"): "needs a pull request; tests/review",
    ("store/repository.py", "git show {}"): "needs a pull request; tests/review",
    ("review/range.py", "git fetch --unshallow {}"): "needs a pull request; tests/review",
    ("review/range.py", "git fetch {}"): "needs a pull request; tests/review",
    ("review/range.py", "git fetch {} {}"): "needs a pull request; tests/review",
    ("store/local.py", "git symbolic-ref {}"): "needs a coordination ref that is a symbolic one; tests/contract",
    ("store/objects.py", "git -C {} fsck"): "needs damaged objects; tests/environment",
    (
        "coverage/rules.py",
        "git loopx task-lease renew {}",
    ): "said of a path or a commit; tests/guard and tests/review",
    (
        "coverage/rules.py",
        "git loopx task-lease renew {} --ttl 2h",
    ): "said of a path or a commit; tests/guard and tests/review",
    (
        "coverage/rules.py",
        "git loopx todo claim {} --resume",
    ): "said of a path or a commit; tests/guard and tests/review",
    ("coverage/rules.py", "git loopx todo show {}"): "said of a path or a commit; tests/guard and tests/review",
    ("core/resolve.py", "git config loopx.agent {}"): "has a test of its own below",
}


@dataclass
class Stage:
    """A ledger, alice's clone and bob's, each with its agent set; `last` is the call that was refused."""

    world: World
    alice: Clone
    bob: Clone
    last: tuple[Clone, tuple[str, ...], Env] = field(init=False)
    made: int = 0

    def add(self, *args: str) -> str:
        self.made += 1
        return self.alice.add(f"todo {self.made}", *args)

    def held(self, *args: str, by: Clone | None = None) -> str:
        todo = self.add()
        (by or self.alice).run("todo", "claim", todo, *args)
        return todo

    def name(self) -> str:
        self.made += 1
        return f"n{self.made}"

    def fails(self, *args: str, clone: Clone | None = None, **env: str) -> Result:
        """The call that is refused."""
        where = clone or self.alice
        self.last = (where, args, env)
        return where.run(*args, check=None, env=env)

    def paste(self, command: str) -> None:
        """Run what was proposed, where it was proposed; it must not fail."""
        clone, _, env = self.last
        words = shlex.split(command)
        assert words[0] == "git"
        if words[1] == "loopx":
            clone.run(*words[2:], env=env, json=False)
        else:
            clone.git(*words[1:])


Refuse = Callable[[Stage], Result]


@dataclass(frozen=True)
class Scenario:
    """What produces a hint, and the command of it that is pasted. `again` tells that the refused call is then
    repeated, and must be granted, or refused for another reason."""

    key: Key
    refuse: Refuse
    again: bool = True


def _soft(stage: Stage) -> str:
    goal = stage.name()
    stage.alice.run("goal", "create", goal, "--claims", "soft")
    todo = stage.add("--goal-id", goal)
    stage.alice.run("todo", "claim", todo)
    return todo


def _late(stage: Stage) -> Result:
    """Past the deadline by the wall clock, as after a reboot: the record of the counting clock is gone."""
    todo = stage.held("--ttl", "60s")
    (stage.alice.home / "deadlines.json").unlink()
    return stage.fails("todo", "update", todo, "--title", "x", LOOPX_NOW="+57s")


def _needs_human(stage: Stage) -> Result:
    todo = stage.held()
    stage.alice.run("todo", "update", todo, "--status", "needs_human")
    return stage.fails("todo", "complete", todo)


def _ended(stage: Stage) -> Result:
    todo = stage.held()
    stage.alice.run("todo", "complete", todo)
    return stage.fails("todo", "update", todo, "--title", "x")


def _after_cancelled(stage: Stage) -> Result:
    first = stage.held()
    todo = stage.add("--depends-on", first)
    stage.alice.run("todo", "cancel", first)
    return stage.fails("todo", "claim", todo)


def _overlap(stage: Stage) -> Result:
    place = stage.name()
    held, todo = stage.add("--scope", place), stage.add("--scope", place)
    stage.bob.run("todo", "claim", held)
    return stage.fails("todo", "claim", todo)


def _paused(stage: Stage) -> Result:
    name = stage.name()
    stage.alice.run("peer", "register", name)
    stage.alice.run("peer", "pause", name)
    return stage.fails("todo", "claim", stage.add(), LOOPX_AGENT=name)


def _loop(stage: Stage) -> str:
    name = stage.name()
    stage.alice.run("loop", "create", name)
    return name


def _loop_elsewhere(stage: Stage) -> Result:
    name, todo = _loop(stage), stage.add()
    stage.alice.run("loop", "claim", name, "--task", todo)
    return stage.fails("loop", "claim", name, "--task", todo, clone=stage.bob)


def _loop_session(stage: Stage) -> Result:
    name, todo = _loop(stage), stage.add()
    stage.bob.run("todo", "claim", todo, env={"LOOPX_AGENT": name})
    return stage.fails("loop", "claim", name, "--task", todo)


def _loop_busy(stage: Stage) -> Result:
    name = _loop(stage)
    stage.alice.run("loop", "claim", name, "--task", stage.add())
    return stage.fails("loop", "claim", name, "--task", stage.add())


def _loop_halted(stage: Stage) -> Result:
    name = _loop(stage)
    stage.alice.run("loop", "halt", name)
    return stage.fails("loop", "claim", name, "--task", stage.add())


def _busy_peer(stage: Stage) -> Result:
    stage.held(by=stage.bob)
    return stage.fails("peer", "retire", "bob")


def _busy_goal(stage: Stage) -> Result:
    goal = stage.name()
    stage.alice.run("goal", "create", goal)
    stage.alice.run("todo", "claim", stage.add("--goal-id", goal))
    return stage.fails("goal", "close", goal)


def _proposed(stage: Stage) -> Result:
    branch = stage.name()
    stage.alice.run("propose", "add", branch, "a proposal")
    stage.alice.run("propose", "accept", branch)
    return stage.fails("propose", "accept", branch)


def _named_upstream(stage: Stage) -> Result:
    return stage.fails("todo", "list", clone=stage.world.clone(stage.name(), "-o", "upstream"))


def _two_remotes(stage: Stage) -> Result:
    clone = stage.world.clone(stage.name(), "-o", "one")
    (clone.path / ".loopx/config.toml").unlink()
    clone.git("remote", "add", "two", str(stage.world.remote))
    return stage.fails("todo", "list", clone=clone)


def _moved(stage: Stage, *, fitting: bool) -> Result:
    clone = stage.world.clone(stage.name())
    clone.run("sync")
    (clone.path / ".loopx/config.toml").unlink()
    clone.git("remote", "set-url", "origin", "https://example.invalid/a/b.git")
    if fitting:
        clone.git("remote", "add", "right", str(stage.world.remote))
    return stage.fails("todo", "list", clone=clone)


def _no_remote(stage: Stage) -> Result:
    clone = stage.world.clone(stage.name())
    clone.run("sync")
    (clone.path / ".loopx/config.toml").unlink()
    clone.git("remote", "remove", "origin")
    return stage.fails("todo", "list", clone=clone)


def _another_ref(stage: Stage) -> Result:
    clone = stage.world.clone(stage.name())
    clone.run("sync")
    clone.config("loopx.ref", "refs/heads/other")
    return stage.fails("todo", "list", clone=clone)


def _given(stage: Stage, *more: str, held: bool = True) -> Result:
    return stage.fails("todo", "update", stage.held() if held else stage.add(), "--claimed-by", "bob", *more)


T = "core/table.py"
SCENARIOS = (
    Scenario((T, "git loopx task-lease acquire {}"), lambda s: s.fails("task-lease", "renew", _soft(s))),
    Scenario((T, "git loopx task-lease renew {}"),
             _late),
    Scenario((T, "git loopx todo claim {}"), lambda s: s.fails("todo", "complete", s.add())),
    Scenario((T, "git loopx todo show {}"), lambda s: s.fails("todo", "complete", s.held(by=s.bob)), again=False),
    Scenario((T, "git loopx todo show {}"), _ended, again=False),
    Scenario((T, "git loopx todo show {}"),
             lambda s: s.fails("task-lease", "renew", f"{s.held()}@9"), again=False),
    Scenario((T, "git loopx todo update {} --status open"), _needs_human),
    Scenario((T, "git loopx todo claim {} --resume"),
             lambda s: s.fails("todo", "complete", s.held(), LOOPX_SESSION="another")),
    Scenario((T, "git loopx todo claim {} --resume"),
             lambda s: s.fails("todo", "claim", s.held(), LOOPX_SESSION="another")),
    Scenario(("client/assignment.py", "git loopx todo claim {} --agent {}"), lambda s: _given(s, held=False)),
    Scenario(("client/assignment.py", "git loopx todo transfer {} --to {}"), _given),
    Scenario(("client/assignment.py", "git loopx todo transfer {} --to {}"),
             lambda s: _given(s, "--status", "blocked")),
    Scenario(("client/assignment.py", "git loopx todo show {}"),
             lambda s: s.fails("todo", "update", s.held(by=s.bob), "--claimed-by", "carol"), again=False),
    Scenario(("client/config.py", "git config loopx.remote {}"), _two_remotes),
    Scenario(("store/repository.py", "git config loopx.remote {}"), _named_upstream),
    Scenario(("client/config.py", "git config loopx.ref {}"),
             lambda s: s.fails("todo", "list", "--ref", "x"), again=False),
    Scenario(("client/location.py", "git config loopx.ref {}"), _another_ref),
    Scenario(("client/location.py", "git config loopx.remote {}"), lambda s: _moved(s, fitting=True)),
    Scenario(("client/location.py", "git remote add upstream {}"), lambda s: _moved(s, fitting=False), again=False),
    Scenario(("client/location.py", "git remote add {} {}"), _no_remote),
    Scenario(("client/doctor.py", "git loopx peer register {}"), lambda s: s.fails("doctor", LOOPX_AGENT=s.name())),
    Scenario(("core/resolve.py", "git loopx peer register {}"), lambda s: s.fails("peer", "show", s.name())),
    Scenario(("client/next_todo.py", "git loopx peer register {}"),
             lambda s: s.fails("todo", "next", LOOPX_AGENT=s.name())),
    Scenario(("core/plan_heartbeat.py", "git loopx peer register {}"),
             lambda s: s.fails("heartbeat", "beat", LOOPX_AGENT=s.name())),
    Scenario(("core/plan_todo.py", "git loopx peer register {}"),
             lambda s: s.fails("todo", "claim", s.add(), LOOPX_AGENT=s.name())),
    Scenario(("core/plan_todo.py", "git loopx peer show {}"), _paused, again=False),
    Scenario(("core/plan_todo.py", "git loopx todo {} -h"),
             lambda s: s.fails("todo", "update", s.held(), "--status", "cancelled"), again=False),
    Scenario(("client/land.py", "git loopx todo update {} --validate 'make test'"),
             lambda s: s.fails("land", "--todo-id", s.held(), "--validate")),
    Scenario(("client/loop_state.py", "git loopx loop claim {} --task {todo} --resume"), _loop_session),
    Scenario(("core/plan_loop.py", "git loopx loop claim {} --task {} --resume"), _loop_elsewhere),
    Scenario(("core/plan_loop.py", "git loopx loop create {}"),
             lambda s: s.fails("loop", "claim", s.name(), "--task", s.add())),
    Scenario(("core/plan_loop.py", "git loopx todo show {}"), _loop_busy, again=False),
    Scenario(("core/plan_loop.py", "git loopx loop show {}"), _loop_halted, again=False),
    Scenario(("client/task_lease.py", "git loopx task-lease inspect {}"),
             lambda s: s.fails("task-lease", "inspect", f"{s.held()}@9"), again=False),
    Scenario(("core/conditions.py", "git loopx todo show {}"),
             lambda s: s.fails("todo", "claim", s.add("--depends-on", s.add())), again=False),
    Scenario(("core/conditions.py", "git loopx todo reopen {}"), _after_cancelled),
    Scenario(("core/conditions.py", "git loopx todo list --ready{}"), _overlap, again=False),
    Scenario(("core/meaning.py", "git loopx task-lease acquire {}"),
             lambda s: s.fails("todo", "update", _soft(s), "--title", "x")),
    Scenario(("core/plan_peer.py", "git loopx todo show {}"), _busy_peer, again=False),
    Scenario(("core/plan_setup.py", "git loopx todo list --goal-id {}"), _busy_goal, again=False),
    Scenario(("core/resolve.py", "git loopx goal create {}"),
             lambda s: s.fails("todo", "add", "x", "--goal-id", s.name())),
    Scenario(("core/resolve.py", "git loopx todo show {}"),
             lambda s: (s.add("--alias", "fix-the-login"), s.fails("todo", "show", "fix-the-logn"))[1], again=False),
    Scenario(("client/propose.py", "git loopx propose show {}"), _proposed, again=False),
    Scenario(("cli/commands/loop_audit.py", "git loopx loop show {}"),
             lambda s: (_loop_with_task(s), s.fails("loop", "audit"))[1], again=False),
    Scenario(("cli/commands/agent_hook.py", "git loopx agent-hook {} --for claude"),
             lambda s: s.fails("agent-hook", "install"), again=False),
)  # fmt: skip


def _loop_with_task(stage: Stage) -> None:
    name = _loop(stage)
    stage.alice.run("loop", "claim", name, "--task", stage.add())
    stage.alice.run("loop", "halt", name)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    world = World(tmp_path_factory.mktemp("hints") / "world").start()
    alice = world.clone("alice")
    alice.run("init")
    populate(alice, peers=["alice", "bob", "carol"])
    alice.commit(".loopx/config.toml", (alice.path / ".loopx/config.toml").read_text(), "loopx: coordinate here")
    alice.git("push", "-q", "origin", "main")
    return Stage(world, alice.having(LOOPX_AGENT="alice"), world.clone("bob").having(LOOPX_AGENT="bob"))


@pytest.mark.parametrize("number", range(len(SCENARIOS)), ids=lambda number: f"{number}-{SCENARIOS[number].key[1]}")
def test_a_hint_is_pasted_where_it_was_given(number: int, stage: Stage) -> None:
    scenario = SCENARIOS[number]
    refused = scenario.refuse(stage)
    assert refused.code != 0, refused
    told = refused.error
    wanted = pattern(scenario.key[1].replace("{todo}", "{}"))
    [proposed] = [command for command in commands(told["hint"]) if wanted.fullmatch(command)][:1] or [None]
    assert proposed is not None, f"{told['hint']!r} proposes no {scenario.key[1]!r}"
    stage.paste(proposed)
    if scenario.again:
        clone, args, env = stage.last
        after = clone.run(*args, check=None, env=env)
        assert after.code == 0 or after.error["hint"] != told["hint"], f"it leads back: {after}"


def test_where_one_agent_is_registered_the_hint_names_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    alone = World(tmp_path_factory.mktemp("alone") / "world").repository("alone")
    alone.run("init")
    todo = alone.add("one")
    assert "peer register NAME" in alone.run("todo", "claim", todo, check=2).error["hint"]
    alone.run("peer", "register", "solo")
    hint = alone.run("todo", "claim", todo, check=2).error["hint"]
    [command] = commands(hint)
    alone.git(*shlex.split(command)[1:])
    assert alone.run("todo", "claim", todo).json["lease"]["holder"] == "solo"


@pytest.mark.parametrize("command", [one for one in CONSTANT if one not in UNPASTED])
def test_a_command_with_nothing_to_fill_in_works_in_a_clone(command: str, stage: Stage) -> None:
    stage.add()
    stage.last = (stage.alice, (), {})
    stage.paste(command)


def test_every_command_has_a_scenario_or_a_reason() -> None:
    covered = {scenario.key for scenario in SCENARIOS} | set(LEFT)
    assert sorted(FILLED - covered) == [], "a hint without a scenario"
    assert sorted(covered - FILLED) == [], "a scenario of a hint that is gone"
    assert sorted(set(UNPASTED) - set(CONSTANT)) == [], "a reason for a command that is gone"


def test_no_hint_is_a_ready_command_that_ends_something() -> None:
    """What ends a claim, a todo, a peer or a history is named by its help, tried dry, or left to be filled in."""
    more = ENDS | {"approve", "publish"}
    for module, command in sorted(COMMANDS):
        words = command.removeprefix("git loopx ").split()
        ready = command.startswith("git loopx ") and not PLACEHOLDER.search(command)
        if ready and more & set(words[:2]) and not {"-h", "--dry-run"} & set(words):
            assert command in ENDING, (module, command)


def test_flags_that_were_given_stand_in_the_hint_again() -> None:
    given = {"folder": "../my clone", "agent": "alice", "session": None, "remote": "up", "ref": None}
    hint = "look: git loopx todo show x   then: git loopx todo claim x; or git fsck, or: git loopx todo claim -h"
    assert repeated(hint, given) == (
        "look: git loopx todo show x -C '../my clone' --remote up   then: git loopx todo claim x --agent alice "
        "-C '../my clone' --remote up; or git -C '../my clone' fsck, or: git loopx todo claim -h"
    )
    again = "git loopx run --next -- make test"
    assert repeated(again, {"agent": "alice"}) == "git loopx run --next --agent alice -- make test"
    assert repeated(hint, dict.fromkeys(given)) == hint


def test_the_flags_of_the_refused_call_make_the_hint_work(stage: Stage) -> None:
    todo, elsewhere = stage.add(), stage.world.root
    folder = str(stage.alice.path)
    outside = Clone(elsewhere, stage.world.env)
    hint = outside.run("-C", folder, "todo", "complete", todo, agent="alice", check=12).error["hint"]
    [command] = commands(hint)
    assert outside.run(*shlex.split(command)[2:]).json["lease"]["holder"] == "alice"


@pytest.mark.parametrize(
    ("args", "path"),
    [(("--foo",), ""), (("todo", "--limit", "5", "list"), "todo list "), (("todo", "list", "--staus"), "todo list "),
     (("todo", "--foo"), "todo "), (("todo", "claim", "--ttl"), "todo claim "), (("--agent",), "")],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_an_option_that_is_none_leads_to_the_help_of_its_command(
    args: tuple[str, ...], path: str, stage: Stage
) -> None:
    refused = stage.fails(*args)
    assert refused.code == 2
    assert refused.error["hint"] == f"git loopx {path}-h"
    stage.paste(refused.error["hint"])


def test_a_watch_that_is_interrupted_says_where_to_look(stage: Stage) -> None:
    """Ctrl-C is how a watch ends: its hint is not a command to watch again."""
    with subprocess.Popen(
        [*PROGRAM, "--json", "heartbeat", "watch"], cwd=stage.alice.path, env=dict(stage.alice.env),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as watch:  # fmt: skip
        assert watch.stdout is not None
        assert b'"round": 1' in watch.stdout.readline()
        watch.send_signal(signal.SIGINT)
        _, err = watch.communicate(timeout=60)
    told = json.loads(err)
    assert (watch.returncode, told["hint"]) == (130, "git loopx heartbeat status")
    stage.alice.run(*shlex.split(told["hint"])[2:])
