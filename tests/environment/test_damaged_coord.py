"""coord.git is a cache: a damaged one is set aside and fetched anew, and what only this clone knew is carried over.
A ledger that lives in the user's own repository is not a cache: there the file is named, and nothing is replaced."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from clones import COORD, Clone, World, differences, footprint

from loopx_git.store.coord import KEPT, TIP

HARMS: dict[str, Callable[[Path], object]] = {}


def harm(do: Callable[[Path], object]) -> Callable[[Path], object]:
    HARMS[do.__name__] = do
    return do


@harm
def no_head(coord: Path) -> None:
    (coord / "HEAD").unlink()


@harm
def empty_head(coord: Path) -> None:
    (coord / "HEAD").write_bytes(b"")


@harm
def zeroed_head(coord: Path) -> None:
    (coord / "HEAD").write_bytes(b"\0" * 24)


@harm
def head_is_a_folder(coord: Path) -> None:
    (coord / "HEAD").unlink()
    (coord / "HEAD").mkdir()


@harm
def config_is_a_folder(coord: Path) -> None:
    (coord / "config").unlink()
    (coord / "config").mkdir()


@harm
def config_is_garbage(coord: Path) -> None:
    (coord / "config").write_bytes(b"\0\1[core\nx")


@harm
def config_is_empty(coord: Path) -> None:
    (coord / "config").write_bytes(b"")


@harm
def config_of_reftable(coord: Path) -> None:
    text = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\trefStorage = reftable\n"
    (coord / "config").write_text(text)


@harm
def config_of_sha256(coord: Path) -> None:
    text = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = sha256\n"
    (coord / "config").write_text(text)


@harm
def a_link_into_the_users_repository(coord: Path) -> None:
    shutil.rmtree(coord)
    coord.symlink_to("..")


@harm
def no_refs(coord: Path) -> None:
    shutil.rmtree(coord / "refs")


@harm
def no_objects(coord: Path) -> None:
    shutil.rmtree(coord / "objects")


@harm
def packed_refs_cut_off(coord: Path) -> None:
    subprocess.run(["git", "--git-dir", str(coord), "pack-refs", "--all", "--prune"], check=True)
    data = (coord / "packed-refs").read_bytes()
    (coord / "packed-refs").write_bytes(data[:-30])


@harm
def empty_tip(coord: Path) -> None:
    (coord / TIP).write_bytes(b"")


@harm
def tip_that_points_at_nothing(coord: Path) -> None:
    (coord / TIP).write_text("1" * 40 + "\n")
    (coord.parent / "claims.json").unlink(missing_ok=True)


@harm
def a_file(coord: Path) -> None:
    shutil.rmtree(coord)
    coord.write_text("x")


@harm
def empty_objects(coord: Path) -> None:
    """As a machine leaves them that lost its power."""
    for path in objects(coord):
        spoil(path)


@harm
def garbled_objects(coord: Path) -> None:
    for path in objects(coord):
        spoil(path, b"garbage, no zlib")


def objects(git_dir: Path) -> list[Path]:
    """Every file of the object store that holds objects."""
    return sorted(path for path in (git_dir / "objects").rglob("*") if path.is_file() and path.suffix != ".idx")


def spoil(path: Path, data: bytes = b"") -> None:
    path.chmod(0o644)
    path.write_bytes(data)


def set_aside(clone: Clone) -> list[Path]:
    return sorted(clone.home.glob("coord.git.broken-*"))


@pytest.fixture
def known(ledger: World) -> tuple[World, Clone, str]:
    """A clone that knows a ledger with one claimed todo, most of it as loose objects."""
    clone = ledger.clone("clone")
    todo = clone.add("one", "--alias", "one")
    clone.run("todo", "claim", todo, agent="alice")
    clone.run("sync")
    return ledger, clone, todo


@pytest.mark.parametrize("name", HARMS)
def test_it_is_set_aside_and_fetched_anew(known: tuple[World, Clone, str], name: str) -> None:
    world, clone, todo = known
    before, tip = footprint(clone), world.tip()
    HARMS[name](clone.home / "coord.git")
    if name == "tip_that_points_at_nothing":
        refused = clone.run("todo", "list", check=16).error
        assert "1" * 40 in refused["message"] and set_aside(clone) == []
        return
    done = clone.run("todo", "update", todo, "--note", "still here", agent="alice", timeout=20)
    assert done.json["lease"]["epoch"] == 1
    [kept] = set_aside(clone)
    assert done.err.count(str(kept)) == 1, done.err
    assert world.log()[-1]["op"] == "update"
    assert world.git("rev-parse", f"{world.tip()}^", folder=world.remote) == tip
    assert clone.verified()["ok"]
    assert set_aside(clone) == [kept]
    assert clone.git("--git-dir", str(clone.home / "coord.git"), "fsck", "--no-dangling") == ""
    assert differences(before, footprint(clone)) == {}


@pytest.mark.parametrize("words", [["todo", "list", "--fresh"], ["sync"], ["verify"], ["log"]])
def test_readers_fetch_it_anew_as_well(known: tuple[World, Clone, str], words: list[str]) -> None:
    _, clone, _ = known
    empty_objects(clone.home / "coord.git")
    clone.run(*words, timeout=20)
    assert len(set_aside(clone)) == 1


def test_any_single_object(known: tuple[World, Clone, str]) -> None:
    """Whatever object is damaged or gone: both a reader and a writer find a way, or did not need it."""
    _, clone, todo = known
    coord = clone.home / "coord.git"
    whole = clone.home / "whole"
    shutil.copytree(coord, whole)
    for number, path in enumerate(objects(whole)[::3]):
        shutil.rmtree(coord)
        shutil.copytree(whole, coord)
        victim = coord / path.relative_to(whole)
        if number % 2:
            victim.unlink()
        else:
            spoil(victim)
        assert clone.run("todo", "show", todo, "--fresh", timeout=20).json["todo"]["title"] == "one"
        clone.run("todo", "update", todo, "--note", f"note {number}", agent="alice", timeout=20)
        assert clone.verified()["ok"]
    assert 1 <= len(set_aside(clone)) <= KEPT


def test_a_damaged_object_that_a_push_needs(known: tuple[World, Clone, str]) -> None:
    """git takes an emptied object for one that is there, and would send it for ever."""
    world, clone, _ = known
    other = "a title that is written twice"
    first = clone.add(other)
    clone.run("todo", "claim", first, agent="alice")
    for path in objects(clone.home / "coord.git"):
        spoil(path)
    clone.run("todo", "release", first, agent="alice", timeout=20)
    assert world.log()[-1]["op"] == "release"


def test_the_last_tip_survives_and_a_rewritten_remote_is_still_refused(known: tuple[World, Clone, str]) -> None:
    world, clone, _ = known
    tip = world.tip()
    root = world.log()[0]["commit"]
    world.git("update-ref", COORD, root, folder=world.remote)
    forged = world.git(
        "commit-tree", "-p", root, "-m", "forged", f"{root}^{{tree}}", folder=world.remote
    )  # fmt: skip
    world.git("update-ref", COORD, forged, folder=world.remote)
    empty_head(clone.home / "coord.git")
    error = clone.run("todo", "add", "x", check=16).error
    assert (error["last_tip"], error["tip"]) == (tip, forged)
    assert len(set_aside(clone)) == 1


def test_a_tip_that_nobody_has_any_more_is_not_forgotten(known: tuple[World, Clone, str]) -> None:
    world, clone, _ = known
    tip = world.tip()
    world.git("update-ref", COORD, world.log()[0]["commit"], folder=world.remote)
    empty_objects(clone.home / "coord.git")
    error = clone.run("todo", "add", "x", check=16).error
    assert error["last_tip"] == tip
    assert set_aside(clone) == []
    assert str(clone.home / "coord.git") in error["hint"]
    world.git("update-ref", COORD, tip, folder=world.remote)
    clone.run("todo", "add", "x")
    assert len(set_aside(clone)) == 1


def test_a_damaged_pack_whose_new_one_has_the_same_name(known: tuple[World, Clone, str]) -> None:
    """A pack is named after what is in it: the new one is not read from the file that was set aside."""
    _, clone, todo = known
    clone.git("--git-dir", str(clone.home / "coord.git"), "repack", "-q", "-a", "-d")
    for _ in range(2):
        for path in (clone.home / "coord.git/objects").rglob("pack-*"):
            spoil(path, b"junk")
        assert clone.run("todo", "show", todo, "--fresh", timeout=20).json["todo"]["title"] == "one"
    assert len(set_aside(clone)) == 2


def test_doctor_lists_what_was_set_aside(known: tuple[World, Clone, str]) -> None:
    _, clone, _ = known
    empty_head(clone.home / "coord.git")
    clone.run("sync")
    [kept] = set_aside(clone)
    checks = clone.run("doctor").json["checks"]
    [said] = [check["text"] for check in checks if str(kept) in check["text"]]
    assert said.startswith("1 damaged copy of coord.git")


# -- operations whose outcome is open


def open_operation(world: World, clone: Clone) -> str:
    """A claim that was killed after its push; the request."""
    todo = clone.add("open")
    clone.run("todo", "claim", todo, agent="bob", env={"LOOPX_FAILPOINT": "pushing=kill"}, check=-9)
    [record] = (clone.home / "pending").glob("*.json")
    return record.stem


@pytest.mark.parametrize("readable", [True, False])
def test_an_open_operation_is_carried_over_or_told(known: tuple[World, Clone, str], readable: bool) -> None:
    world, clone, _ = known
    request = open_operation(world, clone)
    coord = clone.home / "coord.git"
    pending = f"refs/loopx/pending/{request}"
    oid = clone.git("--git-dir", str(coord), "rev-parse", pending)
    (empty_head if readable else empty_objects)(coord)
    done = clone.run("todo", "list", "--fresh")
    assert len(set_aside(clone)) == 1
    found = clone.git("--git-dir", str(coord), "for-each-ref", "--format=%(objectname)", pending)
    assert found == (oid if readable else "")
    assert ("could not be read from it" in done.err and "by bob" in done.err) is not readable, done.err
    assert (clone.home / "pending" / f"{request}.json").exists()
    claimed = clone.run("todo", "claim", clone.run("todo", "list").json["todos"][-1]["id"], agent="bob")
    assert claimed.json["lease"]["holder"] == "bob"
    assert clone.verified()["ok"]


@pytest.mark.parametrize("name", ["empty_head", "empty_objects"])
def test_an_operation_that_landed_unheard_is_found(known: tuple[World, Clone, str], name: str) -> None:
    world, clone, _ = known
    todo = clone.add("open")
    clone.run("todo", "claim", todo, agent="bob", env={"LOOPX_FAILPOINT": "pushed=kill"}, check=-9)
    HARMS[name](clone.home / "coord.git")
    again = clone.run("todo", "claim", todo, agent="bob").json
    assert again["found"] is True
    assert len(world.claims(todo)) == 1
    assert not list((clone.home / "pending").glob("*.json"))


# -- without the remote


def test_without_the_remote_nothing_is_set_aside(known: tuple[World, Clone, str]) -> None:
    world, clone, _ = known
    away = world.remote.rename(world.root / "away.git")
    empty_head(clone.home / "coord.git")
    before = {path: path.read_bytes() for path in clone.home.rglob("*") if path.is_file()}
    error = clone.run("todo", "add", "x", check=14, timeout=20).error
    assert str(clone.home / "coord.git/HEAD") in error["message"]
    (clone.home / "lock").write_bytes(before.get(clone.home / "lock", b""))
    assert {path: path.read_bytes() for path in clone.home.rglob("*") if path.is_file()} == before
    away.rename(world.remote)
    clone.run("todo", "add", "x")


@pytest.mark.parametrize("name", ["empty_head", "empty_objects"])
def test_who_must_not_fetch_does_not(known: tuple[World, Clone, str], name: str) -> None:
    _, clone, _ = known
    HARMS[name](clone.home / "coord.git")
    error = clone.run("todo", "list", "--offline", check=16).error
    assert "coord.git" in error["message"] and error["hint"] == "git loopx sync"
    clone.run("guard", "check", "x", agent="alice", check=(0, 16, 19))
    assert set_aside(clone) == []
    clone.run("sync")
    assert len(set_aside(clone)) == 1
    clone.run("todo", "list", "--offline")


def test_a_bounded_number_is_kept(known: tuple[World, Clone, str]) -> None:
    _, clone, _ = known
    for _ in range(KEPT + 2):
        empty_head(clone.home / "coord.git")
        clone.run("sync")
    assert len(set_aside(clone)) == KEPT


def test_a_command_that_died_between_the_two_renames(known: tuple[World, Clone, str]) -> None:
    world, clone, todo = known
    (clone.home / "coord.git").rename(clone.home / "coord.git.anew")
    world.remote.rename(world.root / "away.git")
    assert clone.run("todo", "show", todo, "--offline").json["lease"]["holder"] == "alice"


# -- the user's own repository is not a cache


@pytest.mark.parametrize("data", [b"", b"garbage, no zlib"])
def test_a_ledger_in_the_users_repository_is_never_set_aside(world: World, data: bytes) -> None:
    clone = world.repository("alone")
    clone.commit("code.py")
    clone.run("init")
    clone.run("peer", "register", "alice")
    todo = clone.add("one")
    tree = clone.git("rev-parse", f"{COORD}:.loopx/goals/main/todos")
    victim = clone.common_dir / "objects" / tree[:2] / tree[2:]
    spoil(victim, data)
    before = footprint(clone)
    for words in (["todo", "show", todo], ["todo", "claim", todo, "--agent", "alice"], ["verify"]):
        error = clone.run(*words, check=16).error
        assert error["file"] == str(victim) and tree in error["message"]
    assert differences(before, footprint(clone)) == {}
    assert not list(clone.home.glob("coord.git*"))


def test_a_branch_of_a_ledger_in_the_users_repository_that_is_garbage(world: World) -> None:
    clone = world.repository("alone")
    clone.run("init")
    (clone.common_dir / COORD).write_bytes(b"")
    error = clone.run("todo", "add", "x", check=16).error
    assert COORD in error["message"]
    assert (clone.common_dir / COORD).read_bytes() == b""
