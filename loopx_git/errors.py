"""Every error a caller can see, as one tree with data.

    LoopXError
    ├── UsageError          2   the call itself is wrong
    ├── InternalError       3   our bug
    ├── NotInitialised     10   no coordination history here yet
    ├── HeldByAnother      11   somebody else holds what you wanted to acquire
    ├── NotYourClaim       12   lost, stale epoch, expired, or never yours
    ├── Contention         13   the tip kept moving, or the time budget ended
    ├── RemoteFailure      14   the remote is unreachable, refused, or does not permit it
    ├── NotAllowed         15   status, peer, dependency, limit or policy forbids it
    ├── InvalidState       16   stored data is invalid, foreign, or too new
    ├── NotFound           17   no such thing, or more than one
    ├── OutcomeUnknown     18   run the same command again
    ├── CheckFailed        19   a check found something, or the guard denied
    └── Interrupted       130   a signal ended the command

This module belongs to no layer and imports nothing of ours. Every layer may raise these; only the outermost turns
them into exit codes and text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypedDict


class About(TypedDict, total=False):
    """What an error is about, as plain JSON values. An error has the fields that its raiser gives."""

    agent: str | None
    alias: str
    atomic: bool
    base: str
    branch: str
    candidates: Sequence[str]
    commit: str
    conflict: str
    current_task: str | None
    cycle: Sequence[str]
    depends_on: str
    epoch: int
    exit: int
    expires_at: str | None
    field: str
    file: str
    findings: int | Sequence[Any]
    folder: str
    former_epoch: int | None
    given: int
    goal: str | None
    head: str
    held: Sequence[str]
    holder: str | None
    home: str
    hook: str
    in_the_way: str
    last_tip: str | None
    ledger: str | None
    line: int
    live: Sequence[str]
    loop: str
    loops: Sequence[str]
    losses: int
    lost: Sequence[str]
    moved_by: Sequence[str]
    nearest: Sequence[str]
    passed_over: Sequence[Mapping[str, str]]
    path: str
    pid: str
    pinned: Mapping[str, str]
    pushes: int
    reason: str
    ref: str
    refused: Sequence[Mapping[str, str]]
    remote: str
    remote_code: str | None
    resolved: Mapping[str, str]
    root: str
    rule: str
    session: str | None
    skipped: Sequence[Mapping[str, str]]
    status: str
    successor: str
    tip: str | None
    todo_id: str | None
    tries: int
    validate: Sequence[str]
    word: str
    worktree: str


class LoopXError(Exception):
    """An error with its exit code, the next command to type, and what it is about.

    `message` is one sentence for a person, `hint` the next command or step (may be empty). `about` has the fields
    that were given; those that a program decides by are attributes, too, and None where they were not given.
    """

    code: ClassVar[int] = 3

    def __init__(self, message: str, *, hint: str = "", about: About | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.about: About = about.copy() if about else {}
        self.todo_id = self.about.get("todo_id")
        self.holder = self.about.get("holder")
        self.epoch = self.about.get("epoch")
        self.expires_at = self.about.get("expires_at")
        self.agent = self.about.get("agent")
        self.reason = self.about.get("reason")
        self.file = self.about.get("file")
        self.line = self.about.get("line")


class UsageError(LoopXError):
    """The call itself is wrong: an argument is missing, not valid, or contradicts another. Exit 2."""

    code = 2


class InternalError(LoopXError):
    """A bug in loopx-git. Exit 3."""

    code = 3


class NotInitialised(LoopXError):
    """No coordination history exists yet; `git loopx init` begins one. Exit 10."""

    code = 10


class HeldByAnother(LoopXError):
    """Another session holds what the caller wanted to acquire: `holder`, `epoch`, `expires_at`. Exit 11."""

    code = 11


class NotYourClaim(LoopXError):
    """The caller does not hold the claim: it was lost, its epoch is stale, it expired, or it never was. Exit 12."""

    code = 12


class Contention(LoopXError):
    """The tip kept moving, or the time budget ended. Nothing was written; run the same command again. Exit 13."""

    code = 13


class RemoteFailure(LoopXError):
    """The remote is unreachable, refused the push or fetch, or does not permit it. Exit 14."""

    code = 14


class NotAllowed(LoopXError):
    """The status, a peer, a dependency, a limit or the policy forbids the operation. Exit 15."""

    code = 15


class InvalidState(LoopXError):
    """Stored data or configuration is not valid, foreign, or of a newer format. Exit 16."""

    code = 16


class NotFound(LoopXError):
    """The name fits nothing, or more than one. Exit 17."""

    code = 17


class OutcomeUnknown(LoopXError):
    """The remote did not say whether the push landed; the same command again finds out. Exit 18."""

    code = 18


class CheckFailed(LoopXError):
    """A check found something, or the guard denied an edit. Exit 19."""

    code = 19


class Interrupted(LoopXError):
    """A signal ended the command. Exit 130."""

    code = 130


BY_CODE: Mapping[int, type[LoopXError]] = {cls.code: cls for cls in LoopXError.__subclasses__()}
