"""The shims: six scripts of `hooks/`, with the program's place and the name of a kept hook written in."""

from __future__ import annotations

import os
import shlex
import shutil
import sys

from loopx_git.errors import InternalError
from loopx_git.guard.hook import NAMES
from loopx_git.store.itself import absolute

#: In a wheel the shims lie inside the package, in a checkout beside it.
_FOLDERS = (
    os.path.join(os.path.dirname(__file__), "hooks"),
    os.path.join(os.path.dirname(__file__), "..", "..", "hooks"),
)


def program() -> str:
    """The absolute path of the program that runs now, or its bare name."""
    beside = os.path.join(os.path.dirname(sys.executable), "git-loopx")
    if os.access(beside, os.X_OK):
        return beside
    folders = absolute(os.environ).get("PATH", os.defpath)
    return shutil.which("git-loopx", path=folders) or "git-loopx"


def text(name: str, *, kept: str = "", path: str = "git-loopx") -> bytes:
    """The shim for a hook. `kept` is the name of the foreign hook beside it, which runs first."""
    shim = _read(name)
    lines = {"\nprogram=git-loopx\n": f"\nprogram={shlex.quote(path)}\n"}
    if kept:
        lines["\nkept=\n"] = f"\nkept={shlex.quote(kept)}\n"
    for before, after in lines.items():
        if shim.count(before) != 1:
            raise InternalError(f"the shim of {name} is damaged", hint="install loopx-git again")
        shim = shim.replace(before, after)
    return shim.encode()


def _read(name: str) -> str:
    for folder in _FOLDERS:
        path = os.path.join(folder, name)
        if name in NAMES and os.path.exists(path):
            with open(path, encoding="ascii") as file:
                return file.read()
    raise InternalError(f"the shim of {name} is not there", hint="install loopx-git again")
