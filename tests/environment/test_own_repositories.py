"""Our own repositories are named to git, and are of one format, whatever the user has configured."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pygit2
import pytest
from clones import COORD, Clone, World, differences, footprint

from loopx_git.cli.demo import stage
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


# -- formats

OTHER_FORMATS = {"GIT_DEFAULT_HASH": "sha256", "GIT_DEFAULT_REF_FORMAT": "reftable"}


@pytest.fixture(params=["variables", "configuration"])
def other_formats(request: pytest.FixtureRequest, ledger: World) -> dict[str, str]:
    """A user whose new repositories are of another format; what the variables are."""
    if request.param == "variables":
        return OTHER_FORMATS
    ledger.configure("[init]\n\tdefaultObjectFormat = sha256\n\tdefaultRefFormat = reftable\n", more=True)
    return {}


def test_the_life_of_a_todo_under_other_formats(ledger: World, other_formats: dict[str, str]) -> None:
    clone = ledger.clone("clone").having(**other_formats)
    todo = clone.add("a todo")
    clone.run("todo", "claim", todo, agent="alice")
    clone.commit("a.py")
    clone.run("land", "--todo-id", todo, agent="alice")
    assert ledger.log()[-1]["op"] == "complete"


def test_review_check_says_the_same_under_other_formats(ledger: World, other_formats: dict[str, str]) -> None:
    """A merge is made again in a repository of its own, to tell what was settled by hand in it."""
    plain = ledger.clone("clone")
    clone = plain.having(**other_formats)
    todo = clone.add("a todo", "--scope", "a.py")
    clone.run("todo", "claim", todo, agent="alice")
    plain.commit("a.py", "1\n2\n3\n", message=f"work\n\nLoopx-Claim: {todo}@1")
    assert clone.run("review", "check", "--base", "origin/main").json["ok"] is True
    plain.git("checkout", "-q", "-b", "side", "origin/main")
    plain.commit("b.py", message=f"side\n\nLoopx-Claim: {todo}@1")
    found = clone.run("review", "check", "--base", "origin/main", check=19).json
    assert [item["file"] for item in found["findings"]] == ["b.py"]
    plain.git("checkout", "-q", "main")
    plain.git("merge", "-q", "--no-ff", "--no-commit", "side")
    # As it is on the side: only who makes the merge again sees that a person did this.
    plain.git("rm", "-q", "-f", "a.py")
    plain.git("commit", "-q", "-m", "merge")
    found = clone.run("review", "check", "--base", "origin/main", check=19).json
    assert [item["file"] for item in found["findings"]] == ["b.py", "a.py"]


def test_signing_under_other_formats(ledger: World, other_formats: dict[str, str]) -> None:
    clone = ledger.clone("clone").having(**other_formats)
    key = ledger.root / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    for name, value in (("gpg.format", "ssh"), ("user.signingKey", str(key)), ("loopx.sign", "true")):
        clone.config(name, value)
    clone.add("signed")
    assert "gpgsig" in ledger.git("cat-file", "commit", COORD, folder=ledger.remote)


def test_the_demo_makes_its_own_repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alice: Clone) -> None:
    """Called in a hook, with the variables of a repository that is not its own."""
    for name, value in {**OTHER_FORMATS, "GIT_DIR": str(alice.git_dir), "GIT_WORK_TREE": str(alice.path)}.items():
        monkeypatch.setenv(name, value)
    before = footprint(alice)
    monkeypatch.setattr(stage, "AGENTS", 1)
    monkeypatch.setattr(stage, "PLAN", stage.PLAN[:1])
    said: list[str] = []
    stage.Stage(str(tmp_path), said.append).set_up()
    assert said == ["1 clones of one bare remote, 1 todos, 0 dependencies"]
    config = (tmp_path / "remote.git/config").read_text()
    assert "sha256" not in config and "reftable" not in config
    assert differences(before, footprint(alice)) == {}


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
