"""Todos and leases as lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from loopx_git.cli.output import Output, relative, safe
from loopx_git.cli.render.cells import cut
from loopx_git.client.views import LeaseView, News, TodoView, plain
from loopx_git.core.lease import LeaseState
from loopx_git.core.query import WaitsFor
from loopx_git.core.times import format_duration, format_time

if TYPE_CHECKING:
    from loopx_git.cli.command_context import CommandContext

#: Longest title of a todo that another one waits for.
WAIT_MAX = 32
#: Why a dependency is waited for, where that goes without saying.
_PLAIN = frozenset({"is open", "is in_progress"})


def lease_words(view: LeaseView, now: datetime) -> str:
    """`held by codex-1, 34 min left`; `lapsed 5 min ago, claimable`; `free`."""
    lease = view.lease
    if view.state is LeaseState.FREE:
        return "free" if not lease.epoch else f"free (was epoch {lease.epoch}, {lease.ended or 'reopened'})"
    if view.state is LeaseState.LAPSED and view.expires_at is not None:
        ended = relative(view.expires_at, now)
        return f"lapsed {ended}, claimable (was {lease.holder}, epoch {lease.epoch})"
    if view.expires_at is None:
        return f"held by {lease.holder} (epoch {lease.epoch}), no time bound"
    if view.expires_at <= now:
        return f"held by {lease.holder} (epoch {lease.epoch}), its time ended {relative(view.expires_at, now)}"
    left = relative(view.expires_at, now).removeprefix("in ")
    return f"held by {lease.holder} (epoch {lease.epoch}), {left} left"


def status_word(view: TodoView) -> str:
    """The status. An open todo that cannot be claimed yet is `waiting`."""
    return "waiting" if view.waits and view.lease.state is not LeaseState.HELD else view.todo.status.value


def waits_words(waits: Sequence[WaitsFor], now: datetime, most: int = 1) -> str:
    """`waits for fix-login (Mend the login)`, `resumes in 2 h, and 1 more`; "" for a todo that waits for nothing."""
    words = [wait_words(wait, now) for wait in waits[:most]]
    more = [f"and {len(waits) - most} more"] if len(waits) > most else []
    return ", ".join([*words, *more])


def wait_words(wait: WaitsFor, now: datetime) -> str:
    """One thing that is waited for."""
    if wait.until is not None:
        return f"resumes {relative(wait.until, now)}"
    if wait.title is None:
        return f"waits for {wait.todo}, which {wait.why}"
    title = cut(safe(wait.title), WAIT_MAX)
    return f"waits for {wait.alias or wait.todo} ({title})" + ("" if wait.why in _PLAIN else f", which {wait.why}")


def todo_lines(output: Output, view: TodoView, now: datetime) -> list[str]:
    """One todo in full."""
    todo = view.todo
    rows: list[tuple[str, str]] = [
        ("goal", todo.goal + (" (archived)" if todo.archived else "")),
        ("status", todo.status.value + (", waiting" if view.waits else "")),
        ("priority", str(todo.priority)),
        ("claim", lease_words(view.lease, now)),
        ("created", f"{relative(todo.created_at, now)} by {todo.created_by}"),
    ]
    if view.lease.lease.holder is not None:
        lease = view.lease.lease
        rows.append(
            ("lease", f"{lease.id}, session {lease.session or 'unbound'}, ttl {format_duration(lease.ttl_s)}")
        )
    rows += [("", waits_words([wait], now)) for wait in view.waits or ()]
    for name, value in (
        ("alias", todo.alias), ("scope", _joined(todo.scope)), ("requires", _joined(todo.requires)),
        ("excluded", _joined(todo.excluded)), ("depends on", _joined(todo.depends_on)),
        ("labels", _joined(todo.labels)), ("branch", todo.branch), ("soft claims", _joined(todo.soft_claims)),
        ("supersedes", _joined(todo.supersedes)), ("successor", todo.successor),
        ("attempts", str(todo.attempts) if todo.attempts else None),
        ("resumes", format_time(todo.resume_after) if todo.resume_after else None),
        ("completed", relative(todo.completed_at, now) if todo.completed_at else None),
    ):  # fmt: skip
        if value:
            rows.append((name, value))
    lines = [f"{todo.id}  {output.paint(safe(todo.title), '1')}"]
    lines += [f"  {name:11} {safe(value)}" for name, value in rows]
    if todo.body:
        lines += ["", *(f"  {line}" for line in safe(todo.body, lines=True).splitlines())]
    if todo.notes:
        lines += ["", "  notes:"]
        for note in todo.notes:
            first, *rest = safe(note.text, lines=True).split("\n")
            lines.append(f"  - {safe(note.time)} {safe(note.agent)}: {first}")
            lines += [f"    {line}" for line in rest]
    return lines


def outcome_lines(view: TodoView, done: str, now: datetime) -> list[str]:
    """What a write did: one line, and the facts that the caller should know."""
    facts = view.facts
    if facts.get("unchanged"):
        return [facts.get("message", f"{view.id}: nothing to do")]
    # Of a lease and a soft claim, which was meant depends on the goal: say it.
    done += " (the soft claim)" if facts.get("released") == "soft claim" else ""
    done = "noted, without the claim" if facts.get("without_claim") else done
    verb = f"would be {done}" if facts.get("dry_run") else done
    lines = [f"{view.id} {verb}: {safe(view.todo.title)}"]
    if facts.get("goes_on"):
        lines.append(f"  your {facts['goes_on']} of it stays")
    if facts.get("without_claim") and view.holder is not None:
        lines.append(f"  {safe(view.holder)} holds it (epoch {view.epoch}) and learns of it at the next renewal")
    if facts.get("found"):
        lines.append("  (an earlier run of this very command had written it)")
    if view.acquired:
        lines.append(f"  {lease_words(view.lease, now)}")
    return [*lines, *told_lines(view)]


def emit_outcome(
    context: CommandContext, view: TodoView, done: str, *, dry_run: bool, more: Sequence[str] = ()
) -> None:
    """Print what a write did to one todo; `more` are further lines for people."""
    lines = [*outcome_lines(view, done, context.client.clocks().now), *more]
    context.emit("todo", lambda: {**view.as_json(), "dry_run": dry_run}, lines)


def told_lines(view: TodoView) -> list[str]:
    """What a new holder should know: who held it before, the notes, warnings."""
    facts, lines = view.facts, list[str]()
    known = facts.get("handover")
    if known:
        lines.append(
            f"  last held by {known['holder'] or 'somebody'} (epoch {known['epoch']}, {known['ended'] or 'ended'}), "
            f"attempts {known['attempts']}" + (f", branch {safe(known['branch'])}" if known["branch"] else "")
        )
        lines += [f"  note by {safe(note['agent'])}: {safe(note['text'])}" for note in known["notes"]]
    lines += [f"  {line}" for line in news_lines(view.lease.news)]
    lines += [f"  warning: {safe(str(text))}" for text in facts.get("warnings", ())]
    return lines


def news_lines(heard: Sequence[News]) -> list[str]:
    """What others did to a todo meanwhile, a line each."""
    lines = []
    for item in heard:
        told = [f"{name} is now {safe(str(plain(value)))}" for name, value in item.changed.items()]
        told += [f"note: {safe(item.note)}"] if item.note is not None else []
        why = f" ({safe(item.reason)})" if item.reason else ""
        lines.append(f"meanwhile by {safe(item.agent)}{why}: {'; '.join(told)}")
    return lines


def _joined(values: Sequence[str]) -> str | None:
    return ", ".join(values) or None
