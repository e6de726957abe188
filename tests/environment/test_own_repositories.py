"""Our own repositories are named to git, and are of one format, whatever the user has configured."""

from __future__ import annotations

import subprocess
from pathlib import Path

from clones import Clone, World

from loopx_git.store.environment import at, scrubbed
from loopx_git.store.process import git


def test_bare_repositories_that_are_not_named_may_be_forbidden(ledger: World, alice: Clone) -> None:
    ledger.configure("[safe]\n\tbareRepository = explicit\n", more=True)
    assert alice.add("a todo")
    alice.run("sync")
    assert alice.verified()["ok"]


def test_a_damaged_coord_git_is_never_mistaken_for_the_users_repository(alice: Clone) -> None:
    alice.run("sync")
    before = alice.git("for-each-ref")
    (alice.home / "coord.git/HEAD").write_text("")
    refused = subprocess.run(
        ["git", "fetch", "--quiet", ".", "+HEAD:refs/loopx/fetched"],
        cwd=alice.home / "coord.git", env=at(str(alice.home / "coord.git"), alice.env), capture_output=True,
    )  # fmt: skip
    assert refused.returncode == 128
    alice.add("x")
    assert [path.name for path in alice.home.glob("coord.git.broken-*/HEAD")] == ["HEAD"]
    assert alice.git("for-each-ref") == before


def test_what_we_make_has_one_format(tmp_path: Path) -> None:
    env = scrubbed({"PATH": "/usr/bin:/bin", "GIT_DEFAULT_HASH": "sha256", "GIT_DEFAULT_REF_FORMAT": "reftable"})
    assert env["GIT_DEFAULT_REF_FORMAT"] == "files"
    path = str(tmp_path / "made.git")
    assert git(["init", "--quiet", "--bare", path], cwd=str(tmp_path), env=env, timeout=30).code == 0
    shown = git(["rev-parse", "--show-object-format"], cwd=path, env=at(path, env), timeout=30)
    assert shown.text == "sha1\n"
