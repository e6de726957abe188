"""What each git hook does. The shims in `hooks/` run `git-loopx guard hook NAME ARGS`, and nothing else.

A hook blocks (exit 19) what is denied, and anything that keeps it from knowing: an error is never a pass. The
hooks that come after the verdict (prepare-commit-msg, commit-msg, post-commit) stop nothing.
"""

from __future__ import annotations

import os
import re

from loopx_git.guard import cached, naming
from loopx_git.guard.answer import examine
from loopx_git.guard.hook_run import HookRun
from loopx_git.store.state_file import save

# What is not imported here is imported where it is needed: three of these hooks run at every commit.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from loopx_git.client.connect import Overrides
    from loopx_git.guard.answer import Answer

DENIED = 19
NAMES = ("pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-push")
PROBE = "LOOPX_GUARD_PROBE"
_NONCE = re.compile(r"[0-9a-f]{32}")
#: Seconds that a renewal in the background may take.
_RENEWAL = "20s"

Outcome = tuple[int, list[str]]


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
    if name in ("prepare-commit-msg", "commit-msg"):
        (naming.prepare if name == "prepare-commit-msg" else naming.complete)(this, args)
        return 0, []
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
        naming.remember(this, report)
    return outcome(report)


def outcome(report: Answer) -> Outcome:
    """The exit code and the message of a verdict."""
    if report.effect == "allowed":
        return 0, [f"loopx guard: {line}" for line in report.lines()]
    word = "denied" if report.effect == "denied" else "warning"
    lines = [f"loopx guard: {word}: {report.headline}", *report.lines(), f"  next: {report.command}"]
    return (DENIED if report.effect == "denied" else 0), lines


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
        # Whether the policy guards that path, and whether it is on, is another question.
        staged = this.code.staged(this.git_dir) if name == "pre-commit" else []
        save(os.path.join(this.git_dir, "loopx", f"probe-{nonce}-{name}"), {"hook": name, "staged": len(staged)})
    return DENIED, []
