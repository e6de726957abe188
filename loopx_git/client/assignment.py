"""`todo update --claimed-by OTHER`: the flag names who acts, but its writer often wants a transfer."""

from __future__ import annotations

from loopx_git.client.base import BaseClient
from loopx_git.client.todos import Todos
from loopx_git.errors import About, NotYourClaim, UsageError


def refuse_assignment(client: BaseClient, todo_id: str, agent: str, *, goal_id: str | None, changes: bool) -> None:
    """Raise UsageError where such an update means a transfer, with the command for that.

    It does when the configured agent holds the todo and names another, or when the update names nothing else
    (`changes` is False).
    """
    configured = client.connection.settings.agent
    if changes and configured in (None, agent):
        return
    view, _ = Todos(client).show(todo_id, goal_id=goal_id, fresh=True)
    about: About = {"todo_id": view.id, "holder": view.holder, "epoch": view.epoch}
    if view.holder is None and not changes:
        raise UsageError(
            f"--claimed-by names who acts, and nobody holds {view.id}",
            hint=f"git loopx todo claim {view.id} --agent {agent}",
            about=about,
        )
    if view.holder in (None, agent):
        # Whether there is something to change is the update's own question.
        return
    message = f"--claimed-by names who acts, and {view.holder} holds {view.id} (epoch {view.epoch}), not {agent}"
    if view.holder == configured:
        kind = NotYourClaim if changes else UsageError
        raise kind(message, hint=f"to hand it over: git loopx todo transfer {view.id} --to {agent}", about=about)
    if not changes:
        hint = f"look: git loopx todo show {view.id}   how its holder hands it over: git loopx todo transfer -h"
        raise UsageError(message, hint=hint, about=about)
