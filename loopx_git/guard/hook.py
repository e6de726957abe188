"""What each git hook does. The shims in `hooks/` run `git-loopx guard hook NAME ARGS`, and nothing else.

A hook blocks (exit 19) what is denied, and anything that keeps it from knowing: an error is never a pass. The two
hooks that come after the verdict, prepare-commit-msg and post-commit, stop nothing.
"""

from __future__ import annotations

import os
import re
import time

from loopx_git.guard import cached
from loopx_git.guard.answer import examine
from loopx_git.store.state_file import load, read_plain, save

# What is not imported here is imported where it is needed: three of these hooks run at every commit.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from loopx_git.client.client import Client
    from loopx_git.client.connect import Overrides
    from loopx_git.coverage.changes import Code
    from loopx_git.guard.answer import Answer
    from loopx_git.guard.context import Context

DENIED = 19
NAMES = ("pre-commit", "pre-merge-commit", "prepare-commit-msg", "post-commit", "pre-push")
#: What pre-commit found, for prepare-commit-msg of the same commit: seconds for which it counts.
SEEN, _SEEN_FOR = "guard-seen.json", 60.0
PROBE = "LOOPX_GUARD_PROBE"
_NONCE = re.compile(r"[0-9a-f]{32}")
#: Seconds that a renewal in the background may take.
_RENEWAL = "20s"

Outcome = tuple[int, list[str]]


class HookRun:
    """One run of a hook: `folder` is where git started it, `env` what git gave it."""

    def __init__(self, folder: str, env: Mapping[str, str], overrides: Overrides | None = None) -> None:
        self.folder, self.env, self.overrides = folder, dict(env), overrides
        self._client: Client | None = None
        where = cached.places(folder)
        given = env.get("GIT_DIR")
        if (
            where is not None
            and given
            and os.path.realpath(os.path.join(folder, given)) != os.path.realpath(where.git_dir)
        ):
            where = None
        self.where = where

    @property
    def client(self) -> Client:
        """The client, opened at the first use."""
        if self._client is None:
            from loopx_git.guard.refresh import open_client

            self._client = open_client(self.folder, self.env, overrides=self.overrides)
        return self._client

    @property
    def git_dir(self) -> str:
        """The git folder of the worktree."""
        return self.where.git_dir if self.where is not None else self.client.connection.repository.git_dir

    @property
    def code(self) -> Code:
        """The repository of code, with the environment that git gave to the hook."""
        from loopx_git.coverage.changes import Code

        common = self.where.common_dir if self.where is not None else self.client.connection.repository.common_dir
        return Code(self.folder, common, self.env)

    def context(self, *, fresh: bool = False) -> Context:
        """The context, the quick way where that will do."""
        found = cached.context(self.where, self.env) if self.where is not None and not fresh else None
        if found is not None:
            return found
        from loopx_git.guard.refresh import context

        return context(self.client, fresh=fresh)


def run(
    name: str, args: Sequence[str], *, folder: str, env: Mapping[str, str], stdin: Callable[[], str],
    overrides: Overrides | None = None,
) -> Outcome:  # fmt: skip
    """(exit code, lines for people) of one hook. Errors of `loopx_git.errors` are the caller's to report: all of
    them block."""
    this = HookRun(folder, env, overrides)
    if PROBE in env:
        return _probe(name, this)
    if name in ("pre-commit", "pre-merge-commit"):
        return _before_commit(this, merging=name == "pre-merge-commit")
    if name == "prepare-commit-msg":
        return _message(this, args)
    if name == "post-commit":
        return _after_commit(this)
    if name == "pre-push":
        return _push(this, args, stdin())
    from loopx_git.errors import UsageError

    raise UsageError(f"{name[:40]!r} is not a hook of the guard", hint="git loopx guard install")


def _before_commit(this: HookRun, *, merging: bool) -> Outcome:
    context = this.context()
    if context.policy.mode == "off":
        return 0, []
    others = this.code.other_parents(this.git_dir, merging=merging)
    report = examine(context, this.code.staged(this.git_dir, others), "staged")
    if report.effect != "denied":
        seen = {"index": _index(this), "at": time.time(), "claims": report.trailers, "unseen": bool(report.wrong)}
        save(os.path.join(this.git_dir, "loopx", SEEN), seen)
    return outcome(report)


def outcome(report: Answer) -> Outcome:
    """The exit code and the message of a verdict."""
    if report.effect == "allowed":
        return 0, [f"loopx guard: {line}" for line in report.lines()]
    word = "denied" if report.effect == "denied" else "warning"
    lines = [f"loopx guard: {word}: {report.headline}", *report.lines(), f"  next: {report.command}"]
    return (DENIED if report.effect == "denied" else 0), lines


