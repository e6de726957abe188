"""One suite for every publisher: a compare-and-swap on one ref, and nothing else."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import git as gitpython
import pytest
from builders import ALICE, BOB, COMMITTER, NOW, FakeClock, World, entropy_of, tid
from builders import Clone as WorldClone
from memory_store import MemoryObjects
from stores import ENV, REF, Place, Store, run

from loopx_git.core.commands import AddTodo, Init, OnTodo, RegisterPeer
from loopx_git.core.table import Operation
from loopx_git.errors import HeldByAnother, InvalidState, NotAllowed, NotInitialised, RemoteFailure
from loopx_git.ledger.commits import Draft, Signature
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.ledger.validation import Checker
from loopx_git.store import local, remote
from loopx_git.store.base import Fetched, PushKind
from loopx_git.store.coord import PENDING, damage, ensure_coord
from loopx_git.store.environment import scrubbed
from loopx_git.store.ledger import Ledger
from loopx_git.store.pending import PendingFolder
from loopx_git.store.remote import RemotePublisher

KINDS = ["memory", "local", "path", "file"]
AUTHOR = Signature("codex-1", "codex-1@agents.loopx.invalid")
REQUEST = "0123456789abcdef" * 2


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(request.param, tmp_path)


@pytest.fixture
def one(place: Place) -> Store:
    return place.clone("one")


@pytest.fixture
def two(place: Place) -> Store:
    return place.clone("two")


def commit(store: Store, parent: str | None, words: str = "x") -> str:
    return store.objects.build(parent, Draft({"a/b": words.encode()}, f"{words}\n", AUTHOR, COMMITTER, NOW))


# -- compare and swap


def test_another_branch_is_a_publisher_of_its_own(place: Place, one: Store, two: Store) -> None:
    """It is read and moved like ours, and moves nothing of ours: neither the ref nor what was checked."""
    there = "refs/heads/proposal"
    root = commit(one, None)
    assert one.publisher.push(None, root, 30).kind is PushKind.LANDED
    assert one.publisher.of_branch(there).fetch(30) == Fetched(None)
    oid = commit(one, root, "proposed")
    assert one.publisher.of_branch(there).push(None, oid, 30).kind is PushKind.LANDED
    assert two.publisher.of_branch(there).fetch(30) == Fetched(oid)
    assert (place.tip(), one.publisher.known_tip(), two.publisher.known_tip()) == (root, None, None)


def test_branches_besides_ours_are_noticed(place: Place, one: Store) -> None:
    root = commit(one, None)
    one.publisher.push(None, root, 30)
    assert one.publisher.branches_elsewhere(30) is (place.kind == "local")
    one.publisher.of_branch("refs/heads/other").push(None, commit(one, root), 30)
    assert one.publisher.branches_elsewhere(30) is True


def test_a_whole_history_needs_no_deepening(one: Store) -> None:
    root = commit(one, None)
    one.publisher.push(None, root, 30)
    one.publisher.deepen(30)
    assert list(one.objects.between(None, root, 9)) == [root]


def test_an_absent_ref_is_read_as_absent(place: Place, one: Store) -> None:
    assert one.publisher.fetch(30) == Fetched(None)
    assert one.publisher.known_tip() is None and place.tip() is None


def test_the_first_push_makes_the_ref_and_everybody_can_read_it(place: Place, one: Store, two: Store) -> None:
    oid = commit(one, None)
    assert one.publisher.push(None, oid, 30).kind is PushKind.LANDED
    assert place.tip() == oid
    assert one.publisher.fetch(30) == two.publisher.fetch(30) == Fetched(oid)
    assert two.objects.commit(oid).message == "x\n"
    assert two.objects.tree(oid).blob("a/b") == b"x"


def test_pushes_on_the_tip_follow_each_other(place: Place, one: Store, two: Store) -> None:
    tip: str | None = None
    for number, store in enumerate((one, two, one, one, two)):
        assert store.publisher.fetch(30) == Fetched(tip)
        oid = commit(store, tip, str(number))
        assert store.publisher.push(tip, oid, 30).kind is PushKind.LANDED
        assert place.tip() == oid
        tip = oid
    assert one.publisher.fetch(30).tip == tip
    assert len(one.objects.between(None, str(tip), 99)) == 5


def test_a_stale_parent_is_lost_and_nothing_moves(place: Place, one: Store, two: Store) -> None:
    first = commit(one, None, "first")
    one.publisher.push(None, first, 30)
    two.publisher.fetch(30)
    winner, loser = commit(one, first, "winner"), commit(two, first, "loser")
    assert one.publisher.push(first, winner, 30).kind is PushKind.LANDED
    assert two.publisher.push(first, loser, 30).kind in (PushKind.LOST, PushKind.REJECTED)
    assert place.tip() == winner
    assert two.publisher.fetch(30) == Fetched(winner)


def test_a_ref_that_is_there_is_not_made_anew(place: Place, one: Store, two: Store) -> None:
    first = commit(one, None, "first")
    one.publisher.push(None, first, 30)
    assert two.publisher.push(None, commit(two, None, "another root"), 30).kind in (PushKind.LOST, PushKind.REJECTED)
    assert place.tip() == first


def test_an_older_tip_does_not_come_back(place: Place, one: Store) -> None:
    """The tip goes from `first` to `second`; a push that still wants `first` as parent changes nothing."""
    first = commit(one, None, "first")
    second = commit(one, first, "second")
    for parent, oid in ((None, first), (first, second)):
        one.publisher.push(parent, oid, 30)
    assert one.publisher.push(first, commit(one, first, "third"), 30).kind in (PushKind.LOST, PushKind.REJECTED)
    assert place.tip() == second


def test_the_same_commit_again_landed_already(place: Place, one: Store) -> None:
    first = commit(one, None, "first")
    second = commit(one, first, "second")
    for parent, oid in ((None, first), (None, first), (first, second), (first, second)):
        assert one.publisher.push(parent, oid, 30).kind is PushKind.LANDED
        assert place.tip() == oid


def test_a_chain_lands_in_one_push(place: Place, one: Store, two: Store) -> None:
    first = commit(one, None, "first")
    one.publisher.push(None, first, 30)
    last: str = first
    for number in range(3):
        last = commit(one, last, str(number))
    assert one.publisher.push(first, last, 30).kind is PushKind.LANDED
    assert two.publisher.fetch(30) == Fetched(last)
    assert len(two.objects.between(first, last, 99)) == 3


def test_of_many_children_of_one_parent_one_lands(place: Place, one: Store) -> None:
    first = commit(one, None, "first")
    one.publisher.push(None, first, 30)
    stores = [place.clone(f"clone {number}") for number in range(4)]
    for store in stores:
        store.publisher.fetch(30)
    children = [commit(store, first, str(number)) for number, store in enumerate(stores)]
    kinds = [store.publisher.push(first, oid, 30).kind for store, oid in zip(stores, children, strict=True)]
    assert kinds.count(PushKind.LANDED) == 1 and place.tip() == children[kinds.index(PushKind.LANDED)]


# -- what is remembered


def test_looking_does_not_change_what_was_checked(one: Store) -> None:
    oid = commit(one, None)
    one.publisher.push(None, oid, 30)
    one.publisher.fetch(30)
    assert one.publisher.known_tip() is None
    one.publisher.accept(oid)
    assert one.publisher.known_tip() == oid
    later = commit(one, oid, "later")
    one.publisher.push(oid, later, 30)
    one.publisher.fetch(30)
    assert one.publisher.known_tip() == oid


def test_what_was_checked_is_remembered_by_the_clone(place: Place, one: Store) -> None:
    oid = commit(one, None)
    one.publisher.accept(oid)
    if place.kind != "memory":
        assert place.clone("one").publisher.known_tip() == oid
    if place.kind in ("path", "file"):
        assert place.clone("two").publisher.known_tip() is None, "another clone checks for itself"


def test_an_anchored_commit_survives_gc_and_a_released_one_does_not(place: Place, one: Store) -> None:
    kept, dropped = commit(one, None, "kept"), commit(one, None, "dropped")
    one.publisher.anchor(REQUEST, kept)
    one.publisher.anchor("f" * 32, dropped)
    one.publisher.release("f" * 32)
    one.publisher.release("f" * 32)
    if one.folder is None:
        assert one.publisher.anchors == {REQUEST: kept}  # type: ignore[attr-defined]
        return
    run(one.folder, "gc", "--quiet", "--prune=now")
    run(one.folder, "cat-file", "-e", kept)
    with pytest.raises(AssertionError):
        run(one.folder, "cat-file", "-e", dropped)
    again = place.clone("one")
    assert again.objects.commit(kept).message == "kept\n"
    assert again.publisher.push(None, kept, 30).kind is PushKind.LANDED
    again.publisher.release(REQUEST)
    assert run(one.folder, "for-each-ref", PENDING) == ""


def test_an_anchor_can_be_moved(one: Store) -> None:
    first, second = commit(one, None, "first"), commit(one, None, "second")
    for oid in (first, second):
        one.publisher.anchor(REQUEST, oid)
    if one.folder is not None:
        assert run(one.folder, "for-each-ref", "--format=%(objectname)", PENDING) == second


def test_tidying_loses_nothing(place: Place, one: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first, pending = commit(one, None, "first"), commit(one, None, "pending")
    one.publisher.push(None, first, 30)
    one.publisher.fetch(30)
    one.publisher.accept(first)
    one.publisher.anchor(REQUEST, pending)
    one.publisher.tidy()
    loose = list(one.folder.glob("objects/??/*")) if one.folder else []
    for module in (remote, local):
        monkeypatch.setattr(module, "LOOSE_MAX", 0)
    one.publisher.tidy()
    if place.kind in ("path", "file"):
        assert one.folder and loose and not list(one.folder.glob("objects/??/*"))
    again = place.clone("one") if one.folder else one
    assert again.objects.commit(first).message == "first\n"
    assert again.objects.commit(pending).message == "pending\n"
    assert again.publisher.known_tip() == first
    assert again.publisher.fetch(30) == Fetched(first)


# -- the remote is away


@pytest.fixture(params=["path", "file"])
def away(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Place, Store, str]:
    """A clone that knows the tip of a remote that is gone."""
    place = Place(request.param, tmp_path)
    store = place.clone("one")
    oid = commit(store, None)
    store.publisher.push(None, oid, 30)
    store.publisher.accept(oid)
    shutil.move(place.remote, tmp_path / "moved.git")
    return place, store, oid


def test_an_unreachable_remote_is_an_error_and_never_an_absent_ref(away: tuple[Place, Store, str]) -> None:
    _, store, oid = away
    fetched = store.publisher.fetch(30)
    assert fetched.tip is None and fetched.error and "remote.git" in fetched.error
    pushed = store.publisher.push(oid, commit(store, oid, "next"), 30)
    assert (pushed.kind, pushed.connected) == (PushKind.UNREACHABLE, False)
    assert store.publisher.known_tip() == oid


def test_a_remote_that_is_no_repository_is_an_error(away: tuple[Place, Store, str]) -> None:
    place, store, _ = away
    place.remote.mkdir()
    assert store.publisher.fetch(30).error
    place.remote.rmdir()
    place.remote.write_text("no repository")
    assert store.publisher.fetch(30).error


def test_a_remote_that_comes_back_is_read_again(away: tuple[Place, Store, str]) -> None:
    place, store, oid = away
    assert store.publisher.fetch(30).error
    shutil.move(place.root / "moved.git", place.remote)
    assert store.publisher.fetch(30) == Fetched(oid)


def also(store: Store, **variables: str) -> None:
    """Add variables to the environment of the store's git."""
    assert isinstance(store.publisher, RemotePublisher)
    own = store.publisher.own
    store.publisher.own = replace(own, env={**own.env, **variables})


