"""What a person's editor, shell or first mistake leaves behind changes no answer."""

from __future__ import annotations

import shutil

import pytest
from clones import Clone, World, plant, populate

from loopx_git.client.land import started
from loopx_git.store.environment import BENDING


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_config_toml_with_a_byte_order_mark_is_read(alice: Clone, mark: bytes, ends: bytes) -> None:
    path = alice.path / ".loopx/config.toml"
    text = path.read_bytes() + b'[guard]\nmode = "warn"\n'
    path.write_bytes(mark + text.replace(b"\n", ends))
    assert alice.run("todo", "list").json["todos"] == []
    assert alice.run("guard", "check", "x", agent="alice", check=None).json["mode"] == "warn"


def test_a_clone_whose_first_command_was_refused_knows_its_age(ledger: World) -> None:
    first = ledger.clone("first")
    todo = populate(first, titles=["held"])[0]
    first.run("todo", "claim", todo, agent="alice")
    late = ledger.clone("late")
    late.run("todo", "claim", todo, agent="bob", check=11)
    shown = late.run("todo", "list", "--offline").json
    assert 0 <= shown["age_s"] < 3600
    checked = late.run("guard", "check", "x", agent="bob", check=None)
    assert checked.code in (0, 19), checked
    assert 0 <= checked.json["known_age_s"] < 3600


def test_a_refusal_stands_where_its_age_cannot_be_noted(alice: Clone, bob: Clone) -> None:
    todo = populate(alice, titles=["held"])[0]
    alice.run("todo", "claim", todo, agent="alice")
    bob.run("sync")
    stamp = bob.path / ".git/loopx/fetched"
    stamp.unlink()
    stamp.mkdir()
    assert bob.run("todo", "claim", todo, agent="bob", check=11).error["holder"] == "alice"


def test_an_unknown_age_is_no_number(alice: Clone) -> None:
    alice.run("sync")
    (alice.path / ".git/loopx/fetched").unlink()
    assert alice.run("todo", "list", "--offline").json["age_s"] is None
    checked = alice.run("guard", "check", "x", agent="alice", check=None)
    assert checked.json["known_age_s"] is None


#: What a person may have set.
VALUES = {"GIT_EXTERNAL_DIFF": "false", "GIT_DIFF_OPTS": "--unified=0", "GIT_ATTR_SOURCE": "HEAD"}


@pytest.mark.parametrize("name", sorted(BENDING))
def test_variables_that_bend_git_do_not_matter(ledger: World, name: str) -> None:
    plain = ledger.clone("one")
    told = ledger.root / "told"
    plant(
        ledger.root / "bin/git",
        f'#!/bin/sh\n[ -z "${{{name}+set}}" ] || echo "$@" >> {told}\nexec {shutil.which("git")} "$@"\n',
    )
    bent = plain.having(**{name: VALUES.get(name, "1")})
    watched = bent.having(PATH=f"{ledger.root / 'bin'}:{plain.env['PATH']}")
    todo = watched.add("a todo", "--scope", "a*b.txt")
    watched.run("todo", "claim", todo, agent="alice")
    watched.run("guard", "check", "a*b.txt", "axb.txt", "other.txt", agent="alice", check=19)
    assert watched.verified()["ok"] is True
    assert not told.exists(), told.read_text()

    plain.commit("a*b.txt", message=f"work\n\nLoopx-Claim: {todo}@1")
    plain.git("checkout", "-q", "-b", "side", "origin/main")
    plain.commit("side.txt", "side\n")
    plain.git("merge", "-q", "--no-ff", "--no-commit", "main")
    (plain.path / "a*b.txt").write_text("by hand, in the merge\n")
    plain.git("commit", "-q", "-a", "-m", "merge")
    expected = plain.run("review", "check", "--base", "origin/main", check=19).json
    assert bent.run("review", "check", "--base", "origin/main", check=19).json == expected
    assert {item["file"] for item in expected["findings"]} == {"side.txt", "a*b.txt"}


def test_a_hook_without_a_first_line_is_run_by_sh(world: World) -> None:
    text = plant(world.root / "hook", "exit 3\n")
    assert started(str(text)) == ["sh", str(text)]
    script = plant(world.root / "script", "#!/bin/sh\nexit 3\n")
    assert started(str(script)) == [str(script)]
    program = world.root / "program"
    program.write_bytes(b"\x7fELF\0\0")
    assert started(str(program)) == [str(program)]
