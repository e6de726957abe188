"""One suite for every object store: commits and trees written and read, and what is planted in them refused."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import git as gitpython
import pytest
from builders import COMMITTER, NOW, World, files_of, tid, todo_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_store import MemoryObjects
from stores import run

from loopx_git.errors import InvalidState
from loopx_git.format import layout
from loopx_git.ledger.commits import Draft, Objects, Signature
from loopx_git.ledger.snapshot import BLOB_MAX, TreeSnapshot
from loopx_git.ledger.validation import Checker, check_state
from loopx_git.store.objects import COMMIT_MAX, PygitObjects

AUTHOR = Signature("codex-1", "codex-1@agents.loopx.invalid")
NOWHERE = "1234567890" * 4


def draft(
    files: Mapping[str, bytes | None], message: str = "subject\n", time: datetime = NOW, author: Signature = AUTHOR
) -> Draft:
    return Draft(files, message, author, COMMITTER, time)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    run(tmp_path, "init", "-q", "--bare", "objects.git")
    return tmp_path / "objects.git"


@pytest.fixture(params=["memory", "pygit"])
def store(request: pytest.FixtureRequest, bare: Path) -> Objects:
    return MemoryObjects() if request.param == "memory" else PygitObjects(str(bare))


def read(objects: Objects, commit: str) -> dict[str, bytes]:
    """Every file of a commit, found by walking."""
    tree, found = objects.tree(commit), {}

    def walk(folder: str) -> None:
        for name in tree.names(folder):
            path = f"{folder}/{name}".lstrip("/")
            if tree.names(path):
                walk(path)
            else:
                data = tree.blob(path)
                assert data is not None
                found[path] = data

    walk("")
    return found


# -- building and reading


def test_the_merge_base_is_the_newest_shared_commit(store: Objects) -> None:
    root = store.build(None, draft({"a": b"0"}))
    fork = store.build(root, draft({"a": b"1"}))
    one, two = (store.build(fork, draft({name: b"2"})) for name in ("one", "two"))
    other = store.build(None, draft({"other": b""}))
    assert [store.merge_base(one, item) for item in (two, fork, root, one, other)] == [fork, fork, root, one, None]


def test_a_root_commit(store: Objects) -> None:
    files = {"a/b/c": b"1", "a/d": b"", "e": b"\x00\xff"}
    oid = store.build(None, draft(files, "subject\n\nKey: välue 💥\n"))
    commit = store.commit(oid)
    assert len(oid) == 40 and commit.oid == oid and commit.parents == ()
    assert commit.message == "subject\n\nKey: välue 💥\n"
    assert (commit.author, commit.committer) == (AUTHOR, COMMITTER)
    assert commit.time == NOW.replace(microsecond=0) and commit.time.tzinfo is UTC
    assert read(store, oid) == files


def test_a_child_changes_adds_and_removes(store: Objects) -> None:
    first = store.build(None, draft({"a/b/c": b"1", "a/d": b"2", "e": b"3"}))
    second = store.build(first, draft({"a/d": b"4", "f/g/h": b"5", "e": None, "not/there": None}))
    assert store.commit(second).parents == (first,)
    assert read(store, second) == {"a/b/c": b"1", "a/d": b"4", "f/g/h": b"5"}
    assert read(store, first) == {"a/b/c": b"1", "a/d": b"2", "e": b"3"}


def test_a_folder_goes_with_its_last_file(store: Objects) -> None:
    first = store.build(None, draft({"a/b/c": b"1", "d": b"2"}))
    second = store.build(first, draft({"a/b/c": None}))
    assert store.tree(second).names("") == ["d"]
    assert list(store.tree(second).names("a")) == list(store.tree(second).names("a/b")) == []
    assert store.tree(second).key("a") is None
    third = store.build(second, draft({"d": None}))
    assert list(store.tree(third).names("")) == []
    assert read(store, store.build(third, draft({"x": b"y"}))) == {"x": b"y"}


def test_what_is_not_there(store: Objects) -> None:
    tree = store.tree(store.build(None, draft({"a/b": b"1"})))
    for path in ("c", "a/c", "a/b/c", "c/d/e", "A/b"):
        assert tree.blob(path) is None and list(tree.names(path)) == [] and tree.key(path) is None
    assert list(tree.names("a/b")) == []


def test_a_key_changes_with_what_lies_below_and_only_then(store: Objects) -> None:
    first = store.build(None, draft({"a/x/1": b"1", "b/x/1": b"1", "c": b"2"}))
    second = store.build(first, draft({"a/x/1": b"2"}))
    one, two = store.tree(first), store.tree(second)
    for path in ("", "a", "a/x", "a/x/1"):
        assert one.key(path) != two.key(path)
    for path in ("b", "b/x", "b/x/1", "c"):
        assert one.key(path) == two.key(path) is not None
    assert one.key("a/x/1") == one.key("b/x/1")


def test_the_same_draft_is_the_same_commit(store: Objects) -> None:
    """So a nonce in the message is what makes two claims two commits."""
    assert store.build(None, draft({"a": b"1"})) == store.build(None, draft({"a": b"1"}))
    others = [
        draft({"a": b"2"}), draft({"a": b"1"}, "other\n"), draft({"a": b"1"}, author=COMMITTER),
        draft({"a": b"1"}, time=datetime(2027, 1, 1, tzinfo=UTC)),
    ]  # fmt: skip
    assert len({store.build(None, item) for item in [draft({"a": b"1"}), *others]}) == 5


def test_a_clash_of_file_and_folder_does_not_go_unnoticed(store: Objects) -> None:
    first = store.build(None, draft({"a": b"1"}))
    second = store.build(first, draft({"a": None, "b/c": b"2"}))
    assert read(store, second) == {"b/c": b"2"}


# -- comparing


def test_changed(store: Objects) -> None:
    first = store.build(None, draft({"a/b": b"1", "a/c": b"2", "d": b"3", "e/f/g": b"4"}))
    second = store.build(first, draft({"a/b": b"9", "d": None, "e/f/h": b"5"}))
    assert list(store.changed(None, first)) == ["a/b", "a/c", "d", "e/f/g"]
    assert list(store.changed(first, second)) == ["a/b", "d", "e/f/h"]
    assert list(store.changed(second, first)) == ["a/b", "d", "e/f/h"]
    assert list(store.changed(first, first)) == []
    assert list(store.changed(first, store.build(first, draft({})))) == []


def chain(store: Objects, length: int, parent: str | None = None) -> list[str]:
    found: list[str] = []
    for number in range(length):
        parent = store.build(parent, draft({"n": str(number).encode()}, f"{parent} {number}\n"))
        found.append(parent)
    return found


def test_ancestors(store: Objects) -> None:
    one, two, three = chain(store, 3)
    (side,) = chain(store, 1, one)
    assert store.is_ancestor(one, one) and store.is_ancestor(one, three) and store.is_ancestor(two, three)
    assert not store.is_ancestor(three, one) and not store.is_ancestor(side, three)
    assert not store.is_ancestor(two, side) and store.is_ancestor(one, side)
    for known in (one, NOWHERE):
        assert not store.is_ancestor(NOWHERE, known) and not store.is_ancestor(known, NOWHERE)


def test_between(store: Objects) -> None:
    commits = chain(store, 5)
    assert list(store.between(None, commits[-1], 100)) == commits
    assert list(store.between(commits[1], commits[-1], 100)) == commits[2:]
    assert list(store.between(commits[-1], commits[-1], 100)) == []
    assert list(store.between(None, commits[-1], 2)) == commits[-2:]
    assert list(store.between(commits[0], commits[3], 2)) == commits[2:4]


@pytest.mark.parametrize("oid", [NOWHERE, "", "HEAD", "-x", "x" * 40, "../../etc"])
def test_an_id_that_names_no_commit_here(store: Objects, oid: str) -> None:
    (known,) = chain(store, 1)
    for ask in (
        lambda: store.tree(oid),
        lambda: store.commit(oid),
        lambda: store.build(oid, draft({})),
        lambda: store.changed(known, oid),
        lambda: store.changed(oid, known),
        lambda: store.between(None, oid, 5),
    ):
        with pytest.raises(InvalidState):
            ask()


PATHS = ["a", "b/x", "b/y", "b/c/x", "b/c/d/x", "e/x"]
CHANGES = st.dictionaries(st.sampled_from(PATHS), st.none() | st.binary(max_size=3), max_size=5)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CHANGES, min_size=1, max_size=5))
def test_git_and_memory_agree(bare: Path, drafts: list[dict[str, bytes | None]]) -> None:
    memory, pygit = MemoryObjects(), PygitObjects(str(bare))
    tips: list[str | None] = [None, None]
    for number, changes in enumerate(drafts):
        before = list(tips)
        tips = [
            store.build(tip, draft(changes, f"{number}\n")) for store, tip in zip((memory, pygit), tips, strict=True)
        ]
        assert tips[0] and tips[1]
        one, two = memory.tree(tips[0]), pygit.tree(tips[1])
        for path in ["", "b", "b/c", "b/c/d", "e", "nowhere", *PATHS]:
            assert list(one.names(path)) == list(two.names(path))
            assert (one.key(path) is None) == (two.key(path) is None) or not path
            if path in PATHS:
                assert one.blob(path) == two.blob(path)
        assert memory.changed(before[0], tips[0]) == pygit.changed(before[1], tips[1])


# -- other readers of what we wrote


def test_git_and_gitpython_read_what_was_built(bare: Path) -> None:
    """A whole little ledger, built commit by commit in both stores."""
    world = World().begin(todos=3)
    objects, parent = PygitObjects(str(bare)), None
    for oid in world.history():
        commit = world.objects.commit(oid)
        before = world.objects.tree(commit.parents[0]).files if commit.parents else {}
        after = world.objects.tree(oid).files
        changes = {
            path: after.get(path)
            for path in world.objects.changed(commit.parents[0] if commit.parents else None, oid)
        }
        assert before.keys() <= after.keys()
        parent = objects.build(parent, Draft(changes, commit.message, commit.author, commit.committer, commit.time))
    assert parent is not None
    run(bare, "update-ref", "refs/heads/loopx/coord", parent)
    assert run(bare, "fsck", "--strict", "--full", "--no-dangling") == ""
    assert not list(Checker(objects, {}).walk(None, parent, 10**9))
    assert read(objects, parent) == world.objects.tree(world.tip).files
    with gitpython.Repo(bare) as repo:
        commits = list(repo.iter_commits("loopx/coord"))
        assert len(commits) == len(world.history())
        for theirs, oid in zip(reversed(commits), world.history(), strict=True):
            ours = world.objects.commit(oid)
            assert theirs.message == ours.message
            assert (theirs.author.name, theirs.author.email) == (ours.author.name, ours.author.email)
            assert theirs.authored_datetime == ours.time
        files = {
            str(item.path): item.data_stream.read() for item in commits[0].tree.traverse() if item.type == "blob"
        }
        assert files == world.objects.tree(world.tip).files
        assert {item.mode for item in commits[0].tree.traverse() if item.type == "blob"} == {0o100644}


def test_building_touches_no_ref_no_index_and_no_work_tree(tmp_path: Path) -> None:
    run(tmp_path, "init", "-q", "work")
    work = tmp_path / "work"
    objects = PygitObjects(str(work / ".git"))
    objects.build(objects.build(None, draft({"a": b"1"})), draft({"a": b"2"}))
    assert run(work, "for-each-ref") == "" and run(work, "status", "--porcelain") == ""
    assert not (work / ".git/index").exists() and not (work / "a").exists()


# -- what is planted in a fetched tree


def planted(bare: Path, rows: list[bytes]) -> str:
    """A commit whose tree holds `.loopx` with the sound files of a ledger, and these rows beside them.

    A row is `<mode> <name>\\0<20 bytes of id>`, as a tree has it.
    """
    tree = run(bare, "hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=b"".join(rows))
    return run(bare, "commit-tree", tree, "-m", "planted")


def row(mode: str, name: bytes, oid: str) -> bytes:
    return mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid)


def blob(bare: Path, data: bytes) -> str:
    return run(bare, "hash-object", "-w", "--stdin", stdin=data)


@pytest.mark.parametrize("mode", ["120000", "100755", "160000", "40000"])
def test_an_entry_that_is_no_plain_file_is_refused(bare: Path, mode: str) -> None:
    """A symbolic link, an executable, a submodule, a folder."""
    kind = {"160000": NOWHERE, "40000": run(bare, "mktree")}
    oid = planted(bare, [row(mode, b"x.md", kind.get(mode) or blob(bare, b"/etc/passwd"))])
    tree = PygitObjects(str(bare)).tree(oid)
    with pytest.raises(InvalidState, match=r"x\.md is not a plain file") as caught:
        tree.blob("x.md")
    assert caught.value.about == {"file": "x.md"}
    assert list(tree.names("x.md")) == [] and tree.blob("x.md/y") is None
    assert list(tree.names("")) == ["x.md"]
    assert list(PygitObjects(str(bare)).changed(None, oid)) == ([] if mode == "40000" else ["x.md"])


def test_a_folder_that_is_a_link_is_not_walked(bare: Path) -> None:
    for mode, target in (("120000", blob(bare, b"../..")), ("160000", NOWHERE)):
        tree = PygitObjects(str(bare)).tree(planted(bare, [row(mode, b".loopx", target)]))
        assert tree.blob(".loopx/format") is None and list(tree.names(".loopx")) == []
        with pytest.raises(InvalidState, match="not a loopx ledger"):
            TreeSnapshot(tree)


def test_a_blob_that_is_too_large_is_refused_before_it_is_read(bare: Path) -> None:
    sizes = {b"fits": BLOB_MAX, b"large": BLOB_MAX + 1}
    rows = [row("100644", name, blob(bare, b"x" * size)) for name, size in sorted(sizes.items())]
    tree = PygitObjects(str(bare)).tree(planted(bare, rows))
    assert len(tree.blob("fits") or b"") == BLOB_MAX
    with pytest.raises(InvalidState, match=f"large has {BLOB_MAX + 1} bytes"):
        tree.blob("large")


@pytest.mark.parametrize("name", [b"\xff.md", b"e\xcc\x81.md", b"..", b".git", b"GIT~1", b"a\\b", b"a\nb", b".md"])
def test_strange_names_are_reported_and_never_followed(bare: Path, name: bytes) -> None:
    """Whatever the name is: it is listed as changed, and no path of ours."""
    oid = planted(bare, [row("100644", name, blob(bare, b"x"))])
    objects = PygitObjects(str(bare))
    (changed,) = objects.changed(None, oid)
    assert len(objects.tree(oid).names("")) == 1
    with pytest.raises(InvalidState):
        layout.parse(changed)


def test_one_planted_file_makes_one_todo_unusable_and_no_other(bare: Path) -> None:
    objects = PygitObjects(str(bare))
    sound = objects.build(None, draft(files_of(todo_of(1), todo_of(2), todo_of(3))))
    path = layout.todo("main", tid(2))
    run(bare, "read-tree", sound)
    run(bare, "update-index", "--cacheinfo", f"120000,{blob(bare, b'/etc/passwd')},{path}")
    oid = run(bare, "commit-tree", run(bare, "write-tree"), "-p", sound, "-m", "planted")
    snapshot = TreeSnapshot(objects.tree(oid))
    with pytest.raises(InvalidState, match="not a plain file"):
        snapshot.todo("main", tid(2))
    assert [todo.id for todo in snapshot.todos("main")] == [tid(1), tid(3)]
    assert [error.about["file"] for error in check_state(snapshot)] == [path]


@pytest.mark.parametrize("read_before", [False, True])
def test_bytes_that_were_read_before_are_not_read_through_a_link(bare: Path, read_before: bool) -> None:
    """The same content under another mode is another state, whatever the memo holds."""
    objects, memo = PygitObjects(str(bare)), dict[Hashable, Any]()
    path = layout.todo("main", tid(1))
    sound = objects.build(None, draft(files_of(todo_of(1))))
    if read_before:
        assert TreeSnapshot(objects.tree(sound), memo).todo("main", tid(1)).id == tid(1)
    run(bare, "read-tree", sound)
    oid = run(bare, "rev-parse", f"{sound}:{path}")
    run(bare, "update-index", "--cacheinfo", f"120000,{oid},{path}")
    linked = run(bare, "commit-tree", run(bare, "write-tree"), "-p", sound, "-m", "planted")
    with pytest.raises(InvalidState, match="not a plain file"):
        TreeSnapshot(objects.tree(linked), memo).todo("main", tid(1))


# -- what is planted as a commit


def raw_commit(bare: Path, text: bytes) -> str:
    return run(bare, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=text)


def head(bare: Path, author: bytes = b"A <a@example.org> 1767323045 +0000") -> bytes:
    tree = run(bare, "mktree").encode()
    return b"tree " + tree + b"\nauthor " + author + b"\ncommitter C <c@example.org> 1767323045 +0000\n"


def test_a_message_that_is_no_utf8(bare: Path) -> None:
    with pytest.raises(InvalidState, match="not UTF-8"):
        PygitObjects(str(bare)).commit(raw_commit(bare, head(bare) + b"\n\xff\xfe\n"))


def test_a_name_that_is_no_utf8(bare: Path) -> None:
    oid = raw_commit(bare, head(bare, b"\xff\xfe <a@example.org> 1767323045 +0000") + b"\nx\n")
    commit = PygitObjects(str(bare)).commit(oid)
    assert commit.author.name == "\ufffd\ufffd", "nobody's name, so the check of authors refuses it"


@pytest.mark.parametrize("when", [b"0 +0000", b"99999999999999 +0000", b"-5 +0000", b"1767323045 +9999", b"1 -1400"])
def test_a_strange_time_is_no_crash(bare: Path, when: bytes) -> None:
    commit = PygitObjects(str(bare)).commit(raw_commit(bare, head(bare, b"A <a@example.org> " + when) + b"\nx\n"))
    assert commit.time.tzinfo is UTC


def test_a_commit_that_is_too_large(bare: Path) -> None:
    oid = raw_commit(bare, head(bare) + b"\n" + b"x" * COMMIT_MAX)
    for ask in (PygitObjects(str(bare)).commit, PygitObjects(str(bare)).tree):
        with pytest.raises(InvalidState, match="larger than"):
            ask(oid)


def test_an_id_of_something_else(bare: Path) -> None:
    (commit,) = chain(PygitObjects(str(bare)), 1)
    others = [blob(bare, b"x"), run(bare, "mktree"), run(bare, "rev-parse", f"{commit}^{{tree}}")]
    run(bare, "update-ref", "refs/heads/main", commit)
    run(bare, "tag", "-a", "-m", "x", "v1", commit)
    others.append(run(bare, "rev-parse", "v1"))
    for oid in others:
        with pytest.raises(InvalidState, match="is not a commit"):
            PygitObjects(str(bare)).commit(oid)


def test_an_author_s_zone_does_not_shift_the_time(bare: Path) -> None:
    oid = raw_commit(bare, head(bare, b"A <a@example.org> 1767323045 +0530") + b"\nx\n")
    assert PygitObjects(str(bare)).commit(oid).time == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_folder_that_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(InvalidState, match="cannot be opened"):
        PygitObjects(str(tmp_path))
