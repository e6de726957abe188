"""The composite action and the example workflow: minimal permissions, no expression inside a script, commands that
the program knows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from clones import World, git, plant
from real_tools import ACTION_PINS, action_wheels
from review.coding import Coding
from review.test_report import hostile_report

from loopx_git.review.markdown import MARK, markdown

__all__ = ["action_wheels"]
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
    assert set(workflow[True]) == {"pull_request_target", "merge_group"}
    assert workflow["permissions"] == {}
    assert {name: job["permissions"] for name, job in workflow["jobs"].items()} == {
        "claims": {"contents": "read"},
        "comment": {"pull-requests": "write"},
    }


def test_the_job_that_writes_runs_nothing_of_the_change() -> None:
    steps = loaded(WORKFLOW)["jobs"]["comment"]["steps"]
    assert [step.get("uses", "").split("@")[0] for step in steps] == ["actions/download-artifact", ""]


def test_the_base_alone_is_checked_out_and_a_new_base_is_judged_anew() -> None:
    workflow = loaded(WORKFLOW)
    checkout, review = workflow["jobs"]["claims"]["steps"][:2]
    assert "head" not in checkout["with"]["ref"]
    assert "base.sha" in checkout["with"]["ref"]
    assert "refs/remotes/origin/" in review["with"]["base"]
    assert {"opened", "reopened", "synchronize", "edited"} <= set(workflow[True]["pull_request_target"]["types"])
    assert workflow["concurrency"]["cancel-in-progress"] is True
    assert "guarded" not in review["with"]
    assert loaded(ACTION)["inputs"]["guarded"]["default"] == "true"


def test_foreign_actions_are_pinned_by_commit() -> None:
    ours = ROOT / ".github/workflows/ci.yml"
    used = [
        line.split("uses:")[1].strip()
        for path in (ACTION, WORKFLOW, ours)
        for line in path.read_text("utf-8").splitlines()
        if "uses:" in line and "OWNER/loopx-git" not in line
    ]
    assert len(used) == 6
    pinned = re.compile(r"actions/[a-z-]+@[0-9a-f]{40} # v[0-9.]+( # zizmor: ignore\[[a-z-]+\])?")
    assert [name for name in used if not pinned.fullmatch(name)] == []


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


#: What a change may bring to be run or read by mistake. {} is a line that leaves a mark.
HOSTILE = {
    **{f"{name}.py": "{}" for name in (
        "venv", "ensurepip", "pip", "sitecustomize", "usercustomize", "runpy", "sysconfig", "pathlib", "click", "git",
        "yaml", "loopx_git", "encodings",
    )},
    "loopx_git/__init__.py": "{}", "loopx_git/__main__.py": "{}", "pip/__main__.py": "{}", "venv/__main__.py": "{}",
    "evil.pth": "import os; {}", "setup.py": "{}",
    "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "setup"\nbackend-path = ["."]\n',
    "requirements.txt": "./\n", "pip.conf": "[install]\nrequirement = requirements.txt\n",
    ".github/actions/review/requirements.txt": "./\n",
    ".github/actions/review/install.sh": "touch {mark}\n",
}  # fmt: skip
PROGRAMS = ("python", "python3", "git", "sh", "dirname", "basename", "env", "loopx", "git-loopx")


@dataclass
class Runner:
    """A machine of the forge: a checkout with a change that would like to be run, a temporary folder."""

    coding: Coding
    temp: Path
    env: dict[str, str]

    @property
    def mark(self) -> Path:
        return self.temp / "mark"

    def lay_traps(self) -> dict[str, str | None]:
        """The change's files; its programs and links are laid into the checkout."""
        line = f"import pathlib; pathlib.Path({str(self.mark)!r}).touch()\n"
        files: dict[str, str | None] = {
            name: text.replace("{}", line).replace("{mark}", str(self.mark)) for name, text in HOSTILE.items()
        }
        for name in PROGRAMS:
            plant(self.coding.clone.path / name, f'#!/bin/sh\ntouch "{self.mark}"\n')
        (self.temp / "victim").write_text("untouched")
        for name in ("report.md", "loopx-report.md"):
            (self.coding.clone.path / name).symlink_to(self.temp / "victim")
        return files

    def run(self, script: str, cwd: Path, shell: str = "/bin/sh") -> subprocess.CompletedProcess[str]:
        return subprocess.run([shell, "-e", "-c", script], cwd=cwd, env=self.env, capture_output=True, text=True,
                              timeout=120)  # fmt: skip

    def assert_untouched(self) -> None:
        assert not self.mark.exists()
        assert (self.temp / "victim").read_text() == "untouched"


@pytest.fixture
def runner(ledger: World, tmp_path: Path, action_wheels: Path) -> Runner:
    coding = Coding(ledger, ledger.clone("dev"))
    coding.todo(API, "the api")
    temp = tmp_path / "temp dir"
    temp.mkdir()
    checkout = str(coding.clone.path)
    # Settings that a careless pipeline may have; the index is a folder with the very files that are pinned.
    env = {
        **coding.clone.env,
        "PATH": f".:{coding.clone.env['PATH']}",
        "PYTHONPATH": f".:{checkout}",
        "PYTHON": sys.executable,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(action_wheels),
        "RUNNER_TEMP": str(temp),
        "GITHUB_WORKSPACE": checkout,
        "GITHUB_ACTION_PATH": str(ACTION.parent),
        "GITHUB_OUTPUT": str(temp / "output"),
    }
    return Runner(coding, temp, env)


