"""loopx-git: todos that exactly one agent can claim, on a git ref."""

from __future__ import annotations

from loopx_git.version import __version__

# Not from typing: the hooks of an agent import this package at every edit, and `typing` is a third of that time.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopx_git.errors import (
        CheckFailed,
        Contention,
        HeldByAnother,
        InternalError,
        Interrupted,
        InvalidState,
        LoopXError,
        NotAllowed,
        NotFound,
        NotInitialised,
        NotYourClaim,
        OutcomeUnknown,
        RemoteFailure,
        UsageError,
    )
    from loopx_git.sdk import LoopXClient

__all__ = [
    "CheckFailed",
    "Contention",
    "HeldByAnother",
    "InternalError",
    "Interrupted",
    "InvalidState",
    "LoopXClient",
    "LoopXError",
    "NotAllowed",
    "NotFound",
    "NotInitialised",
    "NotYourClaim",
    "OutcomeUnknown",
    "RemoteFailure",
    "UsageError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Names are loaded when they are asked for: importing the package costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "LoopXClient":
        from loopx_git import sdk as module
    else:
        from loopx_git import errors as module  # type: ignore[no-redef]
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
