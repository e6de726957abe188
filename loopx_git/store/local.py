"""The publisher for a repository without a remote: the user's own repository, the ref moved by pygit2's
compare-and-swap."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pygit2

from loopx_git.core import ids
from loopx_git.errors import InvalidState, NotAllowed
from loopx_git.store.base import CodePush, Fetched, Pushed, PushKind
from loopx_git.store.coord import PENDING
from loopx_git.store.landing import not_forward
from loopx_git.store.lock import read_file, write_file
from loopx_git.store.objects import PygitObjects
from loopx_git.store.remote import LOOSE_MAX, loose_objects, refuse_clash
from loopx_git.store.repository import Repository

#: The file of ours that holds the last checked tip: a branch that was rewritten by hand is noticed. No ref: the
#: user's repository gets the coordination branch and, while a commit's outcome is open, its anchor; no more.
TIP = "tip"


class LocalPublisher:
    """Publishes `ref` of the repository itself. Every worktree of it sees the change at once."""

    def __init__(self, objects: PygitObjects, repository: Repository, ref: str) -> None:
        self.objects, self.repository, self.ref = objects, repository, ref

    def of_branch(self, ref: str) -> LocalPublisher:
        return LocalPublisher(self.objects, self.repository, ref)

    def landing(self, code: CodePush, repository: Repository) -> AbstractContextManager[LocalPublisher]:
        return nullcontext(_LocalLanding(self, code))

    def code_push(self, code: CodePush, repository: Repository) -> Callable[[float], None]:
        raise NotAllowed("without a remote nothing is landed in two steps", hint="leave out --two-step")

    def _read(self, name: str) -> str | None:
        found = self.objects.repo.references.get(name)
        if found is None:
            return None
        if found.type is not pygit2.enums.ReferenceType.DIRECT:
            raise InvalidState(f"{name} is a symbolic ref", hint=f"git symbolic-ref {name}", about={"ref": name})
        return str(found.target)

    def known_tip(self) -> str | None:
        data = read_file(os.path.join(self.repository.home, TIP), 64)
        text = "" if data is None else data.decode("ascii", "replace").strip()
        return text if ids.OID.fullmatch(text) else None

    def fetch(self, timeout: float) -> Fetched:
        return Fetched(self._read(self.ref))

    def deepen(self, timeout: float) -> None:
        """The user's own repository is as deep as the user wants it."""

    def branches_elsewhere(self, timeout: float) -> bool:
        return True

    def accept(self, tip: str) -> None:
        write_file(os.path.join(self.repository.home, TIP), f"{tip}\n".encode("ascii"))

    def push(self, parent: str | None, oid: str, timeout: float) -> Pushed:
        self._refuse_checked_out(self.ref)
        if self._read(self.ref) == oid:
            return Pushed(PushKind.LANDED, said=f"{self.ref} is there already")
        try:
            if parent is None:
                refuse_clash(self.ref, self.objects.repo.references)
                self.objects.repo.references.create(self.ref, oid, force=False)
            else:
                found = self.objects.repo.references.get(self.ref)
                if found is None or str(found.target) != parent:
                    return Pushed(PushKind.LOST, said=f"{self.ref} moved")
                found.set_target(oid, "loopx")
        except (pygit2.AlreadyExistsError, ValueError) as error:
            return Pushed(PushKind.LOST, said=str(error))
        except (OSError, pygit2.GitError) as error:
            # Another process holds the ref's lock, or the ref moved between our look and our swap.
            return Pushed(PushKind.REJECTED, said=str(error))
        return Pushed(PushKind.LANDED)

    def _refuse_checked_out(self, ref: str) -> None:
        """Moving a branch that somebody has checked out would make their `git status` show changes."""
        # Without -z, which git has since 2.36 only.
        done = self.repository.git(["worktree", "list", "--porcelain"])
        if done.code:
            raise InvalidState(f"git cannot list the worktrees: {done.complaint}", hint="git worktree list")
        folder = ""
        for line in done.text.split("\n"):
            if line.startswith("worktree "):
                folder = line.removeprefix("worktree ")
            if line == f"branch {ref}":
                raise NotAllowed(
                    f"{ref} is checked out in {folder}; moving it would show as changes there",
                    hint=f"check out another branch in {folder}",
                    about={"ref": ref, "worktree": folder},
                )

    def anchor(self, request: str, oid: str) -> None:
        self.objects.repo.references.create(PENDING + request, oid, force=True)

    def release(self, request: str) -> None:
        if self.objects.repo.references.get(PENDING + request) is not None:
            self.objects.repo.references.delete(PENDING + request)

    def tidy(self) -> None:
        if loose_objects(self.repository.common_dir) >= LOOSE_MAX:
            # The user's own repository and the user's own settings: what any git command would do.
            self.repository.git(["gc", "--auto", "--quiet"], timeout=300)


class _LocalLanding(LocalPublisher):
    """A publisher whose push moves the branch of the code, too: both refs move in one ref transaction."""

    def __init__(self, inner: LocalPublisher, code: CodePush) -> None:
        super().__init__(inner.objects, inner.repository, inner.ref)
        self.code = code

    def push(self, parent: str | None, oid: str, timeout: float) -> Pushed:
        if parent is None or not self.objects.is_ancestor(parent, oid):
            raise AssertionError(f"{oid} does not descend from {parent}")
        now = self._read(self.code.ref)
        if now is not None and now != self.code.oid:
            if self.repository.git(["merge-base", "--is-ancestor", now, self.code.oid], timeout=60).code:
                raise not_forward(self.code, now)
            self._refuse_checked_out(self.code.ref)
        self._refuse_checked_out(self.ref)
        lines = ["start", f"update {self.code.ref} {self.code.oid} {now or '0' * 40}"]
        lines += [f"update {self.ref} {oid} {parent}", "prepare", "commit", ""]
        args = ["update-ref", "--stdin", "-m", "loopx land"]
        done = self.repository.git(args, timeout=60, stdin="\n".join(lines).encode())
        if done.code == 0:
            return Pushed(PushKind.LANDED)
        lost = self._read(self.ref) != parent
        return Pushed(PushKind.LOST if lost else PushKind.REJECTED, True, done.complaint)
