"""How a run ends its claim: a table, which the user can set, from the command's exit status to an outcome."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from loopx_git.client.todos import Todos
from loopx_git.client.views import TodoView
from loopx_git.core.lease import Lease
from loopx_git.errors import NotAllowed, UsageError


class Outcome(StrEnum):
    """What becomes of the todo. SETTLED: the command ended its claim itself."""

    COMPLETED = "completed"
    RELEASED = "released"
    BLOCKED = "blocked"
    NEEDS_HUMAN = "needs_human"
    SETTLED = "settled"


#: Success completes; 75 is sysexits' "try again later"; an end by a signal says nothing about the work; any other
#: failure stops the todo until somebody has looked, so that it does not fail for agent after agent.
DEFAULT = "0=completed 75=released signal=released other=blocked"
_RULE = re.compile(r"(?:([0-9]{1,3})(?:-([0-9]{1,3}))?|signal|other)=(completed|released|blocked|needs_human)")


@dataclass(frozen=True, slots=True)
class ExitPolicy:
    """Rules in order: (lowest code, highest code, outcome); `signal` for an end by a signal, `other` for the rest."""

    codes: tuple[tuple[int, int, Outcome], ...]
    signal: Outcome
    other: Outcome

    def outcome(self, status: int) -> Outcome:
        """The outcome for a status as Popen spells it: the exit code, or a signal as a negative number."""
        if status < 0:
            return self.signal
        return next((outcome for low, high, outcome in self.codes if low <= status <= high), self.other)


def parse(text: str) -> ExitPolicy:
    """The table from text such as `0=completed 2-9=needs_human signal=released other=blocked`.

    What the text does not name is as in DEFAULT. Raises UsageError for anything else.
    """
    codes: list[tuple[int, int, Outcome]] = []
    rest: dict[str, Outcome] = {}
    given = text.replace(",", " ").split()
    for number, rule in enumerate([*given, *DEFAULT.split()]):
        match = _RULE.fullmatch(rule)
        if match is None:
            raise UsageError(
                f"{rule[:60]!r} is not a rule for an exit code",
                hint="such as --on-exit '0=completed 2-9=needs_human signal=released other=blocked'",
            )
        outcome = Outcome(match[3])
        if match[1] is None:
            name = rule.partition("=")[0]
            if name in rest and number < len(given):
                raise UsageError(f"{name!r} is given twice", hint="name each code once")
            rest.setdefault(name, outcome)
            continue
        low, high = int(match[1]), int(match[2] or match[1])
        if not low <= high <= 255:
            raise UsageError(f"{rule!r} names no exit codes from 0 to 255", hint="such as 2-9=needs_human")
        codes.append((low, high, outcome))
    return ExitPolicy(tuple(codes), rest["signal"], rest["other"])


def apply_exit_policy(
    todos: Todos, lease: Lease, status: int, table: ExitPolicy, words: str, session: str
) -> tuple[TodoView, Outcome, str | None]:
    """End the claim as the table says: (the todo, the outcome, the note written).

    `words` is the command, for the note. Raises NotYourClaim when the session does not hold the claim any more,
    NotAllowed when the todo's check failed (the claim is released then).
    """
    outcome = table.outcome(status)
    who: dict[str, Any] = {"agent_id": lease.holder, "session": session, "epoch": lease.epoch}
    how = f"was ended by signal {-status}" if status < 0 else f"ended with {status}"
    note = None if status == 0 else f"{words[:200]} {how}"
    if outcome is Outcome.COMPLETED:
        try:
            return todos.complete(lease.todo, note=note, **who), outcome, note
        except NotAllowed as error:
            todos.release(lease.todo, note=f"not completed: {error.message}"[:2000], **who)
            raise
    wanted = None if outcome is Outcome.RELEASED else outcome.value
    return todos.release(lease.todo, status=wanted, note=note, **who), outcome, note
