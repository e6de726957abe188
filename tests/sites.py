"""Repositories with the guard at work: where (main, linked worktree, submodule), by whose hooks, whose claim."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from clones import Clone, World, plant

from loopx_git.client.client import Client
from loopx_git.client.connect import Overrides
from loopx_git.guard import refresh
from loopx_git.guard.hook import NAMES
from loopx_git.guard.install import install
from loopx_git.store.clock import SystemClock

BIN = str(Path(sys.executable).parent)
OFF = ("-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false")
#: What husky 9 lays out below .husky/_.
HUSKY = """\
#!/usr/bin/env sh
n=$(basename "$0")
s=$(dirname "$(dirname "$0")")/$n
[ ! -f "$s" ] && exit 0
sh -e "$s" "$@"
c=$?
[ $c != 0 ] && echo "husky - $n script failed (code $c)"
exit $c
"""
#: What lefthook writes into the hooks folder, and a stand-in for it that reads its two files.
LEFTHOOK_STUB = '#!/bin/sh\n# lefthook\nexec lefthook run {name} "$@"\n'
LEFTHOOK = f"""\
#!{sys.executable}
import os, subprocess, sys, yaml
name, args = sys.argv[2], sys.argv[3:]
code = 0
for file in ("lefthook.yml", "lefthook-local.yml"):
    text = open(file).read() if os.path.exists(file) else ""
    for command in ((yaml.safe_load(text) or {{}}).get(name) or {{}}).get("commands", {{}}).values():
        run = command["run"].replace("{{0}}", " ".join(args))
        stdin = None if command.get("use_stdin") else subprocess.DEVNULL
        code = subprocess.run(["sh", "-c", run], stdin=stdin).returncode or code
sys.exit(code)
"""


@dataclass(frozen=True)
class Site:
    """A repository with the guard installed: `base` is the commit that every operation starts from."""

    clone: Clone
    base: str
    todo: str
    world: World

    def client(self) -> Client:
        return Client(self.clone.path, self.clone.env)

    def policy(self, text: str) -> None:
        """Add to .loopx/config.toml."""
        path = self.clone.path / ".loopx/config.toml"
        path.write_text(f"{path.read_text()}[guard]\n{text}\n")

    def sh(self, script: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a script in the work tree, with the hooks that are installed."""
        return subprocess.run(
            ["sh", "-ec", script], cwd=self.clone.path, env={**self.clone.env, "GIT_EDITOR": "true", **env},
            capture_output=True, text=True, errors="replace", timeout=120, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def quietly(self, script: str) -> None:
        """Run a script without any hook."""
        done = self.sh('g() { git -c core.hooksPath=/dev/null "$@"; }\n' + script)
        assert done.returncode == 0, done.stdout + done.stderr

    def reset(self) -> None:
        """Back to the base, on the branch `work`, with nothing begun."""
        self.quietly(
            "rm -rf $(git rev-parse --git-path rebase-merge) $(git rev-parse --git-path rebase-apply)\n"
            "g reset -q --hard\ng checkout -q -B work " + self.base + "\ng clean -qfd src\ngit stash clear\n"
            "g branch -q -D side 2>/dev/null || true"
        )


def make(world: World, place: str = "main", hooking: str = "plain", claim: str = "own", name: str = "site") -> Site:
    """A site on a world's remote; see `operations.CLAIMS`, `PLACES` and `HOOKINGS` for what can be asked."""
    env = {**world.env, "PATH": f"{world.home / 'bin'}:{BIN}:{world.env['PATH']}"}
    clone = replace(_place(world, place, name), env=env)
    clone.config("loopx.agent", "alice")
    for file in ("src/a.py", "src/b.py", "docs/d.md"):
        (clone.path / file).parent.mkdir(exist_ok=True)
        (clone.path / file).write_text("".join(f"{number}\n" for number in range(20)))
    _lay_out(world, clone, hooking)
    clone.git("add", "-A")
    clone.git(*OFF, "commit", "-q", "-m", "base")
    todo = hold(clone, claim)
    install(Client(clone.path, env).connection.repository, force=True)
    clone.git("add", "-A", "--", ".", check=False)
    clone.git(*OFF, "commit", "-q", "--allow-empty", "-m", "hooks")
    clone.git(*OFF, "push", "-q", "origin", "HEAD:refs/heads/base")
    refresh.context(Client(clone.path, env))
    if claim == "remote down":
        shutil.move(world.remote, world.root / "gone.git")
    return Site(clone, clone.git("rev-parse", "HEAD"), todo, world)


def hold(clone: Clone, claim: str, scope: tuple[str, ...] = ("/src/",), title: str = "the work") -> str:
    """A todo, claimed as asked: own, remote down, other, none, lapsed. Its id."""
    todo = Client(clone.path, clone.env).todo.add(title, scope=scope).id
    if claim == "none":
        return todo
    # A claim of yesterday: both clocks were a day behind when it was made.
    hooks = Overrides(clock=SystemClock(offset=-86400, slept=-86400)) if claim == "lapsed" else None
    agent = "bob" if claim == "other" else "alice"
    Client(clone.path, clone.env, {"agent": agent}, hooks).todo.claim(todo)
    if hooks is not None:
        # What is known of it is of today.
        Client(clone.path, clone.env).read(fresh=True)
    return todo


def _place(world: World, place: str, name: str) -> Clone:
    if place == "submodule":
        outer = world.repository(f"{name}-outer")
        outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--", str(world.remote), "inner")
        outer.git(*OFF, "commit", "-q", "-m", "outer")
        return outer.at("inner")
    clone = world.clone(name)
    if place == "linked":
        clone.git("worktree", "add", "-q", "-b", "elsewhere", f"../{name}-linked")
        return replace(clone, path=world.root / f"{name}-linked")
    return clone


def _lay_out(world: World, clone: Clone, hooking: str) -> None:
    """The files of a hook manager, as it lays them out."""
    top = clone.path
    if hooking == "pre-commit":
        (top / ".pre-commit-config.yaml").write_text("repos: []\n")
        clone.git("add", ".pre-commit-config.yaml")
        types = [word for name in NAMES for word in ("-t", name)]
        command = [sys.executable, "-m", "pre_commit", "install", *types]
        subprocess.run(command, cwd=top, env=dict(clone.env), check=True, capture_output=True)
    elif hooking == "husky":
        plant(top / ".husky/_/h", HUSKY)
        (top / ".husky/_/.gitignore").write_text("*")
        for name in NAMES:
            plant(top / f".husky/_/{name}", '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
        (top / ".husky/pre-commit").write_text("true\n")
        clone.config("core.hooksPath", ".husky/_")
    elif hooking == "lefthook":
        (top / "lefthook.yml").write_text("pre-commit:\n  commands:\n    lint:\n      run: 'true'\n")
        for name in NAMES:
            plant(clone.common_dir / "hooks" / name, LEFTHOOK_STUB.format(name=name))
        plant(world.home / "bin/lefthook", LEFTHOOK)
    elif hooking == "hooksPath":
        folder = world.root / "shared hooks"
        folder.mkdir(exist_ok=True)
        clone.config("core.hooksPath", str(folder))
