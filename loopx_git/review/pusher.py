"""Who pushes, as the hosting software says it, and in whose name they may act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loopx_git.core.change import Op
from loopx_git.core.meaning import NOTE_REASON
from loopx_git.errors import InvalidState
from loopx_git.format.message import Message


@dataclass(frozen=True, slots=True)
class Pusher:
    """`name` is the account that pushes (None: the server does not say, and the policy asks), `agents` the names it
    may act under, `operator` whether it may act as a person (None: everybody may)."""

    name: str | None
    agents: frozenset[str]
    operator: bool | None = None

    def why_not(self, said: Message) -> str:
        """Why this account may not push that operation, or ""."""
        if self.name is None:
            return "the server does not say who pushes, and the policy asks for it"
        if "@" in said.agent:
            return (
                "" if self.operator in (None, True) else f"{self.name} is no operator, {said.agent} acts as a person"
            )
        if said.agent not in self.agents:
            return f"{self.name} pushes an operation of {said.agent}"
        note = said.op is Op.UPDATE and said.reason == NOTE_REASON
        if said.reason is not None and not note and self.operator is False:
            return f"{self.name} is no operator, and this operation is forced"
        return ""


def pusher_of(guard: Mapping[str, Any], env: Mapping[str, str]) -> Pusher | None:
    """The pusher by `[guard] pusher` (the environment variable that names the account), `pushers` (`account=agent`;
    an account without an entry acts under its own name) and `operators`; None when the policy asks for none."""
    variable = guard.get("pusher")
    if not variable:
        return None
    account = env.get(variable) or None
    if account is None:
        return Pusher(None, frozenset())
    mapped: set[str] = set()
    for entry in _texts(guard, "pushers"):
        who, _, agent = entry.partition("=")
        if not agent:
            raise InvalidState(
                f"guard.pushers has {entry[:80]!r}; write account=agent", hint="mend .loopx/config.toml"
            )
        if who == account:
            mapped.add(agent)
    operators = _texts(guard, "operators") if "operators" in guard else None
    return Pusher(account, frozenset(mapped or {account}), None if operators is None else account in operators)


def _texts(guard: Mapping[str, Any], key: str) -> Sequence[str]:
    values = guard.get(key, [])
    if not all(isinstance(value, str) for value in values):
        raise InvalidState(f"guard.{key} is a list of texts", hint="mend .loopx/config.toml")
    return [str(value) for value in values]