def test_no_time_is_an_error_too(tmp_path: Path) -> None:
    place = Place("path", tmp_path)
    store = place.clone("one")
    also(store, GIT_CONFIG_COUNT="2", GIT_CONFIG_KEY_1="remote.coord.uploadpack",
         GIT_CONFIG_VALUE_1="sleep 30; git-upload-pack")  # fmt: skip
    fetched = store.publisher.fetch(0.2)
    assert fetched.tip is None and fetched.error


# -- with a remote


def test_a_push_that_would_not_build_on_its_parent_is_our_bug(tmp_path: Path) -> None:
    """A lease that matches waives git's own check."""
    place = Place("path", tmp_path)
    store = place.clone("one")
    first = commit(store, None, "first")
    store.publisher.push(None, first, 30)
    with pytest.raises(AssertionError, match="does not descend"):
        store.publisher.push(first, commit(store, None, "another root"), 30)
    assert place.tip() == first


def test_only_our_ref_is_moved_whatever_the_user_s_configuration_says(tmp_path: Path) -> None:
    place = Place("path", tmp_path)
    (tmp_path / "config").write_text(
        "[push]\n\tfollowTags = true\n\tgpgSign = true\n\tdefault = matching\n\tnegotiate = true\n"
        "[fetch]\n\tprune = true\n\tpruneTags = true\n[transfer]\n\tcredentialsInUrl = die\n"
    )
    store = place.clone("one")
    also(store, GIT_CONFIG_GLOBAL=str(tmp_path / "config"))
    assert store.folder is not None
    first = commit(store, None, "first")
    run(store.folder, "tag", "-a", "-m", "x", "v1", first)
    run(store.folder, "update-ref", "refs/heads/other", first)
    store.publisher.anchor(REQUEST, first)
    assert store.publisher.push(None, first, 30).kind is PushKind.LANDED
    assert run(place.remote, "for-each-ref", "--format=%(refname)") == REF
    run(place.remote, "update-ref", "refs/heads/main", first)
    run(place.remote, "tag", "v2", first)
    before = run(store.folder, "for-each-ref", "--format=%(refname)").split("\n")
    store.publisher.fetch(30)
    after = run(store.folder, "for-each-ref", "--format=%(refname)").split("\n")
    assert set(after) - set(before) == {remote.FETCHED} and set(before) <= set(after)


