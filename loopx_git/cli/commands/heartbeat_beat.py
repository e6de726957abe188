"""`git loopx heartbeat beat`."""

from __future__ import annotations

from loopx_git.cli.command_context import CommandContext, command
from loopx_git.cli.render.todo import news_lines
from loopx_git.core.times import format_time


@command("beat", writes=True, example="git loopx heartbeat beat --agent codex-1")
def main(context: CommandContext) -> None:
    """Report that the agent is alive, and renew what its session holds."""
    seen = context.client.heartbeat.beat()
    actor = context.client.connection.actor()
    held = context.client.todo.list(mine=True, agent_id=actor.name, offline=True).todos
    mine = [view.id for view in held if (view.holder, view.lease.session) == (actor.name, actor.session)]
    heard = [item for todo in mine for item in context.client.task_lease.news(todo)]
    told = [f"{item.todo} {words}" for item, words in zip(heard, news_lines(heard), strict=True)]
    payload = {"last_seen": format_time(seen), "news": [item.as_json() for item in heard]}
    context.emit("beat", payload, [f"seen {format_time(seen)}", *told])
