"""Where coordination lives: a clone that would coordinate somewhere else says so, writes nothing, and names the
command that settles it. The tests type that command."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from clones import COORD, PROGRAM, Clone, World, differences, fired, footprint, git, sentinel
from servers import git_daemon, http_backend

Server = Callable[[Path], AbstractContextManager[str]]


def commands(hint: str) -> list[list[str]]:
    """The commands that a hint names, in its order."""
    found = re.findall(r"\bgit (?:config|remote|loopx|init|checkout) .*?(?=   |, or|; |$)", f"{hint} ".strip())
    return [shlex.split(line) for line in found]


def type_(clone: Clone, command: list[str]) -> None:
    if command[:2] == ["git", "loopx"]:
        clone.run(*command[2:])
    else:
        clone.git(*command[1:])


def refused(world: World, clone: Clone, *args: str, code: int, agent: str | None = None) -> Any:
    """The error of a command that must be refused and change nothing, here or on the remote."""
    before, tip = footprint(clone), refs(world)
    error = clone.run(*args, check=code, agent=agent).error
    assert error["hint"]
    assert differences(before, footprint(clone)) == {}
    assert refs(world) == tip
    return error


def refs(world: World) -> dict[str, str]:
    """The refs of every bare repository in the world."""
    found = {}
    for path in sorted(world.root.rglob("*.git")):
        if (path / "objects").is_dir() and ".git/loopx" not in str(path):
            found[str(path)] = git(path, "for-each-ref", env=world.env)
    return found


# -- another remote than before


def hosted(tmp_path: Path, url: str, world: World) -> tuple[World, str]:
    """A ledger begun over a network URL at owner/repo, and a full copy of it at fork/repo."""
    owner = world.root / "owner/repo.git"
    owner.parent.mkdir()
    shutil.move(world.remote, owner)
    world.remote = owner
    first = world.clone("first", url=f"{url}owner/repo.git")
    first.run("init")
    first.run("peer", "register", "alice")
    first.commit(".loopx/config.toml", (first.path / ".loopx/config.toml").read_text(), "coordinate")
    first.git("push", "-q", "origin", "main")
    assert 'home = "127.0.0.1/owner/repo"' in (first.path / ".loopx/config.toml").read_text()
    shutil.copytree(world.root / "owner", world.root / "fork")
    # The hint names the host by https; the tests' server has a port and no certificate.
    world.configure(f'[url "{url}"]\n\tinsteadOf = https://127.0.0.1/\n', more=True)
    return world, url


@pytest.mark.parametrize("server", [git_daemon, http_backend])
def test_a_fork_as_origin(world: World, tmp_path: Path, server: Server) -> None:
    with server(world.root) as url:
        world, url = hosted(tmp_path, url, world)
        clone = world.clone("clone", url=f"{url}fork/repo.git")
        error = refused(world, clone, "todo", "add", "x", code=16)
        assert error["home"] == "127.0.0.1/owner/repo"
        assert "127.0.0.1/fork/repo" in error["message"]
        for args in (["init"], ["todo", "list"], ["verify"]):
            assert refused(world, clone, *args, code=16)["home"] == "127.0.0.1/owner/repo"
        for command in commands(error["hint"]):
            type_(clone, command)
        clone.add("x")
        assert world.log()[-1]["op"] == "add"
        assert world.log(world.root / "fork/repo.git")[-1]["op"] == "peer"


def test_a_fork_as_origin_with_its_upstream_configured(world: World, tmp_path: Path) -> None:
    with http_backend(world.root) as url:
        world, url = hosted(tmp_path, url, world)
        clone = world.clone("clone", url=f"{url}fork/repo.git")
        clone.git("remote", "add", "mother", f"{url}owner/repo")
        error = refused(world, clone, "todo", "add", "x", code=16)
        assert commands(error["hint"]) == [["git", "config", "loopx.remote", "mother"]]
        type_(clone, commands(error["hint"])[0])
        clone.add("x")
        assert world.log()[-1]["op"] == "add"


def test_origin_set_to_a_fork_after_the_first_success(world: World, tmp_path: Path) -> None:
    with http_backend(world.root) as url:
        world, url = hosted(tmp_path, url, world)
        clone = world.clone("clone", url=f"{url}owner/repo.git")
        clone.add("here")
        # Another branch may lack the file: the clone's own memory is what holds.
        clone.git("rm", "-q", ".loopx/config.toml")
        clone.git("remote", "set-url", "origin", f"{url}fork/repo.git")
        error = refused(world, clone, "todo", "add", "there", code=16)
        type_(clone, commands(error["hint"])[0])
        type_(clone, commands(error["hint"])[1])
        clone.add("here again")
        assert [entry["op"] for entry in world.log()][-2:] == ["add", "add"]


def test_a_path_that_became_another_copy(ledger: World) -> None:
    clone = ledger.clone("clone")
    clone.add("here")
    ledger.git("clone", "-q", "--mirror", str(ledger.remote), "copy.git")
    clone.git("remote", "set-url", "origin", "../copy.git")
    error = refused(ledger, clone, "todo", "add", "there", code=16)
    assert str(ledger.remote) in error["message"]
    for command in commands(error["hint"])[:2]:
        type_(clone, command)
    clone.add("here again")
    assert len(ledger.log()) > len(ledger.log(ledger.root / "copy.git"))


def test_a_copy_whose_move_is_settled_is_warned_of_once(ledger: World) -> None:
    """Who says that the remote has moved, while it is where it was, is told so; and there is no silent way back."""
    clone = ledger.clone("clone")
    clone.add("here")
    copy = ledger.root / "copy.git"
    shutil.copytree(ledger.remote, copy)
    clone.git("remote", "set-url", "origin", str(copy))
    error = refused(ledger, clone, "todo", "add", "there", code=16)
    assert "one is a copy of the other" in error["message"]
    type_(clone, commands(error["hint"])[-1])
    done = clone.run("todo", "add", "there")
    assert f"{copy} is a copy of {ledger.remote}" in done.err
    assert clone.run("todo", "add", "there again").err == ""
    clone.git("remote", "set-url", "origin", str(ledger.remote))
    clone.config("--unset", "loopx.home")
    assert str(copy) in refused(ledger, clone, "todo", "add", "back", code=16)["message"]


def test_a_link_that_was_set_to_a_copy(ledger: World) -> None:
    """The address is the same; the folder is not."""
    link = ledger.root / "link.git"
    link.symlink_to(ledger.remote)
    clone = ledger.clone("clone", url=link)
    clone.add("here")
    shutil.copytree(ledger.remote, ledger.root / "copy.git")
    link.unlink()
    link.symlink_to(ledger.root / "copy.git")
    for words in (["todo", "add", "there"], ["todo", "list"], ["init"]):
        assert "one is a copy of the other" in refused(ledger, clone, *words, code=16)["message"]


def test_a_copy_in_the_place_of_the_original(ledger: World) -> None:
    """Whoever finds the original under another path is refused; the copy lacks what was done since it was made."""
    clone, other = ledger.clone("clone"), ledger.clone("other")
    shutil.copytree(ledger.remote, ledger.root / "copy.git")
    todo = clone.add("here")
    ledger.remote.rename(ledger.root / "original.git")
    (ledger.root / "copy.git").rename(ledger.remote)
    clone.run("todo", "claim", todo, agent="alice", check=14)
    other.run("todo", "list")
    other.git("remote", "set-url", "origin", str(ledger.root / "original.git"))
    assert "one is a copy of the other" in refused(ledger, other, "todo", "add", "x", code=16)["message"]


def test_a_remote_that_has_moved(ledger: World) -> None:
    clone = ledger.clone("clone")
    clone.add("before")
    ledger.remote = ledger.remote.rename(ledger.root / "moved.git")
    clone.git("remote", "set-url", "origin", str(ledger.remote))
    error = refused(ledger, clone, "todo", "add", "after", code=16)
    assert commands(error["hint"])[-1] == ["git", "config", "loopx.home", str(ledger.remote)]
    type_(clone, commands(error["hint"])[-1])
    assert "copy" not in clone.run("todo", "add", "after").err
    assert [entry["op"] for entry in ledger.log()][-2:] == ["add", "add"]
    # What it was settled with is not needed any more.
    clone.config("--unset", "loopx.home")
    clone.add("later")


def test_another_spelling_of_the_same_url_is_the_same_place(world: World, tmp_path: Path) -> None:
    with http_backend(world.root) as url:
        world, url = hosted(tmp_path, url, world)
        clone = world.clone("clone", url=f"{url}owner/repo.git")
        clone.add("one")
        for spelt in ("https://127.0.0.1/owner/repo", f"{url}owner/repo/", url.replace("//", "//me@") + "owner/repo"):
            clone.git("remote", "set-url", "origin", spelt)
            clone.add(spelt)


def test_an_old_branch_without_the_file(world: World) -> None:
    """config.toml named a remote and a ref that are not the defaults."""
    clone = world.clone("clone", "--origin=hub")
    world.git("init", "-q", "--bare", "fork.git")
    clone.git("remote", "add", "origin", str(world.root / "fork.git"))
    clone.git("branch", "old")
    clone.run("init", "--remote", "hub", "--ref", "refs/heads/other/coord")
    clone.commit(".loopx/config.toml", (clone.path / ".loopx/config.toml").read_text())
    clone.run("peer", "register", "alice")
    clone.git("checkout", "-q", "old")
    assert not (clone.path / ".loopx").exists()
    typed = []
    while (done := clone.run("peer", "register", "bob", check=(0, 16))).code:
        refused(world, clone, "init", code=16)
        refused(world, clone, "todo", "list", code=16)
        command = commands(done.error["hint"])[0]
        type_(clone, command)
        typed.append(command[1:])
        assert len(typed) < 4
    assert sorted(typed) == [["config", "loopx.ref", "refs/heads/other/coord"], ["config", "loopx.remote", "hub"]]
    assert [entry["op"] for entry in world.log(ref="refs/heads/other/coord")] == ["init", "peer", "peer"]
    assert refs(world)[str(world.root / "fork.git")] == ""


# -- a remote that comes or goes


def local_ledger(world: World) -> Clone:
    clone = world.repository("alone")
    clone.commit("code.py")
    clone.run("init")
    clone.run("peer", "register", "alice")
    return clone


@pytest.mark.parametrize("how", ["by default", "an old branch without the file", "--remote", "LOOPX_REMOTE"])
def test_a_remote_added_later_to_a_local_ledger(world: World, how: str) -> None:
    clone = local_ledger(world)
    clone.git("remote", "add", "origin", str(world.remote))
    options = ["--remote", "origin"] if how == "--remote" else []
    if how == "LOOPX_REMOTE":
        clone = clone.having(LOOPX_REMOTE="origin")
    if how == "an old branch without the file":
        shutil.rmtree(clone.path / ".loopx")
    tip = world.tip(clone.path)
    error = refused(world, clone, *options, "todo", "add", "x", code=16)
    refused(world, clone, *options, "init", code=16)
    refused(world, clone, *options, "todo", "list", code=16)
    assert world.tip(clone.path) == tip
    stay = commands(error["hint"])[0]
    assert stay == ["git", "config", "loopx.remote", "."]
    type_(clone, stay)
    # What is typed for one command, or set for a session, beats the configuration: it has to go as well.
    clone = Clone(clone.path, {key: value for key, value in clone.env.items() if key != "LOOPX_REMOTE"})
    clone.add("x")
    assert world.log(clone.path)[-1]["op"] == "add"
    assert world.tip() == ""


def test_a_local_ledger_that_moves_to_a_remote(world: World) -> None:
    """The other way out that the hint names."""
    clone = local_ledger(world)
    todo = clone.add("before")
    clone.run("todo", "claim", todo, agent="alice")
    tip = world.tip(clone.path)
    clone.git("remote", "add", "origin", str(world.remote))
    error = refused(world, clone, "todo", "add", "x", code=16)
    move = commands(error["hint"])[1]
    assert move == ["git", "loopx", "sync", "--publish"]
    type_(clone, move)
    assert world.tip() == tip
    assert clone.run("todo", "claim", todo, agent="alice").json["acquired"] is False
    clone.add("after")
    assert world.log()[-1]["op"] == "add"
    assert world.tip(clone.path) == tip
    # The former place is not a ledger any more, and another clone joins the new one.
    refused(world, clone, "--remote", ".", "todo", "add", "x", code=16)
    other = world.clone("other")
    assert other.run("init").json["created"] is False
    assert other.run("todo", "claim", todo, agent="alice", check=11).error["holder"] == "alice"


def test_a_clone_of_a_repository_that_coordinates_alone(world: World) -> None:
    """Its config.toml names no remote: in the clone, coordination is at the clone's origin, where it always was."""
    alone = local_ledger(world)
    alone.commit(".loopx/config.toml", (alone.path / ".loopx/config.toml").read_text())
    todo = alone.add("shared")
    clone = world.clone("clone", url=alone.path)
    clone.run("todo", "claim", todo, agent="alice")
    assert alone.run("todo", "claim", todo, agent="alice", check=11).error["holder"] == "alice"
    assert [entry["op"] for entry in world.log(alone.path)] == ["init", "peer", "add", "claim"]


