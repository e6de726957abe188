"""Whatever the user has configured, and wherever the repository lies: the commands work, and nothing of the user's
changes. Each case prepares a clone; one test body runs the whole life of a todo in it."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from clones import COORD, Clone, World, differences, fired, footprint, git, plant, populate, sentinel
from servers import git_daemon, http_backend

from loopx_git.client.client import Client

TOKEN = ("Authorization", "Bearer s3cret")
#: name -> what prepares the clone; the stack ends its servers.
CASES: dict[str, Callable[[World, ExitStack], Clone]] = {}


def case(prepare: Callable[[World, ExitStack], Clone]) -> Callable[[World, ExitStack], Clone]:
    CASES[prepare.__name__] = prepare
    return prepare


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as servers:
        yield servers


# -- settings of git


def configured(world: World, name: str, text: str) -> Clone:
    """A clone with these settings both in the user's global and in its own configuration."""
    clone = world.clone(name)
    world.configure(text, more=True)
    with (clone.path / ".git/config").open("a") as file:
        file.write(text)
    return clone


@case
def pull_by_rebase(world: World, _: ExitStack) -> Clone:
    return configured(world, "clone", "[pull]\n\trebase = true\n[branch]\n\tautoSetupRebase = always\n")


@case
def rerere(world: World, _: ExitStack) -> Clone:
    return configured(world, "clone", "[rerere]\n\tenabled = true\n\tautoUpdate = true\n")


@case
def push_default_nothing(world: World, _: ExitStack) -> Clone:
    return configured(world, "clone", "[push]\n\tdefault = nothing\n")


@case
def push_gpg_sign(world: World, _: ExitStack) -> Clone:
    return configured(world, "clone", "[push]\n\tgpgSign = true\n")


@case
def push_follow_tags(world: World, _: ExitStack) -> Clone:
    clone = configured(world, "clone", '[push]\n\tfollowTags = true\n[remote "origin"]\n\ttagOpt = --tags\n')
    clone.git("tag", "-a", "-m", "one", "v1")
    return clone


@case
def commit_signing_without_a_key(world: World, _: ExitStack) -> Clone:
    program = sentinel(world.root / "gpg")
    text = f'[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n[gpg]\n\tprogram = "{program}"\n'
    return configured(world, "clone", text)


@case
def everything_else_about_push_and_fetch(world: World, _: ExitStack) -> Clone:
    text = """\
[push]
	recurseSubmodules = on-demand
	negotiate = true
	autoSetupRemote = true
	useForceIfIncludes = true
[fetch]
	recurseSubmodules = true
	prune = true
	pruneTags = true
	fsckObjects = true
	writeCommitGraph = true
[submodule]
	recurse = true
[core]
	autocrlf = true
	safecrlf = true
	quotePath = true
	logAllRefUpdates = always
	precomposeUnicode = true
[gc]
	auto = 1
[maintenance]
	auto = true
[color]
	ui = always
[log]
	showSignature = true
[remote "origin"]
	mirror = true
	prune = true
	push = +refs/heads/*:refs/heads/*
"""
    return configured(world, "clone", text)


@case
def pagers_and_diff_programs(world: World, _: ExitStack) -> Clone:
    program = sentinel(world.root / "program", then="cat")
    return configured(
        world,
        "clone",
        f'[core]\n\tpager = "{program}"\n\teditor = "{program}"\n[diff]\n\texternal = "{program}"\n'
        f'[pager]\n\tlog = "{program}"\n\tconfig = "{program}"\n\tfetch = "{program}"\n\tpush = "{program}"\n',
    )


# -- hooks and programs that configuration names: none of them may run


HOOKS = (
    "pre-push", "pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-checkout", "post-merge",
    "post-index-change", "pre-auto-gc", "fsmonitor-watchman", "post-rewrite", "reference-transaction",
)  # fmt: skip


def hooks(folder: Path, then: str) -> None:
    for name in HOOKS:
        sentinel(folder / name, then=then)


