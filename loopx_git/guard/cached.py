"""The context within milliseconds: no git, no pygit2, the standard library alone.

It is built from three files that a slower run wrote: `claims.json` (`client.claims_file`), the clone's
deadlines, and `<git dir>/loopx/guard.json` with the policy and the agent and all that they were read from. Whatever
is not exactly as it was then (the policy's text, a file of git's configuration, a variable, the known tip) makes the
answer None, and the caller asks `guard.refresh`, which reads everything anew.
"""

from __future__ import annotations

import os
import re
import time

from loopx_git.client import claims_file
from loopx_git.coverage.policy import GuardPolicy
from loopx_git.coverage.verdict import Who
from loopx_git.guard.context import Context, Problem
from loopx_git.guard.free import Finder
from loopx_git.store.boot import boot, counting, left
from loopx_git.store.state_file import load, read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from loopx_git.client.client import Client

NAME = "guard.json"
VERSION = 2
#: Variables that change what git's configuration, or ours, says.
VARIABLES = (
    "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS", "LOOPX_REMOTE", "LOOPX_REF", "LOOPX_TIMEOUT",
)  # fmt: skip
#: Variables with which the quick way is not taken: another clock, or a repository that is not where it seems.
STRANGE = ("LOOPX_NOW", "LOOPX_FAILPOINT", "GIT_COMMON_DIR", "GIT_CEILING_DIRECTORIES")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


class RepositoryPaths:
    """Where a repository is: its top, its git directory, the one that its worktrees share."""

    __slots__ = ("common_dir", "git_dir", "top")

    def __init__(self, top: str, git_dir: str, common_dir: str) -> None:
        self.top, self.git_dir, self.common_dir = top, git_dir, common_dir


def places(folder: str) -> RepositoryPaths | None:
    """The repository that an absolute `folder` (which need not exist) lies in; None where it is not plain to see."""
    while True:
        dot_git = os.path.join(folder, ".git")
        if os.path.isdir(dot_git):
            return None if os.path.islink(dot_git) else RepositoryPaths(folder, dot_git, dot_git)
        pointer = read_plain(dot_git)
        if pointer is not None:
            return _linked(folder, pointer)
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _linked(top: str, pointer: str) -> RepositoryPaths | None:
    """A linked worktree, or a submodule."""
    if not pointer.startswith("gitdir: "):
        return None
    git_dir = os.path.normpath(os.path.join(top, pointer.removeprefix("gitdir: ").rstrip("\n")))
    common = read_plain(os.path.join(git_dir, "commondir"))
    if common is None:
        return RepositoryPaths(top, git_dir, git_dir) if os.path.isdir(git_dir) else None
    return RepositoryPaths(top, git_dir, os.path.normpath(os.path.join(git_dir, common.rstrip("\n"))))


def context(where: RepositoryPaths, env: Mapping[str, str]) -> Context | None:
    """The context, or None when it takes a slower look."""
    if any(name in env for name in STRANGE):
        return None
    known = _load(os.path.join(where.git_dir, "loopx", NAME))
    if known is None or known["surroundings"] != surroundings(known["files"], where, env):
        return None
    who = _who(where, env, env.get("LOOPX_AGENT") or known["agent"])
    claims = claims_file.read(os.path.join(where.common_dir, "loopx"))
    if who is None or claims is None or (claims["here"], claims["ref"]) != (known["here"], known["ref"]):
        return None
    if claims["tip"] != claims_file.known_tip(where.common_dir, claims["ref"], here=claims["here"]):
        return None
    free, counted = Finder(lambda: _client(where, env), claims["tip"]), counting()
    return of_claims(
        claims, GuardPolicy(known["policy"]), who, where.common_dir, time.time(), counted, boot(counted), free=free,
    )  # fmt: skip


def of_claims(
    claims: Mapping[str, Any], policy: GuardPolicy, who: Who, common_dir: str, now: float, counted: float,
    this_boot: str, *, free: Finder, problem: Problem | None = None,
) -> Context:  # fmt: skip
    """The context for the claims as `claims.json` has them: their age and the deadlines are read here and nowhere
    else. `now` is the wall clock; `counted` since `this_boot` goes on through a suspend."""
    home = os.path.join(common_dir, "loopx")
    try:
        age = 0.0 if claims["here"] else max(0.0, now - os.stat(os.path.join(home, "fetched")).st_mtime)
    except OSError:
        age = float("inf")
    # One that cannot be read is as if there were none: the wall clock decides.
    remaining = left(load(os.path.join(home, "deadlines.json")), counted, this_boot)
    unreadable = [f"a claim cannot be read and covers nothing: {said}" for said in claims["unreadable"][:3]]
    return Context(policy, who, now=now, age=age, tip=claims["tip"], claims=claims["claims"], remaining=remaining,
                   problem=problem, notes=unreadable, free=free)  # fmt: skip


def _client(where: RepositoryPaths, env: Mapping[str, str]) -> Client:
    """The client for what a denial says besides the verdict; only a denial pays for it."""
    from loopx_git.client.client import Client

    return Client(where.top, env)


def _load(path: str) -> dict[str, Any] | None:
    found = load(path)
    return found if found is not None and found.get("version") == VERSION else None


def _who(where: RepositoryPaths, env: Mapping[str, str], agent: str | None) -> Who | None:
    """The editor; None when its session must be made first, or a name is not one."""
    if agent is None:
        return Who(None, None)
    if not _NAME.fullmatch(agent):
        return None
    kept = os.path.join(where.git_dir, "loopx", "sessions", f"{agent}.json")
    session = env.get("LOOPX_SESSION") or claims_file.session_at(kept, where.git_dir)
    return Who(agent, session) if session and _NAME.fullmatch(session) else None


def surroundings(files: Sequence[str], where: RepositoryPaths, env: Mapping[str, str]) -> list[Any]:
    """All that the policy and the agent were read from, as plain values to be compared."""
    named = [name for name in env if name.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"))]
    return [
        config_text(where.top),
        [[name, env.get(name)] for name in (*VARIABLES, *sorted(named))],
        [_stamp(path) for path in files],
    ]


def config_text(top: str) -> str | None:
    """The text of .loopx/config.toml; None when there is none. A symbolic link reads as something else."""
    folder = os.path.join(top, ".loopx")
    if os.path.islink(folder) or os.path.islink(os.path.join(folder, "config.toml")):
        return "\0a symbolic link"
    return read_plain(os.path.join(folder, "config.toml"))


def _stamp(path: str) -> list[int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size, status.st_ino]
