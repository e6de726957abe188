"""Trees in memory, and one over another: the same answers as the files applied."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from memory_store import MemoryTree

from loopx_git.ledger.tree import OverlayTree

#: Few names, so that paths meet; a name of a file is never one of a folder.
FOLDERS = st.lists(st.sampled_from(["a", "b", "aa"]), max_size=3).map("/".join)
PATHS = st.builds(lambda folder, name: f"{folder}/{name}".lstrip("/"), FOLDERS, st.sampled_from(["x.md", "y.md"]))
FILES = st.dictionaries(PATHS, st.sampled_from([b"", b"1", b"2"]), max_size=8)
CHANGES = st.dictionaries(PATHS, st.sampled_from([None, None, b"", b"1", b"3"]), max_size=8)
PLACES = [
    "", "a", "b", "aa", "a/a", "a/b", "a/aa", "b/a", "a/a/a", "aa/aa", "x.md", "a/x.md", "a/y.md", "b/x.md",
    "a/b/x.md", "aa/aa/aa/x.md", "nowhere", "a/x.md/z",
]  # fmt: skip


def joined(base: dict[str, bytes], changes: dict[str, bytes | None]) -> MemoryTree:
    merged = {**base, **changes}
    return MemoryTree({path: data for path, data in merged.items() if data is not None})


def test_a_tree_in_memory() -> None:
    tree = MemoryTree({"a/b/x": b"1", "a/y": b"2", "z": b""})
    assert tree.blob("a/b/x") == b"1" and tree.blob("z") == b""
    assert tree.blob("a") is None and tree.blob("a/b/y") is None
    assert tree.names("") == ["a", "z"]
    assert tree.names("a") == ["b", "y"]
    assert tree.names("a/b") == ["x"] and tree.names("a/b/x") == [] and tree.names("c") == []
    assert tree.key("z") is not None and tree.key("") is not None
    assert tree.key("c") is None and tree.key("a/b/y") is None


@settings(deadline=None)
@given(FILES, CHANGES)
def test_an_overlay_reads_like_the_files_applied(base: dict[str, bytes], changes: dict[str, bytes | None]) -> None:
    overlay, plain = OverlayTree(MemoryTree(base), changes), joined(base, changes)
    for place in {*PLACES, *base, *changes}:
        assert overlay.blob(place) == plain.blob(place)
        assert list(overlay.names(place)) == list(plain.names(place))
        assert (overlay.key(place) is None) == (plain.key(place) is None)


@settings(deadline=None)
@given(FILES, CHANGES, CHANGES)
def test_overlays_pile_up(
    base: dict[str, bytes], first: dict[str, bytes | None], then: dict[str, bytes | None]
) -> None:
    overlay = OverlayTree(OverlayTree(MemoryTree(base), first), then)
    plain = joined(dict(joined(base, first).files), then)
    for place in {*PLACES, *base, *first, *then}:
        assert overlay.blob(place) == plain.blob(place)
        assert list(overlay.names(place)) == list(plain.names(place))
        assert (overlay.key(place) is None) == (plain.key(place) is None)


@settings(deadline=None)
@given(FILES, FILES)
def test_equal_keys_mean_equal_content(one: dict[str, bytes], two: dict[str, bytes]) -> None:
    first, second = MemoryTree(one), MemoryTree(two)
    for place in PLACES:
        below = [{p: d for p, d in files.items() if p == place or p.startswith(place + "/") or not place}
                 for files in (one, two)]  # fmt: skip
        assert (first.key(place) == second.key(place)) == (below[0] == below[1])


@settings(deadline=None)
@given(FILES, CHANGES, CHANGES)
def test_equal_keys_of_overlays_mean_equal_content(
    base: dict[str, bytes], one: dict[str, bytes | None], two: dict[str, bytes | None]
) -> None:
    """The other way round is not asked: a key may change although the content did not."""
    first, second = (OverlayTree(MemoryTree(base), changes) for changes in (one, two))
    for place in PLACES:
        if first.key(place) == second.key(place):
            assert first.blob(place) == second.blob(place)
            assert list(first.names(place)) == list(second.names(place))
        hash(first.key(place))