def test_the_action_runs_nothing_of_the_change(runner: Runner) -> None:
    """Its own steps, on a checkout of a hostile change, and then on one of the base alone."""
    coding = runner.coding
    coding.branch("work")
    head = coding.commit(runner.lay_traps())
    coding.clone.git("push", "-q", "origin", f"{head}:refs/pull/1/head")
    steps = [step for step in loaded(ACTION)["runs"]["steps"] if "run" in step]
    assert [step["working-directory"] for step in steps] == ["${{ runner.temp }}"] * 3
    install, report, check = (step["run"] for step in steps)
    runner.env |= {"LOOPX_BASE": "refs/remotes/origin/main", "LOOPX_HEAD": head, "LOOPX_STRICT": "false",
                   "LOOPX_GUARDED": "true", "LOOPX_REPORT": "../../loopx-report.md"}  # fmt: skip
    done = runner.run(install, runner.temp)
    assert done.returncode == 0, done.stderr
    done = runner.run(report, runner.temp)
    assert done.returncode == 0, done.stderr
    written = (runner.temp / "output").read_text().removeprefix("path=").strip()
    assert Path(written).parent == runner.temp
    assert Path(written).read_text().startswith(MARK)
    done = runner.run(check, runner.temp)
    assert done.returncode == 19, done.stderr
    assert "::error file=venv.py" in done.stdout
    runner.assert_untouched()
    # The same where the base alone is checked out, and where the change is covered.
    base = coding.world.clone("base only")
    base.git("checkout", "-q", "--detach", "refs/remotes/origin/main")
    runner.env["GITHUB_WORKSPACE"] = str(base.path)
    assert runner.run(check, runner.temp).returncode == 19
    coding.branch("good")
    runner.env["LOOPX_HEAD"] = good = coding.commit({"a.py": "1"}, [coding.claim(API, "alice")])
    coding.clone.git("push", "-q", "origin", f"{good}:refs/pull/2/head")
    done = runner.run(check, runner.temp)
    assert done.returncode == 0, done.stderr
    assert base.git("rev-parse", "--is-shallow-repository") == "false"
    # Even a runner that starts in the checkout installs the action's own revision.
    (runner.temp / "loopx/bin/python").unlink()
    before = sorted(path.name for path in ACTION.parent.iterdir())
    done = runner.run('exec /bin/sh "$GITHUB_ACTION_PATH/install.sh" "$RUNNER_TEMP/loopx"', coding.clone.path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in ACTION.parent.iterdir()) == before
    runner.assert_untouched()


def test_an_unguarded_base_is_an_error_of_the_action(tmp_path: Path, ledger: World) -> None:
    coding = Coding(ledger, ledger.clone("dev"))
    coding.branch("work")
    coding.commit({".loopx/config.toml": None})
    coding.merge()
    plant(tmp_path / "loopx/bin/python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    check = [step["run"] for step in loaded(ACTION)["runs"]["steps"] if "run" in step][-1]
    env = {**coding.clone.env, "RUNNER_TEMP": str(tmp_path), "GITHUB_WORKSPACE": str(coding.clone.path),
           "LOOPX_HEAD": coding.head(), "LOOPX_BASE": "refs/remotes/origin/main"}  # fmt: skip
    for guarded, code in (("true", 19), ("", 19), ("false", 0)):
        done = Runner(coding, tmp_path, {**env, "LOOPX_STRICT": "false", "LOOPX_GUARDED": guarded}).run(
            check, tmp_path
        )
        assert done.returncode == code, done.stderr


def test_gitlabs_example_runs_nothing_of_the_change(runner: Runner) -> None:
    text = (ROOT / "docs/review.md").read_text("utf-8")
    job = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[0])["loopx"]
    # What is fetched is this revision as it lies here, whether it is committed or not.
    source = runner.temp / "origin"
    for part in (".github", "loopx_git", "hooks"):
        shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
    git(source, "init", "-q", env=runner.env)
    git(source, "add", "-A", env=runner.env)
    git(source, "commit", "-q", "-m", "source", env=runner.env)
    coding = runner.coding
    coding.branch("work")
    head = coding.commit(runner.lay_traps())
    runner.env |= {
        "CI_PROJECT_DIR": str(coding.clone.path),
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_COMMIT_SHA": head,
        "LOOPX_SOURCE": str(source),
        "LOOPX_COMMIT": git(source, "rev-parse", "HEAD", env=runner.env),
        "TMPDIR": str(runner.temp),
    }
    # The shell starts in the checkout, where a relative PATH would be an error of the pipeline's own.
    runner.env["PATH"] = runner.env["PATH"].removeprefix(".:")
    assert set(job["variables"]) == {"GIT_DEPTH", "LOOPX_SOURCE", "LOOPX_COMMIT"}
    done = runner.run("\n".join(job["script"]), coding.clone.path)
    assert done.returncode == 19, done.stderr
    assert "missing" in done.stdout
    report = coding.clone.path / "loopx-report.md"
    assert not report.is_symlink()
    assert report.read_text().startswith(MARK)
    runner.assert_untouched()


def test_the_pins_are_those_of_the_program() -> None:
    pinned = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", ACTION_PINS.read_text("utf-8"), re.MULTILINE))
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    for line in wanted:
        name, least = line.lower().split(">=")
        have, need = ([int(part) for part in version.split(".")] for version in (pinned[name], least))
        assert have >= need, line


def test_the_documented_hook_is_the_one_that_is_tested() -> None:
    text = (ROOT / "docs/review.md").read_text("utf-8")
    assert re.search(r'#!/bin/sh\nexec git-loopx receive-check "\$@"\n', text)
