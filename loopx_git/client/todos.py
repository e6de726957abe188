"""`client.todo`: the operations that write todos. What reads them is `loopx_git/client/todo_reads.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack

from loopx_git.client.arguments import checked
from loopx_git.client.completed_at import completed_at
from loopx_git.client.news import news
from loopx_git.client.parameters import Choosing, Claiming, Completing, Forced, Held, Noted, OneTodo, Releasing
from loopx_git.client.todo_reads import TodoReads
from loopx_git.client.views import TodoView, lease_view
from loopx_git.core import ids, resolve
from loopx_git.core.change import Actor, Facts, place_of
from loopx_git.core.commands import AddTodo, OnTodo
from loopx_git.core.plan_setup import add_todo
from loopx_git.core.plan_todo import NeedsValidation
from loopx_git.core.table import HoldState, Operation
from loopx_git.core.times import UNSET, format_duration
from loopx_git.core.todo import Status, Todo
from loopx_git.errors import LoopXError, UsageError

if TYPE_CHECKING:
    from loopx_git.client.next_todo import Picked
    from loopx_git.store.ledger import SubmitResult


@checked()
class Todos(TodoReads):
    """Operations on todos. `agent_id` and `session` override the configured actor for one call."""

    def add(
        self, title: str, *, goal_id: str | None = None, alias: str | None = None, priority: int = 2,
        body: str = "", scope: Sequence[str] = (), requires: Sequence[str] = (), excluded: Sequence[str] = (),
        depends_on: Sequence[str] = (), labels: Sequence[str] = (), resume_after: datetime | None = None,
        branch: str | None = None, validate: Sequence[str] = (), agent_id: str | None = None, dry_run: bool = False,
    ) -> TodoView:  # grouped by meaning  # fmt: skip
        """Add an open todo without a claim. `validate` is a command as a list of words.

        Raises UsageError for a value that is not valid, NotAllowed when the alias is taken, the goal is closed, or
        dependencies form a cycle, and NotFound for an unknown goal or dependency.
        """
        command = AddTodo(
            id=self._new_id(),
            title=title,
            goal=goal_id,
            alias=alias,
            priority=priority,
            body=body.strip("\n"),
            scope=tuple(scope),
            requires=tuple(requires),
            excluded=tuple(excluded),
            depends_on=tuple(depends_on),
            labels=tuple(labels),
            resume_after=resume_after,
            branch=branch,
            validate=tuple(validate),
        )
        actor = self._client.connection.actor(agent_id)
        answer = self._client.submit([command], actor, dry_run=dry_run, words=f"todo add {title[:60]}")
        return self._result(answer, actor, [command])[0]

    def claim(self, todo_id: str, **how: Unpack[Claiming]) -> TodoView:
        """Claim a todo for the caller's session.

        `ttl` is in seconds, None for no bound, "unset" for the policy's. `resume` takes over from another session of
        the same agent. `soft` declares an interest that blocks no other agent. `exclusive` takes the lease even where
        the goal's claims are soft. The view's `acquired` is False when the session already held the claim. Raises
        HeldByAnother when another session holds it, NotAllowed when the todo is not ready or the caller may not take
        it, NotFound when there is no such todo.
        """
        return self.claim_all([todo_id], **how)[0]

    def claim_all(self, todo_ids: Sequence[str], **how: Unpack[Claiming]) -> Sequence[TodoView]:
        """Claim several todos with one push, all or nothing. `ttl` is in seconds. Raises what `todo.claim` raises."""
        soft, resume, exclusive, ttl = how["soft"], how["resume"], how["exclusive"], how["ttl"]
        if soft and (resume or exclusive or ttl is not UNSET):
            raise UsageError("a soft claim has no ttl and takes no claim over", hint="leave out --ttl and --resume")
        operation = Operation.SOFT if soft else Operation.RESUME if resume else Operation.CLAIM
        commands = [OnTodo(operation, todo, how["goal_id"], ttl=ttl, exclusive=exclusive) for todo in todo_ids]
        actor = self._client.connection.actor(how["agent_id"], how["session"])
        words = f"todo claim {' '.join(todo_ids)}"
        answer = self._client.submit(commands, actor, dry_run=how["dry_run"], words=words)
        if not soft:
            self._client.confirm(answer, actor)
        views = self._result(answer, actor, commands)
        tip = answer.tip if answer.wrote else None
        for view in views:
            if not exclusive and view.acquired is False and isinstance(ttl, int | None) and ttl != view.lease.ttl:
                notes = self._client.connection.ledger.notes
                stays = f"{view.id} is yours already and keeps its time bound ({format_duration(view.lease.ttl)})"
                notes.append(f"{stays}; another: git loopx task-lease renew {view.id} --ttl {format_duration(ttl)}")
        return [view if tip is None or not view.acquired else self._handed_over(view, tip) for view in views]

    def _handed_over(self, view: TodoView, tip: str) -> TodoView:
        from loopx_git.client.handover import handover  # only a new claim has one

        known = handover(self._client, view, view.facts.get("former"), tip)
        return view if known is None else replace(view, facts={**view.facts, "handover": known})

    def next(self, *, claim: bool = False, **how: Unpack[Choosing]) -> Picked:
        """The best todo that fits the caller. With `claim`, claim it.

        Candidates are the todos of the best priority, and more after each lost race. `ttl` is in seconds. Raises
        NotFound when no todo fits, Contention when other agents win every race until the time budget ends, UsageError
        when no agent is set. `statuses` narrows the choice to open or to in_progress todos. Without `claim`, `best`
        of the answer has the best `limit` (None: all) that fit.
        """
        from loopx_git.client.next_todo import next_todo  # only here

        return next_todo(self._client, claim=self.claim if claim else None, **how)

    def release(self, todo_id: str, **how: Unpack[Releasing]) -> TodoView:
        """Release a claim. An operator ends another agent's claim with `force` and `reason` (audited, epoch + 1).

        With both a lease and a soft claim: where the goal's claims are soft, the soft claim is removed; elsewhere the
        lease is released. `epoch` or `exclusive` select the lease. The view's facts name what was `released` and what
        `goes_on`. The status "completed" does what `complete` does: the todo's check runs first, and the claim ends
        in the same commit. Raises NotYourClaim when the caller does not hold the claim.
        """
        if how["status"] == Status.COMPLETED.value:
            return self._completed(todo_id, how, alone=not how["force"])
        return self._on(Operation.RELEASE, todo_id, how)

    unclaim = release

    def update(
        self,
        todo_id: str,
        *,
        agent_id: str | None = None,
        session: str | None = None,
        goal_id: str | None = None,
        epoch: int | None = None,
        status: str | None = None,
        note: str | None = None,
        force: bool = False,
        reason: str | None = None,
        dry_run: bool = False,
        **fields: Any,
    ) -> TodoView:  # fmt: skip - its fields take the place of a group of parameters
        """Change status, notes or fields (title, body, priority, scope, ...) of a todo that the caller holds.

        A `note` alone needs no claim: any registered peer may add one, and the holder's claim does not change. A note
        with `epoch` needs the claim. An operator changes the rest with `force` and `reason`. Raises NotYourClaim
        without the claim, UsageError when no field is named.
        """
        how = Forced(
            agent_id=agent_id,
            session=session,
            goal_id=goal_id,
            epoch=epoch,
            note=note,
            force=force,
            reason=reason,
            dry_run=dry_run,
        )  # fmt: skip - as the signature has them
        if status == Status.COMPLETED.value:
            return self._completed(todo_id, how, alone=not (force or fields))
        if epoch is None and note is not None and not (fields or status or force):
            how["epoch"] = self._believed(todo_id, goal_id, agent_id, session)
        lists = {name: tuple(value) if isinstance(value, (list, tuple)) else value for name, value in fields.items()}
        view = self._on(Operation.UPDATE, todo_id, how, status=status, fields=lists)
        if view.facts.get("hold") != HoldState.MINE.value:
            return view
        written = not dry_run and not view.facts.get("unchanged")
        actor = self._client.connection.actor(agent_id, session)
        heard = news(self._client, view.id, actor, self._client.read_known().tip, written=written)
        return replace(view, lease=replace(view.lease, news=heard))

    def _believed(self, todo_id: str, goal_id: str | None, agent_id: str | None, session: str | None) -> int | None:
        """The epoch of the session's claim as it was last known here. A session that believes to hold the todo acts
        under that claim. When the claim is over, its note is refused and is not taken for a note without a claim."""
        tip, actor = self._client.connection.ledger.tip(), self._client.connection.actor(agent_id, session)
        if tip is None:
            return None
        snapshot = self._client.connection.ledger.snapshot(tip)
        try:
            goal, todo = resolve.todo(snapshot, todo_id, goal_id)
            lease = snapshot.lease(goal, todo)
        except LoopXError:
            # It may be newer than what is known here; what is wrong with it is said on the tip that is planned on.
            return None
        if lease is None or lease.holder != actor.name or lease.session not in (None, actor.session):
            return None
        return lease.epoch

    def _completed(self, todo_id: str, how: Forced, *, alone: bool) -> TodoView:
        """Complete by the status: like `complete`, which takes the claim and changes nothing else (`alone`)."""
        if not alone:
            raise UsageError(
                "completing takes the claim and changes nothing else",
                hint="first change the fields by an update without the status; see: git loopx todo complete -h",
            )
        given: dict[str, Any] = {name: how[name] for name in Held.__annotations__}  # type: ignore[literal-required]
        return self.complete(todo_id, **given)

    def complete(self, todo_id: str, **how: Unpack[Completing]) -> TodoView:
        """Complete a todo that the caller holds. The same commit ends the claim.

        The todo's `validate` command runs first; `sink` receives its output. `successor` or `successor_title` links
        the todo that continues the work. Raises NotYourClaim without the claim, NotAllowed when the command fails or
        is not on the list of allowed commands.
        """
        link = self._successor(how["successor"], how["successor_title"])
        actor = self._client.connection.actor(how["agent_id"], how["session"])
        goal = how["goal_id"]
        command = OnTodo(
            Operation.COMPLETE, todo_id, goal, epoch=how["epoch"], note=how["note"],
            code=completed_at(self._client, todo_id, goal, actor), **link,
        )  # fmt: skip
        words = f"todo complete {todo_id}"
        try:
            answer = self._client.submit([command], actor, dry_run=how["dry_run"], words=words)
        except NeedsValidation as needed:
            if how["dry_run"]:
                raise
            from loopx_git.client.validation import validate  # starts threads: few todos have a check

            validate(self._client, needed, actor, how["sink"] or (lambda chunk: None))
            command = replace(command, validated=needed.argv)
            answer = self._client.submit([command], actor, words=words)
        return self._result(answer, actor, [command])[0]

    def supersede(
        self, todo_id: str, *, by: str | None = None, by_title: str | None = None, **how: Unpack[Forced]
    ) -> TodoView:
        """End a todo that the caller holds: `by`, or a new todo with the title `by_title`, continues the work.

        Raises NotYourClaim without the claim, NotFound when `by` does not exist.
        """
        if (by is None) == (by_title is None):
            raise UsageError(
                "supersede needs what carries on", hint="--by TODO, or --by-title 'the title of a new todo'"
            )
        return self._on(Operation.SUPERSEDE, todo_id, how, **self._successor(by, by_title))

    def cancel(self, todo_id: str, **how: Unpack[Forced]) -> TodoView:
        """Cancel a todo that the caller holds. Raises NotYourClaim without the claim."""
        return self._on(Operation.CANCEL, todo_id, how)

    def reopen(self, todo_id: str, **how: Unpack[Noted]) -> TodoView:
        """Reopen a todo that has ended, is blocked, or needs a human; epoch + 1.

        Raises NotAllowed while it is held.
        """
        return self._on(Operation.REOPEN, todo_id, how)

    def transfer(self, todo_id: str, to: str, **how: Unpack[Forced]) -> TodoView:
        """Transfer a claim to another agent; epoch + 1. The next write of the new holder binds its session.

        Raises NotYourClaim without the claim, NotAllowed when the receiver may not take the todo.
        """
        return self._on(Operation.TRANSFER, todo_id, how, to=to)

    def archive(self, todo_id: str, **how: Unpack[OneTodo]) -> TodoView:
        """Archive a todo that has ended. Its id and alias stay reserved. Raises NotAllowed when it has not ended."""
        return self._on(Operation.ARCHIVE, todo_id, how)

    def unsoft(self, todo_id: str, **how: Unpack[OneTodo]) -> TodoView:
        """Remove a soft claim. Raises NotFound when there is no such todo."""
        return self._on(Operation.UNSOFT, todo_id, how)

    def _on(self, operation: Operation, todo_id: str, how: Mapping[str, Any], **more: Any) -> TodoView:
        given = dict(how)
        actor = self._client.connection.actor(given.pop("agent_id"), given.pop("session"))
        dry_run = given.pop("dry_run")
        command = OnTodo(operation, todo_id, given.pop("goal_id"), **given, **more)
        answer = self._client.submit([command], actor, dry_run=dry_run, words=f"todo {operation} {todo_id}")
        return self._result(answer, actor, [command])[0]

    def _result(self, answer: SubmitResult, actor: Actor, commands: Sequence[Any]) -> Sequence[TodoView]:
        """The todos as they are at the answer's tip; a dry run shows them as they were."""
        assert answer.tip is not None
        snapshot = self._client.connection.ledger.snapshot(answer.tip)
        views = []
        for facts, command in zip(answer.facts, commands, strict=True):
            extra: Facts = {**facts, "found": answer.found, "losses": answer.losses}
            extra["dry_run"] = not answer.wrote and not facts.get("unchanged")
            if isinstance(command, AddTodo) and not answer.wrote:
                views.append(self._planned(snapshot, command, actor, extra))
                continue
            acquires = isinstance(command, OnTodo) and command.operation in (
                Operation.CLAIM,
                Operation.RESUME,
            )
            acquired = bool(facts.get("acquired")) if acquires else None
            views.append(self._client.view(snapshot, *place_of(facts), acquired=acquired, facts=extra))
        return views

    def _planned(self, snapshot: Any, command: AddTodo, actor: Actor, facts: Facts) -> TodoView:
        """The todo that a dry run of `add` would write."""
        clocks = self._client.clocks()
        write = add_todo(snapshot, command, actor, clocks).writes[0]
        assert isinstance(write, Todo)
        return TodoView(write, lease_view(None, write.id, clocks, 0), facts=facts)

    def _new_id(self) -> str:
        return ids.todo_id(self._client.connection.overrides.entropy(6))

    def _successor(self, successor: str | None, title: str | None) -> dict[str, Any]:
        """The command's fields for what carries on: an existing todo, or the id of one to be made."""
        if successor is not None and title is not None:
            raise UsageError("name a successor or the title of a new one, not both", hint="leave out one of them")
        if title is not None:
            return {"successor": self._new_id(), "successor_title": title}
        return {"successor": successor}
