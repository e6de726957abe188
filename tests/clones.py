"""Remotes, clones and ledgers for tests: real repositories, driven by the real command line.

A World is a folder with a home of its own, a bare remote and any number of clones. Nothing in it reads the
developer's configuration or environment. `footprint` writes down everything of a user's repository that
coordination must leave alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import warm

PROGRAM = (sys.executable, "-m", "loopx_git")
COORD = "refs/heads/loopx/coord"
AGENTS = tuple(f"agent-{number:02}" for number in range(16))
Env = Mapping[str, str]
IDENTITY = "[user]\n\tname = Tester\n\temail = tester@example.com\n[init]\n\tdefaultBranch = main\n"
#: Loads what a command needs, says so, waits for the end of its standard input, and runs: a race in which the
#: start-up of Python plays no part.
WARM = """\
import os, sys
import pygit2
import loopx_git.client.client, loopx_git.client.todos, loopx_git.cli.commands.todo_claim
import loopx_git.store.driver, loopx_git.store.ledger, loopx_git.store.remote, loopx_git.store.local
from loopx_git.cli.main import run
os.write(1, b"ready\\n")
sys.stdin.buffer.read()
run()
"""


@dataclass(frozen=True)
class Result:
    """How one command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The object on standard output, or, when there is none, the error."""
        return json.loads(self.out) if self.out.strip() else self.error

    @property
    def error(self) -> Any:
        """The error object, which is the last line of standard error."""
        return json.loads(self.err.splitlines()[-1])

    def __str__(self) -> str:
        return f"exit {self.code}\n{self.out}{self.err}"


def git(folder: Path, *args: str, env: Env, check: bool = True, stdin: bytes = b"") -> str:
    """What a git command prints, less the line end."""
    done = subprocess.run(["git", *args], cwd=folder, env=dict(env), input=stdin, capture_output=True, timeout=120)
    assert done.returncode == 0 or not check, f"git {' '.join(args)}: {done.stderr.decode(errors='replace')}"
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


@dataclass(frozen=True)
class Clone:
    """One clone (or worktree, or bare repository); `path` is the folder where commands run in it."""

    path: Path
    env: Env

    def run(
        self, *args: str | bytes, check: int | Iterable[int] | None = 0, agent: str | None = None,
        env: Env | None = None, stdin: bytes = b"", json: bool = True, timeout: float = 90,
    ) -> Result:  # fmt: skip
        """Run `git-loopx [--json] [--agent AGENT] ARGS`. `check` is the exit code that must come of it (0; None:
        any; several: one of them)."""
        given = [*(["--json"] if json else []), *(["--agent", agent] if agent else []), *args]
        code, out, err = warm.run(PROGRAM, given, self.path, {**self.env, **(env or {})}, stdin, timeout)
        result = Result(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
        allowed = {check} if isinstance(check, int) else None if check is None else set(check)
        assert allowed is None or result.code in allowed, f"{args}: {result}"
        assert "Traceback" not in result.err, result.err
        return result

    def git(self, *args: str, check: bool = True, stdin: bytes = b"") -> str:
        return git(self.path, *args, env=self.env, check=check, stdin=stdin)

    def having(self, **variables: str) -> Clone:
        """The same clone in an environment with more variables."""
        return replace(self, env={**self.env, **variables})

    def at(self, folder: str | Path) -> Clone:
        """The same clone, with commands run in this folder of it."""
        return replace(self, path=self.path / folder)

    def config(self, *args: str) -> None:
        self.git("config", *args)

    def commit(self, name: str, content: str = "x\n", message: str = "work") -> None:
        """One commit of code, by the user."""
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(content)
        self.git("add", "--", name)
        self.git("-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", message)

    @property
    def git_dir(self) -> Path:
        return Path(self.git("rev-parse", "--absolute-git-dir"))

    @property
    def common_dir(self) -> Path:
        return Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir"))

    @property
    def home(self) -> Path:
        """The folder of ours in it."""
        return self.common_dir / "loopx"

    def add(self, title: str, *args: str, env: Env | None = None) -> str:
        """The id of a new todo."""
        return str(self.run("todo", "add", *args, "--", title, env=env).json["todo"]["id"])

    def show(self, todo: str) -> Any:
        return self.run("todo", "show", todo, "--fresh").json

    def verified(self) -> Any:
        """The verdict of `verify`, which must be good."""
        return self.run("verify").json


@dataclass
class World:
    """A home, a bare remote, clones."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home = self.root / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self.configure(IDENTITY)
        path = os.environ.get("PATH", os.defpath)
        self.env = {"PATH": path, "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C.UTF-8"} | self.env
        self.remote = self.root / "remote.git"

    def configure(self, text: str, *, more: bool = False) -> None:
        """Set the user's global configuration, or add to it."""
        with (self.home / ".gitconfig").open("a" if more else "w") as file:
            file.write(text)

    def git(self, *args: str, folder: Path | None = None, check: bool = True, stdin: bytes = b"") -> str:
        return git(folder or self.root, *args, env=self.env, check=check, stdin=stdin)

    def start(self) -> World:
        """Make the bare remote with one commit of code on main."""
        self.git("init", "-q", "--bare", str(self.remote))
        first = self.repository("first")
        first.commit("code.py", "print('hello')\n", "first")
        first.git("push", "-q", str(self.remote), "main")
        shutil.rmtree(first.path)
        return self

    def repository(self, name: str, *args: str) -> Clone:
        """A new repository without a remote."""
        self.git("init", "-q", *args, name)
        return Clone(self.root / name, self.env)

    def clone(self, name: str, *args: str, url: str | Path | None = None) -> Clone:
        """A clone of the remote, by whatever URL."""
        self.git("clone", "-q", *args, "--", str(url or self.remote), name)
        return Clone(self.root / name, self.env)

    def clones(self, count: int, *, url: str | None = None) -> list[Clone]:
        return [self.clone(f"clone-{number:02}", url=url) for number in range(count)]

    def tip(self, remote: Path | None = None, ref: str = COORD) -> str:
        """Where the coordination ref of the remote stands; "" when it is absent."""
        return self.git("for-each-ref", "--format=%(objectname)", ref, folder=remote or self.remote)

    def log(self, remote: Path | None = None, ref: str = COORD) -> list[dict[str, str]]:
        """The trailers of every commit of the coordination ref, oldest first, as plain git tells them."""
        text = self.git("log", "--reverse", "--format=%H%n%B%x00", ref, folder=remote or self.remote)
        entries = []
        for message in text.split("\0"):
            commit, *lines = message.strip("\n").split("\n")
            if commit:
                pairs = [line.removeprefix("Loopx-").split(": ", 1) for line in lines[2:] if ": " in line]
                entries.append({"commit": commit, **{key.lower(): value for key, value in pairs}})
        return entries

    def claims(self, todo: str, remote: Path | None = None) -> list[dict[str, str]]:
        """The claims of one todo in history, oldest first."""
        return [entry for entry in self.log(remote) if entry["op"] == "claim" and entry["todo"] == todo]


