"""`guard status` among the real tools: it runs nobody's hooks, and calls a guard that works by its name."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from clones import Clone, World, differences, fired, footprint, plant, sentinel
from sites import BIN, OFF, hold

from loopx_git.client.client import Client
from loopx_git.guard.hook import NAMES
from loopx_git.guard.install import install
from loopx_git.guard.script import read
from loopx_git.guard.status import GuardStatus, status

CALL = 'git-loopx guard hook pre-commit "$@"'
#: A script -> what keeps its call of the guard from counting; "" for nothing.
SCRIPTS = {
    CALL: "",
    f"{CALL}\nnpm test": "heed",
    f"set -e\n{CALL}\nnpm test": "",
    f"#!/bin/sh -e\n{CALL}\nnpm test": "",
    f"{CALL} || true": "heed",
    f"{CALL} || exit $?\nnpm test": "",
    f"{CALL} | tee log": "heed",
    f"{CALL} &": "heed",
    f"{CALL} && npm test": "",
    f"{CALL}\ncode=$?\nnpm test\nexit $code": "",
    f"exit 0\n{CALL}": "ends",
    f"exec npm test\n{CALL}": "ends",
    f"exec 2>&1\n{CALL}": "",
    f'[ -n "$CI" ] && exit 0\n{CALL}': "",
    f"if [ -e x ]; then\n  exit 0\nfi\n{CALL}": "",
    f"once() {{\n  exit 0\n}}\n{CALL}": "",
    f"( exit 1 )\n{CALL}": "",
    f"if ! {CALL}; then exit 1; fi\nnpm test": "",
    f"if command -v git-loopx >/dev/null; then {CALL}; else echo no; fi": "",
    f"x=$(a | b; exit 3)\n{CALL}": "",
    f"# {CALL}": "not call",
    f"echo {CALL}": "not call",
    f"cat <<EOF\n{CALL}\nEOF\n": "not call",
    "npx lint-staged\ngit loopx guard hook pre-commit": "",
    "/opt/bin/git-loopx guard check --staged": "",
    "git-loopx guard check --push": "not call",
    'git-loopx guard hook pre-push "$@"': "not call",
    "": "not call",
}


@pytest.fixture
def clone(ledger: World) -> Clone:
    made = ledger.clone("work")
    made = Clone(made.path, {**made.env, "PATH": f"{ledger.home / 'bin'}:{BIN}:{made.env['PATH']}"})
    hold(made, "own")
    made.config("loopx.agent", "alice")
    return made


def prove(clone: Clone) -> GuardStatus:
    return status(Client(clone.path, clone.env).connection.repository, os.urandom)


def with_tools(clone: Clone, folder: Path) -> Clone:
    return clone.having(PATH=f"{clone.env['PATH']}:{folder}")


def tool(clone: Clone, *argv: str | Path) -> None:
    subprocess.run(argv, cwd=clone.path, env=dict(clone.env), check=True, capture_output=True)


def put_in(clone: Clone, *, force: bool = False) -> None:
    install(Client(clone.path, clone.env).connection.repository, force=force)


def half_staged(clone: Clone) -> None:
    """A file with one line staged and another that is not."""
    file = clone.path / "src/a.js"
    file.write_text(file.read_text().replace("first", "staged"))
    clone.git("add", "src/a.js")
    file.write_text(file.read_text().replace("last", "not staged"))


def lint_staged(clone: Clone) -> None:
    (clone.path / "package.json").write_text('{"name": "x", "lint-staged": {"*.js": "sort -c /dev/null"}}\n')
    clone.commit("src/a.js", "first\n" + "middle\n" * 20 + "last\n")
    clone.git("add", "-A")
    clone.git(*OFF, "commit", "-q", "-m", "settings")


def husky(clone: Clone, command: str) -> None:
    tool(clone, "husky")
    (clone.path / ".husky/pre-commit").write_text(f"{command}\n")


def plain(clone: Clone, command: str) -> None:
    plant(clone.common_dir / "hooks/pre-commit", f"#!/bin/sh\n{command}\n")


@pytest.mark.parametrize("linter", ["lint-staged", "lint-staged-15"])
@pytest.mark.parametrize("hooks", [husky, plain], ids=["husky", "plain"])
def test_unstaged_work_stays_where_a_hook_works_on_the_work_tree(
    clone: Clone, node_tools: Path, hooks: Callable[[Clone, str], None], linter: str
) -> None:
    clone = with_tools(clone, node_tools)
    lint_staged(clone)
    hooks(clone, linter)
    put_in(clone, force=True)
    clone.git("add", "-A")
    clone.git(*OFF, "commit", "-q", "--allow-empty", "-m", "hooks")
    half_staged(clone)
    clone.git("status")
    before = footprint(clone)
    found = prove(clone)
    assert (found.silent, found.ok) == ((), True)
    assert differences(before, footprint(clone)) == {}
    assert clone.git("diff", "--name-only") == clone.git("diff", "--cached", "--name-only") == "src/a.js"


def test_lefthook_with_half_staged_work(clone: Clone, node_tools: Path) -> None:
    clone = with_tools(clone, node_tools)
    lint_staged(clone)
    clone.commit("lefthook.yml", "pre-commit:\n  commands:\n    lint:\n      run: 'true'\n")
    tool(clone, "lefthook", "install")
    put_in(clone)
    assert {hook.name for hook in prove(clone).silent} == {*NAMES} - {"pre-commit"}, "lefthook has one hook so far"
    tool(clone, "lefthook", "install")
    half_staged(clone)
    clone.git("status")
    before = footprint(clone)
    assert prove(clone).ok
    assert differences(before, footprint(clone)) == {}
    assert {hook.name for hook in prove(clone.having(LEFTHOOK="0")).silent} == {*NAMES}
    (clone.path / "lefthook-local.yml").write_text("pre-push:\n  skip: true\n")
    assert {hook.name for hook in prove(clone).silent} == {*NAMES}


FRAMEWORK = """\
repos:
- repo: local
  hooks:
  - {id: commit, name: a, language: system, stages: [commit, merge-commit], always_run: true, pass_filenames: false,
     entry: git-loopx guard check --staged}
  - {id: message, name: b, language: system, stages: [prepare-commit-msg], always_run: true,
     entry: git-loopx guard hook prepare-commit-msg}
  - {id: push, name: c, language: system, stages: [pre-push], always_run: true, pass_filenames: false,
     entry: git-loopx guard check --push}