@pytest.mark.parametrize("file", [True, False])
def test_a_remote_that_was_removed(ledger: World, file: bool) -> None:
    clone = ledger.clone("clone")
    clone.add("before")
    clone.git("remote", "remove", "origin")
    if not file:
        shutil.rmtree(clone.path / ".loopx")
    error = refused(ledger, clone, "todo", "add", "x", code=2 if file else 16)
    refused(ledger, clone, "init", code=2 if file else 16)
    [command] = commands(error["hint"])
    type_(clone, [part if part != "URL" else str(ledger.remote) for part in command])
    assert clone.git("remote") == "origin"
    clone.add("after")
    assert [entry["op"] for entry in ledger.log()][-2:] == ["add", "add"]
    assert ledger.tip(clone.path) == ""


# -- the wrong ledger, or none


@pytest.mark.parametrize("known", ["by this clone", "by config.toml only"])
def test_a_pinned_ledger_whose_ref_is_absent_is_not_empty(ledger: World, known: str) -> None:
    clone = ledger.clone("clone")
    if known == "by this clone":
        clone.add("before")
        shutil.rmtree(clone.path / ".loopx")
    tip = ledger.tip()
    ledger.git("update-ref", "-d", COORD, folder=ledger.remote)
    for args in (["init"], ["todo", "list", "--fresh"], ["todo", "add", "x"]):
        error = refused(ledger, clone, *args, code=16)
        assert "gone" in error["message"]
    # `sync` would lead back here; the settings tell where coordination is looked for.
    assert commands(error["hint"]) == [["git", "loopx", "config", "show"]]
    ledger.git("update-ref", COORD, tip, folder=ledger.remote)
    clone.run("sync")
    clone.add("after")


