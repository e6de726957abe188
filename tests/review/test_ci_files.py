"""The composite action and the example workflow: minimal permissions, no expression inside a script, commands that
the program knows."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from clones import World, plant
from review.coding import Coding, found
from review.test_report import hostile_report

from loopx_git.review.markdown import MARK, markdown

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / ".github/actions/review/action.yml"
WORKFLOW = ROOT / ".github/examples/loopx-review.yml"
API = "todo_aaaa00000001"


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def scripts() -> Iterator[str]:
    steps = [*loaded(ACTION)["runs"]["steps"]]
    for job in loaded(WORKFLOW)["jobs"].values():
        steps += job["steps"]
    yield from (step["run"] for step in steps if "run" in step)


def test_permissions_are_the_least() -> None:
    workflow = loaded(WORKFLOW)
    # YAML takes the key `on` for a truth.
    assert set(workflow[True]) == {"pull_request", "merge_group"}
    assert workflow["permissions"] == {}
    assert {name: job["permissions"] for name, job in workflow["jobs"].items()} == {
        "claims": {"contents": "read"},
        "comment": {"pull-requests": "write"},
    }


def test_the_job_that_writes_runs_nothing_of_the_change() -> None:
    steps = loaded(WORKFLOW)["jobs"]["comment"]["steps"]
    assert [step.get("uses", "").split("@")[0] for step in steps] == ["actions/download-artifact", ""]
    assert "pull_request_target" not in WORKFLOW.read_text("utf-8")


def test_foreign_actions_are_pinned_by_commit() -> None:
    ours = ROOT / ".github/workflows/ci.yml"
    used = [
        line.split("uses:")[1].strip()
        for path in (ACTION, WORKFLOW, ours)
        for line in path.read_text("utf-8").splitlines()
        if "uses:" in line and "OWNER/loopx-git" not in line
    ]
    assert len(used) == 6
    assert [name for name in used if not re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v[0-9.]+", name)] == []


def test_our_own_pipeline_runs_what_everybody_runs() -> None:
    steps = loaded(ROOT / ".github/workflows/ci.yml")["jobs"]["check"]["steps"]
    *installing, check = [step["run"] for step in steps if "run" in step]
    assert check == ".ci/run"
    # What .ci/run cannot install as an ordinary user is installed before it; nothing else runs.
    assert [run for run in installing if not re.match(r"sudo apt-get |brew install ", run)] == []
    assert (ROOT / ".ci/run").stat().st_mode & 0o111


def test_no_expression_stands_in_a_script() -> None:
    found_scripts = list(scripts())
    assert len(found_scripts) == 4
    assert not [script for script in found_scripts if "${{" in script]


def test_the_comment_is_found_again_by_its_first_line() -> None:
    assert MARK in WORKFLOW.read_text("utf-8")
    assert markdown(hostile_report("x")).startswith(MARK)


@pytest.mark.parametrize("claimed", [True, False])
def test_the_actions_own_scripts_work(ledger: World, tmp_path: Path, claimed: bool) -> None:
    coding = Coding(ledger, ledger.clone("dev"))
    coding.todo(API, "the api")
    coding.branch("work")
    coding.commit({"a.py": "1"}, [coding.claim(API, "alice")] if claimed else [])
    assert bool(found(coding.check())) is not claimed
    plant(tmp_path / "loopx/bin/git-loopx", f'#!/bin/sh\nexec "{sys.executable}" -m loopx_git "$@"\n')
    env = {**coding.clone.env, "RUNNER_TEMP": str(tmp_path), "LOOPX_BASE": "origin/main", "LOOPX_HEAD": "HEAD",
           "LOOPX_REPORT": str(tmp_path / "report.md"), "LOOPX_STRICT": "true"}  # fmt: skip
    report, check = (script for script in scripts() if "review" in script and "bin/git-loopx" in script)
    done = subprocess.run(["sh", "-e", "-c", report], cwd=coding.clone.path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.md").read_text().startswith(MARK)
    done = subprocess.run(["sh", "-e", "-c", check], cwd=coding.clone.path, env=env, capture_output=True, text=True)
    assert done.returncode == (0 if claimed else 19), done.stderr
    assert ("::error file=a.py" in done.stdout) is not claimed


def test_the_documented_hook_is_the_one_that_is_tested() -> None:
    text = (ROOT / "docs/review.md").read_text("utf-8")
    assert re.search(r'#!/bin/sh\nexec git-loopx receive-check "\$@"\n', text)
