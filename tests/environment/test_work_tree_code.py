"""Nothing in the user's work tree is ever run or imported by us, whatever it is called."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from clones import PROGRAM, World, plant
from sites import Site

from loopx_git.store.itself import absolute, itself

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(Path(sys.executable).parent / "git-loopx")
#: A name that the program imports, or that Python itself would, for every kind of module.
NAMES = (
    "click", "pygit2", "yaml", "frontmatter", "pathspec", "git", "json", "re", "typing", "dataclasses", "subprocess",
    "tempfile", "secrets", "datetime", "unicodedata", "shlex", "loopx_git", "sitecustomize", "usercustomize",
)  # fmt: skip


def traps(folder: Path) -> Path:
    """Modules, packages and programs in the folder that tell when they run; the file in which they tell it."""
    mark = folder.parent / "sprung"
    code = f"open({str(mark)!r}, 'a').write(__name__ + chr(10))\nraise SystemExit(77)\n"
    for name in NAMES:
        plant(folder / f"{name}.py", code)
    for name in ("git", "git-loopx", "loopx-git", "ssh"):
        plant(folder / name, f"#!/bin/sh\necho {name} >> {mark}\nexit 77\n")
        (folder / name).chmod(0o755)
    return mark


def test_a_child_of_ours_starts_without_the_current_folder(tmp_path: Path) -> None:
    mark = traps(tmp_path / "tree")
    env = absolute({**os.environ, "PYTHONPATH": f":{tmp_path / 'none'}:."})
    done = subprocess.run(itself("--version"), cwd=tmp_path / "tree", env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not mark.exists()
    plainly = [sys.executable, "-c", "import click"]
    subprocess.run(plainly, cwd=tmp_path / "tree", env=env, capture_output=True, check=False)
    assert mark.exists(), "the trap works without the defence"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("/a:/b", "/a:/b"),
        (":/a", "/a"),
        ("/a:", "/a"),
        ("/a::/b", "/a:/b"),
        (".:/a:bin", "/a"),
        (".", None),
        ("", None),
    ],
)
def test_only_absolute_folders_are_looked_in(given: str, kept: str | None) -> None:
    assert absolute({"PATH": given, "HOME": "x"}) == ({"HOME": "x"} if kept is None else {"PATH": kept, "HOME": "x"})


def test_no_module_or_program_of_the_work_tree_runs(world: World) -> None:
    """The console script, with a PATH that names the current folder first, in the folder of the traps."""
    clone = world.clone("one")
    clone.run("init")
    clone.run("peer", "register", "alice")
    mark = traps(clone.path)
    env = {**clone.env, "PATH": f".::{clone.env['PATH']}"}
    for words in (["todo", "list"], ["todo", "add", "x"], ["heartbeat", "status"], ["doctor"], ["guard", "status"]):
        done = subprocess.run(
            [SCRIPT, "--agent", "alice", *words], cwd=clone.path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, 19), (words, done.stderr)
        assert not mark.exists(), (words, mark.read_text())


def test_a_relative_place_of_modules_is_left_by_the_program(world: World) -> None:
    """What `python -m` and a relative PYTHONPATH add is gone before the first library is loaded."""
    clone = world.clone("one")
    clone.run("init")
    mark = world.root / "sprung"
    for name in ("click", "pygit2", "yaml", "frontmatter", "pathspec"):
        plant(clone.path / f"{name}.py", f"open({str(mark)!r}, 'a').write(__name__)\nraise SystemExit(77)\n")
    for argv, more in ((PROGRAM, {}), ((SCRIPT,), {"PYTHONPATH": "."}), ((SCRIPT,), {"PYTHONPATH": ":"})):
        done = subprocess.run(
            [*argv, "todo", "list"],
            cwd=clone.path,
            env={**clone.env, **more},
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        assert (done.returncode, mark.exists()) == (0, False), done.stderr


@pytest.mark.parametrize("places", ["", ".", "src:/nowhere", "/nowhere:"])
def test_the_hooks_run_nothing_of_the_work_tree(site: type[Site], places: str) -> None:
    made = site()
    mark = traps(made.clone.path)
    env = {**made.clone.env, "PYTHONPATH": places}
    (made.clone.path / "src/a.py").write_text("new\n")
    for words in (["add", "src/a.py"], ["commit", "-m", "work"]):
        subprocess.run(["git", *words], cwd=made.clone.path, env=env, capture_output=True, check=False)
    assert not mark.exists(), mark.read_text()


def test_no_place_starts_python_in_another_way() -> None:
    """One function knows how this program is started again."""
    found = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "loopx_git").rglob("*.py")
        if "sys.executable" in path.read_text(encoding="utf-8")
    ]
    assert sorted(found) == ["loopx_git/guard/shims.py", "loopx_git/store/itself.py"]
    action = (ROOT / ".github/actions/review/action.yml").read_text(encoding="utf-8")
    assert "python -m" not in action