"""


@pytest.mark.parametrize("program", ["pre-commit", "prek"])
def test_the_frameworks_own_configuration(clone: Clone, python_tools: Path, program: str) -> None:
    clone.commit(".pre-commit-config.yaml", FRAMEWORK)
    types = [word for name in NAMES for word in ("-t", name)]
    tool(clone, python_tools / program, "install", *types)
    found = prove(clone)
    assert (found.silent, found.ok) == ((), True)
    assert [hook.name for hook in found.hooks if not hook.runs] == ["commit-msg", "post-commit"]
    assert clone.run("guard", "status", json=False).out.count("spared ") == 2
    assert [hook.name for hook in prove(clone.having(SKIP="push,message")).silent] == [
        "prepare-commit-msg",
        "pre-push",
    ]
    clone.commit(".pre-commit-config.yaml", "repos: []\n")
    assert len(prove(clone).silent) == len(NAMES)


def test_the_offered_hooks_of_the_framework_are_known_by_their_names(clone: Clone, python_tools: Path) -> None:
    ids = ("loopx-guard", "loopx-guard-message", "loopx-guard-push")
    hooks = "".join(f"  - id: {ident}\n" for ident in ids)
    clone.commit(".pre-commit-config.yaml", f"repos:\n- repo: https://example.com/x\n  rev: v1\n  hooks:\n{hooks}")
    types = [word for name in NAMES for word in ("-t", name)]
    tool(clone, python_tools / "pre-commit", "install", *types)
    found = prove(clone)
    assert found.ok
    assert {hook.proof for hook in found.hooks} == {"reading"}


def test_simple_git_hooks_that_write_over_ours_are_noticed(clone: Clone, node_tools: Path) -> None:
    clone = with_tools(clone, node_tools)
    plant(clone.path / "package.json", '{"name": "x", "simple-git-hooks": {"pre-commit": "true"}}\n', 0o644)
    tool(clone, "simple-git-hooks")
    put_in(clone)
    assert prove(clone).ok
    tool(clone, "simple-git-hooks")
    # It takes away every hook that it has no command for.
    assert len(prove(clone).silent) == len(NAMES)
    plant(clone.path / "package.json", '{"simple-git-hooks": {"pre-commit": "git loopx guard check"}}\n', 0o644)
    tool(clone, "simple-git-hooks")
    assert "pre-commit" not in [hook.name for hook in prove(clone).silent]


def test_no_hook_of_anybody_else_is_run(clone: Clone) -> None:
    theirs = [sentinel(clone.common_dir / "hooks" / name, then=f"exec {CALL.split()[0]} guard hook {name}")
              for name in NAMES]  # fmt: skip
    assert prove(clone).ok
    put_in(clone)
    assert prove(clone).ok
    assert [path for path in theirs if fired(path)] == []


@pytest.mark.parametrize("policy", ['mode = "off"', 'paths = ["src/**"]', 'mode = "warn"'])
def test_what_the_policy_says_makes_no_hook_silent(clone: Clone, policy: str) -> None:
    put_in(clone)
    text = (clone.path / ".loopx/config.toml").read_text()
    (clone.path / ".loopx/config.toml").write_text(f"{text}[guard]\n{policy}\n")
    found = prove(clone)
    assert found.silent == ()
    assert found.ok is ("off" not in policy)


def test_a_policy_that_cannot_be_read_is_said_and_nothing_else(clone: Clone) -> None:
    put_in(clone)
    (clone.path / ".loopx/config.toml").write_text('[guard]\nmode = "loud"\n')
    found = prove(clone)
    assert found.silent == ()
    assert "mode" in found.error


def test_a_program_that_is_gone_is_noticed(clone: Clone) -> None:
    put_in(clone)
    for name in NAMES:
        shim = clone.common_dir / "hooks" / name
        shim.write_bytes(shim.read_bytes().replace(f"{BIN}/git-loopx".encode(), b"/nowhere/git-loopx"))
    gone = clone.having(PATH="/usr/bin:/bin")
    assert len(prove(gone).silent) == len(NAMES)


@pytest.mark.parametrize("text", SCRIPTS, ids=range(len(SCRIPTS)))
def test_a_script_is_read(text: str) -> None:
    wrong = read(text, "pre-commit").wrong
    assert SCRIPTS[text] in wrong
    assert bool(wrong) == bool(SCRIPTS[text])


def test_the_shell_of_husky_ends_at_the_first_refusal() -> None:
    assert read(f"{CALL}\nnpm test", "pre-commit", errexit=True).wrong == ""
    assert "heed" in read(f"{CALL} || true\nnpm test", "pre-commit", errexit=True).wrong
    assert read('git-loopx guard hook post-commit "$@" || true\nnpm test', "post-commit").wrong == "", (
        "it only advises"
    )
