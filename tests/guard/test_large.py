"""Very many changes: what is told of them is the whole truth, or there is no verdict."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sites import OFF, Site, hold

from loopx_git.coverage import raw

MakeSite = Callable[..., Site]
#: So many paths of so many bytes are more than 64 MiB of names.
COUNT, DEPTH = 17_500, 15


def stage(site: Site, count: int, *more: str) -> None:
    """Stage that many long paths below src, and others."""
    blob = site.clone.git("hash-object", "-w", "--stdin", stdin=b"x")
    above = "/".join(["src", *("d" * 250 for _ in range(DEPTH))])
    names = [*(f"{above}/{'n' * 100}{number}" for number in range(count)), *more]
    entries = "".join(f"100644 {blob}\t{name}\0" for name in names)
    site.clone.git("update-index", "-z", "--index-info", stdin=entries.encode())


def test_a_foreign_path_behind_64_mib_of_names(site: MakeSite) -> None:
    made = site(claim="own")
    theirs = hold(made.clone, "other", ("/zz/",), "their work")
    stage(made, COUNT, "zz/theirs")
    done = made.sh("git commit -q -m work")
    assert done.returncode != 0
    assert f"bob holds {theirs}@1" in done.stderr
    # Made by what no hook sees, it is found at the push.
    made.clone.git(*OFF, "commit", "-q", "-m", f"work\n\nLoopx-Claim: {made.todo}@1")
    done = made.sh("git push -q origin HEAD:work")
    assert done.returncode != 0
    assert f"bob holds {theirs}@1" in done.stderr


def test_more_than_can_be_looked_at_is_refused_with_a_clear_word(
    site: MakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = site(claim="own")
    stage(made, 3)
    assert made.clone.run("guard", "check").json["verdict"] == "allowed"
    monkeypatch.setattr(raw, "MOST", 9_000)
    from loopx_git.errors import InvalidState
    from loopx_git.guard import check

    with pytest.raises(InvalidState, match="git diff-index says more than 9000 bytes"):
        check.check_staged(made.client())
    made.clone.git(*OFF, "commit", "-q", "-m", f"work\n\nLoopx-Claim: {made.todo}@1")
    with pytest.raises(InvalidState, match="git diff-tree says more than 9000 bytes"):
        check.check_range(made.client(), "HEAD~1..HEAD")
