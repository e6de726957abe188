"""How a commit comes to name its claims, whatever way its message is written."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sites import Site, hold

MakeSite = Callable[..., Site]


def named(site: Site) -> list[str]:
    return site.clone.git("log", "-1", "--format=%(trailers:key=Loopx-Claim,valueonly)").split()


def test_an_amended_commit_keeps_the_claims_of_all_that_it_contains(site: MakeSite) -> None:
    made = site(claim="own")
    second = hold(made.clone, "own", ("/docs/",))
    both = sorted([f"{made.todo}@1", f"{second}@1"])
    assert made.sh("echo x >> src/a.py; git commit -q -a -m one").returncode == 0
    # The claim of what was committed first has ended since: its commit still stands on it.
    made.client().todo.complete(made.todo)
    for number, words in enumerate(["-m again", "-F ../message", "--no-edit", "-C HEAD", "--am -m short"]):
        done = made.sh(f"echo said > ../message; echo {number} >> docs/d.md; git commit -q -a --amend {words}")
        assert done.returncode == 0, done.stderr
        assert sorted(named(made)) == both, words
    done = made.sh("echo y >> docs/d.md; git commit -q -a -m '--amend'")
    assert done.returncode == 0, done.stderr
    assert named(made) == [f"{second}@1"]


@pytest.mark.parametrize("way", ["commit.template", "-t", "nothing"])
def test_what_is_written_in_the_editor_is_named_and_nothing_written_aborts(site: MakeSite, way: str) -> None:
    made = site(claim="own")
    option = {"-t": "-t ../template", "nothing": ""}.get(way, "")
    made.quietly("printf 'Why:\\n# a comment\\n' > ../template; echo x >> src/a.py; git add src")
    if way == "commit.template":
        made.clone.config("commit.template", "../template")
    done = made.sh(f"git commit -q {option}")
    assert done.returncode != 0
    assert "bort" in done.stderr
    editor = made.world.root / "editor"
    editor.write_text('#!/bin/sh\necho "because of it" >> "$1"\n')
    editor.chmod(0o755)
    done = made.sh(f"git commit -q {option}", GIT_EDITOR=str(editor))
    assert done.returncode == 0, done.stderr
    assert named(made) == [f"{made.todo}@1"]
