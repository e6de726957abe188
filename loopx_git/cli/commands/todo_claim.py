"""`git loopx todo claim`."""

from __future__ import annotations

import click

from loopx_git.cli.face import Face, command, duration, todo_argument
from loopx_git.cli.show import outcome_lines


@command("claim", example="git loopx todo claim todo_ab12cd34ef56 --agent codex-1 --ttl 45m")
@click.option("--ttl", metavar="TIME", help="Time bound, such as 45m or none (default: the policy's).")
@click.option("--no-ttl", is_flag=True, help="The same as --ttl none.")
@click.option("--resume", is_flag=True, help="Take over from another session of the same agent.")
@click.option("--dry-run", is_flag=True, help="Say what would happen, write nothing.")
@todo_argument
def main(
    face: Face, todo: str, goal_id: str | None, ttl: str | None, no_ttl: bool, resume: bool, dry_run: bool
) -> None:
    """Claim a todo for this session. Exit 0: it is yours. Exit 11: somebody else holds it."""
    view = face.client.todo.claim(
        todo,
        goal_id=goal_id,
        ttl=duration("none" if no_ttl else ttl, "--ttl"),
        resume=resume,
        dry_run=dry_run,
    )
    payload = {**view.as_json(), "dry_run": dry_run}
    face.emit("todo", payload, outcome_lines(view, "claimed", face.client.moment().now))
