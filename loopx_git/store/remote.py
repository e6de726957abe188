"""The publisher for a repository with a remote: a bare repository of our own, and the git executable.

The user's repository gets no ref and no object. coord.git holds the coordination history: `refs/loopx/fetched` is
what the remote showed last, `refs/loopx/tip` the last tip that passed the check, `refs/loopx/pending/*` the commits
whose outcome is open.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from loopx_git.errors import RemoteFailure
from loopx_git.store.base import CodePush, Fetched, Pushed, PushKind
from loopx_git.store.coord import FETCHED, PENDING, TIP, Mender
from loopx_git.store.environment import REMOTE
from loopx_git.store.landing import Landing, landing
from loopx_git.store.objects import PygitObjects
from loopx_git.store.process import Finished
from loopx_git.store.push_result import classify, refs_in, unreadable
from loopx_git.store.repository import PUSH, OwnRepository, Repository

#: Loose objects past which coord.git is packed.
LOOSE_MAX = 2000
#: A line of GIT_TRACE_PACKET about what came from the other side.
_PACKET = re.compile(rb"packet: +\S+< ")
#: How long another git's lock on our own ref is respected, in seconds; moving one ref takes milliseconds.
_LOCK_WAIT = 5.0


#: How a ref is fetched: that ref and nothing besides.
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-prune")


class RemotePublisher:
    """Publishes `ref` of the remote that the configuration in the environment calls `coord`."""

    def __init__(
        self,
        objects: PygitObjects,
        own: OwnRepository,
        ref: str,
        *,
        depth: int | None = None,
        mender: Mender | None = None,
    ) -> None:
        self.objects, self.own, self.ref, self.depth = objects, own, ref, depth
        self.mender, self.fetched = mender, FETCHED

    def of_branch(self, ref: str) -> RemotePublisher:
        other = RemotePublisher(self.objects, self.own, ref, mender=self.mender)
        other.fetched = "refs/loopx/proposal"
        return other

    @contextmanager
    def landing(self, code: CodePush, repository: Repository) -> Iterator[RemotePublisher]:
        with landing(self.objects, self.own, self.ref, code, repository) as pushed:
            yield _RemoteLanding(self, pushed)

    def code_push(self, code: CodePush, repository: Repository) -> Callable[[float], None]:
        def push(timeout: float) -> None:
            with landing(self.objects, self.own, self.ref, code, repository) as pushed:
                pushed.push_code(timeout)

        return push

    def _read(self, name: str) -> str | None:
        found = self.objects.repo.references.get(name)
        return None if found is None else str(found.target)

    def known_tip(self) -> str | None:
        return self._read(TIP)

    def fetch(self, timeout: float) -> Fetched:
        args = list(_FETCH)
        if self.depth is not None and self.known_tip() is None:
            # Depth belongs to the first fetch only: a second one would be refused as non-fast-forward.
            args.append(f"--depth={self.depth}")
        args += ["--", REMOTE, f"+{self.ref}:{self.fetched}"]
        ends = time.monotonic() + timeout
        self._outwait_locks(self.fetched)
        done = self.own.git(args, timeout)
        if done.code == 0:
            return Fetched(self._read(self.fetched))
        failed = unreadable(done)
        if done.timed_out or failed.throttled or failed.lasting:
            return failed
        # An absent ref ends as a broken connection does, with 128; a list of the remote's refs tells them apart.
        shown = self._shown(ends)
        if shown is None:
            return failed
        # The remote answers and the ref is there: what failed may be our own repository.
        if shown.tip is not None and self._mended(f"git fetch: {done.complaint}"):
            done = self.own.git(args, max(1.0, ends - time.monotonic()))
            if done.code == 0:
                return Fetched(self._read(self.fetched))
        return failed if shown.tip is not None else shown

    def _shown(self, ends: float) -> Fetched | None:
        """The ref in the remote's list of refs; None when there is no list.

        An answer that no git server gives (a login page, an empty page of a proxy) is an error in the result.
        """
        args = ["ls-remote", "--exit-code", "--", REMOTE, self.ref]
        # With the trace git tells whether it met its own protocol: an empty page reads as an empty list of refs.
        listed = self.own.git(args, ends - time.monotonic(), GIT_TRACE_PACKET="1")
        if listed.code not in (0, 2):
            return None
        tip = refs_in(listed).get(self.ref)
        if tip is not None:
            return Fetched(tip)
        if _PACKET.search(listed.err):
            return Fetched(None)
        # Plain files behind a web server have no protocol; they are a repository when they show any ref.
        shown = self.look(ends - time.monotonic())
        if shown.code == 0 and shown.text.strip():
            return Fetched(None)
        return Fetched(
            error="the remote answered with an empty list of refs and not as a git server does (a login page, or a "
            "proxy, in its place?)",
            lasting=True,
        )

    def _mended(self, why: str) -> bool:
        """Whether our repository was at fault and is another one now."""
        if self.mender is None or not self.mender.mend(why):
            return False
        self.objects.reopen()
        return True

    def deepen(self, timeout: float) -> None:
        if not os.path.exists(os.path.join(self.own.path, "shallow")):
            return
        self._outwait_locks(FETCHED)
        done = self.own.git([*_FETCH, "--unshallow", "--", REMOTE, f"+{self.ref}:{FETCHED}"], timeout)
        if done.code:
            raise RemoteFailure(
                f"the ledger's earlier history cannot be fetched: {done.complaint}", hint="git ls-remote"
            )

    def _outwait_locks(self, name: str) -> None:
        """The git of a killed command may live on for a moment and hold the lock of a ref of ours; a killed one
        leaves it for good. We hold the clone's lock, so nobody else has a right to it: it is waited for, and
        removed once it is older than any update of one ref takes."""
        for lock in (os.path.join(self.own.path, f"{name}.lock"), os.path.join(self.own.path, "packed-refs.lock")):
            ends = time.monotonic() + _LOCK_WAIT
            while os.path.lexists(lock):
                if time.monotonic() >= ends:
                    with suppress(FileNotFoundError):
                        os.unlink(lock)
                    break
                time.sleep(0.05)

    def accept(self, tip: str) -> None:
        self._outwait_locks(TIP)
        self.objects.repo.references.create(TIP, tip, force=True)

    def push(self, parent: str | None, oid: str, timeout: float) -> Pushed:
        if (
            parent is not None
            and parent not in self.objects.commit(oid).parents
            and not self.objects.is_ancestor(parent, oid)
        ):
            # A lease that matches waives git's fast-forward check, so it is made here.
            raise AssertionError(f"{oid} does not descend from {parent}")
        lease = f"--force-with-lease={self.ref}:{parent or ''}"
        done = self.own.git([*PUSH, lease, "--", REMOTE, f"{oid}:{self.ref}"], timeout)
        if done.code == 127:
            return Pushed(PushKind.UNREACHABLE, False, done.complaint, sent=False)
        pushed = classify(done, self.ref)
        if pushed.kind is PushKind.REJECTED and parent is None:
            refuse_clash(self.ref, refs_in(self.look(max(1.0, timeout / 2))))
        return self._told(done, pushed, parent, oid)

    def _told(self, done: Finished, pushed: Pushed, parent: str | None, oid: str) -> Pushed:
        """The result of a push. A damaged repository of ours breaks a push as a bad connection does, but nothing was
        sent then: that is BROKEN."""
        if pushed.kind not in (PushKind.UNKNOWN, PushKind.BROKEN) or done.timed_out or self.mender is None:
            return pushed
        wanted = f"{oid}\n" if parent is None else f"{oid}\n^{parent}\n"
        args = ["pack-objects", "--revs", "--stdout", "--quiet"]
        packed = self.own.git(args, 30, stdin=wanted.encode("ascii"))
        if packed.code and not packed.timed_out and self._mended(f"git push: {packed.complaint}"):
            return Pushed(PushKind.BROKEN, False, packed.complaint)
        return pushed

    def raw_push(self, args: Sequence[str], timeout: float) -> Finished:
        """A push of any kind, to refs of a probe only: it finds out what a remote refuses."""
        options = [arg for arg in args if arg.startswith("--")]
        specs = [arg for arg in args if not arg.startswith("--")]
        return self.own.git([*PUSH, *options, "--", REMOTE, *specs], timeout)

    def look(self, timeout: float) -> Finished:
        """One look at the remote's refs."""
        return self.own.git(["ls-remote", "--", REMOTE], timeout)

    def anchor(self, request: str, oid: str) -> None:
        self._outwait_locks(PENDING + request)
        self.objects.repo.references.create(PENDING + request, oid, force=True)

    def release(self, request: str) -> None:
        if self.objects.repo.references.get(PENDING + request) is not None:
            self._outwait_locks(PENDING + request)
            self.objects.repo.references.delete(PENDING + request)

    def tidy(self) -> None:
        if loose_objects(self.own.path) >= LOOSE_MAX:
            # All that matters hangs on a ref and the caller holds the lock, so everything else may go.
            self.own.git(["gc", "--quiet", "--prune=now"], 300)

    def branches_elsewhere(self, timeout: float) -> bool:
        return bool(refs_in(self.own.git(["ls-remote", "--heads", "--", REMOTE], timeout)).keys() - {self.ref})


