"""`git loopx todo update`."""

from __future__ import annotations

import shlex
from typing import Any

import click

from loopx_git.cli.command_context import CommandContext, command, options, text_of, todo_argument
from loopx_git.cli.render.todo import emit_outcome
from loopx_git.errors import UsageError

#: Flags that set a field: parameter -> attribute of the todo.
_FIELDS = {"title": "title", "alias": "alias", "priority": "priority", "branch": "branch"}
_LISTS = {
    "scope": "scope",
    "requires": "requires",
    "exclude": "excluded",
    "depends_on": "depends_on",
    "label": "labels",
    "validate": "validate",
}


def _field_words(given: dict[str, Any]) -> list[str]:
    """The flags that change fields, as they were typed."""
    words: list[str] = []
    for flag in (*_FIELDS, *_LISTS, "body", "body_file", "resume_after", "clear"):
        values = given[flag] if isinstance(given[flag], tuple) else (given[flag],)
        for value in values:
            if value is not None:
                words += [f"--{flag.replace('_', '-')}", str(value)]
    return words


@command("update", example="git loopx todo update todo_ab12cd34ef56 --status in_progress --note 'found the cause'")
@click.option("--status", help="open, in_progress, blocked, needs_human, or completed.")
@click.option("--note", help="Append a note.")
@click.option("--note-file", metavar="FILE", help="Read the note from FILE ('-': standard input).")
@click.option("--title", help="A new title.")
@click.option("--body", help="A new description.")
@click.option("--body-file", metavar="FILE", help="Read the description from FILE ('-': standard input).")
@click.option("--alias", help="A new alias.")
@click.option("--priority", type=click.IntRange(0, 4), help="A new priority; 0 is the highest.")
@click.option("--scope", multiple=True, metavar="PATTERN", help="The new scope; repeat it.")
@click.option("--requires", multiple=True, metavar="CAPABILITY", help="The new requirements; repeat it.")
@click.option("--exclude", multiple=True, metavar="AGENT", help="The agents that may not take it; repeat it.")
@click.option("--depends-on", multiple=True, metavar="TODO", help="The new dependencies; repeat it.")
@click.option("--label", multiple=True, help="The new labels; repeat it.")
@click.option("--resume-after", metavar="TIME", help="Not before this UTC time or date, or in 2h, 1d.")
@click.option("--branch", help="The branch of the work.")
@click.option("--validate", metavar="COMMAND", help="A command that must pass before it is completed.")
@click.option("--clear", multiple=True, metavar="FIELD", help="Empty a field, such as scope or alias.")
@click.option("--clear-claim", is_flag=True, help="Release the claim: the same as todo release.")
@click.option("--claimed-by", metavar="NAME", help="The same as --agent.")
@options("epoch", "force", "reason", "dry_run")
@todo_argument
def main(context: CommandContext, todo: str, goal_id: str | None, **given: Any) -> None:
    """Change a todo that you hold: status, notes, fields. A note alone needs no claim.

    An operator changes another's todo with --force --reason; priority and labels leave the claim as it is.
    """
    from loopx_git.cli.values import time_of, words_of
    from loopx_git.client.assignment import refuse_assignment

    agent = given["claimed_by"]
    if agent is not None and context.values.get("agent") not in (None, agent):
        raise UsageError("--agent and --claimed-by name two agents", hint="leave out --claimed-by")
    fields: dict[str, Any] = {name: given[flag] for flag, name in _FIELDS.items() if given[flag] is not None}
    lists = {**given, "validate": words_of(given["validate"], "--validate")}
    fields |= {name: lists[flag] for flag, name in _LISTS.items() if lists[flag]}
    body = text_of(given["body"], given["body_file"], "--body")
    if body is not None:
        fields["body"] = body.strip("\n")
    if given["resume_after"] is not None:
        fields["resume_after"] = time_of(
            given["resume_after"], "--resume-after", context.client.connection.overrides.clock.wall
        )
    for name in given["clear"]:
        attribute = {**_FIELDS, **_LISTS, "resume_after": "resume_after", "body": "body"}.get(name.replace("-", "_"))
        if attribute is None or attribute in ("title", "priority") or attribute in fields:
            raise UsageError(f"--clear {name}: not possible", hint="clear one of alias, branch, scope, requires, "
                             "exclude, depends-on, label, resume-after, validate, body")  # fmt: skip
        fields[attribute] = "" if attribute == "body" else () if attribute in _LISTS.values() else None
    note = text_of(given["note"], given["note_file"], "--note")
    rest = {name: given[name] for name in ("epoch", "status", "force", "reason", "dry_run")}
    if given["clear_claim"]:
        if agent is not None:
            raise UsageError(
                "--claimed-by and --clear-claim are two different wishes",
                hint="leave out one of them; see: git loopx todo transfer -h   and: git loopx todo release -h",
            )
        if fields:
            first = shlex.join(["git", "loopx", "todo", "update", todo, *_field_words(given)])
            raise UsageError(
                "--clear-claim changes no fields", hint=f"change them first: {first}   then the same without them"
            )
        view = context.client.todo.release(todo, goal_id=goal_id, note=note, **rest)
        done = "completed" if given["status"] == "completed" else "released"
    else:
        if agent is not None:
            changes = bool(fields or note or given["status"])
            refuse_assignment(context.client, todo, agent, goal_id=goal_id, changes=changes)
        view = context.client.todo.update(todo, goal_id=goal_id, note=note, agent_id=agent, **rest, **fields)
        done = "updated"
    emit_outcome(context, view, done, dry_run=rest["dry_run"])
