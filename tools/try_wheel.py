"""Builds the wheel, installs it into an environment of its own, and uses what came of it in a scratch repository.

`make wheel` runs it. The tests run the source tree, where every file is at hand; a wheel has what pyproject.toml
says. It needs a package index, as `make venv` does. Ends with 1, and says which step failed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IDENTITY = "[user]\n\tname = Tester\n\temail = tester@example.com\n[init]\n\tdefaultBranch = main\n"


class Failed(Exception):
    """One step did not do what it should."""


def run(*words: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """What a program prints on standard output; Failed, with all that it said, when it does not end with 0."""
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        said = (done.stdout + done.stderr).rstrip()
        raise Failed(f"{' '.join(map(str, words))}: ended with {done.returncode}\n{said}")
    return done.stdout


def built(folder: Path) -> Path:
    """The wheel of this source tree, made in the folder."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
    run(*pip, "wheel", "--no-deps", "--wheel-dir", folder, ".", cwd=ROOT)
    [wheel] = folder.glob("*.whl")
    return wheel


def is_complete(wheel: Path) -> None:
    """Every module, the marker of its types, the shims of hooks/ and the licence are in it; nothing else is."""
    names = set(zipfile.ZipFile(wheel).namelist())
    files = run("git", "ls-files", "-z", "--", "loopx_git", "hooks", cwd=ROOT).split("\0")[:-1]
    wanted = {f"loopx_git/guard/{name}" if name.startswith("hooks/") else name for name in files}
    if missing := sorted(wanted - names):
        raise Failed(f"not in the wheel: {', '.join(missing)}")
    if more := sorted(name for name in names - wanted if ".dist-info/" not in name):
        raise Failed(f"in the wheel, but not in the repository: {', '.join(more)}")
    if not any(name.endswith("/LICENSE") for name in names):
        raise Failed("the licence is not in the wheel")


def installed(wheel: Path, folder: Path) -> Path:
    """The folder of programs of a new environment with the wheel in it."""
    run(sys.executable, "-m", "venv", folder, cwd=ROOT)
    pip: list[str | Path] = [
        folder / "bin/python",
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
    ]
    run(*pip, "install", wheel, cwd=folder)
    return folder / "bin"


def is_usable(programs: Path, folder: Path) -> None:
    """A ledger, a claimed todo, and a commit with the guard at work, as a user makes them."""
    home, repository = folder / "home", folder / "repository"
    home.mkdir()
    (home / ".gitconfig").write_text(IDENTITY)
    path = f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    env = {"PATH": path, "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C.UTF-8"}
    version = run("git-loopx", "--version", cwd=folder, env=env).strip()
    if run("loopx-git", "--version", cwd=folder, env=env).strip() != version:
        raise Failed("git-loopx and loopx-git are not the same version")
    run("git", "init", "-q", repository, cwd=folder, env=env)

    def loopx(*words: str) -> str:
        return run("git", "loopx", *words, cwd=repository, env=env)

    loopx("init")
    loopx("peer", "register", "alice")
    todo = json.loads(loopx("--json", "todo", "add", "--scope", "one", "--", "Try the wheel"))["todo"]["id"]
    loopx("guard", "install")
    (repository / "one").write_text("1\n")
    run("git", "add", "one", cwd=repository, env=env)
    commit = ["git", "-c", "loopx.agent=alice", "commit", "-q", "-m", "one"]
    try:
        run(*commit, cwd=repository, env=env)
    except Failed as refusal:
        if todo not in str(refusal) and "claim" not in str(refusal):
            raise
    else:
        raise Failed("the hook of the wheel let a commit pass that no claim covers")
    loopx("--agent", "alice", "todo", "claim", todo)
    run(*commit, cwd=repository, env=env)
    loopx("verify")
    print(f"==> {version}: built, installed and used")


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        try:
            wheel = built(folder / "dist")
            is_complete(wheel)
            is_usable(installed(wheel, folder / "venv"), folder)
        except Failed as failure:
            sys.exit(f"make wheel: {failure}")


if __name__ == "__main__":
    main()