def test_a_clone_that_knows_no_ledger_is_told_to_begin_one(world: World) -> None:
    clone = world.clone("clone")
    for args in (["todo", "add", "x"], ["todo", "list"], ["verify"]):
        error = refused(world, clone, *args, code=10)
        assert commands(error["hint"]) == [["git", "loopx", "init"]]
    clone.run("init")
    clone.add("x")


def other_ledger(world: World) -> tuple[Path, str]:
    """A bare remote with a ledger of its own, and its root."""
    world.git("clone", "-q", "--bare", str(world.remote), "other.git")
    world.git("update-ref", "-d", COORD, folder=world.root / "other.git")
    clone = world.clone("for-the-other", url=world.root / "other.git")
    shutil.rmtree(clone.path / ".loopx")
    root = clone.run("init").json["ledger"]
    return world.root / "other.git", root


def test_another_ledger_than_config_toml_pins(ledger: World) -> None:
    other, root = other_ledger(ledger)
    clone = ledger.clone("clone", url=other)
    pinned = ledger.log()[0]["commit"]
    for args in (["init"], ["todo", "list"], ["todo", "add", "x"]):
        error = refused(ledger, clone, *args, code=16)
        assert (error["root"], error["ledger"]) == (root, pinned)
    clone.git("remote", "add", "right", str(ledger.remote))
    assert ["git", "config", "loopx.remote", "NAME"] in commands(error["hint"])
    clone.config("loopx.remote", "right")
    clone.add("x")
    assert ledger.log()[-1]["op"] == "add"


