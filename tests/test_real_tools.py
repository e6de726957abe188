"""The tools of other people that the guard is tested with are there, in the versions that are pinned."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from real_tools import NODE_PINS, PYTHON_PINS, system_tool


def test_the_tools_of_npm(node_tools: Path) -> None:
    for name, version in json.loads(NODE_PINS.read_text())["dependencies"].items():
        found = json.loads((node_tools.parent / "node_modules" / name / "package.json").read_text())
        assert found["version"] == version.rpartition("@")[2], name
    said = subprocess.run([node_tools / "lefthook", "version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("2.2.2")
    for name in ("husky", "simple-git-hooks", "commitlint", "lint-staged", "lint-staged-15"):
        assert (node_tools / name).exists(), name


def test_the_tools_of_the_package_index(python_tools: Path) -> None:
    pinned = [line for line in PYTHON_PINS.read_text().split() if "==" in line]
    script = "import importlib.metadata as m, sys; print(*(f'{n}=={m.version(n)}' for n in sys.argv[1:]))"
    names = [line.partition("==")[0] for line in pinned]
    said = subprocess.run([python_tools / "python", "-c", script, *names], capture_output=True, text=True, check=True)
    assert said.stdout.split() == pinned
    for name in ("pre-commit", "prek", "cz", "dulwich"):
        assert (python_tools / name).exists(), name


@pytest.mark.parametrize("name", ["git-lfs", "stg", "git-absorb"])
def test_the_tools_of_the_system(name: str) -> None:
    assert system_tool(name)
