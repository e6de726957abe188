"""docs/guard.md is made from the data that the matrix runs on, and the data agrees with git about its hooks."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from clones import World, plant
from guard_operations import OPERATIONS
from guard_page import page
from guard_scripts import SCRIPTS
from sites import OFF, Site, make

from loopx_git.coverage.policy import KEYS
from loopx_git.coverage.rules import RULES
from loopx_git.guard.agents import AGENTS
from loopx_git.guard.hook import NAMES
from loopx_git.guard.install import uninstall

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs/guard.md").read_text("utf-8")


def test_the_table_is_made_from_the_data() -> None:
    assert page(TEXT) == TEXT, "make pages"


def test_the_page_names_every_rule_and_every_key_of_the_policy() -> None:
    named = set(re.findall(r"`([a-z-]+)`", TEXT))
    assert set(RULES) - {"unguarded"} <= named
    keys = set(re.findall(r"^(\w+) = ", TEXT, re.MULTILINE))
    # The others are for the server.
    assert keys == set(KEYS) - {"branches", "signed", "pusher", "pushers", "operators", "rule_changes"}


def test_the_page_of_agents_has_the_table_of_agents() -> None:
    lines = (ROOT / "docs/agents.md").read_text("utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| `")][1:]
    told = {row[0].strip("|` "): [part.strip("` |") for part in row[1:]] for row in rows}
    assert list(told) == list(AGENTS)
    for name, row in AGENTS.items():
        title, local, shared, events, denial = told[name]
        assert (title, local) == (row.title, row.local)
        assert shared == (row.shared if row.shared != row.local else "the same")
        assert events.replace("`", "").split(", ") == list(row.events)
        assert denial.startswith(f"exit {row.code}")
        assert ("an object" in denial) == (row.denial is not None)
        assert all(f"`{key}`" in f"{denial}`" for key in list(row.denial or ())[:1])


def test_git_runs_the_hooks_that_the_data_names(tmp_path: Path) -> None:
    world = World(tmp_path / "world").start()
    clone = world.clone("work")
    for file in ("src/a.py", "src/b.py", "docs/d.md"):
        clone.commit(file, "".join(f"{number}\n" for number in range(20)))
    site = Site(clone, clone.git("rev-parse", "HEAD"), "", world)
    log = tmp_path / "log"
    for name in NAMES:
        plant(clone.common_dir / "hooks" / name, f'#!/bin/sh\necho {name} >> "{log}"\n')
    for operation in OPERATIONS:
        prepare, act = SCRIPTS[operation.name]
        site.reset()
        site.quietly(prepare)
        log.write_text("")
        done = site.sh(act)
        assert done.returncode == 0, done.stderr
        assert set(log.read_text().split()) == set(operation.hooks), operation.name


def test_the_shims_are_small_and_have_no_logic() -> None:
    for name in NAMES:
        text = (ROOT / "hooks" / name).read_text("ascii")
        assert len(text.splitlines()) <= 25, name
        assert subprocess.run(["sh", "-n", ROOT / "hooks" / name], check=False).returncode == 0
        assert not re.search(r"\b(sed|awk|grep|python|git )\b", re.sub(r"#.*|echo .*", "", text)), name
    assert sorted(path.name for path in (ROOT / "hooks").iterdir()) == sorted(NAMES)


def test_the_frameworks_manifest_is_valid_and_names_our_commands() -> None:
    pytest.importorskip("pre_commit")
    manifest = ROOT / ".pre-commit-hooks.yaml"
    done = subprocess.run([sys.executable, "-m", "pre_commit", "validate-manifest", manifest], check=False)
    assert done.returncode == 0
    entries = {item["id"]: item["entry"] for item in yaml.safe_load(manifest.read_text())}
    assert set(entries) == {"loopx-guard", "loopx-guard-message", "loopx-guard-push"}


def test_the_framework_runs_the_manifests_commands(tmp_path: Path, ledger_template: Path) -> None:
    """The same entries as a local repository: the framework itself runs them, without ours in the hooks folder."""
    pytest.importorskip("pre_commit")
    world = World(tmp_path / "world")
    shutil.copytree(ledger_template, world.remote)
    site = make(world, "main", "pre-commit", "other")
    uninstall(site.client().connection.repository)
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    for item in hooks:
        item["language"] = "system"
    config = {"repos": [{"repo": "local", "hooks": hooks}]}
    (site.clone.path / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    site.clone.git(*OFF, "commit", "-q", "-a", "-m", "framework")
    (site.clone.path / "src/a.py").write_text("x\n")
    done = site.sh("git commit -q -a -m work")
    assert done.returncode != 0
    assert "bob holds" in done.stdout + done.stderr
    site.quietly("g commit -q -a -m past")
    pushed = site.sh("git push -q origin HEAD:work")
    assert pushed.returncode != 0
    assert "bob holds" in pushed.stdout + pushed.stderr
    # The sentinel: without the framework both go through.
    site.quietly("g push -q origin HEAD:work")