def test_a_config_toml_that_names_another_ledger_than_this_clone_belongs_to(ledger: World) -> None:
    clone = ledger.clone("clone")
    clone.add("before")
    path = clone.path / ".loopx/config.toml"
    right = path.read_text()
    path.write_text(re.sub('ledger = ".*"', f'ledger = "{"1" * 40}"', right))
    refused(ledger, clone, "todo", "add", "x", code=16)
    refused(ledger, clone, "init", code=16)
    path.write_text(right)
    clone.add("after")


def test_another_ledger_put_in_the_place_of_the_one_that_was_there(ledger: World) -> None:
    clone = ledger.clone("clone")
    clone.add("before")
    shutil.rmtree(clone.path / ".loopx")
    tip = ledger.tip()
    other, _ = other_ledger(ledger)
    shutil.rmtree(ledger.remote)
    other.rename(ledger.remote)
    error = refused(ledger, clone, "todo", "add", "x", code=16)
    assert (error["last_tip"], error["tip"]) == (tip, ledger.tip())
    refused(ledger, clone, "init", code=16)


# -- what would execute something


@pytest.mark.parametrize("how", ["url", "pushurl", "insteadOf", "pushInsteadOf", "vcs"])
def test_a_remote_helper_that_runs_commands_is_not_run(ledger: World, how: str) -> None:
    clone = ledger.clone("clone")
    program = sentinel(ledger.root / "program")
    helper = f"ext::{program} x"
    clone.config("protocol.ext.allow", "always")
    code = 16
    if how == "url":
        clone.git("remote", "set-url", "origin", helper)
    elif how == "pushurl":
        clone.git("remote", "set-url", "--push", "origin", helper)
    elif how == "vcs":
        clone.config("remote.origin.vcs", "ext")
        clone.git("remote", "set-url", "origin", f"{program} x")
    else:
        clone.config(f"url.{helper}.{how}", str(ledger.remote))
    for args in (["todo", "add", "x"], ["init"]):
        error = refused(ledger, clone, *args, code=code)
        assert not fired(program)
    # The defence is ours: git itself would run it.
    clone.git("push", "origin", "HEAD:refs/heads/other", check=False)
    assert fired(program)
    if how in ("url", "pushurl"):
        assert ["git", "remote", "set-url", "origin", "URL"] in commands(error["hint"])
        clone.config("--unset-all", f"remote.origin.{how}")
        clone.config("remote.origin.url", str(ledger.remote))
        clone.add("x")


