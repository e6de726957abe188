"""A git directory that cannot be written: reads answer, writes are refused with the file and what to do, and nothing
is pushed. The file system itself is mounted for reading alone, in a namespace of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from clones import PROGRAM, Clone, Result, World

#: Mounts a folder over itself for reading alone, enters the current folder anew, and runs the rest of its arguments.
SCRIPT = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && cd "$PWD" && exec "$@"'
NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh"]


def mounted(folder: Path, clone: Clone, *words: str) -> Result:
    """How a command ends while the folder is mounted for reading alone."""
    done = subprocess.run(
        [*NAMESPACE, str(folder), *PROGRAM, "--json", *words],
        cwd=clone.path, env=dict(clone.env), capture_output=True, text=True, timeout=90,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def clone(ledger: World) -> Clone:
    try:
        tried = subprocess.run(
            [*NAMESPACE, str(ledger.root), "sh", "-c", ": > file"], cwd=ledger.root, env=ledger.env,
            capture_output=True, text=True, timeout=30,
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("no unshare on this machine")
    if "ead-only" not in tried.stderr:
        pytest.skip(f"nothing can be mounted for reading alone here: {tried.stderr.strip()}")
    made = ledger.clone("clone")
    todo = made.add("one", "--alias", "one")
    made.run("todo", "claim", todo, agent="alice")
    made.run("sync")
    return made


def test_the_whole_git_directory(ledger: World, clone: Clone) -> None:
    tip = ledger.tip()
    shown = mounted(clone.path, clone, "todo", "list", "--offline")
    assert shown.code == 0 and [item["alias"] for item in shown.json["todos"]] == ["one"], shown
    for words in (["todo", "add", "x"], ["todo", "release", "one", "--agent", "alice"], ["sync"]):
        done = mounted(clone.path, clone, *words)
        assert done.code == 16, done
        assert str(clone.home) in done.error["message"] and "ead-only" in done.error["message"], done
    assert ledger.tip() == tip
    clone.run("todo", "release", "one", agent="alice")


def test_a_damaged_coord_git_that_cannot_be_replaced(ledger: World, clone: Clone) -> None:
    (clone.home / "coord.git/HEAD").write_text("")
    done = mounted(clone.path, clone, "todo", "list", "--fresh")
    assert done.code == 16 and str(clone.home) in done.error["message"], done
    clone.run("todo", "list", "--fresh")


def test_the_folder_of_coord_git_alone(ledger: World, clone: Clone) -> None:
    """No object can be built there, so nothing is pushed."""
    tip = ledger.tip()
    done = mounted(clone.home / "coord.git", clone, "todo", "add", "x")
    assert done.code == 16 and "coord.git" in done.error["message"], done
    assert ledger.tip() == tip
    clone.add("x")


def test_a_first_command_where_nothing_can_be_written(ledger: World, clone: Clone) -> None:
    fresh = ledger.clone("fresh")
    for words in (["todo", "list"], ["todo", "add", "x"], ["init"]):
        done = mounted(fresh.path, fresh, *words)
        assert done.code == 16 and "ead-only" in done.error["message"], done
    assert not fresh.home.exists()


def test_permissions_alone(ledger: World, clone: Clone) -> None:
    """The same for who is not root: no write permission on the folder of ours."""
    if os.geteuid() == 0:
        pytest.skip(f"permissions do not bind root ({sys.platform})")
    clone.home.chmod(0o555)
    try:
        refused = clone.run("todo", "add", "x", check=16).error
    finally:
        clone.home.chmod(0o755)
    assert str(clone.home) in refused["message"]
    clone.add("x")
