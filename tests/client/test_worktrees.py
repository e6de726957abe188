"""Places of work that cannot be prepared: the todo is passed over, nothing is claimed, the user's folders stay."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from clones import PROGRAM, Clone, World, populate

from loopx_git.client.client import Client
from loopx_git.client.views import TodoView
from loopx_git.client.worktree import Worktrees, prepare, withdraw


def places(clone: Clone) -> Path:
    return clone.path.parent / f"{clone.path.name}.loopx"


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _foreign(clone: Clone, folder: Path, todo: str) -> None:
    folder.mkdir(parents=True)
    (folder / "mine.txt").write_text("precious")


def _empty(clone: Clone, folder: Path, todo: str) -> None:
    folder.mkdir(parents=True)


def _file(clone: Clone, folder: Path, todo: str) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("precious")


def _link(clone: Clone, folder: Path, todo: str) -> None:
    folder.parent.mkdir(parents=True)
    away = clone.path.parent / "away"
    away.mkdir()
    (away / "mine.txt").write_text("precious")
    folder.symlink_to(away)


def _other_repository(clone: Clone, folder: Path, todo: str) -> None:
    clone.git("clone", "-q", str(clone.path), str(folder))
    clone.at(folder).git("checkout", "-q", "-b", f"loopx/{todo}")


def _other_branch(clone: Clone, folder: Path, todo: str) -> None:
    clone.git("worktree", "add", "-q", "-b", "elsewhere", str(folder))


def _detached(clone: Clone, folder: Path, todo: str) -> None:
    clone.git("worktree", "add", "-q", "--detach", str(folder))


def _stale(clone: Clone, folder: Path, todo: str) -> None:
    clone.git("worktree", "add", "-q", "-b", f"loopx/{todo}", str(folder))
    shutil.rmtree(folder)


def _checked_out(clone: Clone, folder: Path, todo: str) -> None:
    clone.git("checkout", "-q", "-b", f"loopx/{todo}")


def _checked_out_beside(clone: Clone, folder: Path, todo: str) -> None:
    clone.git("worktree", "add", "-q", "-b", f"loopx/{todo}", str(clone.path.parent / "beside"))


def _no_program(clone: Clone, folder: Path, todo: str) -> None:
    clone.git("branch", f"loopx/{todo}", clone.git("commit-tree", "-m", "empty", clone.git("mktree")))


BAD: dict[str, tuple[Callable[[Clone, Path, str], None], str]] = {
    "a folder of the user's": (_foreign, "not a worktree of this repository"),
    "an empty folder": (_empty, "not a worktree of this repository"),
    "a file": (_file, "it is not a folder"),
    "a link": (_link, "it is not a folder"),
    "another repository": (_other_repository, "not a worktree of this repository"),
    "a worktree on another branch": (_other_branch, "on elsewhere, not on loopx/"),
    "a worktree on no branch": (_detached, "on no branch, not on loopx/"),
    "a worktree whose folder is gone": (_stale, "the folder is gone"),
    "a branch that is checked out": (_checked_out, "is checked out at"),
    "a branch that another worktree has": (_checked_out_beside, "is checked out at"),
    "a branch without the command": (_no_program, "is not there in"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_place_does_not_stop_the_pool(ledger: World, alice: Clone, tmp_path: Path, name: str) -> None:
    alice.commit("agent.sh", "#!/bin/sh\necho $LOOPX_TODO >> $LOG\n")
    (alice.path / "agent.sh").chmod(0o755)
    alice.git("commit", "-qam", "executable")
    bad, good, last = populate(alice, titles=["bad", "good", "last"])
    make, why = BAD[name]
    make(alice, places(alice) / bad, bad)
    before, refs = files(places(alice)), alice.git("for-each-ref", f"refs/heads/loopx/{bad}")
    listed = alice.git("worktree", "list", "--porcelain")
    log = tmp_path / "log"
    done = alice.having(LOG=str(log)).run(
        "run", "--next", "--repeat", "--worktree", "--", "./agent.sh", agent="alice", check=15
    )
    assert sorted(log.read_text().split()) == sorted([good, last])
    lines = [line for line in done.err.splitlines() if f"{bad} is passed over" in line]
    assert len(lines) == 1, done.err
    assert why in lines[0]
    assert "; next: " in lines[0]
    assert str(places(alice)) in lines[0] or "is checked out" in lines[0]
    assert done.error["passed_over"][0]["todo_id"] == bad
    assert done.error["passed_over"][0]["folder"] == str(places(alice) / bad)
    # No epoch was spent, nothing is held, and what was there is as it was.
    assert ledger.claims(bad) == []
    assert alice.show(bad)["lease"]["epoch"] == 0
    assert files(places(alice)) == before
    assert alice.git("for-each-ref", f"refs/heads/loopx/{bad}") == refs
    assert alice.git("worktree", "list", "--porcelain") == listed
    # By name it is a refusal, with nothing written either.
    answer = alice.run("run", "--todo-id", bad, "--worktree", "--", "./agent.sh", agent="alice", check=15)
    assert why in answer.error["message"]
    assert answer.error["hint"]
    assert ledger.claims(bad) == []


def test_nothing_but_bad_places(ledger: World, alice: Clone) -> None:
    places(alice).write_text("in the way")
    todos = populate(alice, titles=["one", "two"])
    for repeat in ((), ("--repeat",)):
        done = alice.run("run", "--next", *repeat, "--worktree", "--", "true", agent="alice", check=15)
        assert {item["todo_id"] for item in done.error["passed_over"]} == set(todos)
        assert all(ledger.claims(todo) == [] for todo in todos)
    assert alice.git("branch", "--list", "loopx/*") == ""
    # One that goes on with the next has done what it was asked: its exit code is the command's.
    places(alice).unlink()
    _foreign(alice, places(alice) / todos[0], todos[0])
    alice.run("run", "--next", "--worktree", "--", "true", agent="alice")


def test_a_place_is_withdrawn_when_the_claim_is_lost(
    ledger: World, alice: Clone, bob: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the preparation and the claim bob takes it: the worktree and the branch go again, the next is done."""
    taken, left = alice.add("taken", "--priority", "0"), alice.add("left", "--priority", "1")
    client = Client(alice.path, alice.env, {"agent": "alice"})
    ready = Worktrees.ready

    def slow(self: Worktrees, view: TodoView) -> bool:
        done = ready(self, view)
        if view.id == taken:
            assert (places(alice) / taken).is_dir()
            bob.run("todo", "claim", taken, agent="bob")
        return done

    monkeypatch.setattr(Worktrees, "ready", slow)
    assert client.run(["true"], worktree=True).view.id == left
    assert not (places(alice) / taken).exists()
    assert alice.git("branch", "--list", "loopx/*") == f"  loopx/{left}"
    assert alice.git("worktree", "list").count("\n") == 0
    assert alice.show(taken)["lease"]["holder"] == "bob"
    assert [claim["agent"] for claim in ledger.claims(taken)] == ["bob"]


