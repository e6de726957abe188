"""The hook managers and commit tools that people use, for the tests that run the guard among them.

`tests/guard/package.json` and `tests/guard/requirements.txt` pin them. They are installed at their first use, into
`.venv/real-tools`, once for all workers and all later runs. git-lfs, stgit and git-absorb come with the system. Where
one cannot be had, its tests are skipped with the reason; with LOOPX_TEST_TOOLS=required, as in `.ci/run`, they fail.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".venv/real-tools"
ACTION_PINS = ROOT / ".github/actions/review/requirements.txt"
NODE_PINS, PYTHON_PINS = ROOT / "tests/guard/package.json", ROOT / "tests/guard/requirements.txt"
#: Seconds for one installation.
PATIENCE = 600


@pytest.fixture(scope="session")
def node_tools() -> Path:
    """The folder with husky, lefthook, simple-git-hooks, commitlint, lint-staged and lint-staged-15; `node_modules`
    lies beside it."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            without(f"{program} is not installed")
    return _installed("node", NODE_PINS, _npm) / "bin"


@pytest.fixture(scope="session")
def python_tools() -> Path:
    """The folder with pre-commit, prek, cz (commitizen) and dulwich, and the Python that imports them."""
    return _installed("python", PYTHON_PINS, _pip) / "bin"


@pytest.fixture(scope="session")
def action_wheels() -> Path:
    """The folder with the files that the action installs from the package index."""
    return _installed("action", ACTION_PINS, _download) / "wheels"


def system_tool(name: str) -> str:
    """The path of a program that the system's packages have: git-lfs, stg, git-absorb."""
    own = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
    found = shutil.which(name) or shutil.which(name, path=own)
    return found if found is not None else without(f"{name} is not installed")


def without(reason: str) -> NoReturn:
    """Skip the test, or let it fail where every tool has to be there."""
    if os.environ.get("LOOPX_TEST_TOOLS") == "required":
        pytest.fail(f"{reason}, and LOOPX_TEST_TOOLS asks for it")
    pytest.skip(reason)


def _installed(kind: str, pins: Path, build: Callable[[Path], None]) -> Path:
    about = (pins.read_bytes(), sys.version.encode(), platform.platform().encode())
    folder = CACHE / f"{kind}-{hashlib.sha256(b'|'.join(about)).hexdigest()[:12]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{kind}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            for older in CACHE.glob(f"{kind}-*"):
                shutil.rmtree(older)
            folder.mkdir()
            build(folder)
            (folder / "complete").touch()
    return folder


def _npm(folder: Path) -> None:
    shutil.copyfile(NODE_PINS, folder / "package.json")
    # Their install scripts set hooks in the repository that they find around them: this one.
    options = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"]
    _run(["npm", "install", *options], folder)
    (folder / "bin").mkdir()
    for link in (folder / "node_modules/.bin").iterdir():
        (folder / "bin" / link.name).symlink_to(link.resolve())
    (folder / "bin/lint-staged-15").symlink_to(folder / "node_modules/lint-staged-15/bin/lint-staged.js")
    # The program itself: by its launcher every hook would wait for node, too.
    for native in (folder / "node_modules").glob("lefthook-*/bin/lefthook"):
        (folder / "bin/lefthook").unlink()
        (folder / "bin/lefthook").symlink_to(native)


def _pip(folder: Path) -> None:
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], folder)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "--disable-pip-version-check"]
    _run([*pip, "install", "--quiet", "--no-input", "-r", str(PYTHON_PINS)], folder)


def _download(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-input"]
    options = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--dest", str(folder / "wheels")]
    _run([*pip, *options, "-r", str(ACTION_PINS)], folder)


def _run(argv: Sequence[str], folder: Path) -> None:
    what = f"{' '.join(argv[:3])}... cannot install the tools"
    try:
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, errors="replace", timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        without(f"{what} within {PATIENCE} s")
    if done.returncode:
        without(f"{what}: {'; '.join((done.stderr or done.stdout).strip().splitlines()[-3:])}")
