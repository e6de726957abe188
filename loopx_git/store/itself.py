"""How this program starts itself, and what no child of ours takes from the folder that it runs in.

Python puts the current folder first among the places of modules for `-m`, and an empty or relative entry of PATH or
PYTHONPATH means the current folder, too. That folder is the user's work tree: a `click.py` there is data to us.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

#: Lists of folders in the environment in which an entry that is not absolute would mean the work tree.
_LISTS = ("PATH", "PYTHONPATH")


def itself(*words: str, module: str = "loopx_git") -> list[str]:
    """The command line that runs a module of ours with this Python, without the current folder as a place of
    modules."""
    return [sys.executable, "-P", "-m", module, *words]


def absolute(env: Mapping[str, str]) -> dict[str, str]:
    """The environment with only absolute folders in its lists; a list that has none left is not set."""
    kept = dict(env)
    for name in _LISTS:
        if name in kept:
            folders = [folder for folder in kept[name].split(os.pathsep) if os.path.isabs(folder)]
            if folders:
                kept[name] = os.pathsep.join(folders)
            else:
                del kept[name]
    return kept
