"""The guard: what it adds to a large commit, and what an agent waits for at every edit.

The clone that is measured has 2,000 todos, 201 of them claimed, and a commit of 10,000 paths. Its remote is a folder
that is moved away before anything is measured: a commit that needed it could not be made.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

TODOS, CLAIMED, PATHS = 2000, 200, 10_000
Case = tuple[str, Callable[[], object]]


def guarded_commit() -> list[Case]:
    """A commit of 10,000 paths without a hook, and with the guard. Three of its hooks run."""
    clone, env = _prepare()
    base = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=clone, env=env, text=True).strip()

    def commit(*options: str) -> None:
        # The same commit every time: only the ref moves, and moves back.
        _run(clone, env, "git", *options, "commit", "-q", "-m", "work")
        _run(clone, env, "git", "update-ref", "refs/heads/main", base)

    return [
        ("git commit, 10,000 paths, no hook", lambda: commit("-c", "core.hooksPath=/dev/null")),
        ("git commit, 10,000 paths, guarded", lambda: commit()),
    ]


def agent_hook() -> list[Case]:
    """An agent's hook at an edit, and the least that a hook in Python could do."""
    clone, env = _prepare()
    call = {"cwd": str(clone), "tool_name": "Edit", "tool_input": {"file_path": str(clone / "big/00/00.py")}}
    data = json.dumps(call).encode()
    program = str(Path(sys.executable).with_name("git-loopx"))
    load = "import json; open('.loopx/config.toml').read()"
    return [
        ("python3 -c 'import json; open(...)'", lambda: _run(clone, env, sys.executable, "-c", load)),
        ("git-loopx agent-hook", lambda: _run(clone, env, program, "agent-hook", stdin=data)),
    ]


def _run(clone: Path, env: dict[str, str], *args: str, stdin: bytes = b"") -> None:
    subprocess.run(args, cwd=clone, env=env, input=stdin, capture_output=True, check=True)


@cache
def _prepare() -> tuple[Path, dict[str, str]]:
    from loopx_git.client.client import Client
    from loopx_git.core.commands import AddTodo, OnTodo, RegisterPeer
    from loopx_git.core.table import Operation

    root = Path(tempfile.mkdtemp(prefix="loopx-bench-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    (root / "home").mkdir()
    env = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(root / "home"),
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL": "b@example.com",
        "GIT_COMMITTER_NAME": "b", "GIT_COMMITTER_EMAIL": "b@example.com", "LANG": "C.UTF-8",
    }  # fmt: skip
    clone = root / "clone"

    def git(*args: str, folder: Path = clone) -> None:
        subprocess.run(["git", *args], cwd=folder, env=env, check=True, capture_output=True)

    git("init", "-q", "--bare", "-b", "main", "remote.git", folder=root)
    git("init", "-q", "-b", "main", "clone", folder=root)
    git("remote", "add", "origin", str(root / "remote.git"))
    Client(clone, env).setup.init()
    git("add", ".loopx")
    git("commit", "-q", "-m", "loopx: coordinate here")
    client = Client(clone, env)
    actor = client.connection.actor()
    ids = [f"todo_{number:012x}" for number in range(TODOS)]
    client.submit([RegisterPeer("alice"), RegisterPeer("bob")], actor)
    for start in range(0, TODOS, 200):
        client.submit(
            [
                AddTodo(todo, "work", scope=("/big/",) if number == TODOS - 1 else (f"/area-{number}/**",))
                for number, todo in enumerate(ids[start : start + 200], start)
            ],
            actor,
        )
    client.submit([OnTodo(Operation.CLAIM, todo) for todo in ids[:CLAIMED]], client.connection.actor("bob"))
    client.submit([OnTodo(Operation.CLAIM, ids[-1])], client.connection.actor("alice"))
    git("config", "loopx.agent", "alice")
    for number in range(PATHS):
        path = clone / "big" / f"{number // 100:02}" / f"{number % 100:02}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n")
    git("add", ".")
    subprocess.run([sys.executable, "-m", "loopx_git", "guard", "install"], cwd=clone, env=env, check=True,
                   capture_output=True)  # fmt: skip
    (root / "remote.git").rename(root / "gone.git")
    return clone, env
