"""Our own repositories are named to git, and are of one format, whatever the user has configured."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pygit2
import pytest
from clones import Clone, World

from loopx_git.store.environment import at, scrubbed
from loopx_git.store.objects import opened
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


# -- owners


def owned_by_another(clone: Clone) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to somebody else")
    for folder, folders, names in os.walk(clone.path):
        for name in (*folders, *names):
            os.chown(Path(folder, name), 12345, 12345, follow_symlinks=False)
    os.chown(clone.path, 12345, 12345)


@pytest.mark.parametrize("trusted", ["the folder", "everything", "what is below", "the command"])
@pytest.mark.parametrize("remote", [True, False])
def test_a_repository_of_another_owner_that_git_trusts(world: World, trusted: str, remote: bool) -> None:
    clone = world.clone("clone") if remote else world.repository("clone")
    owned_by_another(clone)
    refused = clone.run("init", check=16).error
    assert "dubious ownership" in refused["message"] and "safe.directory" in refused["hint"]
    value = {"everything": "*", "what is below": f"{world.root}/*"}.get(trusted, str(clone.path))
    if trusted == "the command":
        clone = clone.having(GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0=value)
    else:
        world.configure(f"[safe]\n\tdirectory = {value}\n", more=True)
    if clone.git("status", check=False) == "":
        pytest.skip("this git does not know this form")
    clone.run("init")
    clone.run("peer", "register", "alice")
    todo = clone.add("a todo")
    clone.run("todo", "claim", todo, agent="alice")
    assert clone.verified()["ok"]


def test_a_repository_that_git_does_not_trust_is_told_in_its_words(ledger: World) -> None:
    clone = ledger.clone("clone").having(GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
    for words in (["todo", "list"], ["doctor"], ["sync"]):
        assert "dubious ownership" in clone.run(*words, check=16).error["message"]


def test_the_setting_of_the_process_is_put_back(tmp_path: Path) -> None:
    pygit2.init_repository(str(tmp_path), bare=True)
    assert pygit2.settings.owner_validation
    opened(str(tmp_path))
    assert pygit2.settings.owner_validation
    with pytest.raises(pygit2.GitError):
        opened(str(tmp_path / "nowhere"))
    assert pygit2.settings.owner_validation
