"""Landing: code to its branch and one coordination commit in a single atomic push.

The push runs from a scratch repository that borrows the objects of the user's repository and of coord.git, so the
user's repository gets no ref and no object of ours and stays sound. The coordination ref is leased, the code ref is
pushed plain: a lease on it would waive git's fast-forward check.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from loopx_git.errors import About, NotAllowed, RemoteFailure
from loopx_git.store.base import CodePush, Pushed, PushKind
from loopx_git.store.environment import REMOTE
from loopx_git.store.lock import make_folder
from loopx_git.store.objects import PygitObjects
from loopx_git.store.process import Finished
from loopx_git.store.push_result import classify, refs_in
from loopx_git.store.repository import PUSH, OwnRepository, Repository

_NO_ATOMIC = re.compile(r"does not support --atomic")
#: Lines of `git push --porcelain` that mark a ref as innocent: another one was the cause.
_INNOCENT = re.compile(r"atomic push fail|atomic transaction failed")


@contextmanager
def landing(
    objects: PygitObjects, coord: OwnRepository, ref: str, code: CodePush, repository: Repository
) -> Iterator[Landing]:
    """What pushes `code` of the user's repository, with coordination or without. Its scratch repository is gone with
    the block."""
    path = os.path.join(repository.home, f"landing-{os.getpid()}.git")
    own, sources = OwnRepository(path, coord.env), (repository.common_dir, coord.path)
    shutil.rmtree(path, ignore_errors=True)
    make_folder(repository.home)
    done = own.make()
    if done.code:
        raise NotAllowed(f"cannot make {path}: {done.complaint}", hint="git loopx doctor")
    try:
        stores = [os.path.join(folder, "objects") for folder in sources]
        with open(os.path.join(path, "objects", "info", "alternates"), "w", encoding="utf-8") as file:
            file.writelines(_quoted(store) + "\n" for store in stores)
        cuts = "".join(_text(os.path.join(folder, "shallow")) for folder in sources)
        if cuts:
            with open(os.path.join(path, "shallow"), "w", encoding="ascii") as file:
                file.write(cuts)
        if repository.is_partial:
            # The user's clone lacks objects on purpose: git, when told, does not look for them.
            for key, value in (
                ("core.repositoryformatversion", "1"),
                ("extensions.partialClone", REMOTE),
                (f"remote.{REMOTE}.promisor", "true"),
            ):
                own.git(["config", key, value], 30)
        yield Landing(objects, ref, code, own)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def _quoted(path: str) -> str:
    """A path as a line of the alternates file: quoted as in C where it would be read otherwise."""
    if "\n" not in path and not path.startswith(('"', "#")):
        return path
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


class Landing:
    """Pushes one commit of code to its branch."""

    def __init__(self, objects: PygitObjects, ref: str, code: CodePush, scratch: OwnRepository) -> None:
        self.objects, self.ref, self.code, self.scratch = objects, ref, code, scratch

    def push(self, parent: str | None, oid: str, timeout: float) -> Pushed:
        """Push the code and move the coordination ref from `parent` to `oid`: both, or neither."""
        if parent is None or not self.objects.is_ancestor(parent, oid):
            # A lease that matches waives git's fast-forward check, so it is made here.
            raise AssertionError(f"{oid} does not descend from {parent}")
        lease = f"--force-with-lease={self.ref}:{parent}"
        done = self._send(["--atomic", lease], [f"{self.code.oid}:{self.code.ref}", f"{oid}:{self.ref}"], timeout)
        if _NO_ATOMIC.search(done.err.decode("utf-8", "replace")):
            raise RemoteFailure(
                "this remote cannot move two refs in one atomic push, so the code could land without the claim's "
                "completion, or the other way round; nothing has landed",
                hint="land again with --two-step, which is without that guarantee; see: git loopx land -h",
                about={"atomic": False},
            )
        pushed = classify(done, self.ref)
        if pushed.kind in (PushKind.LANDED, PushKind.THROTTLED, PushKind.UNREACHABLE):
            return pushed
        return self._look_closer(parent, oid, done, pushed, timeout)

    def push_code(self, timeout: float) -> None:
        """Push the code alone (the second of two steps). Raises NotAllowed or RemoteFailure with the cause."""
        done = self._send([], [f"{self.code.oid}:{self.code.ref}"], timeout)
        pushed = classify(done, self.code.ref)
        if pushed.kind is PushKind.LANDED:
            return
        refs = self.refs(timeout)
        now = None if refs is None else refs.get(self.code.ref)
        if now == self.code.oid:
            return
        self._refuse_code(now, pushed)
        raise RemoteFailure(f"the code did not land on {self.code.branch}: {pushed.said}", hint=_AGAIN)

    def refs(self, timeout: float) -> dict[str, str] | None:
        """Where both refs are at the remote (without an absent one); None when the remote cannot be read."""
        listed = self.scratch.git(["ls-remote", "--", REMOTE, self.ref, self.code.ref], timeout)
        return None if listed.code else refs_in(listed)

    def _send(self, options: list[str], refspecs: list[str], timeout: float) -> Finished:
        return self.scratch.git([*PUSH, "--no-thin", *options, "--", REMOTE, *refspecs], timeout)

    def _look_closer(self, parent: str, oid: str, done: Finished, pushed: Pushed, timeout: float) -> Pushed:
        """A refusal marks both refs, so both are read: the one that moved is the cause."""
        refs = self.refs(timeout)
        if refs is None:
            return Pushed(PushKind.UNKNOWN, pushed.connected, pushed.said)
        tip = refs.get(self.ref)
        if tip == oid or (tip is not None and self.objects.is_ancestor(oid, tip)):
            return Pushed(PushKind.LANDED, True, pushed.said)
        if tip != parent:
            return Pushed(PushKind.LOST, True, pushed.said)
        code = classify(done, self.code.ref)
        self._refuse_code(refs.get(self.code.ref), code)
        if pushed.kind is PushKind.DECLINED and not _INNOCENT.search(pushed.said):
            return pushed
        if pushed.kind is PushKind.LOST or _INNOCENT.search(pushed.said):
            return Pushed(PushKind.REJECTED, True, f"{pushed.said}; {code.said}")
        return pushed

    def _refuse_code(self, now: str | None, pushed: Pushed) -> None:
        """Raise when it is the code that cannot land: it is not a fast-forward, or the branch does not take it."""
        about: About = {"branch": self.code.branch, "commit": self.code.oid, "remote_code": now}
        asked = ["merge-base", "--is-ancestor", now or "", self.code.oid]
        # An id that is not here (128) is not one of our ancestors either.
        if now is not None and now != self.code.oid and self.scratch.git(asked, 120).code:
            raise not_forward(self.code, now)
        if pushed.kind is PushKind.DECLINED and not _INNOCENT.search(pushed.said):
            raise RemoteFailure(
                f"the remote does not take this push to {self.code.branch} (a protected branch, or a hook): "
                f"{pushed.said}; nothing has landed",
                hint="land on a branch that takes pushes: git loopx land --to BRANCH; or open a pull request",
                about=about,
            )


_AGAIN = "run the same command again: it does nothing twice"


def not_forward(code: CodePush, now: str) -> NotAllowed:
    """The error for a branch with commits that the code does not contain."""
    return NotAllowed(
        f"{code.oid[:12]} is not a fast-forward of {code.branch}: that branch has moved on; nothing has landed and "
        "you still hold the claim",
        hint=f"bring your work up to date (git fetch, then rebase or merge {code.branch}) and land again",
        about={"branch": code.branch, "commit": code.oid, "remote_code": now},
    )
