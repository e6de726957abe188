"""The vocabulary of findings, for every caller."""

from __future__ import annotations


class Rule:
    """`allowed` or not, the message about the paths, the next command, and a further step.

    `{...}` are fields of the claim and of the caller.
    """

    __slots__ = ("allowed", "also", "command", "message")

    def __init__(self, message: str, command: str = "", also: str = "", *, allowed: bool = False) -> None:
        self.message, self.command, self.also, self.allowed = message, command, also, allowed

    @property
    def way_out(self) -> str:
        """The command, and what belongs to it."""
        return f"{self.command}   {self.also}" if self.also else self.command


RULES: dict[str, Rule] = {
    "unguarded": Rule("not guarded", allowed=True),
    "covered": Rule("covered by {lease}", allowed=True),
    "held": Rule("{holder} holds {lease} ({title}), whose scope covers this", "git loopx todo show {todo}",
                 "leave it to {holder}, or wait until it is done"),
    "sibling": Rule("another session of {holder} holds {lease} ({title})", "git loopx todo claim {todo} --resume"),
    "late": Rule("the claim {lease} is past its deadline", "git loopx task-lease renew {todo}"),
    "unbounded": Rule("the claim {lease} has no time bound, and the policy asks for a lease",
                      "git loopx task-lease renew {todo} --ttl 2h"),
    # Of an edit in the making.
    "unclaimed": Rule("no live claim of {agent} covers this", "git loopx todo next --claim"),
    "unidentified": Rule("no agent is set here, so no claim covers this",
                         "git loopx peer list   then one of them: git config loopx.agent NAME"),
    # Of a commit: what its trailers say, held against the ledger.
    "missing": Rule("the commit names no claim", "git loopx todo claim TODO",
                    "then add to the message's last paragraph: Loopx-Claim: TODO@EPOCH"),
    "malformed": Rule("the trailer {line!r} names no claim", "git commit --amend",
                      "write it as: Loopx-Claim: todo_ab12cd34ef56@3"),
    "unknown": Rule("the commit names {named}, and {todo} is not a todo of this ledger", "git loopx todo list",
                    "name a claim of this repository's own ledger"),
    "forged": Rule("the commit names {named}, and that epoch of {todo} was never granted",
                   "git loopx todo show {todo}", "claim it, and name the epoch that was granted"),
    "taken-over": Rule("the commit names {named}, which is no longer current: {after} came after it",
                       "git loopx todo show {todo}", "agree with its current holder"),
    "ended": Rule("the commit names {named}, which ended without completing the todo ({ended})",
                  "git loopx todo show {todo}", "claim it again if it is open, or another one, and name that epoch"),
    "completed": Rule("the commit names {named}, and was not there when its todo was completed ({completed})",
                      "git loopx todo show {todo}",
                      "open the todo again and claim it, or claim another one, and name that epoch"),
    "outside": Rule("the commit names {named}, whose scope does not cover this", "git loopx todo show {todo}",
                    "claim a todo whose scope covers it, and name that claim too"),
    "signature": Rule("the commit names {named}, which is not proven: {unproven}", "git config loopx.sign true",
                      "and a key of the agent in .loopx/allowed_signers"),
}  # fmt: skip


#: The callers in the clone of the one who works. There a claim past its deadline is a finding, for it can be renewed
#: first, and the policy's `unidentified` says how a person is answered. The others (review, gate) go by epochs
#: alone.
IN_CLONE = frozenset({"agent", "paths", "staged", "range", "push"})
