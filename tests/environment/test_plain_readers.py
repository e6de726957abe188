"""What was written is plain git: GitPython, git itself and python-frontmatter read all of it, fsck finds nothing, and
many operations leave the clone's own repository packed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import frontmatter
import git as gitpython
import pytest
from clones import COORD, Clone, World, populate

from loopx_git.client.client import Client
from loopx_git.format import layout, message
from loopx_git.store import remote


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory, ledger_template: Path) -> tuple[World, Clone]:
    """A ledger in which every operation of the program has happened."""
    world = World(tmp_path_factory.mktemp("lived") / "world")
    shutil.copytree(ledger_template, world.remote)
    clone = world.clone("clone")
    ids = populate(clone, titles=["fix: the bug", "שלום: 🚀", "a: b # c", "- x", "@y", "2026", "true", "eight"])
    alice, bob, carol = (Client(clone.path, clone.env, {"agent": name}) for name in ("alice", "bob", "carol"))
    alice.todo.claim_all(ids[:7])
    alice.todo.update(ids[0], status="in_progress", note="one\n\nLoopx-Op: claim")
    alice.todo.update(ids[0], body="# body\n\ntext", labels=["a", "b"])
    alice.todo.complete(ids[0], note="done")
    alice.task_lease.renew(ids[1])
    bob.todo.release(ids[1], force=True, reason="why: 'because' # so")
    alice.todo.release(ids[2])
    alice.todo.supersede(ids[3], by_title="x, again")
    alice.todo.cancel(ids[4])
    alice.todo.reopen(ids[4])
    alice.todo.transfer(ids[5], "bob")
    carol.todo.claim(ids[7], soft=True)
    alice.todo.archive(ids[0])
    alice.policy.set("claims.ttl", "45m")
    alice.goal.create("other", title="Ziel: 2.0")
    alice.peer.register("dora", capabilities=["python"])
    return world, clone


@pytest.fixture
def repositories(lived: tuple[World, Clone]) -> Iterator[list[tuple[gitpython.Repo, str]]]:
    """The remote and the clone's own repository as GitPython sees them, with the ref that holds coordination."""
    world, clone = lived
    opened = [
        (gitpython.Repo(world.remote), COORD),
        (gitpython.Repo(clone.home / "coord.git"), "refs/loopx/tip"),
    ]
    yield opened
    for repository, _ in opened:
        repository.close()


def test_gitpython_reads_every_commit_and_tree(repositories: list[tuple[gitpython.Repo, str]]) -> None:
    ops = []
    for repository, ref in repositories:
        commits = list(repository.iter_commits(ref))
        assert len(commits) > 40
        for commit in commits:
            assert len(commit.parents) == (0 if commit is commits[-1] else 1)
            said = message.load(commit.message)
            assert (commit.author.name if "@" not in said.agent else commit.author.email) == said.agent
            assert (commit.committer.name, commit.committer.email) == ("Tester", "tester@example.com")
            assert not commit.gpgsig
            for item in commit.tree.traverse():
                assert item.mode == (0o100644 if item.type == "blob" else 0o040000)
                if item.type == "blob":
                    layout.parse(item.path)
            ops.append(said.op.value)
    assert set(ops) >= {
        "init", "policy", "goal", "peer", "add", "claim", "renew", "release", "update", "complete", "supersede",
        "reopen", "cancel", "transfer", "archive", "soft",
    }  # fmt: skip


def test_git_reads_the_trailers_as_we_do(lived: tuple[World, Clone]) -> None:
    world, _ = lived
    for oid in world.git("rev-list", COORD, folder=world.remote).split("\n"):
        raw = world.git("log", "-1", "--format=%B", oid, folder=world.remote)
        said = message.load(raw.rstrip("\n") + "\n")
        told = world.git("interpret-trailers", "--parse", stdin=raw.encode()).split("\n")
        pairs = dict(line.split(": ", 1) for line in told)
        assert len(pairs) == len(told) == raw.strip().count("\n") - 1
        assert pairs.pop("Loopx-Op") == said.op
        assert pairs.pop("Loopx-Agent") == said.agent
        assert pairs.pop("Loopx-Request") == said.request
        assert pairs.get("Loopx-Epoch") == (None if said.epoch is None else str(said.epoch))
        assert pairs.get("Loopx-Reason") == said.reason
        assert all(key.removeprefix("Loopx-") in message.TRAILERS for key in pairs)
        assert len(raw.split("\n")[0]) <= 72


