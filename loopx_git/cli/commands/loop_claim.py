"""`git loopx loop claim`."""

from __future__ import annotations

import sys

import click

from loopx_git.cli.command_context import CommandContext, command, options
from loopx_git.cli.output import safe
from loopx_git.errors import HeldByAnother, LoopXError, NotAllowed, NotFound, NotYourClaim, UsageError


class Refused(UsageError):
    """A refusal in the words of the loop contract; exit 2."""


@command("claim", example="git loopx loop claim nightly --task fix-login\n"
         "git loopx --claim-loop-task nightly --task fix-login --project ../other")  # fmt: skip
@click.argument("name", required=False)
@click.option("--task", metavar="TODO", help="The todo, by id or alias.")
@click.option("--project", metavar="DIR", help="The repository that the loop belongs to; the same as -C.")
@click.option("--goal-id", metavar="GOAL", help="The todo's goal, to be checked.")
@click.option("--resume", is_flag=True, help="Move the loop to this clone, and its claim with it.")
@click.option("--force", is_flag=True, help="Take the todo from its holder (with --reason; goes into history).")
@click.option("--reason", metavar="TEXT", help="Why, with --force.")
@options("dry_run")
def main(
    context: CommandContext, name: str | None, task: str | None, project: str | None, goal_id: str | None,
    resume: bool, force: bool, reason: str | None, dry_run: bool,
) -> None:  # fmt: skip
    """Claim a todo as the task of a loop. One answer for all loops and all other peers; no time bound.

    Exit 0: the task is the loop's; standard error says OK, or already_self_claimed when it was before (nothing is
    written then). Exit 2: it is not: task_already_claimed:OTHER, loop_untracked, or what else is wrong. With --json
    a refusal is one object on standard error, and that word its `word`.
    """
    for argument, value in (("NAME", name), ("--task", task)):
        if value is None:
            raise Refused(f"missing argument: {argument}", hint="git loopx loop claim NAME --task TODO")
    assert name is not None and task is not None
    if project is not None:
        context.values = {**context.values, "folder": project}
    try:
        view = context.client.loop.claim(
            name, task, goal_id=goal_id, resume=resume, force=force, reason=reason, dry_run=dry_run
        )
    except (HeldByAnother, NotYourClaim, NotAllowed, NotFound) as error:
        word = _word(error, task)
        if not context.output.as_json:
            # Programs find it in the object, which is all that there is on standard error for them.
            sys.stderr.write(word + "\n")
        raise Refused(f"{word}: {error.message}", hint=error.hint, about={**error.about, "word": word}) from None
    word = "OK" if view.acquired else "already_self_claimed"
    sys.stderr.write(("would be " if dry_run and view.acquired else "") + word + "\n")
    claimed = f"{safe(str(view.loop.current_task))} {'would become' if dry_run else 'is'} the task of {name}"
    lines = [f"{claimed}: {safe(view.title)}" if dry_run else claimed]
    if dry_run and view.claim is not None:
        former = f", taken over from {view.former}" if view.former else ""
        lines.append(f"  lease {view.claim.id}, no time bound{former}")
    context.emit("loop", lambda: {**view.as_json(), "dry_run": dry_run}, lines if view.acquired else [])


def _word(error: LoopXError, task: str) -> str:
    """The contract's word for a refusal."""
    reason = error.reason
    if isinstance(error, HeldByAnother):
        return f"task_already_claimed:{error.holder}"
    if reason is not None:
        return str(reason)
    return f"{'task_not_found' if isinstance(error, NotFound) else 'task_not_claimable'}:{safe(task[:80])}"
