"""Commands that are forked behave as commands that are started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Prints where libgit2 looks for the user's configuration. With "late" it was loaded in another environment.
SCRIPT = """\
import os, sys
env = dict(os.environ)
if sys.argv[1] == "late":
    os.environ.clear()
import pygit2, warm
os.environ.update(env)
if sys.argv[1] == "late":
    warm.look_for_homes_anew()
from pygit2.enums import ConfigLevel
for level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
    print(level.name, pygit2.settings.search_path[level])
print(pygit2.settings.homedir)
"""


@pytest.mark.parametrize("xdg", [False, True])
def test_libgit2_looks_in_the_home_of_the_command(tmp_path: Path, xdg: bool) -> None:
    """Otherwise no test would notice that a user's configuration is read by way of libgit2."""
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(Path(__file__).parent),
        "HOME": str(tmp_path),
    }
    env |= {"XDG_CONFIG_HOME": str(tmp_path / "xdg")} if xdg else {}
    begun, late = (
        subprocess.run(
            [sys.executable, "-c", SCRIPT, when], env=env, capture_output=True, text=True, check=True
        ).stdout
        for when in ("begun", "late")
    )
    assert late == begun
    assert str(tmp_path) in late
