"""`git loopx task-lease renew`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CommandContext, command, duration, lease_argument
from loopx_git.cli.render.todo import lease_words, news_lines
from loopx_git.errors import UsageError


@command(
    "renew", writes=True, example="git loopx task-lease renew todo_ab12cd34ef56@3\ngit loopx task-lease renew --all"
)
@click.option("--all", "every", is_flag=True, help="Every lease of this session, in one commit.")
@click.option("--ttl", metavar="TIME", help="A new time bound (default: as it was).")
@lease_argument
def main(context: CommandContext, lease: str | None, every: bool, ttl: str | None) -> None:
    """Renew a lease, named todo@epoch or by its todo. Exit 12: it is not yours any more."""
    if every == (lease is not None) or (every and ttl is not None):
        raise UsageError("name one lease, or say --all (without --ttl)", hint="git loopx task-lease renew --all")
    if lease is None:
        renewed = context.client.task_lease.renew_all()
        line = f"renewed {len(renewed)}: {', '.join(renewed)}" if renewed else "this session holds nothing"
        heard = [item for name in renewed for item in context.client.task_lease.news(name.partition("@")[0])]
        told = [f"{item.todo} {words}" for item, words in zip(heard, news_lines(heard), strict=True)]
        context.emit(
            "leases", lambda: {"renewed": renewed, "news": [item.as_json() for item in heard]}, [line, *told]
        )
        return
    view = context.client.task_lease.renew(lease, ttl=duration(ttl, "--ttl"))
    lines = [f"{view.id}: {lease_words(view, context.client.clocks().now)}", *news_lines(view.news)]
    context.emit("lease", lambda: {"lease": view.as_json(), "news": view.news_json()}, lines)
