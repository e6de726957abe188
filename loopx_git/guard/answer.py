"""The answer to a verdict: one screen for people, and the same facts for programs."""

from __future__ import annotations

from loopx_git.coverage.rules import IN_CLONE
from loopx_git.coverage.verdict import Group, fields_of, judge, says

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from loopx_git.guard.context import Context, Problem
    from loopx_git.guard.free import Free

#: Most groups, and most paths of one group, that the text names; `--json` names all.
GROUPS_SHOWN, PATHS_SHOWN = 5, 4
#: Seconds after which also one who may is told how old the knowledge is.
TOLD_AFTER = 3600
BYPASS = "a bypass (--no-verify) does not help: the pull-request check fails on the same rule"


class Answer:
    """A verdict. `effect` is allowed, warned or denied."""

    def __init__(
        self, context: Context, source: str, groups: Sequence[Group], *, problem: Problem | None = None,
        unjudged: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.context, self.source, self.groups = context, source, groups
        self.problem, self.unjudged = problem, unjudged
        self.wrong = [group for group in groups if not group.allowed]
        self.effect = self._effect()
        self._found: dict[Group, Free | None] = {}

    def _effect(self) -> str:
        policy = self.context.policy
        if policy.mode == "off" or not (self.wrong or self.problem):
            return "allowed"
        severity = policy.mode
        # Of a commit that names a claim it does not matter who pushes it.
        by_name = any(group.fields.get("by_name") for group in self.wrong)
        is_person = self.source in IN_CLONE and self.context.who.agent is None
        if is_person and severity == "block" and not by_name:
            severity = policy.unidentified
        return {"block": "denied", "warn": "warned"}.get(severity, "allowed")

    @property
    def trailers(self) -> list[str]:
        """todo@epoch of every claim that covers a path, sorted."""
        covering = [claim for group in self.groups if group.rule == "covered" for claim in group.claims]
        return sorted({claim.lease for claim in covering})

    @property
    def count(self) -> int:
        """How many paths are refused."""
        return len(self.unjudged) if self.problem else sum(len(group.paths) for group in self.wrong)

    @property
    def command(self) -> str:
        """The one next command."""
        if self.problem is not None:
            return self.problem.command
        return self._says(self.wrong[0])[1] if self.wrong else ""

    @property
    def headline(self) -> str:
        """One sentence."""
        if self.context.policy.mode == "off":
            return 'the guard is off here: .loopx/config.toml says mode = "off"'
        if self.effect == "allowed" and (self.wrong or self.problem):
            return (
                f"allowed by the policy, and {self.count} {_plural(self.count, 'path')} without a claim that covers"
            )
        if self.effect == "allowed":
            checked = sum(len(group.paths) for group in self.groups if group.rule != "unguarded")
            return f"ok: {checked} guarded {_plural(checked, 'path')}, all of them covered"
        if self.problem is not None:
            return self.problem.message
        word = "may" if self.effect == "denied" else "should"
        whose = f"by {self.context.who.agent}" if self.context.who.agent else "here"
        return f"{self.count} {_plural(self.count, 'path')} {word} not be changed {whose}"

    def lines(self) -> list[str]:
        """The text for people: paths, rule, holder and epoch, then the age of the state."""
        lines = list(self.context.notes)
        if self.effect == "allowed":
            judged = any(group.rule == "covered" for group in self.groups)
            if judged and self.context.age > TOLD_AFTER:
                lines.append(f"by the claims as they were read {age_words(self.context.age)} ago")
            return lines
        if self.problem is not None:
            lines += _paths(self.unjudged)
        for group in self.wrong[:GROUPS_SHOWN]:
            lines += _paths(group.paths)
            lines.append(f"    {self._says(group)[0]}{self._until(group)}")
            free = self._free(group)
            if free is not None:
                lines.append(f"    {free.says(len(group.paths))}")
            made = list(group.fields.get("commits", ()))
            lines += [f"    in {commit}" for commit in made[:2]]
            if len(made) > 2:
                lines.append(f"    and {len(made) - 2} more commits")
        if len(self.wrong) > GROUPS_SHOWN:
            rest = self.wrong[GROUPS_SHOWN:]
            lines.append(f"  and {sum(len(group.paths) for group in rest)} more, for {len(rest)} other reasons")
        if self.context.tip is not None:
            lines.append(f"  known: the claims at {self.context.tip[:12]}, read {age_words(self.context.age)} ago")
        lines.append(f"  {BYPASS}")
        return lines

    def _says(self, group: Group) -> tuple[str, str]:
        """(what is said of the paths, the next command): the claim of the free todo, where there is one."""
        message, command, _ = says(group, self.context.who)
        free = self._free(group) if group.rule in ("unclaimed", "missing") else None
        return message, command if free is None else free.command

    def _free(self, group: Group) -> Free | None:
        """The free todo that covers paths of which only a claim is missing."""
        open_ = group.rule in ("unclaimed", "unidentified", "missing") and not group.claims
        if not open_ or self.context.free is None:
            return None
        if group not in self._found:
            self._found[group] = self.context.free.find(group.paths)
        return self._found[group]

    def _until(self, group: Group) -> str:
        ends = group.claims[0].lapses_at if group.claims and group.rule in ("held", "sibling") else None
        return "" if ends is None else f"; it lapses in {age_words(max(0.0, ends - self.context.now))}"

    def as_json(self) -> dict[str, Any]:
        """The same facts, every path."""
        context, findings = self.context, []
        for group in self.wrong:
            message, command = self._says(group)
            fields, free = fields_of(group, context.who), self._free(group)
            ends = group.claims[0].lapses_at if group.claims else None
            findings.append({
                "rule": group.rule, "message": message, "next": command, "todo_id": fields.get("todo"),
                "holder": fields.get("holder"), "epoch": fields.get("epoch"), "lapses_at": ends,
                "commits": list(fields.get("commits", ())), "paths": list(group.paths),
                "free": None if free is None else free.as_json(),
            })  # fmt: skip
        problem = None
        if self.problem is not None:
            problem = {"rule": self.problem.rule, "message": self.problem.message, "next": self.problem.command,
                       "paths": list(self.unjudged)}  # fmt: skip
        checked = sum(len(group.paths) for group in self.groups) + len(self.unjudged)
        return {
            "verdict": self.effect, "source": self.source, "mode": context.policy.mode, "agent": context.who.agent,
            "session": context.who.session, "checked": checked, "refused": self.count, "claims": self.trailers,
            "findings": findings, "problem": problem, "next": self.command, "notes": list(context.notes),
            "known_at": context.tip, "known_age_s": None if context.age == float("inf") else round(context.age, 1),
            "bypass": BYPASS if self.effect != "allowed" else "",
        }  # fmt: skip


def examine(context: Context, paths: Iterable[str], source: str) -> Answer:
    """The verdict on an edit of these paths."""
    if context.policy.mode == "off":
        return Answer(context, source, [])
    if context.problem is None:
        return Answer(context, source, judge(paths, context.policy, context.edit()))
    plain, open_ = Group("unguarded", ()), Group("unclaimed", ())
    for path in paths:
        (open_ if context.policy.is_guarded(path) else plain).paths.append(path)
    # Without knowledge nothing is said of single paths; one that is guarded is enough.
    return Answer(context, source, [plain], problem=context.problem if open_.paths else None, unjudged=open_.paths)


def _paths(paths: Sequence[str]) -> list[str]:
    shown = [f"  {path}" for path in paths[:PATHS_SHOWN]]
    rest = len(paths) - len(shown)
    return [*shown, f"  and {rest} more {_plural(rest, 'path')}"] if rest else shown


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def age_words(seconds: float) -> str:
    """`5 min`, `2 h`: a length of time, roughly."""
    if seconds == float("inf"):
        return "an unknown time"
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit}"
    return f"{int(seconds)} s"
