"""The rest of a todo's life: supersede, cancel, reopen, transfer, archive, soft claims."""

from __future__ import annotations

from loopx_git.client.arguments import checked
from loopx_git.client.todo_submit import TodoSubmit
from loopx_git.client.views import TodoView
from loopx_git.core.table import Operation
from loopx_git.errors import UsageError


@checked()
class TodoLife(TodoSubmit):
    """Operations beyond claim, update, complete and release."""

    def supersede(
        self, todo_id: str, *, by: str | None = None, by_title: str | None = None, agent_id: str | None = None,
        session: str | None = None, goal_id: str | None = None, epoch: int | None = None, note: str | None = None,
        force: bool = False, reason: str | None = None, dry_run: bool = False,
    ) -> TodoView:  # fmt: skip
        """End a todo that the caller holds: `by`, or a new todo with the title `by_title`, continues the work.

        Raises NotYourClaim without the claim, NotFound when `by` does not exist.
        """
        if (by is None) == (by_title is None):
            raise UsageError(
                "supersede needs what carries on", hint="--by TODO, or --by-title 'the title of a new todo'"
            )
        return self._on(
            Operation.SUPERSEDE, todo_id, agent_id, session, dry_run, goal=goal_id, epoch=epoch, note=note,
            force=force, reason=reason, **self._successor(by, by_title),
        )  # fmt: skip

    def cancel(
        self, todo_id: str, *, agent_id: str | None = None, session: str | None = None, goal_id: str | None = None,
        epoch: int | None = None, note: str | None = None, force: bool = False, reason: str | None = None,
        dry_run: bool = False,
    ) -> TodoView:  # fmt: skip
        """Cancel a todo that the caller holds. Raises NotYourClaim without the claim."""
        return self._on(
            Operation.CANCEL, todo_id, agent_id, session, dry_run, goal=goal_id, epoch=epoch, note=note,
            force=force, reason=reason,
        )  # fmt: skip

    def reopen(
        self, todo_id: str, *, agent_id: str | None = None, session: str | None = None, goal_id: str | None = None,
        note: str | None = None, dry_run: bool = False,
    ) -> TodoView:  # fmt: skip
        """Reopen a todo that has ended, is blocked, or needs a human; epoch + 1.

        Raises NotAllowed while it is held.
        """
        return self._on(Operation.REOPEN, todo_id, agent_id, session, dry_run, goal=goal_id, note=note)

    def transfer(
        self, todo_id: str, to: str, *, agent_id: str | None = None, session: str | None = None,
        goal_id: str | None = None, epoch: int | None = None, note: str | None = None, force: bool = False,
        reason: str | None = None, dry_run: bool = False,
    ) -> TodoView:  # fmt: skip
        """Transfer a claim to another agent; epoch + 1. The next write of the new holder binds its session.

        Raises NotYourClaim without the claim, NotAllowed when the receiver may not take the todo.
        """
        return self._on(
            Operation.TRANSFER, todo_id, agent_id, session, dry_run, goal=goal_id, epoch=epoch, note=note, to=to,
            force=force, reason=reason,
        )  # fmt: skip

    def archive(
        self, todo_id: str, *, agent_id: str | None = None, session: str | None = None, goal_id: str | None = None,
        dry_run: bool = False,
    ) -> TodoView:  # fmt: skip
        """Archive a todo that has ended. Its id and alias stay reserved. Raises NotAllowed when it has not ended."""
        return self._on(Operation.ARCHIVE, todo_id, agent_id, session, dry_run, goal=goal_id)

    def unsoft(
        self, todo_id: str, *, agent_id: str | None = None, session: str | None = None, goal_id: str | None = None,
        dry_run: bool = False,
    ) -> TodoView:  # fmt: skip
        """Remove a soft claim. Raises NotFound when there is no such todo."""
        return self._on(Operation.UNSOFT, todo_id, agent_id, session, dry_run, goal=goal_id)