def test_fsck_finds_nothing(lived: tuple[World, Clone]) -> None:
    world, clone = lived
    for folder in (world.remote, clone.home / "coord.git", clone.path):
        assert world.git("fsck", "--strict", "--full", "--no-progress", "--no-dangling", folder=folder) == ""


def test_files_are_what_their_endings_say(lived: tuple[World, Clone]) -> None:
    """python-frontmatter and json agree with the program about every file."""
    world, clone = lived
    shown = {
        todo["id"]: todo
        for options in ([], ["--archived"])
        for todo in clone.run("todo", "list", "--status", "all", *options).json["todos"]
    }
    seen = set()
    for path in world.git("ls-tree", "-r", "--name-only", "-z", COORD, folder=world.remote).split("\0")[:-1]:
        text = world.git("cat-file", "blob", f"{COORD}:{path}", folder=world.remote)
        if path.endswith(".json"):
            record = json.loads(text)
            assert record.items() <= shown[record["todo"]]["lease"].items()
        elif path.endswith(".md"):
            post = frontmatter.loads(text)
            assert post.metadata
            if "/todos/" in path or "/archive/" in path:
                todo = shown[str(post["id"])]
                seen.add(todo["id"])
                for key in (
                    "title",
                    "status",
                    "priority",
                    "claimed_by",
                    "created_at",
                    "labels",
                    "successor",
                    "attempts",
                ):
                    assert post[key] == todo[key], (path, key)
                assert post.content.startswith(todo["body"])
                assert all(note["text"].split("\n")[0] in post.content for note in todo["notes"])
    assert seen == set(shown)
    assert len(seen) == 9


def test_gc_and_a_bare_clone_lose_nothing(lived: tuple[World, Clone], tmp_path: Path) -> None:
    world, clone = lived
    world.git("clone", "-q", "--bare", str(world.remote), str(tmp_path / "copy.git"))
    world.git("gc", "--quiet", "--prune=now", folder=tmp_path / "copy.git")
    assert world.log(tmp_path / "copy.git") == world.log()
    # The clone's own repository stands by itself: a gc in it takes nothing that is needed.
    coord = replace(clone, path=clone.home / "coord.git")
    coord.git("gc", "--quiet", "--prune=now")
    assert clone.verified()["ok"]
    todo = clone.add("after the gc")
    clone.run("todo", "claim", todo, agent="alice")


def counted(clone: Clone) -> dict[str, int]:
    """git's own count of the objects in the clone's coord.git."""
    told = replace(clone, path=clone.home / "coord.git").git("count-objects", "-v")
    return {key: int(value) for key, value in re.findall(r"^([a-z-]+): ([0-9]+)$", told, re.MULTILINE)}


def operations(clone: Clone, count: int) -> None:
    """So many commits, one push each, as an agent that works all day would make them."""
    [todo] = populate(clone, titles=["long"])
    client = Client(clone.path, clone.env, {"agent": "alice"})
    client.todo.claim(todo)
    for number in range(count - 2):
        if number % 100 == 99:
            # A process does not live for ever, and neither does what it keeps open.
            client = Client(clone.path, clone.env, {"agent": "alice"})
        client.todo.update(todo, branch=f"branch-{number}")


def many_operations(world: World, clone: Clone, count: int, most: int) -> None:
    before = len(world.log())
    operations(clone, count)
    found = counted(clone)
    assert found["packs"] >= 1, found
    assert found["count"] < most, found
    assert len(world.log()) == before + count
    coord = replace(clone, path=clone.home / "coord.git")
    assert coord.git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
    assert coord.git("for-each-ref", "--format=%(refname)").split("\n") == ["refs/loopx/fetched", "refs/loopx/tip"]
    assert clone.verified()["ok"]


def test_sixty_operations_under_a_low_limit(ledger: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "LOOSE_MAX", 200)
    clone = ledger.clone("clone")
    many_operations(ledger, clone, 60, 400)
    assert not (clone.home / "coord.git/gc.pid").exists()


@pytest.mark.soak
def test_two_thousand_operations(ledger: World) -> None:
    many_operations(ledger, ledger.clone("clone"), 2000, remote.LOOSE_MAX + 1000)
    # The limit is what the documentation says it is.
    assert remote.LOOSE_MAX == 2000