class _RemoteLanding(RemotePublisher):
    """A publisher whose push includes the code: both refs move, or neither does."""

    def __init__(self, inner: RemotePublisher, landing: Landing) -> None:
        super().__init__(inner.objects, inner.own, inner.ref, depth=inner.depth, mender=inner.mender)
        self._landing = landing

    def push(self, parent: str | None, oid: str, timeout: float) -> Pushed:
        return self._landing.push(parent, oid, timeout)


def refuse_clash(ref: str, others: Iterable[str]) -> None:
    """Raise when one of these refs cannot be there together with `ref`: one name is the folder of the other."""
    for other in others:
        if ref.startswith(f"{other}/") or other.startswith(f"{ref}/"):
            raise RemoteFailure(
                f"{_short(other)} conflicts with {_short(ref)}: git cannot keep both; nothing was written",
                hint=f"give {_short(other)} another name, or keep coordination under a free one (in all clones): "
                f"git config loopx.ref refs/heads/{ref.removeprefix('refs/heads/').replace('/', '-')}",
                about={"ref": ref, "in_the_way": other},
            )


def _short(ref: str) -> str:
    for prefix, kind in (("refs/heads/", "the branch "), ("refs/tags/", "the tag ")):
        if ref.startswith(prefix):
            return kind + ref.removeprefix(prefix)
    return ref


def loose_objects(git_dir: str) -> int:
    """The approximate number of loose objects: sixteen times those in one sixteenth of the folders."""
    count = 0
    for number in range(0, 256, 16):
        try:
            count += len(os.listdir(os.path.join(git_dir, "objects", f"{number:02x}")))
        except FileNotFoundError:
            continue
    return count * 16
