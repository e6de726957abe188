"""The user's repository, read with git."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from clones import Clone, World

from loopx_git.errors import InvalidState
from loopx_git.store.repository import Repository, open_repository


@pytest.fixture
def clone(world: World) -> Clone:
    return world.clone("clone")


@pytest.fixture
def repository(clone: Clone) -> Repository:
    return open_repository(str(clone.path), clone.env)


def test_a_command_runs_where_the_caller_stands_or_at_the_top(clone: Clone) -> None:
    below = clone.path / "below"
    below.mkdir()
    repository = open_repository(str(below), clone.env)
    assert repository.git(["rev-parse", "--show-prefix"]).text == "below/\n"
    assert repository.git(["rev-parse", "--show-prefix"], at_top=True).text == "\n"


def test_the_version_of_git_is_asked_for_once(repository: Repository) -> None:
    assert repository.git_release >= (2, 31)
    assert f"{repository.git_release[0]}.{repository.git_release[1]}" in repository.git_version


def test_a_name_is_resolved_to_its_commit(clone: Clone, repository: Repository) -> None:
    assert repository.resolve("HEAD") == clone.git("rev-parse", "HEAD")
    assert repository.resolve("nothing") is None


def test_a_file_is_read_at_a_commit_and_not_from_the_work_tree(clone: Clone, repository: Repository) -> None:
    clone.commit("docs/page.md", "as committed\n")
    (clone.path / "docs/page.md").write_text("as edited\n")
    assert repository.file_at("HEAD", "docs/page.md") == b"as committed\n"


def test_only_a_plain_file_of_a_commit_is_read(clone: Clone, repository: Repository) -> None:
    clone.commit("docs/page.md", "text\n")
    os.symlink(Path("docs") / "page.md", clone.path / "link")
    clone.git("add", "link")
    clone.git("commit", "-q", "-m", "a link")
    assert [repository.file_at("HEAD", path) for path in ("link", "docs", "absent")] == [None, None, None]


def test_a_large_file_and_a_commit_that_is_not_here_are_refused(clone: Clone, repository: Repository) -> None:
    clone.commit("page.md", "text\n")
    assert repository.file_at("HEAD", "page.md", limit=5) == b"text\n"
    with pytest.raises(InvalidState, match=r"page\.md of HEAD cannot be read or is too large"):
        repository.file_at("HEAD", "page.md", limit=4)
    with pytest.raises(InvalidState, match="cannot be read"):
        repository.file_at("1" * 40, "page.md")
