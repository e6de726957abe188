"""How this program starts itself, without loading anything from the current folder.

For `-m`, Python searches modules in the current folder first; an empty or relative entry of PATH or PYTHONPATH also
means the current folder. That folder is the user's work tree: a `click.py` in it is data.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

#: Lists of folders in the environment in which an entry that is not absolute would mean the work tree.
_LISTS = ("PATH", "PYTHONPATH")


def itself(*words: str, module: str = "loopx_git") -> list[str]:
    """The command line that runs one of our modules with this Python, without the current folder as a module path."""
    return [sys.executable, "-P", "-m", module, *words]


def isolated(code: str, *words: str) -> list[str]:
    """The command line that runs a few lines of Python, and nothing from the environment or the current folder."""
    return [sys.executable, "-I", "-S", "-c", code, *words]


def absolute(env: Mapping[str, str]) -> dict[str, str]:
    """The environment with only absolute folders in its lists; a list without any is not set."""
    kept = dict(env)
    for name in _LISTS:
        if name in kept:
            folders = [folder for folder in kept[name].split(os.pathsep) if os.path.isabs(folder)]
            if folders:
                kept[name] = os.pathsep.join(folders)
            else:
                del kept[name]
    return kept