def test_only_what_was_made_is_withdrawn_and_only_if_clean(alice: Clone) -> None:
    [todo] = populate(alice, titles=["x"])
    client = Client(alice.path, alice.env, {"agent": "alice"})
    view = client.todo.show(todo)[0]
    place = prepare(client, view, branch=False, worktree=True)
    again = prepare(client, view, branch=False, worktree=True)
    assert (again.made, again.new, again.began) == (True, False, None)
    assert withdraw(client, again)
    assert Path(place.folder).is_dir()
    (Path(place.folder) / "begun.txt").write_text("x")
    assert not withdraw(client, place)
    assert (Path(place.folder) / "begun.txt").exists()
    os.unlink(Path(place.folder) / "begun.txt")
    alice.at(place.folder).commit("kept.txt")
    assert not withdraw(client, place)
    assert not Path(place.folder).exists()
    assert alice.git("log", "-1", "--format=%s", f"loopx/{todo}") == "work"
    assert not places(alice).exists()


def test_a_worktree_of_the_users_own_is_worked_in_and_stays(alice: Clone) -> None:
    [todo] = populate(alice, titles=["x"])
    folder = places(alice) / todo
    alice.git("worktree", "add", "-q", "-b", f"loopx/{todo}", str(folder))
    alice.run("run", "--todo-id", todo, "--worktree", "--", "true", agent="alice")
    assert folder.is_dir()