def test_a_rewritten_ref_is_shown_as_it_is(tmp_path: Path) -> None:
    """The driver refuses it; the publisher only reads."""
    place = Place("path", tmp_path)
    one, two = place.clone("one"), place.clone("two")
    first = commit(one, None, "first")
    one.publisher.push(None, first, 30)
    two.publisher.fetch(30)
    two.publisher.accept(first)
    other = commit(one, None, "another root")
    run(place.remote, "update-ref", "-d", REF)
    one.publisher.push(None, other, 30)
    assert two.publisher.fetch(30) == Fetched(other) and two.publisher.known_tip() == first
    run(place.remote, "update-ref", "-d", REF)
    assert two.publisher.fetch(30) == Fetched(None)


def test_coord_is_whole_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "loopx" / "coord.git"
    env = scrubbed(ENV)
    ensure_coord(str(path), env)
    (path / "marker").touch()
    ensure_coord(str(path), env)
    assert (path / "marker").exists(), "made once"
    assert [item.name for item in path.parent.iterdir()] == ["coord.git"]
    shutil.rmtree(path)
    path.mkdir()
    (path / "half").touch()
    ensure_coord(str(path), env)
    assert damage(str(path)) == f"{path}/objects is not a folder"
    assert [item.name for item in path.parent.iterdir()] == ["coord.git"], "nothing is left beside it"


