"""The Protocol of publishing, in plain types. That of objects is in `ledger.commits`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from loopx_git.errors import RemoteFailure
from loopx_git.store.repository import Repository


class PushKind(StrEnum):
    """The result of a push, read from the porcelain flag and the exit status, never from prose."""

    LANDED = "landed"
    LOST = "lost"
    REJECTED = "rejected"  # lost, or a fault of the server: the tip tells
    DECLINED = "declined"  # a policy said no
    BROKEN = "broken"  # our object store lacks something
    THROTTLED = "throttled"  # too much at once, or a server that is down for now: wait, then ask again
    UNREACHABLE = "unreachable"  # refused before anything was sent, and the same the next time
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Pushed:
    """One push: its result, whether the other side answered, and what it said.

    `sent` is False when nothing can have arrived, so that no outcome is open. `retry_after` is in seconds.
    """

    kind: PushKind
    connected: bool = True
    said: str = ""
    retry_after: float | None = None
    sent: bool = True


@dataclass(frozen=True, slots=True)
class Fetched:
    """One look at the remote ref: its tip (None: the ref is absent), or `error` when it could not be read.

    `throttled`: the remote asks to wait (`retry_after` seconds, where it says so). `lasting`: another try would end
    with the same error.
    """

    tip: str | None = None
    error: str | None = None
    throttled: bool = False
    retry_after: float | None = None
    lasting: bool = False

    def read(
        self, what: str = "the coordination ref", *, hint: str = "check the remote and your access: git ls-remote"
    ) -> str | None:
        """The tip. Raises RemoteFailure when `what` could not be read."""
        if self.error is not None:
            raise RemoteFailure(f"{what} cannot be read: {self.error}", hint=hint)
        return self.tip


@dataclass(frozen=True, slots=True)
class CodePush:
    """What lands, and where: a commit (40 hex digits), and the full name of its branch at the remote."""

    oid: str
    ref: str

    @property
    def branch(self) -> str:
        """The short name of the branch."""
        return self.ref.removeprefix("refs/heads/")


class Publisher(Protocol):
    """Where coordination is published. Only a publisher moves the coordination ref."""

    def of_branch(self, ref: str) -> Publisher:
        """A publisher of another branch of the same place: of a proposal, never of coordination itself."""

    def landing(self, code: CodePush, repository: Repository) -> AbstractContextManager[Publisher]:
        """A publisher whose push moves the code, too: both refs move, or neither does. `repository` has the code."""

    def code_push(self, code: CodePush, repository: Repository) -> Callable[[float], None]:
        """The push of the code alone, to be called later with its time in seconds; that raises NotAllowed or
        RemoteFailure. Raises NotAllowed at once where there is no remote."""

    def known_tip(self) -> str | None:
        """The last tip that was checked here; None before the first."""

    def fetch(self, timeout: float) -> Fetched:
        """Look at the ref and bring its objects here. Does not change `known_tip`. `timeout` in seconds."""

    def deepen(self, timeout: float) -> None:
        """Bring the rest of a history whose beginning was left out; nothing to do where it is whole. RemoteFailure
        when it cannot be fetched. `timeout` in seconds."""

    def branches_elsewhere(self, timeout: float) -> bool:
        """Whether a remote has any branch besides ours (False also when it cannot be read); True where there is no
        remote. `timeout` in seconds."""

    def accept(self, tip: str) -> None:
        """Remember `tip` as the last one checked."""

    def push(self, parent: str | None, oid: str, timeout: float) -> Pushed:
        """Move the ref from `parent` (None: it must be absent) to `oid`, or do nothing: compare-and-swap."""

    def anchor(self, request: str, oid: str) -> None:
        """Keep `oid` reachable until `release`d, so that no gc removes a commit whose outcome is open."""

    def release(self, request: str) -> None:
        """Drop the anchor of a request, if there is one."""

    def tidy(self) -> None:
        """Pack what has piled up, if it is much."""
