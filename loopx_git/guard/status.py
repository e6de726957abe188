"""`guard status`: proof that the guard runs. A gate that stopped looks like one through which all may pass.

Nobody else's hook is run for it. How git comes to our part is read (`guard.reach`); then our part alone is run, with
a scratch index that has one path more than HEAD, and it has to refuse. It leaves an answer with the number of this
one question; no answer is a proof, too.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from loopx_git.errors import InvalidState, LoopXError
from loopx_git.guard.hook import DENIED, NAMES, PROBE
from loopx_git.guard.hook_managers.found import find
from loopx_git.guard.reach import SPARED, Way, way
from loopx_git.guard.record import record_of
from loopx_git.store.itself import absolute
from loopx_git.store.repository import Repository
from loopx_git.store.state_file import load
from loopx_git.store.user_command import watched

#: Seconds for one question.
_TIMEOUT = 60.0
_EMPTY_BLOB = {40: "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
               64: "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HookStatus:
    """One hook: whether git comes to the guard by it, how that is known, and a message. Nobody misses one that is not
    `needed`, in the way in which the guard is run here."""

    name: str
    runs: bool
    proof: str
    text: str
    needed: bool = True


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
    def silent(self) -> tuple[HookStatus, ...]:
        """The hooks by which git should come to the guard, and does not."""
        return tuple(hook for hook in self.hooks if hook.needed and not hook.runs)

    @property
    def ok(self) -> bool:
        """True when the guard is on and every hook that is needed runs."""
        return not self.error and self.mode != "off" and not self.silent


def status(repository: Repository, entropy: Callable[[int], bytes]) -> GuardStatus:
    """Ask every hook. Nothing of the user's is changed, and nothing of theirs is run."""
    from loopx_git.guard.refresh import policy_of

    place, mode, error = find(repository), "unknown", ""
    try:
        mode = policy_of(repository).mode
    except LoopXError as wrong:
        error = wrong.message
    nonce = entropy(16).hex()
    scratch = tempfile.mkdtemp(prefix="loopx-guard-")
    try:
        env = _surroundings(repository, scratch, nonce)
        ways = {name: way(repository, place, name) for name in NAMES}
        spared = SPARED if any(one.by_framework for one in ways.values()) else ()
        found = tuple(_ask(repository, name, ways[name], env, needed=name not in spared) for name in NAMES)
    finally:
        shutil.rmtree(scratch)
        for name in NAMES:
            with suppress(FileNotFoundError):
                os.unlink(_answer(repository, nonce, name))
    return GuardStatus(
        record_of(repository) is not None, place.kind.value, place.folder, place.hooks_path, mode, found, error
    )


def _answer(repository: Repository, nonce: str, name: str) -> str:
    return os.path.join(repository.git_dir, "loopx", f"probe-{nonce}-{name}")


def _surroundings(repository: Repository, scratch: str, nonce: str) -> Mapping[str, str]:
    """What our part finds around it: the index of a commit that would add one path to HEAD."""
    env = {**absolute(repository.env), PROBE: nonce, "GIT_EDITOR": ":", "GIT_INDEX_FILE": f"{scratch}/index"}
    asked = replace(repository, env=env)
    head = repository.resolve("HEAD")
    # A split index would leave its other half in the repository.
    options = ("--no-pager", "-c", "core.splitIndex=false", "-c", "core.fsmonitor=false")
    path = f"100644,{_EMPTY_BLOB[len(head) if head else 40]},loopx-guard-probe-{nonce}"
    for args in (["read-tree", head or "--empty"], ["update-index", "--add", "--cacheinfo", path]):
        done = asked.git(args, timeout=_TIMEOUT, options=options)
        if done.code:
            raise InvalidState(f"git cannot make a scratch index: {done.complaint}", hint="git fsck")
    return env


def _ask(repository: Repository, name: str, found: Way, env: Mapping[str, str], *, needed: bool) -> HookStatus:
    if found.wrong:
        return HookStatus(name, False, "reading", found.wrong, needed)
    if not (found.shim or found.program):
        return HookStatus(name, True, "reading", f"{found.through} runs it in a place of its own")
    code, said = _dry_run(repository, found, name, env)
    answer = load(_answer(repository, env[PROBE], name))
    if answer is None:
        return HookStatus(name, False, "a dry run", said or "our part did not answer")
    if code != DENIED:
        return HookStatus(name, False, "a dry run", f"our part answered, and did not refuse: {said}")
    if name == "pre-commit" and repository.top is not None and answer["staged"] < 1:
        return HookStatus(name, False, "a dry run", "it ran, and did not see the index of the commit")
    return HookStatus(name, True, "a dry run", "answered" if found.shim else f"answered, by {found.through}")


def _dry_run(repository: Repository, found: Way, name: str, env: Mapping[str, str]) -> tuple[int, str]:
    """Run our part as the hook does, and nothing else: its exit code, and what it said."""
    args = {"pre-push": ["none", "none"], "prepare-commit-msg": [os.devnull], "commit-msg": [os.devnull]}.get(
        name, []
    )
    start = [found.shim] if found.shim else [_program(found.program, env), "guard", "hook", name]
    folder = repository.top or repository.git_dir
    ended = watched([*start, *args], cwd=folder, env=env, timeout=_TIMEOUT, tick=_pass, sink=_drop)
    return ended.code, ended.tail.decode("utf-8", "replace").strip()[-400:]


def _program(word: str, env: Mapping[str, str]) -> str:
    """The program that a hook means by a word; one of the work tree is not started by us."""
    path = word if os.path.isabs(word) and os.path.basename(word) == "git-loopx" else "git-loopx"
    return shutil.which(path, path=env.get("PATH", os.defpath)) or path


def _pass() -> None:
    """Nothing is to be done while our part runs."""


def _drop(chunk: bytes) -> None:
    """What our part says is read at its end."""