def test_a_hooks_pointers_do_not_lead_astray(alice: Clone) -> None:
    """Started by a hook, with the index and the folder of the user's repository in the environment."""
    [todo] = populate(alice, titles=["x"])
    alice.commit("staged.txt")
    index = (alice.git_dir / "index").read_bytes()
    hooked = alice.having(GIT_DIR=str(alice.git_dir), GIT_INDEX_FILE=str(alice.git_dir / "index"))
    hooked.run("run", "--todo-id", todo, "--worktree", "--", "sh", "-c", "pwd", agent="alice")
    assert (alice.git_dir / "index").read_bytes() == index
    assert not (places(alice) / todo).exists()


def test_two_runners_of_one_clone_do_not_share_a_place(ledger: World, alice: Clone, tmp_path: Path) -> None:
    """While one is at a todo, another passes it by without a word, and by name it is told so."""
    todo, other = populate(alice, titles=["busy", "free"])
    go = tmp_path / "go"
    os.mkfifo(go)
    runner = subprocess.Popen(
        [*PROGRAM, "--agent", "alice", "run", "--todo-id", todo, "--worktree", "--", "sh", "-c",
         f"echo ready; read x < {go}"],
        cwd=alice.path, env=dict(alice.env), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with runner:
        assert runner.stdout is not None and runner.stdout.readline() == b"ready\n"
        # An operator frees it while the command is at work: the place is still in use.
        alice.run("todo", "release", todo, "--force", "--reason", "test", agent="bob")
        answer = alice.run("run", "--todo-id", todo, "--worktree", "--", "true", agent="bob", check=15)
        assert str(runner.pid) in answer.error["message"]
        alice.run("run", "--next", "--worktree", "--", "true", agent="bob")
        assert ledger.claims(other) != []
        alice.run("run", "--next", "--worktree", "--", "true", agent="bob", check=17)
        go.write_text("x\n")
        runner.wait(60)
    assert os.listdir(alice.home / "runs") == []


# -- the settings of agents


LOOK = """\
set -e
test -z "$(git status --porcelain)"
git add .
test -z "$(git status --porcelain)"
test "$(cat .cursor/hooks.json)" = theirs
ask() { printf '{"cwd": "%s", "tool_name": "Write", "tool_input": {"file_path": "%s"}}' "$PWD" "$1"; }
hook=$("$1" -c 'import json
print(json.load(open(".claude/settings.local.json"))["hooks"]["PreToolUse"][0]["hooks"][0]["command"])')
for path in src/a docs/a; do
    code=0
    ask "$path" | sh -c "$hook" || code=$?
    echo "$path $code" >> "$2"
done
"""


def _agents(alice: Clone) -> str:
    """A todo for src/, and agents whose hook is installed."""
    alice.config("loopx.agent", "alice")
    (alice.path / ".cursor").mkdir()
    (alice.path / ".cursor/hooks.json").write_text("theirs\n")
    alice.git("add", ".cursor")
    alice.git("commit", "-q", "-m", "settings")
    for agent in ("claude", "opencode"):
        alice.run("agent-hook", "install", "--for", agent)
    return alice.add("one", "--scope", "/src/")


def test_the_hook_of_an_agent_is_in_the_worktree_and_goes_with_it(alice: Clone, tmp_path: Path) -> None:
    todo = _agents(alice)
    (tmp_path / "look.sh").write_text(LOOK)
    path = f"{Path(sys.executable).parent}{os.pathsep}{alice.env['PATH']}"
    at = replace(alice, env={**alice.env, "PATH": path})
    at.run("run", "--todo-id", todo, "--worktree", "--on-exit", "0=released", "--", "sh", str(tmp_path / "look.sh"),
           sys.executable, str(tmp_path / "said"))  # fmt: skip
    assert (tmp_path / "said").read_text() == "src/a 0\ndocs/a 2\n"
    assert not places(alice).exists()
    assert (alice.path / ".claude/settings.local.json").exists()


def test_settings_that_were_changed_keep_the_worktree(alice: Clone) -> None:
    todo = _agents(alice)
    script = "echo >> .claude/settings.local.json"
    for _ in range(2):
        # The second time the worktree is there, and what is in it stays.
        alice.run("run", "--todo-id", todo, "--worktree", "--on-exit", "0=released", "--", "sh", "-c", script)
        script = "true"
    kept = places(alice) / todo
    assert (kept / ".claude/settings.local.json").read_text().endswith("\n\n")
    assert (kept / ".opencode/plugins/loopx.js").exists()
    assert alice.at(kept).git("status", "--porcelain") == ""