def hooks_for_all(world: World, stack: ExitStack, then: str) -> Clone:
    """Hooks by the user's global core.hooksPath. A git that plays the server of a path would obey it as well, so
    the remote is behind a server of its own."""
    url = stack.enter_context(git_daemon(world.root))
    folder = world.root / "hooks"
    clone = configured(world, "clone", f'[core]\n\thooksPath = "{folder}"\n')
    clone.git("remote", "set-url", "origin", f"{url}remote.git")
    hooks(folder, then)
    return clone


@case
def failing_hooks(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    hooks(clone.path / ".git/hooks", "exit 1")
    return clone


@case
def hanging_hooks(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    hooks(clone.path / ".git/hooks", "sleep 600")
    return clone


@case
def failing_hooks_by_hooks_path(world: World, stack: ExitStack) -> Clone:
    return hooks_for_all(world, stack, "exit 1")


@case
def hanging_hooks_by_hooks_path(world: World, stack: ExitStack) -> Clone:
    return hooks_for_all(world, stack, "sleep 600")


@case
def tracked_hooks_path(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    hooks(clone.path / ".githooks", "exit 1")
    clone.config("core.hooksPath", ".githooks")
    return clone


@case
def template_with_hooks(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    hooks(world.root / "template/hooks", "exit 1")
    world.configure(f'[init]\n\ttemplateDir = "{world.root / "template"}"\n', more=True)
    return clone


@case
def fsmonitor(world: World, _: ExitStack) -> Clone:
    program = sentinel(world.root / "fsmonitor")
    return configured(world, "clone", f'[core]\n\tfsmonitor = "{program}"\n\tuntrackedCache = true\n')


@pytest.fixture(autouse=True)
def nothing_ran(tmp_path: Path) -> Iterator[None]:
    yield
    assert sorted(tmp_path.rglob("*.ran")) == []


def test_the_sentinels_would_fire(world: World) -> None:
    clone = world.clone("clone")
    hooks(world.root / "hooks", "exit 1")
    monitor = sentinel(world.root / "fsmonitor")
    clone.config("core.hooksPath", str(world.root / "hooks"))
    clone.config("core.fsmonitor", str(monitor))
    clone.git("status")
    clone.git("push", "origin", "HEAD:refs/heads/other", check=False)
    assert fired(monitor)
    assert fired(world.root / "hooks/pre-push")
    for path in world.root.rglob("*.ran"):
        path.unlink()


# -- states of the repository


@case
def dirty_tree_staged_changes_and_a_stash(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    clone.commit("other.py")
    (clone.path / "code.py").write_text("stashed\n")
    clone.git("stash")
    (clone.path / "code.py").write_text("changed\n")
    (clone.path / "new.py").write_text("new\n")
    clone.git("add", "new.py")
    (clone.path / "new.py").write_text("newer\n")
    (clone.path / "untracked.py").write_text("untracked\n")
    (clone.path / ".gitignore").write_text("*.log\n")
    (clone.path / "ignored.log").write_text("ignored\n")
    clone.git("rm", "-q", "--cached", "other.py")
    return clone


@case
def detached_head(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    clone.git("checkout", "-q", "--detach")
    return clone


@case
def unborn_branch(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    clone.git("checkout", "-q", "--orphan", "fresh")
    return clone


@case
def in_the_middle_of_a_conflict(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    clone.git("checkout", "-q", "-b", "side")
    clone.commit("code.py", "side\n")
    clone.git("checkout", "-q", "main")
    clone.commit("code.py", "main\n")
    clone.git("merge", "side", check=False)
    assert "UU code.py" in clone.git("status", "--short")
    return clone


# -- kinds of clones and where they lie


@case
def shallow_clone(world: World, _: ExitStack) -> Clone:
    first = world.clone("first")
    first.commit("second.py")
    first.git("push", "-q", "origin", "main")
    clone = world.clone("clone", "--depth=1", url=f"file://{world.remote}")
    assert (clone.path / ".git/shallow").exists()
    return clone


@case
def partial_clone(world: World, _: ExitStack) -> Clone:
    world.git("config", "uploadpack.allowFilter", "true", folder=world.remote)
    clone = world.clone("clone", "--filter=blob:none", "--no-checkout", url=f"file://{world.remote}")
    assert clone.git("config", "remote.origin.partialclonefilter") == "blob:none"
    return clone


@case
def linked_worktree(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    clone.git("worktree", "add", "-q", "../linked", "-b", "linked")
    return replace(clone, path=world.root / "linked")


@case
def sparse_index(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    clone.commit("deep/inside/file.py")
    clone.git("sparse-checkout", "set", "--cone", "--sparse-index", "none")
    return clone


@case
def bare_mirror(world: World, _: ExitStack) -> Clone:
    return world.clone("clone", "--mirror")


@case
def separate_git_directory(world: World, _: ExitStack) -> Clone:
    return world.clone("clone", f"--separate-git-dir={world.root / 'elsewhere.git'}")


@case
def submodule(world: World, _: ExitStack) -> Clone:
    above = world.repository("above")
    above.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(world.remote), "part")
    above.git("commit", "-q", "-m", "with a submodule")
    return above.at("part")


@case
def path_with_spaces_and_beyond_ascii(world: World, _: ExitStack) -> Clone:
    remote = world.root / "ein Ort/größe 日本.git"
    remote.parent.mkdir()
    shutil.move(world.remote, remote)
    world.remote.symlink_to(remote)
    return world.clone("mein Klön ☂", url=remote)


@case
def subfolder(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    clone.commit("deep/inside/file.py")
    return clone.at("deep/inside")


@case
def a_branch_and_a_tag_of_the_same_name(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    clone.git("branch", "HEAD2")
    clone.git("tag", "loopx/coord")
    clone.git("update-ref", "refs/tags/main", "HEAD")
    return replace(clone)


# -- remotes


@case
def relative_path_as_remote(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    clone.commit("deep/file.py")
    clone.git("remote", "set-url", "origin", "../remote.git")
    return clone.at("deep")


@case
def remote_of_another_name(world: World, _: ExitStack) -> Clone:
    return world.clone("clone", "--origin=upstream.one")


@case
def instead_of_in_the_local_configuration(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    clone.git("remote", "set-url", "origin", "work:remote.git")
    clone.config(f"url.{world.root}/.insteadOf", "work:")
    return clone


@case
def instead_of_in_the_global_configuration(world: World, _: ExitStack) -> Clone:
    world.configure(f'[url "file://{world.root}/"]\n\tinsteadOf = work:\n', more=True)
    return world.clone("clone", url="work:remote.git")


@case
def push_instead_of(world: World, stack: ExitStack) -> Clone:
    readable = stack.enter_context(git_daemon(world.root, writable=False))
    clone = world.clone("clone", url=f"{readable}remote.git")
    clone.config(f"url.{world.root}/.pushInsteadOf", readable)
    return clone


@case
def push_url(world: World, stack: ExitStack) -> Clone:
    readable = stack.enter_context(git_daemon(world.root, writable=False))
    clone = world.clone("clone", url=f"{readable}remote.git")
    clone.git("remote", "set-url", "--push", "origin", str(world.remote))
    return clone


@case
def credentials_in_the_local_configuration(world: World, stack: ExitStack) -> Clone:
    url = stack.enter_context(http_backend(world.root, require_header=TOKEN))
    clone = world.clone("clone")
    clone.git("remote", "set-url", "origin", f"{url}remote.git")
    clone.config("http.extraHeader", f"{TOKEN[0]}: {TOKEN[1]}")
    return clone


@case
def credentials_for_one_host_in_the_worktree_configuration(world: World, stack: ExitStack) -> Clone:
    url = stack.enter_context(http_backend(world.root, require_header=TOKEN))
    clone = world.clone("clone")
    clone.git("remote", "set-url", "origin", f"{url}remote.git")
    clone.config("extensions.worktreeConfig", "true")
    clone.config("--worktree", f"http.{url}.extraHeader", f"{TOKEN[0]}: {TOKEN[1]}")
    return clone


@case
def credentials_counted_in_the_environment(world: World, stack: ExitStack) -> Clone:
    url = stack.enter_context(http_backend(world.root, require_header=TOKEN))
    clone = world.clone("clone")
    clone.git("remote", "set-url", "origin", f"{url}remote.git")
    return clone.having(
        GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="http.extraHeader", GIT_CONFIG_VALUE_0=f"{TOKEN[0]}: {TOKEN[1]}"
    )


@case
def environment_of_a_hook(world: World, _: ExitStack) -> Clone:
    clone = world.clone("clone")
    index = clone.path / ".git/next-index-4711.lock"
    shutil.copy(clone.path / ".git/index", index)
    return clone.having(
        GIT_DIR=str(clone.path / ".git"), GIT_INDEX_FILE=str(index), GIT_PREFIX="", GIT_WORK_TREE=str(clone.path)
    )


@case
def language_c(world: World, _: ExitStack) -> Clone:
    return world.clone("clone").having(LC_ALL="C", LANG="C")


@case
def language_german(world: World, _: ExitStack) -> Clone:
    return world.clone("clone").having(LC_ALL="de_DE.UTF-8", LANGUAGE="de:en", LANG="de_DE.UTF-8")


# -- no remote at all


def alone(world: World) -> Clone:
    clone = world.repository("alone")
    clone.commit("code.py")
    return clone


@case
def no_remote(world: World, _: ExitStack) -> Clone:
    clone = alone(world)
    (clone.path / "code.py").write_text("staged\n")
    clone.git("add", "code.py")
    return clone


@case
def no_remote_and_failing_hooks(world: World, _: ExitStack) -> Clone:
    clone = alone(world)
    hooks(clone.path / ".git/hooks", "exit 1")
    return clone


@case
def no_remote_in_a_linked_worktree(world: World, _: ExitStack) -> Clone:
    clone = alone(world)
    clone.git("worktree", "add", "-q", "../linked", "-b", "linked")
    return replace(clone, path=world.root / "linked")


@case
def no_remote_and_no_commit(world: World, _: ExitStack) -> Clone:
    return world.repository("alone")


# -- and what happens in each of them


@pytest.mark.parametrize("name", CASES)
def test_the_life_of_a_todo_touches_nothing_of_the_user(world: World, stack: ExitStack, name: str) -> None:
    clone = CASES[name](world, stack)
    here = not clone.git("config", "--get-regexp", r"^remote\..*\.url$", check=False)
    before = footprint(clone, ledger_here=here)
    made = clone.run("init").json
    assert made["created"] is True
    began = footprint(clone, ledger_here=here)
    changed = {key for key in differences(before, began) if key not in ("status", "tree: .loopx/config.toml")}
    assert not changed, differences(before, began)
    if made["config"] == "written":
        assert "tree: .loopx/config.toml" in began
        assert len(set(began["status"]) ^ set(before["status"])) <= 1  # type: ignore[call-overload]

    [todo] = populate(clone, peers=["alice"], titles=["fix: the bug"])
    clone.run("todo", "claim", todo, agent="alice")
    Client(clone.path, clone.env, {"agent": "alice"}).todo.update(todo, status="in_progress", note="found it")
    done = clone.run("todo", "complete", todo, agent="alice").json
    assert (done["todo"]["status"], done["lease"]["epoch"], done["lease"]["ended"]) == ("completed", 1, "completed")
    assert Client(clone.path, clone.env).setup.sync()["tip"]
    assert differences(began, footprint(clone, ledger_here=here)) == {}
    place = clone.common_dir if here else world.remote
    assert [entry["op"] for entry in world.log(place)] == ["init", "peer", "add", "claim", "update", "complete"]
    refs = git(place, "for-each-ref", "--format=%(refname)", env=world.env).split("\n")
    assert [ref for ref in refs if "loopx" in ref] == [COORD]


# -- what takes a test of its own


def test_options_given_to_git_itself_reach_the_transport(world: World, tmp_path: Path) -> None:
    """`git -c http.extraHeader=... loopx ...`: git hands it on in a variable that must not be scrubbed unread."""
    folder = world.root / "bin"
    plant(folder / "git-loopx", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m loopx_git "$@"\n')
    with http_backend(world.root, require_header=TOKEN) as url:
        clone = world.clone("clone")
        clone = clone.having(PATH=f"{folder}:{clone.env['PATH']}")
        clone.git("remote", "set-url", "origin", f"{url}remote.git")
        before = footprint(clone)
        assert clone.run("init", check=14).error["hint"]
        assert differences(before, footprint(clone)) == {}
        clone.git("-c", f"http.extraHeader={TOKEN[0]}: {TOKEN[1]}", "loopx", "init")
    assert world.log()[0]["op"] == "init"


def test_from_inside_a_real_hook_of_a_linked_worktree(ledger: World) -> None:
    """The commit that runs the hook is a partial one: git works on an index of its own for it."""
    clone = ledger.clone("clone")
    [todo] = (clone.add("in a hook"),)
    clone.git("worktree", "add", "-q", "../linked", "-b", "linked")
    script = f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -m loopx_git --agent alice todo claim {todo} >&2\n"
    plant(clone.path / ".git/hooks/pre-commit", script)
    linked = replace(clone, path=ledger.root / "linked")
    (linked.path / "one.py").write_text("1\n")
    (linked.path / "two.py").write_text("2\n")
    linked.git("add", "one.py", "two.py")
    linked.git("commit", "-q", "-m", "only one", "one.py")
    assert linked.git("show", "--name-only", "--format=") == "one.py"
    assert linked.git("diff", "--cached", "--name-only") == "two.py"
    assert [entry["agent"] for entry in ledger.claims(todo)] == ["alice"]


def test_two_urls_of_one_remote_are_one_place(ledger: World) -> None:
    """git would push to both; a compare-and-swap has one place."""
    clone = ledger.clone("clone")
    ledger.git("init", "-q", "--bare", "second.git")
    clone.git("remote", "set-url", "--add", "origin", str(ledger.root / "second.git"))
    todo = clone.add("one place")
    clone.run("todo", "claim", todo, agent="alice")
    assert len(ledger.claims(todo)) == 1
    assert ledger.tip(ledger.root / "second.git") == ""


def test_tags_and_branches_of_the_user_stay_at_home(world: World) -> None:
    world.configure("[push]\n\tfollowTags = true\n", more=True)
    clone = world.clone("clone")
    clone.git("tag", "-a", "-m", "one", "v1")
    clone.git("branch", "private")
    clone.run("init")
    refs = world.git("for-each-ref", "--format=%(refname)", folder=world.remote).split("\n")
    assert refs == [COORD, "refs/heads/main"]


def test_every_worktree_sees_the_same_ledger(ledger: World) -> None:
    clone = ledger.clone("clone")
    todo = clone.add("shared")
    clone.run("todo", "claim", todo, agent="alice")
    clone.git("worktree", "add", "-q", "../linked", "-b", "linked")
    linked = replace(clone, path=ledger.root / "linked")
    refused = linked.run("todo", "claim", todo, agent="bob", check=11).error
    assert (refused["holder"], refused["epoch"]) == ("alice", 1)
    assert linked.home == clone.home


def test_a_coordination_branch_that_is_checked_out_is_not_moved(world: World) -> None:
    clone = alone(world)
    clone.run("init")
    clone.git("worktree", "add", "-q", "../coord", "loopx/coord")
    before, tip = footprint(clone, ledger_here=True), world.tip(clone.path)
    refused = clone.run("peer", "register", "alice", check=15).error
    assert str(world.root / "coord") in refused["worktree"]
    assert differences(before, footprint(clone, ledger_here=True)) == {}
    assert world.tip(clone.path) == tip
    assert not list((clone.home / "pending").glob("*"))
    clone.git("worktree", "remove", "../coord")
    clone.run("peer", "register", "alice")


def test_a_claim_under_a_wrong_clock_of_the_committer_still_works(ledger: World) -> None:
    """Dates that the user's environment pins are not a clock of ours."""
    clone = ledger.clone("clone").having(GIT_AUTHOR_DATE="@0 +0000", GIT_COMMITTER_DATE="@0 +0000")
    todo = clone.add("dated")
    clone.run("todo", "claim", todo, agent="alice")
    assert clone.verified()["ok"]
