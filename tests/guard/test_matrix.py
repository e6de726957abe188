"""Every operation of git against every state of a claim, on real git; the expectation is what docs/guard.md prints.

A site is one repository for (place, hooks, claim); a test runs its operations in it, each on a branch from the same
base. `make test` has all operations x claims in a plain main worktree, and of the rest every pair; the soak has all.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
import shutil
from pathlib import Path

import pytest
from clones import World
from guard_operations import CLAIMS, HOOKINGS, OPERATIONS, PLACES, Operation, expected
from guard_scripts import SCRIPTS
from sites import Site, make

from loopx_git.guard import push, refresh

Combination = tuple[str, str, str]
PLAIN: dict[Combination, list[str]] = {("main", "plain", claim): list(SCRIPTS) for claim in CLAIMS}


def pairs() -> dict[Combination, list[str]]:
    """For every (hooks, claim) beyond plain a site, its place going round: each kind of hooks sees every operation,
    and so does each place. And plain hooks in the other places."""
    dealt: dict[Combination, list[str]] = {
        ("linked", "plain", "own"): ["commit path", "partial staging"],
        ("submodule", "plain", "other"): ["commit", "commit -n"],
    }
    for row, hooking in enumerate(HOOKINGS[1:]):
        for column, claim in enumerate(CLAIMS):
            dealt[PLACES[(row + column) % len(PLACES)], hooking, claim] = list(SCRIPTS)[column :: len(CLAIMS)]
    return dealt


ALL = {item: list(SCRIPTS) for item in itertools.product(PLACES, HOOKINGS, CLAIMS)}


def test_the_data_and_the_scripts_are_of_the_same_operations() -> None:
    assert list(SCRIPTS) == [operation.name for operation in OPERATIONS]


def test_every_pair_is_run_and_not_more_than_150_times() -> None:
    runs = [
        (name, *combination) for part in (PLAIN, pairs()) for combination, names in part.items() for name in names
    ]
    kinds = (list(SCRIPTS), PLACES, HOOKINGS, list(CLAIMS))
    for one, two in itertools.combinations(range(4), 2):
        wanted = set(itertools.product(kinds[one], kinds[two]))
        assert wanted <= {(run[one], run[two]) for run in runs}, (one, two)
    assert len(runs) <= 150


def run(site: Site, operation: Operation, claim: str) -> str | None:
    """What went otherwise than expected, or None."""
    prepare, act = SCRIPTS[operation.name]
    site.reset()
    site.quietly(prepare)
    git, wanted = site.clone.git, expected(operation, claim)
    before = git("rev-parse", "HEAD")
    done = site.sh(act)
    said = f"{operation.name}: exit {done.returncode}: {done.stdout}{done.stderr}"
    if wanted.local == "refused":
        held = done.returncode != 0 and git("rev-parse", "HEAD") == before
        return None if held and "loopx guard: denied" in done.stdout + done.stderr else f"not refused: {said}"
    if done.returncode != 0:
        return f"did not pass: {said}"
    if operation.commits and git("rev-parse", "HEAD") == before:
        return f"made no commit: {said}"
    message = git("log", "-1", "--format=%(trailers:key=Loopx-Claim,valueonly)|%(trailers:key=Loopx-Guard,valueonly)")
    named = message.replace("\n", "")
    fits = {"trailer": f"{site.todo}@1|", "marked": "|unseen", "plain": "|"}[wanted.local]
    if operation.commits and named != fits:
        return f"the message says {named!r} and not {fits!r}: {said}"
    return _after(site, operation, wanted.push)


def _after(site: Site, operation: Operation, wanted: str) -> str | None:
    git = site.clone.git
    if operation.name == "commit path" and git("diff", "--cached", "--name-only") != "docs/d.md":
        return "a partial commit did not keep the rest staged"
    if operation.name == "partial staging" and not git("diff", "--name-only"):
        return "the unstaged work is gone"
    if wanted == "nothing":
        return None
    # The commit is looked at alone: what it builds on was prepared without hooks.
    selection = [git("rev-parse", "HEAD"), *(f"^{parent}" for parent in git("log", "-1", "--format=%P").split())]
    client = site.client()
    effect = push.judge_selection(client, refresh.context(client), selection, "push").effect
    return (
        None if effect == {"passes": "allowed", "refused": "denied"}[wanted] else f"{operation.name}: push {effect}"
    )


def check(tmp_path: Path, template: Path, combination: Combination, names: list[str]) -> None:
    place, hooking, claim = combination
    if hooking == "pre-commit" and importlib.util.find_spec("pre_commit") is None:
        pytest.skip("the pre-commit framework is not installed")
    world = World(tmp_path / "world")
    shutil.copytree(template, world.remote)
    site = make(world, place, hooking, claim)
    by_name = {operation.name: operation for operation in OPERATIONS}
    wrong = [fault for name in names if (fault := run(site, by_name[name], claim))]
    assert not wrong, "\n\n".join(wrong)
    git = site.clone.git
    assert git("config", "--get", "core.bare") == "false" if place != "linked" else True
    assert not re.search("error|missing|corrupt", git("fsck", "--no-dangling"))


def ident(combination: Combination) -> str:
    return "-".join(combination).replace(" ", "_")


@pytest.mark.parametrize("combination", PLAIN, ids=ident)
def test_every_operation_in_a_plain_worktree(tmp_path: Path, ledger_template: Path, combination: Combination) -> None:
    check(tmp_path, ledger_template, combination, PLAIN[combination])


@pytest.mark.parametrize("combination", pairs(), ids=ident)
def test_every_pair(tmp_path: Path, ledger_template: Path, combination: Combination) -> None:
    check(tmp_path, ledger_template, combination, pairs()[combination])


@pytest.mark.soak
@pytest.mark.parametrize("combination", ALL, ids=ident)
def test_everything(tmp_path: Path, ledger_template: Path, combination: Combination) -> None:
    check(tmp_path, ledger_template, combination, ALL[combination])


def test_without_the_hooks_everything_passes(tmp_path: Path, ledger_template: Path) -> None:
    """The sentinel: each operation that is refused above goes through once the hooks are taken away."""
    from loopx_git.guard.install import uninstall

    world = World(tmp_path / "world")
    shutil.copytree(ledger_template, world.remote)
    site = make(world, claim="none")
    uninstall(site.client().connection.repository)
    for operation in OPERATIONS:
        if expected(operation, "none").local in ("refused", "marked"):
            assert run(site, operation, "none") is not None, operation.name
