"""A newcomer's typical mistakes: each ends with its exit code, no traceback, and the next command to type."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from clones import Clone, World


@dataclass(frozen=True)
class Mistake:
    """What somebody types (TODO stands for a todo that bob holds, FREE for one that nobody holds), where, what
    comes of it, and a part of the hint."""

    name: str
    args: tuple[str, ...]
    code: int
    hint: str
    agent: str | None = "alice"
    where: str = "clone"


MISTAKES = (
    Mistake("not in a repository", ("todo", "list"), 10, "git init", where="nowhere"),
    Mistake("no ledger yet", ("todo", "list"), 10, "git loopx init", where="plain"),
    Mistake("add before init", ("todo", "add", "x"), 10, "git loopx init", where="plain"),
    Mistake("folder does not exist", ("-C", "nope", "todo", "list"), 2, "-C DIR"),
    Mistake("typo in a command", ("todo", "clam", "FREE"), 2, "git loopx todo claim"),
    Mistake("typo in a group", ("tood", "list"), 2, "git loopx todo"),
    Mistake("typo in an option", ("todo", "list", "--staus", "open"), 2, "todo list -h"),
    Mistake("no agent", ("todo", "claim", "FREE"), 2, "git config loopx.agent", agent=None),
    Mistake("agent not registered", ("todo", "claim", "FREE"), 15, "git loopx peer register nobody", agent="nobody"),
    Mistake("agent in another case", ("todo", "claim", "FREE"), 15, "--agent alice", agent="Alice"),
    Mistake("agent with a space", ("todo", "claim", "FREE"), 2, "letters, digits", agent="code x"),
    Mistake("no todo named", ("todo", "claim"), 2, "todo claim TODO"),
    Mistake("todo named twice", ("todo", "show", "FREE", "--todo-id", "FREE"), 2, "todo show TODO"),
    Mistake("unknown id", ("todo", "claim", "todo_ffffffffffff"), 17, "git loopx todo list"),
    Mistake("prefix too short", ("todo", "claim", "todo_ff"), 17, "git loopx todo list"),
    Mistake("title instead of an id", ("todo", "claim", "fix the bug"), 2, "git loopx todo list"),
    Mistake("id of another goal", ("todo", "claim", "OTHER", "--goal-id", "main"), 17, "--goal-id other"),
    Mistake("unknown goal", ("todo", "add", "x", "--goal-id", "nope"), 17, "git loopx goal create nope"),
    Mistake("held by another", ("todo", "claim", "TODO"), 11, "git loopx todo list --ready"),
    Mistake("complete without a claim", ("todo", "complete", "FREE"), 12, "git loopx todo claim"),
    Mistake("complete another's", ("todo", "complete", "TODO"), 12, "git loopx todo show"),
    Mistake("update without a claim", ("todo", "update", "FREE", "--title", "x"), 12, "git loopx todo claim"),
    Mistake("update that says nothing", ("todo", "update", "FREE"), 2, "--note TEXT"),
    Mistake("status that does not exist", ("todo", "update", "FREE", "--status", "done"), 2, "in_progress"),
    Mistake(
        "status with a command of its own", ("todo", "update", "FREE", "--status", "cancelled"), 2, "todo cancel"
    ),
    Mistake("force without a reason", ("todo", "release", "TODO", "--force"), 2, "--reason"),
    Mistake("empty title", ("todo", "add", " "), 2, "--title"),
    Mistake("title of two lines", ("todo", "add", "a\nb"), 2, "--title"),
    Mistake("priority out of range", ("todo", "add", "x", "--priority", "9"), 2, "todo add -h"),
    Mistake("time in words", ("todo", "add", "x", "--resume-after", "tomorrow"), 2, "2026-01-02T03:04:05Z"),
    Mistake("ttl in words", ("todo", "claim", "FREE", "--ttl", "soon"), 2, "--ttl 2h"),
    Mistake("ttl of zero", ("todo", "claim", "FREE", "--ttl", "0"), 2, "--ttl 2h"),
    Mistake("depends on nothing there", ("todo", "add", "x", "--depends-on", "nope"), 17, "git loopx todo list"),
    Mistake("scope with a negation", ("todo", "add", "x", "--scope", "!src"), 2, "--scope"),
    Mistake("policy key misspelt", ("policy", "set", "claim.ttl", "1h"), 2, "claims.ttl"),
    Mistake("policy value misspelt", ("policy", "set", "claims.ttl", "1 hour"), 2, "claims.ttl"),
    Mistake("unknown peer", ("peer", "show", "nobody"), 17, "git loopx peer register nobody"),
    Mistake("remote that is not there", ("--remote", "upstrem", "todo", "list"), 2, "git remote add upstrem"),
    Mistake("ref that is none", ("--ref", "coord", "todo", "list"), 2, "refs/heads/loopx/coord"),
    Mistake("no network", ("todo", "claim", "FREE", "--timeout", "3"), 14, "git ls-remote", where="cut off"),
    Mistake("nothing fits", ("todo", "next", "--claim", "--goal-id", "empty"), 17, "git loopx todo list"),
    Mistake("supersede by nothing", ("todo", "supersede", "FREE"), 2, "--by TODO"),
)


@dataclass(frozen=True)
class Places:
    world: World
    clones: dict[str, Clone]
    ids: dict[str, str]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    """Somebody's clone, a repository without a ledger, one without a remote in reach, and no repository."""
    world = World(tmp_path_factory.mktemp("mistakes") / "world").start()
    clone = world.clone("clone")
    clone.run("init")
    for name in ("alice", "bob"):
        clone.run("peer", "register", name)
    for goal in ("other", "empty"):
        clone.run("goal", "create", goal)
    ids = {"TODO": clone.add("held"), "FREE": clone.add("free"), "OTHER": clone.add("o", "--goal-id", "other")}
    clone.run("todo", "claim", ids["TODO"], agent="bob")
    cut_off = world.clone("cut-off")
    cut_off.run("sync")
    cut_off.git("remote", "set-url", "origin", str(world.root / "gone.git"))
    cut_off.git("config", "loopx.home", str(world.root / "gone.git"))
    nowhere = world.root / "nowhere"
    nowhere.mkdir()
    found = {
        "clone": clone,
        "plain": world.repository("plain"),
        "cut off": cut_off,
        "nowhere": Clone(nowhere, {**world.env, "GIT_CEILING_DIRECTORIES": str(world.root)}),
    }
    return Places(world, found, ids)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_ends_with_the_next_command(mistake: Mistake, places: Places) -> None:
    args = [places.ids.get(word, word) for word in mistake.args]
    tip = places.world.tip()
    done = places.clones[mistake.where].run(*args, agent=mistake.agent, check=mistake.code)
    assert done.out == ""
    assert mistake.hint in done.error["hint"], done
    assert done.error["message"]
    assert places.world.tip() == tip


def test_for_people_it_is_a_sentence_and_the_next_command(places: Places) -> None:
    done = places.clones["clone"].run("todo", "claim", "todo_ffffffffffff", agent="alice", check=17, json=False)
    assert done.err == "error: there is no todo todo_ffffffffffff\n  next: git loopx todo list\n"
    assert done.out == ""


def test_there_are_at_least_thirty() -> None:
    assert len(MISTAKES) >= 30
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)