def _index(this: HookRun) -> list[object]:
    """A name of the index as it is now."""
    path = os.path.join(this.folder, this.env.get("GIT_INDEX_FILE") or os.path.join(this.git_dir, "index"))
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return []
    return [os.path.basename(path), status.st_size, status.st_mtime_ns, status.st_ino]


def _message(this: HookRun, args: Sequence[str]) -> Outcome:
    """Write the trailers. Nothing here stops a commit: what is denied was denied before, or was meant to pass."""
    from loopx_git.coverage.trailers import edited

    # The pre-commit framework hands over the file alone, and the rest as variables.
    told = (this.env.get("PRE_COMMIT_COMMIT_MSG_SOURCE", ""), this.env.get("PRE_COMMIT_COMMIT_OBJECT_NAME", ""))
    source, of = (*args[1:3], *told[len(args[1:3]) :])
    found = None if source == "commit" else _seen(this)
    if found is None:
        context = this.context()
        if context.policy.mode == "off":
            return 0, []
        report = examine(context, _made(this, amending=source == "commit" and of == "HEAD"), "staged")
        found = report.trailers, bool(report.wrong or report.problem) and context.who.agent is not None
    claims, unseen = found
    path = os.path.join(this.folder, args[0]) if args else ""
    text = read_plain(path) if path else None
    if text is None:
        return 0, []
    after = edited(text, claims, unseen=unseen, comment=_comment(this))
    if after != text:
        with open(path, "r+b") as file:
            # In place: the file is git's, with the owner and the mode that git gave it.
            file.write(after.encode("utf-8", "surrogateescape"))
            file.truncate()
    return 0, []


def _seen(this: HookRun) -> tuple[list[str], bool] | None:
    """What pre-commit of this very commit found."""
    path = os.path.join(this.git_dir, "loopx", SEEN)
    seen = load(path)
    if seen is None:
        return None
    os.unlink(path)
    fits = seen["index"] == _index(this) and 0 <= time.time() - seen["at"] <= _SEEN_FOR
    return (seen["claims"], False) if fits and not seen["unseen"] else None


def _made(this: HookRun, *, amending: bool) -> list[str]:
    """The paths of the commit in the making; of one that is amended, all that it will have changed."""
    if not amending:
        return this.code.staged(this.git_dir, this.code.other_parents(this.git_dir))
    done = this.code.git(["rev-parse", "--verify", "--quiet", "HEAD^@"])
    return this.code.in_index(this.git_dir, done.text.split())


def _comment(this: HookRun) -> str | None:
    """The character that begins a comment in the message; None when no editor will strip them."""
    if this.env.get("GIT_EDITOR") == ":":
        return None
    lines = this.code.git(["config", "--get-regexp", r"^core\.comment(char|string)$"]).text.splitlines()
    text = lines[-1].partition(" ")[2] if lines else ""
    return "#" if text in ("", "auto") else text


def _after_commit(this: HookRun) -> Outcome:
    """Renew what is due, in the background: bounded, silent, and off by policy."""
    context = cached.context(this.where, this.env) if this.where is not None else None
    if context is None or context.policy.mode == "off" or context.who.agent is None:
        return 0, []
    if not context.policy.renew_on_commit:
        return 0, []
    for claim in context.edit().live:
        left = context.remaining.get(claim.lease, None if claim.late_at is None else claim.late_at - context.now)
        if claim.ttl_s is not None and left is not None and left < claim.ttl_s / 3:
            from loopx_git.store.environment import scrubbed
            from loopx_git.store.itself import absolute, itself
            from loopx_git.store.process import detached

            argv = itself("task-lease", "renew", "--all", "--timeout", _RENEWAL)
            detached(argv, cwd=this.folder, env=absolute(scrubbed(this.env)))
            break
    return 0, []


def _push(this: HookRun, args: Sequence[str], lines: str) -> Outcome:
    from loopx_git.guard.check import check_push

    return outcome(check_push(this.client, args[0] if args else "", lines))


def _probe(name: str, this: HookRun) -> Outcome:
    """`guard status` asks whether git runs this hook: answer, and let nothing pass, whatever the verdict."""
    nonce = this.env[PROBE]
    if _NONCE.fullmatch(nonce) and name in NAMES:
        report = examine(this.context(), this.code.staged(this.git_dir) if name == "pre-commit" else [], "staged")
        answer = {"hook": name, "verdict": report.effect, "checked": report.as_json()["checked"]}
        save(os.path.join(this.git_dir, "loopx", f"probe-{nonce}-{name}"), answer)
    # prepare-commit-msg is needed after pre-commit in the same dry commit, whose editor refuses in any case.
    return DENIED, []
