"""Who pushes, as the hosting software reports it, and for which agents that account may act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loopx_git.core.change import Op
from loopx_git.core.meaning import NOTE_REASON
from loopx_git.coverage.policy import GuardPolicy
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
                ""
                if self.operator in (None, True)
                else f"{self.name} is not an operator, {said.agent} acts as a person"
            )
        if said.agent not in self.agents:
            return f"{self.name} pushes an operation of {said.agent}"
        note = said.op is Op.UPDATE and said.reason == NOTE_REASON
        if said.reason is not None and not note and self.operator is False:
            return f"{self.name} is not an operator, and this operation is forced"
        return ""


def pusher_of(policy: GuardPolicy, env: Mapping[str, str]) -> Pusher | None:
    """The pusher by `[guard] pusher` (the environment variable that names the account), `pushers` (`account=agent`;
    an account without an entry acts under its own name) and `operators`; None when the policy asks for none."""
    if not policy.pusher:
        return None
    account = env.get(policy.pusher) or None
    if account is None:
        return Pusher(None, frozenset())
    mapped = {agent for who, _, agent in (entry.partition("=") for entry in policy.pushers) if who == account}
    operator = None if policy.operators is None else account in policy.operators
    return Pusher(account, frozenset(mapped or {account}), operator)
