"""How a commit comes to name its claims: prepare-commit-msg and commit-msg. Nothing here stops a commit: what is
denied was denied before, or was meant to pass.

prepare-commit-msg writes into a message that is there. What a person has yet to write is named by commit-msg, once
the editor is closed: git must be able to see that nobody wrote anything, or that a template is as it was. Programs
that make commits by themselves (GitPython, dulwich, stgit) run commit-msg alone.
"""

from __future__ import annotations

import os
import time

from loopx_git.guard.amending import is_amending, rebased
from loopx_git.guard.answer import examine
from loopx_git.store.state_file import load, read_plain, save

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopx_git.guard.answer import Answer
    from loopx_git.guard.hook_run import HookRun

#: What pre-commit found, for the hooks of the message of the same commit: seconds for which it counts.
SEEN, _SEEN_FOR = "guard-seen.json", 60.0


class _Found:
    """What a commit is to name. `lacking`: the claims do not cover all of it, so `former`, the claims that stood for
    what it replaces or takes over, stay."""

    __slots__ = ("claims", "former", "lacking", "unseen")

    def __init__(
        self, claims: Sequence[str], former: Sequence[str] = (), *, lacking: bool = False, unseen: bool = False
    ) -> None:
        self.claims, self.former, self.lacking, self.unseen = claims, former, lacking, unseen


def remember(this: HookRun, report: Answer) -> None:
    """Keep what was found before the commit, for its message."""
    _save(this, report.trailers, unseen=bool(report.wrong))


def _save(this: HookRun, claims: Sequence[str], *, unseen: bool, untouched: Sequence[str] | None = None) -> None:
    seen = {"index": _index(this), "at": time.time(), "claims": list(claims), "unseen": unseen, "text": untouched}
    save(os.path.join(this.git_dir, "loopx", SEEN), seen)


def prepare(this: HookRun, args: Sequence[str]) -> None:
    """Name the claims in the message that git is about to show or to take."""
    # The pre-commit framework hands over the file alone, and the rest as variables.
    told = (this.env.get("PRE_COMMIT_COMMIT_MSG_SOURCE", ""), this.env.get("PRE_COMMIT_COMMIT_OBJECT_NAME", ""))
    source, of = (*args[1:3], *told[len(args[1:3]) :])
    seen = _take(this)
    found = _found(this, source, of, seen)
    path, text = _text(this, args)
    if found is None or text is None:
        return
    from loopx_git.coverage.trailers import written

    words = written(text, _comment(this))
    if source == "template" or not words:
        _save(this, found.claims, unseen=found.lacking, untouched=words)
        return
    _write(this, path, text, found)


def complete(this: HookRun, args: Sequence[str]) -> None:
    """Name the claims in the message that was written since, if somebody wrote one."""
    from loopx_git.coverage.trailers import read, written

    seen = _take(this)
    path, text = _text(this, args)
    if text is None or read(text).claims:
        return
    words = written(text, _comment(this))
    if not words or (seen is not None and seen.get("text") == words):
        return
    found = _found(this, "", "", seen)
    if found is not None:
        _write(this, path, text, found)


def _text(this: HookRun, args: Sequence[str]) -> tuple[str, str | None]:
    path = os.path.join(this.folder, args[0]) if args else ""
    return path, read_plain(path) if path else None


def _write(this: HookRun, path: str, text: str, found: _Found) -> None:
    from loopx_git.coverage.trailers import edited

    former = found.former if found.lacking else None
    after = edited(text, found.claims, unseen=found.unseen, comment=_comment(this), former=former)
    if after != text:
        with open(path, "r+b") as file:
            # In place: the file is git's, with the owner and the mode that git gave it.
            file.write(after.encode("utf-8", "surrogateescape"))
            file.truncate()


def _found(this: HookRun, source: str, of: str, seen: dict[str, object] | None) -> _Found | None:
    """What the commit is to name; None where the guard is off."""
    amending = is_amending(this.git_dir, this.env, source, of, lambda: _author(this))
    if not amending and seen is not None and _fits(this, seen):
        return _Found(seen["claims"])  # type: ignore[arg-type]
    context = this.context()
    if context.policy.mode == "off":
        return None
    report = examine(context, _made(this, amending=amending), "staged")
    if not (report.wrong or report.problem):
        return _Found(report.trailers)
    picked = rebased(this.git_dir)[1]
    former = _claims_of(this, [*(["HEAD"] if amending else []), *([picked] if picked else [])])
    return _Found(report.trailers, former, lacking=True, unseen=context.who.agent is not None)


def _take(this: HookRun) -> dict[str, object] | None:
    """What pre-commit of this very commit found, or prepare-commit-msg of it; it serves once."""
    path = os.path.join(this.git_dir, "loopx", SEEN)
    seen = load(path)
    if seen is not None:
        os.unlink(path)
    return seen


def _fits(this: HookRun, seen: dict[str, object]) -> bool:
    fresh = 0 <= time.time() - float(str(seen["at"])) <= _SEEN_FOR
    return fresh and seen["index"] == _index(this) and not seen["unseen"]


def _index(this: HookRun) -> list[object]:
    """A name of the index as it is now."""
    path = os.path.join(this.folder, this.env.get("GIT_INDEX_FILE") or os.path.join(this.git_dir, "index"))
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return []
    return [os.path.basename(path), status.st_size, status.st_mtime_ns, status.st_ino]


def _made(this: HookRun, *, amending: bool) -> list[str]:
    """The paths of the commit in the making; of one that is amended, all that it will have changed."""
    if not amending:
        return this.code.staged(this.git_dir, this.code.other_parents(this.git_dir))
    return this.code.in_index(this.git_dir, this.code.told(["rev-list", "--parents", "-n1", "HEAD"]).split()[1:])


def _claims_of(this: HookRun, names: Sequence[str]) -> list[str]:
    """The claims that these commits name."""
    from loopx_git.coverage.trailers import named

    found: dict[str, None] = {}
    for name in names:
        done = this.code.git(["log", "-1", "--format=%B", "--encoding=UTF-8", "--end-of-options", name, "--"])
        found.update(dict.fromkeys(named(done.text) if done.code == 0 else ()))
    return list(found)


def _author(this: HookRun) -> str:
    done = this.code.git(["log", "-1", "--no-mailmap", "--format=%an <%ae> @%at", "HEAD"])
    return done.text.rstrip("\n")


def _comment(this: HookRun) -> str | None:
    """The character that begins a comment in the message; None when no editor will strip them."""
    if this.env.get("GIT_EDITOR") == ":":
        return None
    lines = this.code.git(["config", "--get-regexp", r"^core\.comment(char|string)$"]).text.splitlines()
    text = lines[-1].partition(" ")[2] if lines else ""
    return "#" if text in ("", "auto") else text