# -- without a remote


@pytest.fixture
def here(tmp_path: Path) -> tuple[Place, Store, str]:
    place = Place("local", tmp_path)
    store = place.clone("one")
    oid = commit(store, None, "first")
    store.publisher.push(None, oid, 30)
    return place, store, oid


def test_a_branch_that_is_checked_out_anywhere_is_not_moved(here: tuple[Place, Store, str], tmp_path: Path) -> None:
    place, store, oid = here
    tree = tmp_path / "linked"
    run(place.remote, "worktree", "add", "-q", str(tree), "loopx/coord")
    with pytest.raises(NotAllowed, match=f"is checked out in {tree}") as caught:
        store.publisher.push(oid, commit(store, oid, "next"), 30)
    assert caught.value.about == {"ref": REF, "worktree": str(tree)}
    assert place.tip() == oid
    run(tree, "checkout", "-q", "--detach")
    assert store.publisher.push(oid, commit(store, oid, "next"), 30).kind is PushKind.LANDED


def test_a_lock_on_the_ref_is_no_lost_race(here: tuple[Place, Store, str]) -> None:
    place, store, oid = here
    lock = place.git_dir / f"{REF}.lock"
    lock.touch()
    following = commit(store, oid, "next")
    assert store.publisher.push(oid, following, 30).kind is PushKind.REJECTED
    assert place.tip() == oid
    lock.unlink()
    assert store.publisher.push(oid, following, 30).kind is PushKind.LANDED


def test_a_symbolic_ref_is_not_followed(here: tuple[Place, Store, str]) -> None:
    place, store, oid = here
    run(place.remote, "update-ref", "refs/heads/elsewhere", oid)
    run(place.remote, "symbolic-ref", REF, "refs/heads/elsewhere")
    for ask in (lambda: store.publisher.fetch(30), lambda: store.publisher.push(oid, commit(store, oid, "next"), 30)):
        with pytest.raises(InvalidState, match="is a symbolic ref"):
            ask()
    assert run(place.remote, "rev-parse", "refs/heads/elsewhere") == oid


def test_packed_refs_are_read_and_moved(here: tuple[Place, Store, str]) -> None:
    place, store, oid = here
    run(place.remote, "pack-refs", "--all")
    assert store.publisher.fetch(30) == Fetched(oid)
    following = commit(store, oid, "next")
    assert store.publisher.push(oid, following, 30).kind is PushKind.LANDED
    assert place.tip() == following


def test_a_tip_file_that_holds_nonsense_is_no_tip(here: tuple[Place, Store, str]) -> None:
    place, store, oid = here
    store.publisher.accept(oid)
    for text in ("", "x" * 40, "HEAD\n", f"{oid[:39]}\n"):
        (place.git_dir / "loopx/tip").write_text(text)
        assert store.publisher.known_tip() is None