def plant(path: Path, text: str, mode: int = 0o755) -> Path:
    """A script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def sentinel(path: Path, *, then: str = "exit 1") -> Path:
    """A script that leaves the file `<path>.ran` when it is run."""
    return plant(path, f'#!/bin/sh\n: > "{path}.ran"\n{then}\n')


def fired(path: Path) -> bool:
    """Whether that script has run."""
    return Path(f"{path}.ran").exists()


def race(runs: Sequence[tuple[Clone, Sequence[str]]], timeout: float = 120) -> list[Result]:
    """Run commands at the same instant: every process is loaded and waiting before one of them begins."""
    reading, writing = os.pipe()
    processes = []
    try:
        for clone, args in runs:
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-c", WARM, "--json", *args],
                    cwd=clone.path,
                    env=dict(clone.env),
                    stdin=reading,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
            )
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        os.close(writing)
        writing = -1
        results = []
        for process in processes:
            out, err = process.communicate(timeout=timeout)
            results.append(Result(process.returncode, out.decode(), err.decode()))
        return results
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)
        for process in processes:
            with process:
                process.kill()


# -- what a user's repository is made of


def footprint(clone: Clone, *, ledger_here: bool = False) -> dict[str, object]:
    """Everything of the user's that a command must leave alone: content and times of every file in the git
    directory but our own folder, every ref, the index, the stash, hooks, HEAD, configuration, and the work tree.

    With `ledger_here` coordination lives in this repository itself: its ref and its objects do not count.
    """
    quiet = ["--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"]
    clean = replace(clone, env={key: value for key, value in clone.env.items() if key not in _POINTERS})
    found: dict[str, object] = {}
    bare = clean.git("rev-parse", "--is-bare-repository") == "true"
    for name, args in {
        "refs": ["for-each-ref", "--format=%(refname) %(objectname) %(symref)"],
        "stash": ["reflog", "show", "--format=%H %gs", "refs/stash", "--"],
        "head": ["rev-parse", "--symbolic-full-name", "HEAD"],
        **({} if bare else {"status": ["status", "--porcelain=v2", "--branch", "--ignored", "-uall"]}),
    }.items():
        lines = clean.git(*quiet, *args, check=name in ("refs", "status")).split("\n")
        found[name] = [line for line in lines if line and not (ledger_here and line.startswith(COORD))]
    common = clean.common_dir
    for folder in {common, clean.git_dir}:
        for path in _files(folder):
            inside = path.relative_to(common).as_posix()
            if not _is_ours(inside, ledger_here=ledger_here):
                found[f"git: {inside}"] = _state(path)
    if not bare:
        top = Path(clean.git("rev-parse", "--show-toplevel"))
        for path in _files(top):
            if not path.is_relative_to(common) and not path.is_relative_to(clean.git_dir):
                found[f"tree: {path.relative_to(top).as_posix()}"] = _state(path)
    found["home"] = {str(path): _state(path) for path in _files(Path(clone.env["HOME"]))}
    return found


_POINTERS = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"}
_LEDGER_HERE = ("objects/", "refs/heads/loopx/", "logs/refs/heads/loopx/")


def _is_ours(path: str, *, ledger_here: bool) -> bool:
    parts = path.split("/")
    if parts[0] == "loopx" or (parts[0] == "worktrees" and parts[2:3] == ["loopx"]):
        return True
    return ledger_here and path.startswith(_LEDGER_HERE)


def _files(folder: Path) -> list[Path]:
    found = []
    for place, folders, names in os.walk(folder):
        found += [Path(place, name) for name in names]
        found += [Path(place, name) for name in folders if os.path.islink(os.path.join(place, name))]
    return sorted(found)


def _state(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return ("link", os.readlink(path))
    if not stat.S_ISREG(status.st_mode):
        return ("special", stat.S_IFMT(status.st_mode))
    digest = hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()
    return (digest, stat.S_IMODE(status.st_mode), status.st_mtime_ns)


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    """What changed between two footprints."""
    keys = before.keys() | after.keys()
    return {key: (before.get(key), after.get(key)) for key in sorted(keys) if before.get(key) != after.get(key)}


# -- many things at once


def populate(clone: Clone, *, peers: Sequence[str] = (), titles: Sequence[str] = ()) -> list[str]:
    """Register peers and add todos in one push, through the Python interface; the todos' ids."""
    import secrets

    from loopx_git.client.client import Client
    from loopx_git.core.commands import AddTodo, Command, RegisterPeer

    ids = [f"todo_{secrets.token_hex(6)}" for _ in titles]
    commands: list[Command] = [RegisterPeer(name) for name in peers]
    commands += [AddTodo(todo, title) for todo, title in zip(ids, titles, strict=True)]
    client = Client(clone.path, clone.env)
    client.submit(commands, client.connection.actor())
    return ids


Setup = Callable[[World], Clone]