@pytest.mark.parametrize("how", ["flag", "environment", "git config", "config.toml"])
def test_an_option_as_name_of_a_remote(ledger: World, how: str) -> None:
    clone = ledger.clone("clone")
    program = sentinel(ledger.root / "program")
    name = f"--upload-pack={program}"
    run = clone
    options: list[str] = []
    if how == "flag":
        options = [f"--remote={name}"]
    elif how == "environment":
        run = clone.having(LOOPX_REMOTE=name)
    elif how == "git config":
        clone.config("loopx.remote", name)
    else:
        path = clone.path / ".loopx/config.toml"
        path.write_text(path.read_text().replace('"origin"', f'"{name}"'))
    # Even one that is configured under that name is not a name to hand to git.
    with (clone.path / ".git/config").open("a") as file:
        file.write(f'[remote "{name}"]\n\turl = {ledger.remote}\n')
    for args in (["todo", "add", "x"], ["init"], ["todo", "list"]):
        error = refused(ledger, run, *options, *args, code=2)
        assert error["hint"] == "git remote -v"
    assert not fired(program)
    (clone.path / ".git/config").write_text((clone.path / ".git/config").read_text().replace(f"remote = {name}", ""))
    clone.git("checkout", "-q", ".loopx")
    clone.add("x")


# -- files


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('[coordination]\nremotes = "origin"\n', "coordination.remotes"),
        ('[coördination]\nremote = "origin"\n', "is not TOML"),
        ('[coord]\nremote = "origin"\n', "coord"),
        ('remote = "origin"\n', "remote"),
        ("[coordination]\nremote = 5\n", "coordination.remote"),
        ("[coordination]\nledger = \"abc\"\n", "ledger"),
        ("[sync]\ndepth = true\n", "sync.depth"),
        ("[sync]\ndepth = 0\n", "sync.depth"),
        ("[validate]\nallow = [\"make test\"]\n", "validate.allow"),
        ("[coordination\n", "is not TOML"),
        ("[coordination]\nremote = \"a\"\nremote = \"b\"\n", "is not TOML"),
        ("x = " + "[" * 5000, "is not TOML"),
        ("\ud800", "is not TOML"),
    ],
    ids=range(13),
)  # fmt: skip
def test_a_config_toml_that_is_wrong(ledger: World, text: str, word: str) -> None:
    clone = ledger.clone("clone")
    path = clone.path / ".loopx/config.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    error = refused(ledger, clone, "init", code=16)
    assert word in error["message"]
    assert str(path) in error["message"]
    assert "mend" in error["hint"]
    clone.git("checkout", "-q", ".loopx")
    clone.add("x")


def test_a_config_toml_with_a_bad_duration_or_ref(ledger: World) -> None:
    clone = ledger.clone("clone")
    path = clone.path / ".loopx/config.toml"
    right = path.read_text()
    for text in (right + '[sync]\nmax_age = "soon"\n', right.replace(COORD, "loopx/coord")):
        path.write_text(text)
        error = refused(ledger, clone, "todo", "add", "x", code=2)
        assert "loopx" in error["message"] or "max_age" in error["message"]


