"""The shims: six scripts of `hooks/`, with the program's place and the name of a kept hook written in.

A shim is known by what it says, wherever it lies: by its second line, and by the digest in its last line.
"""

from __future__ import annotations

import hashlib
import os
import re
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
#: Before the digest of all that stands before it.
_END = b"# end of loopx guard: "


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
    return _sealed(shim.encode())


def is_ours(data: bytes, name: str) -> bool:
    """True for a shim of ours for the hook, also for one that somebody has changed."""
    return data.startswith(f"#!/bin/sh\n# loopx guard: {name}.".encode())


def is_whole(data: bytes, name: str) -> bool:
    """True for a shim of ours, of whatever version, that nobody has changed."""
    body, _, _ = data.rpartition(_END)
    return is_ours(data, name) and bool(body) and _sealed(body) == data


def is_current(data: bytes, name: str) -> bool:
    """True for a shim as this version writes it."""
    program = _value(data, "program")
    return bool(program) and data == text(name, kept=kept_in(data), path=program)


def kept_in(data: bytes) -> str:
    """The name of the foreign hook that a shim runs first; "" for none."""
    return _value(data, "kept")


def _value(data: bytes, variable: str) -> str:
    found = re.search(rf"(?m)^{variable}=(.*)$".encode(), data)
    try:
        words = shlex.split(found[1].decode("utf-8", "surrogateescape")) if found else []
    except ValueError:
        return ""
    return words[0] if words else ""


def _sealed(body: bytes) -> bytes:
    return body + _END + hashlib.sha256(body).hexdigest()[:16].encode() + b"\n"


def _read(name: str) -> str:
    for folder in _FOLDERS:
        path = os.path.join(folder, name)
        if name in NAMES and os.path.exists(path):
            with open(path, encoding="ascii") as file:
                return file.read()
    raise InternalError(f"the shim of {name} is not there", hint="install loopx-git again")
