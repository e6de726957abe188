"""`guard status`: proof that the guard runs. A gate that stopped looks like one through which all may pass.

git is made to begin a commit, with a scratch index that has one path more, and an editor that refuses: it cannot come
to its end, whatever the hooks do. Our hook leaves an answer with the number of this one question; no answer is a
proof, too. The hooks that a commit does not run are run as git runs them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from loopx_git.errors import LoopXError
from loopx_git.guard.hook import NAMES, PROBE
from loopx_git.guard.hook_managers.folder import HooksFolder
from loopx_git.guard.hook_managers.found import find
from loopx_git.guard.record import record_of
from loopx_git.store.lock import read_file, write_file
from loopx_git.store.repository import Repository
from loopx_git.store.state_file import load
from loopx_git.store.user_command import watched

#: Seconds for one question; a foreign hook that is chained before ours is not run for it.
_TIMEOUT = 60.0
_EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
#: Of the user's own git, as the user runs it: only the pager and the signature are left out.
_AS_USER = (
    "--no-pager",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "advice.ignoredHook=false",
)
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


@dataclass(frozen=True, slots=True)
class HookStatus:
    """One hook: whether it answered, and a message."""

    name: str
    runs: bool
    proof: str
    text: str


@dataclass(frozen=True, slots=True)
class GuardStatus:
    """The whole: `installed` by our own record, `place` by git's; the policy's mode and what is wrong with it."""

    installed: bool
    kind: str
    folder: str
    hooks_path: str | None
    mode: str
    hooks: tuple[HookStatus, ...]
    error: str = ""

    @property
    def ok(self) -> bool:
        """True when the guard is on and every hook runs."""
        return not self.error and self.mode != "off" and all(hook.runs for hook in self.hooks)


def status(repository: Repository, entropy: Callable[[int], bytes]) -> GuardStatus:
    """Ask every hook. Nothing of the user's is changed."""
    from loopx_git.guard.refresh import policy_of

    place, mode, error = find(repository), "unknown", ""
    try:
        mode = policy_of(repository).mode
    except LoopXError as wrong:
        error = wrong.message
    nonce = entropy(16).hex()
    try:
        found = tuple(_ask(repository, place, name, nonce) for name in NAMES)
    finally:
        for name in NAMES:
            with suppress(FileNotFoundError):
                os.unlink(_answer(repository, nonce, name))
    return GuardStatus(
        record_of(repository) is not None, place.kind.value, place.folder, place.hooks_path, mode, found, error
    )


def _answer(repository: Repository, nonce: str, name: str) -> str:
    return os.path.join(repository.git_dir, "loopx", f"probe-{nonce}-{name}")


def _ask(repository: Repository, place: HooksFolder, name: str, nonce: str) -> HookStatus:
    busy = any(os.path.exists(os.path.join(repository.git_dir, item)) for item in _UNFINISHED)
    if name == "pre-commit" and repository.top is not None and not busy:
        proof, said = "a dry commit", _dry_commit(repository, nonce)
    else:
        proof, said = "a dry run", _dry_run(repository, place, name, nonce)
    answer = load(_answer(repository, nonce, name))
    if answer is None:
        return HookStatus(name, False, proof, said or "git ran nothing of ours")
    if name == "pre-commit" and not busy and answer["checked"] < 1:
        return HookStatus(name, False, proof, "it ran, and did not see the index of the commit")
    return HookStatus(name, True, proof, "answered")


def _dry_commit(repository: Repository, nonce: str) -> str:
    """Begin a commit that cannot end; what git said."""
    assert repository.top is not None
    folder = tempfile.mkdtemp(prefix="loopx-guard-")
    message = os.path.join(repository.git_dir, "COMMIT_EDITMSG")
    before = read_file(message, 10_000_000)
    times = os.stat(message) if before is not None else None
    try:
        index = os.path.join(folder, "index")
        with suppress(FileNotFoundError):
            shutil.copyfile(os.path.join(repository.git_dir, "index"), index)
        env = {**repository.env, "GIT_INDEX_FILE": index, "GIT_EDITOR": "false", PROBE: nonce}
        asked = replace(repository, env=env)
        entry = f"100644,{_EMPTY_BLOB},loopx-guard-probe-{nonce}"
        asked.git(["update-index", "--add", "--cacheinfo", entry], at_top=True, timeout=_TIMEOUT)
        args = ["commit", "--quiet", "--no-status"]
        return asked.git(args, at_top=True, timeout=_TIMEOUT, options=_AS_USER).complaint
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        # No hook of ours stopped it: then git wrote down the message that nobody was asked for.
        if times is None:
            with suppress(FileNotFoundError):
                os.unlink(message)
        elif before is not None and os.stat(message).st_mtime_ns != times.st_mtime_ns:
            write_file(message, before)
            os.chmod(message, times.st_mode & 0o7777)
            os.utime(message, ns=(times.st_atime_ns, times.st_mtime_ns))


def _dry_run(repository: Repository, place: HooksFolder, name: str, nonce: str) -> str:
    """Run one hook as git would; what it said."""
    env = {**repository.env, PROBE: nonce, "GIT_EDITOR": ":"}
    args = {"pre-push": ["none", "none"], "prepare-commit-msg": [os.devnull], "commit-msg": [os.devnull]}.get(
        name, []
    )
    run = ["hook", "run", "--ignore-missing", name, "--", *args]
    done = replace(repository, env=env).git(run, at_top=True, timeout=_TIMEOUT, options=_AS_USER)
    if b"is not a git command" not in done.err:
        return done.complaint
    # Before 2.36 there is no `git hook`.
    path = os.path.join(place.folder, name)
    if not os.access(path, os.X_OK):
        return ""
    folder = repository.top or repository.git_dir
    ended = watched([path, *args], cwd=folder, env=env, timeout=_TIMEOUT, tick=lambda: None, sink=lambda chunk: None)
    return ended.tail.decode("utf-8", "replace").strip()[-400:]