@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_symbolic_link_in_place_of_our_file(world: World, what: str) -> None:
    clone = world.clone("clone")
    outside = world.root / "outside"
    outside.mkdir()
    if what == "folder":
        (clone.path / ".loopx").symlink_to(outside)
    else:
        (clone.path / ".loopx").mkdir()
        (clone.path / ".loopx/config.toml").symlink_to(outside / "config.toml")
    for args in (["init"], ["todo", "add", "x"]):
        refused(world, clone, *args, code=16)
    assert list(outside.iterdir()) == []
    (outside / "config.toml").write_text('[coordination]\nremote = "origin"\n')
    refused(world, clone, "init", code=16)
    refused(world, clone, "todo", "list", code=16)
    if what == "folder":
        (clone.path / ".loopx").unlink()
    else:
        (clone.path / ".loopx/config.toml").unlink()
    clone.run("init")
    clone.add("x")


@pytest.mark.parametrize("name", ["lock", "location", "fetched", "tip"])
def test_a_symbolic_link_in_place_of_a_file_in_our_own_folder(world: World, name: str) -> None:
    clone = world.repository("alone")
    victim = world.root / "victim"
    victim.write_text("precious")
    clone.home.mkdir()
    (clone.home / name).symlink_to(victim)
    clone.run("init", check=(0, 16))
    clone.run("peer", "register", "alice", check=(0, 16))
    clone.run("todo", "list", check=(0, 10, 16))
    assert victim.read_text() == "precious"


# -- no repository, no identity


def test_no_repository(world: World) -> None:
    folder = world.root / "plain"
    folder.mkdir()
    clone = Clone(folder, world.env)
    for args in (["init"], ["todo", "add", "x"], ["todo", "list"], ["verify"]):
        error = clone.run(*args, check=10).error
        assert "git init" in error["hint"]
        assert list(folder.iterdir()) == []
    clone.git("init", "-q")
    clone.run("init")
    clone.add("x")


def test_a_folder_that_is_not_there(world: World) -> None:
    clone = world.clone("clone")
    assert refused(world, clone, "-C", "nowhere", "todo", "list", code=2)["hint"]


def test_a_sha256_repository(world: World) -> None:
    clone = world.repository("other", "--object-format=sha256")
    error = clone.run("init", check=16).error
    assert "sha1" in error["hint"]
    assert not (clone.path / ".loopx").exists()


@pytest.mark.parametrize("remote", [True, False])
def test_no_identity(world: World, remote: bool) -> None:
    clone = world.clone("clone") if remote else world.repository("alone")
    world.configure("[user]\n\tuseConfigOnly = true\n")
    clone.run("init")
    clone.run("peer", "register", "alice")
    todo = clone.add("nameless")
    clone.run("todo", "claim", todo, agent="alice")
    assert clone.verified()["ok"]
    place = world.remote if remote else clone.path
    people = world.git("log", "--reverse", "--format=%an <%ae> %cn <%ce>", COORD, folder=place).split("\n")
    nobody = "loopx <loopx@localhost.invalid>"
    assert people[:3] == [f"{nobody} {nobody}"] * 3
    assert people[3] == f"alice <alice@agents.loopx.invalid> {nobody}"


def test_a_strange_identity(world: World) -> None:
    """An identity is anything: what cannot be an actor's name falls back, and the commit stays readable."""
    clone = world.clone("clone").having(GIT_COMMITTER_NAME="Zoë ☂ <x>", GIT_COMMITTER_EMAIL="not an address\u2028")
    clone.run("init")
    clone.add("strange")
    assert clone.verified()["ok"]
    assert {entry["agent"] for entry in world.log()} == {"loopx@localhost.invalid"}


def test_the_program_is_what_the_hints_call(world: World) -> None:
    """`git loopx` in a hint is this program."""
    assert PROGRAM[1:] == ("-m", "loopx_git")
    assert commands("to stay: git config loopx.remote .   to move: git loopx sync --publish") == [
        ["git", "config", "loopx.remote", "."],
        ["git", "loopx", "sync", "--publish"],
    ]


@pytest.mark.parametrize(
    "junk", ["[]", "{}", '{"remote": "origin"}', "null", "{"], ids=["list", "empty", "part", "null", "cut"]
)
def test_a_pin_that_is_damaged_is_named_in_plain_words(ledger: World, junk: str) -> None:
    clone = ledger.clone("alice")
    clone.run("todo", "list")
    path = clone.home / "location"
    path.write_text(junk)
    error = clone.run("todo", "list", check=16).error
    assert str(path) in error["message"] and "__init__" not in error["message"]