# -- a whole ledger over each of them


def ledger_of(place: Place, name: str) -> WorldClone:
    """A clone as the builders make them, over this store."""
    clone = WorldClone(World(0), name)
    store = place.clone(name)
    home = place.root / "homes" / name
    clone.clock = FakeClock()
    clone.context = replace(
        clone.context, objects=store.objects, publisher=store.publisher, pending=PendingFolder(str(home)),
        clock=clone.clock, entropy=entropy_of(name), memo={},
    )  # fmt: skip
    clone.ledger = Ledger(clone.context, str(home))
    return clone


def test_a_ledger_over_every_store(place: Place) -> None:
    one, two = ledger_of(place, "one"), ledger_of(place, "two")
    with pytest.raises(NotInitialised):
        one.submit(RegisterPeer("alice"))
    assert place.tip() is None
    one.submit(Init())
    one.submit(RegisterPeer("alice"), RegisterPeer("bob"), AddTodo(tid(1), "first"), AddTodo(tid(2), "second"))
    assert one.on(Operation.CLAIM, 1, ALICE).facts[0]["epoch"] == 1
    with pytest.raises(HeldByAnother) as caught:
        two.on(Operation.CLAIM, 1, BOB)
    assert caught.value.about["holder"] == "alice"
    assert two.on(Operation.CLAIM, 2, BOB).losses == 0
    done = one.submit(OnTodo(Operation.UPDATE, tid(1), note="so far"), OnTodo(Operation.COMPLETE, tid(1)), by=ALICE)
    # In one repository both see the ref at once; with a remote the stale tip costs one lost push.
    assert done.losses == (0 if place.kind == "local" else 1)
    tip = place.tip()
    assert tip == done.tip == done.oid
    objects = one.context.objects
    assert not list(Checker(objects, {}).walk(None, tip, 10**9))
    snapshot = TreeSnapshot(objects.tree(tip))
    assert [(todo.id, todo.status.value, todo.claimed_by) for todo in snapshot.todos("main")] == [
        (tid(1), "completed", None), (tid(2), "open", "bob"),
    ]  # fmt: skip
    assert not one.context.pending.all() and not two.context.pending.all()
    if place.kind == "memory":
        assert isinstance(objects, MemoryObjects)
        return
    assert run(place.git_dir, "fsck", "--strict", "--no-dangling") == ""
    with gitpython.Repo(place.git_dir) as repo:
        newest = repo.commit(REF)
        assert newest.hexsha == tip
        assert (newest.author.name, newest.author.email) == ("alice", "alice@agents.loopx.invalid")
        assert str(newest.message).startswith(f"complete {tid(1)} by alice\n\nLoopx-Op: complete\n")
        assert {item.path for item in newest.tree.traverse() if item.type == "blob"} == set(walk(snapshot))


def walk(snapshot: TreeSnapshot) -> list[str]:
    found: list[str] = []
    folders = [""]
    while folders:
        folder = folders.pop()
        for name in snapshot.tree.names(folder):
            path = f"{folder}/{name}".lstrip("/")
            (folders if snapshot.tree.names(path) else found).append(path)
    return found


@pytest.mark.parametrize("kind", ["memory", "local", "path"])
def test_a_rewritten_or_vanished_ref_stops_every_command(kind: str, tmp_path: Path) -> None:
    place = Place(kind, tmp_path)
    one = ledger_of(place, "one")
    one.submit(Init())
    first = place.tip()
    one.submit(RegisterPeer("alice"))
    last = place.tip()

    def put(oid: str | None) -> None:
        if place.kind == "memory":
            place.memory.tip = oid
        else:
            run(place.git_dir, "update-ref", *(["-d", REF] if oid is None else [REF, oid]))

    # A mirror that lags shows the same as a ref that was set back: neither is a fact to act on.
    put(first)
    with pytest.raises(RemoteFailure, match="is older than") as older:
        one.submit(RegisterPeer("bob"))
    assert older.value.about == {"tip": first, "last_tip": last}
    assert place.tip() == first
    if place.kind == "memory":
        ledger_of(place, "two").submit(RegisterPeer("carol"))
    else:
        put(run(place.git_dir, "commit-tree", "-p", str(first), "-m", "another", f"{first}^{{tree}}"))
    other = place.tip()
    with pytest.raises(InvalidState, match="was rewritten") as caught:
        one.submit(RegisterPeer("bob"))
    assert caught.value.about == {"tip": other, "last_tip": last}
    assert place.tip() == other
    put(None)
    with pytest.raises(InvalidState, match="is gone"):
        one.submit(RegisterPeer("bob"))
    assert place.tip() is None
