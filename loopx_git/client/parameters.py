"""The parameters that several methods of the client share, each group said once.

A method takes a group as `**how: Unpack[Held]`. `checked` spells the group out in the method's signature, and the
method finds every parameter of the group in `how`, as it was given or with its default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature, signature
from typing import Any, TypedDict

from loopx_git.core.times import UNSET, Ttl
from loopx_git.errors import NotYourClaim


class Caller(TypedDict, total=False):
    """Caller acts, where that is not the configured agent in its own session."""

    agent_id: str | None
    session: str | None


class Asked(TypedDict, total=False):
    """A change of the ledger that needs no claim: who asks for it."""

    agent_id: str | None
    dry_run: bool


class OneTodo(Caller, total=False):
    """An operation on one todo."""

    goal_id: str | None
    dry_run: bool


class Noted(OneTodo, total=False):
    """An operation that may leave a note."""

    note: str | None


class Held(Noted, total=False):
    """An operation of a holder, who may name the claim's epoch."""

    epoch: int | None


class Forced(Held, total=False):
    """An operation of a holder, or of an operator with `force` and `reason`."""

    force: bool
    reason: str | None


class Releasing(Forced, total=False):
    """The end of a claim."""

    status: str | None
    exclusive: bool


class Completing(Held, total=False):
    """The end of a todo."""

    successor: str | None
    successor_title: str | None
    sink: Callable[[bytes], None] | None


class Claiming(OneTodo, total=False):
    """A claim."""

    ttl: Ttl
    resume: bool
    soft: bool
    exclusive: bool


class Choosing(OneTodo, total=False):
    """The choice of the next todo."""

    ttl: Ttl
    fresh: bool
    offline: bool
    statuses: Sequence[str]
    limit: int | None


class Taking(TypedDict, total=False):
    """The claim that a command or a block works under."""

    agent_id: str | None
    goal_id: str | None
    ttl: Ttl
    resume: bool


class Holding(Taking, total=False):
    """The claim of a block; `on_lost` is called when it is lost."""

    on_lost: Callable[[NotYourClaim], None] | None


#: The order in which a signature has the parameters of a group.
_ORDER = (
    " agent_id session goal_id ttl resume soft epoch status note force reason successor successor_title exclusive "
    "dry_run fresh offline statuses limit sink on_lost "
)
#: The default of a parameter by its name, else by its type, else None.
_DEFAULTS: Mapping[str, Any] = {"limit": 1, "bool": False, "Ttl": UNSET, "Sequence[str]": ()}


def expanded(method: Callable[..., Any]) -> tuple[Signature, Mapping[str, Any]]:
    """The signature of a method with its group spelled out, and the defaults of that group ({}: it takes none)."""
    said = signature(method)
    *own, last = said.parameters.values()
    named = re.fullmatch(r"Unpack\[(\w+)\]", str(last.annotation))
    if named is None:
        return said, {}
    types = {name: kind.__forward_arg__ for name, kind in globals()[named[1]].__annotations__.items()}
    names = sorted(types, key=lambda name: _ORDER.index(f" {name} "))
    group = {name: _DEFAULTS.get(name, _DEFAULTS.get(types[name])) for name in names}
    more = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=types[name])
        for name, default in group.items()
    ]
    return said.replace(parameters=[*own, *more]), group
