"""The documentation is true: pages made from the program, every command on them run, every sample compared."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands_page import page as commands_page
from rules_page import page as rules_page

from loopx_git.core.table import Effect, HoldState, Operation
from loopx_git.errors import BY_CODE

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
RUN = re.compile(r"```console\n(.*?)```", re.DOTALL)
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)


def environment(home: Path) -> dict[str, str]:
    """A clean environment with `git loopx` on the path, and nothing of the developer's."""
    home.mkdir(exist_ok=True)
    bin_folder = home / "bin"
    bin_folder.mkdir(exist_ok=True)
    script = bin_folder / "git-loopx"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m loopx_git "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    kept = {key: os.environ[key] for key in ("LANG", "TMPDIR") if key in os.environ}
    return {
        **kept,
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Dev",
        "GIT_AUTHOR_EMAIL": "dev@example.com",
        "GIT_COMMITTER_NAME": "Dev",
        "GIT_COMMITTER_EMAIL": "dev@example.com",
    }


def run(command: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def clone(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A clone of an empty bare remote."""
    env = environment(tmp_path / "home")
    assert run("git init -q --bare remote.git && git clone -q remote.git work", tmp_path, env).returncode == 0
    return tmp_path / "work", env


def commands(text: str) -> Iterator[tuple[str, int]]:
    """(command, expected exit code) of every `$ ` line; a comment `# exit N` says which."""
    for block in RUN.findall(text):
        for line in block.splitlines():
            if line.startswith("$ "):
                code = re.search(r"# exit (\d+)", line)
                yield line[2:], int(code[1]) if code else 0


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md", "docs/running-agents.md"])
def test_every_command_on_the_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    folder, env = clone(tmp_path)
    found = list(commands((ROOT / page).read_text("utf-8")))
    assert len(found) > 8
    for command, code in found:
        done = run(command, folder, env)
        assert done.returncode == code, f"{command}\n{done.stdout}{done.stderr}"
    assert run("git loopx verify", folder, env).returncode == 0


def test_the_python_of_running_agents_runs(tmp_path: Path) -> None:
    folder, env = clone(tmp_path)
    assert run("git loopx init; git loopx peer register codex-1", folder, env).returncode == 0
    (block,) = PYTHON.findall((DOCS / "running-agents.md").read_text("utf-8"))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "completed 0\n"), done.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_the_python_on_the_page_runs(page: str, tmp_path: Path) -> None:
    folder, env = clone(tmp_path)
    set_up = "git loopx init; git loopx peer register codex-1; git loopx peer register codex-2"
    assert run(set_up, folder, env).returncode == 0
    assert run("git loopx todo add 'fix' --alias fix-login", folder, env).returncode == 0
    blocks = PYTHON.findall((ROOT / page).read_text("utf-8"))
    assert blocks
    for block in blocks:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", block],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    shown = json.loads(run("git loopx todo show fix-login --json --fresh", folder, env).stdout)
    assert shown["todo"]["status"] == "completed"


def test_the_script_in_the_quickstart_works(tmp_path: Path) -> None:
    folder, env = clone(tmp_path)
    assert run("git loopx init; git loopx peer register codex-1; git loopx todo add fix", folder, env).returncode == 0
    script = re.search(r"```sh\n(if claim=.*?)```", (DOCS / "quickstart.md").read_text("utf-8"), re.DOTALL)
    assert script
    done = run(f"set -e; export LOOPX_AGENT=codex-1; {script[1]}", folder, env)
    assert done.returncode == 0, done.stderr
    listed = json.loads(run("git loopx todo list --status completed --json", folder, env).stdout)
    assert len(listed["todos"]) == 1


def test_the_rules_page_is_made_from_the_table() -> None:
    wanted = "make pages"
    text = (DOCS / "rules.md").read_text("utf-8")
    assert text == rules_page(), wanted
    assert all(f"\n## {operation.value}\n" in text for operation in Operation)
    assert all(f"| {word.value} |" in text for kind in (HoldState, Effect) for word in kind)


def test_the_commands_page_is_made_from_the_program() -> None:
    wanted = "make pages"
    assert (DOCS / "cli.md").read_text("utf-8") == commands_page(), wanted


def test_every_command_has_an_example_and_help(tmp_path: Path) -> None:
    page = (DOCS / "cli.md").read_text("utf-8")
    sections = page.split("\n## ")[1:]
    assert len(sections) > 35
    for section in sections:
        name = section.split("\n")[0]
        examples = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
        assert examples, name
        same = {"todo unclaim": "todo release"}
        assert f"git loopx {same.get(name, name)}" in examples[1], name


def test_the_exit_codes_are_those_of_the_error_tree() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \|", (DOCS / "exit-codes.md").read_text("utf-8"), re.MULTILINE)
    assert {int(code): name for code, name in rows} == {code: cls.__name__ for code, cls in BY_CODE.items()}


def test_every_test_that_the_races_name_exists() -> None:
    named = set(re.findall(r"`(tests/[^`]+\.py)`", (DOCS / "concurrency.md").read_text("utf-8")))
    assert named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_link_between_the_pages_leads_somewhere() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "AGENTS.md", *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


KEYS = {
    "init": {"ledger", "ref", "remote", "created"},
    "todo": {"todo", "lease"},
    "todos": {"todos", "left_out"},
    "lease": {"lease"},
    "log": {"entries"},
    "verify": {"ok", "commits", "findings"},
}


def test_json_has_the_promised_keys(tmp_path: Path) -> None:
    folder, env = clone(tmp_path)
    run("git loopx peer register a1", folder, env)
    asked = [
        ("init", "git loopx init --json"),
        ("peer", "git loopx peer register a1 --json"),
        ("todo", "git loopx todo add t --alias t --json"),
        ("todos", "git loopx todo list --json"),
        ("todo", "git loopx todo claim t --agent a1 --json"),
        ("lease", "git loopx task-lease inspect t --json"),
        ("todo", "git loopx todo show t --json"),
        ("log", "git loopx log --json"),
        ("verify", "git loopx verify --json"),
    ]
    for kind, command in asked:
        shown = json.loads(run(command, folder, env).stdout)
        assert shown["schema_version"] == 1, command
        assert shown["kind"] == kind, command
        assert KEYS.get(kind, set()) <= set(shown), command
    claimed = json.loads(run("git loopx todo claim t --agent a1 --json", folder, env).stdout)
    assert claimed["acquired"] is False
    assert {"id", "expires_at", "state", "epoch", "holder", "session", "seq", "ttl_s"} <= set(claimed["lease"])
    assert claimed["lease"]["id"] == f"{claimed['todo']['id']}@1"
    refused = run("git loopx todo claim t --agent a1 --session other --json", folder, env)
    error = json.loads(refused.stderr)
    assert refused.returncode == 11
    assert refused.stdout == ""
    assert {"kind", "code", "message", "hint", "todo_id", "holder", "epoch", "expires_at"} <= set(error)
    assert error["kind"] == "error"
