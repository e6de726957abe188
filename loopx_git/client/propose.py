"""`client.propose`: todos on a branch for review, and their replay as ordinary operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

from loopx_git.client.arguments import checked
from loopx_git.client.base import Namespace
from loopx_git.client.config import check_ref
from loopx_git.client.recovery import not_taken
from loopx_git.core.change import Actor, place_of
from loopx_git.core.commands import AddTodo, OnTodo
from loopx_git.core.plan import plan
from loopx_git.core.table import Operation
from loopx_git.core.todo import Todo
from loopx_git.errors import (
    InvalidState,
    LoopXError,
    NotAllowed,
    NotFound,
    UsageError,
)
from loopx_git.ledger.commits import Draft, Objects, Signature
from loopx_git.ledger.encode import encode
from loopx_git.ledger.manual_edits import ManualEdit, edits
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.ledger.validation import check_proposed, our_fault
from loopx_git.store.base import Publisher, PushKind
from loopx_git.store.driver import author_of
from loopx_git.store.lock import locked
from loopx_git.store.system import is_system

#: The fields of a new todo that a caller gives, besides its title.
_ADDABLE = frozenset(AddTodo.__dataclass_fields__) - {"id", "title"}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A branch of proposed edits: its full ref and tip, and each changed path with its commands or its refusal."""

    ref: str
    tip: str
    edits: Sequence[ManualEdit]

    @property
    def refused(self) -> list[ManualEdit]:
        """The edits that the rules refuse."""
        return [edit for edit in self.edits if edit.refused]

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command line."""
        shown = [
            {
                "path": edit.path,
                "todo": edit.todo,
                "refused": edit.refused or None,
                "held": edit.held,
                "operations": len(edit.commands),
            }
            for edit in self.edits
        ]
        return {"branch": self.ref, "tip": self.tip, "edits": shown, "ok": not self.refused}


@checked()
class Proposals(Namespace):
    """Todos as plain files on a branch off the coordination ref, for a pull request, and their acceptance."""

    def add(self, branch: str, title: str, **fields: Any) -> dict[str, Any]:
        """Add a new todo to the branch; `fields` as `todo.add` takes them. Facts: branch, commit, todo.

        Raises UsageError for a field that is not valid.
        """
        todo = f"todo_{self._client.connection.overrides.entropy(6).hex()}"
        if "goal_id" in fields:
            fields["goal"] = fields.pop("goal_id")
        unknown = sorted(set(fields) - _ADDABLE)
        if unknown:
            raise UsageError(
                f"{unknown[0]!r} is not a field of a new todo", hint=f"fields: {', '.join(sorted(_ADDABLE))}"
            )
        return self._write(branch, AddTodo(todo, title, **fields), f"propose {todo}: {title}")

    def edit(
        self, branch: str, todo_id: str, *, status: str | None = None, note: str | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Edit a todo on the branch; `fields` as `todo.update` takes them. Facts: branch, commit, todo.

        Raises NotFound when there is no such todo, UsageError for a field that is not valid.
        """
        asked: dict[str, Any] = {"status": status, "note": note, "fields": fields}
        command = OnTodo(Operation.UPDATE, todo_id, force=True, reason="proposed", renewals=(), **asked)
        return self._write(branch, command, f"propose an edit of {todo_id}")

    def show(self, branch: str) -> Proposal:
        """What the branch proposes against the tip: each edit, with the refusal of the rules where there is one.

        Raises NotFound when there is no such branch, InvalidState when it does not branch off the coordination ref.
        """
        ref = _full(branch)
        reading = self._client.read(fresh=True)
        tip = self._fetch(ref)
        if tip is None:
            raise NotFound(f"there is no branch {ref}", hint="git loopx propose add BRANCH TITLE")
        objects = self._objects
        base = objects.merge_base(tip, reading.tip)
        if base is None:
            raise InvalidState(
                f"{ref} does not branch off the coordination ref", hint="git loopx propose add BRANCH TITLE"
            )
        before = self._client.connection.ledger.snapshot(base)
        found = edits(before, objects.tree(tip), objects.changed(base, tip), f"proposed on {ref}"[:300])
        now = self._client.snapshot(reading)
        return Proposal(ref, tip, _ordered([_against(edit, before, now) for edit in found]))

    def accept(self, branch: str, *, dry_run: bool = False) -> dict[str, Any]:
        """Replay the branch as ordinary operations, one commit each, all or nothing. Facts: branch, todos,
        operations, tip.

        Raises NotAllowed when an edit breaks a rule: the message names the first one, `about["refused"]` lists them
        all. Raises NotFound when there is no such branch.
        """
        proposal = self.show(branch)
        refused = proposal.refused
        if refused:
            raise NotAllowed(
                f"{refused[0].path}: {refused[0].refused}" + (f" ({len(refused) - 1} more)" if refused[1:] else ""),
                hint=f"mend it on the branch, then accept it again; look: git loopx propose show {branch}",
                about={"refused": [{"path": edit.path, "reason": edit.refused} for edit in refused]},
            )
        commands = [command for edit in proposal.edits for command in edit.commands]
        if not commands:
            raise NotAllowed(f"{proposal.ref} proposes nothing new", hint=f"git loopx propose show {branch}")
        actor = self._client.connection.actor()
        answer = self._client.submit(commands, actor, dry_run=dry_run, words=f"propose accept {branch}")
        todos = list(dict.fromkeys(place_of(facts)[1] for facts in answer.facts))
        return {"branch": proposal.ref, "todos": todos, "operations": len(commands), "tip": answer.tip}

    # -- the branch

    @property
    def _objects(self) -> Objects:
        return self._client.connection.ledger.objects

    def _publisher(self, ref: str) -> Publisher:
        connection = self._client.connection
        if ref == connection.settings.ref:
            raise UsageError(f"{ref} is the coordination ref itself", hint="name another branch")
        return connection.ledger.publisher.of_branch(ref)

    def _fetch(self, ref: str) -> str | None:
        connection = self._client.connection
        publisher = self._publisher(ref)
        with locked(connection.repository.home, connection.left):
            return publisher.fetch(connection.left).read(ref)

    def _write(self, branch: str, command: AddTodo | OnTodo, subject: str) -> dict[str, Any]:
        """One commit with the files that the command would write, on top of the branch or of the tip."""
        client, ref = self._client, _full(branch)
        connection = client.connection
        reading = client.read(fresh=True)
        known = self._fetch(ref)
        parent = known or reading.tip
        actor: Actor = connection.actor()
        snapshot = connection.ledger.snapshot(parent)
        change = plan(snapshot, command, actor, client.clocks(), connection.overrides.entropy(16).hex())
        committer = Signature(*connection.committer)
        who = author_of(actor, committer)
        # No trailer: a proposal is not an operation, and must not look like one.
        line = "".join(char if char.isprintable() else " " for char in subject)[:72].rstrip()
        wanted = [write for write in change.writes if isinstance(write, Todo)]
        with locked(connection.repository.home, connection.left):
            try:
                files = encode(change, snapshot)
                oid = self._objects.build(parent, Draft(files, f"{line}\n", who, committer, client.clocks().now))
                # As for operations: what would not be accepted is not pushed.
                check_proposed(self._objects, connection.ledger.memo, parent, oid, wanted)
                self._acceptable(reading.tip, parent, oid)
            except Exception as error:
                if isinstance(error, LoopXError) or is_system(error):
                    raise
                raise our_fault(error) from error
            pushed = self._publisher(ref).push(known, oid, connection.left)
        if pushed.kind is not PushKind.LANDED:
            raise not_taken(ref, pushed)
        return {"branch": ref, "commit": oid, "todo": change.todo}

    def _acceptable(self, tip: str, parent: str, oid: str) -> None:
        """What the branch then says of the todos that this commit changes must be something that can be accepted:
        NotAllowed now, not when somebody has reviewed it."""
        objects = self._objects
        base = objects.merge_base(parent, tip) or parent
        before = self._client.connection.ledger.snapshot(base)
        for edit in edits(before, objects.tree(oid), objects.changed(parent, oid), "proposed"):
            if edit.refused:
                raise NotAllowed(
                    f"{edit.path}: {edit.refused}; this would not be accepted",
                    hint="propose its fields, such as --body, or edit it once it is accepted",
                    about={"todo_id": edit.todo, "path": edit.path},
                )


def _full(branch: str) -> str:
    return check_ref(branch if branch.startswith("refs/") else f"refs/heads/{branch}")


def _against(edit: ManualEdit, before: TreeSnapshot, now: TreeSnapshot) -> ManualEdit:
    """The edit, refused where the todo has gone on in the same field since the branch was made."""
    if not edit.commands or edit.todo is None:
        return edit
    goals = now.goals_of(edit.todo)
    first = edit.commands[0]
    if isinstance(first, AddTodo):
        taken = f"the id {edit.todo} is taken by a todo of the goal {goals[0]}" if goals else ""
        return replace(edit, refused=taken)
    if not goals:
        return replace(edit, refused=f"there is no {edit.todo} any more")
    old, current = before.todo(goals[0], edit.todo), now.todo(goals[0], edit.todo)
    wanted: Mapping[str, Any] = {**first.fields, **({"status": first.status} if first.status else {})}
    for name, value in wanted.items():
        if getattr(current, name) not in (getattr(old, name), value):
            return replace(edit, refused=f"{name}: it was changed on the coordination ref meanwhile")
    lease = now.lease(goals[0], edit.todo)
    return replace(edit, held=None if lease is None else lease.holder)


def _ordered(found: Sequence[ManualEdit]) -> list[ManualEdit]:
    """New todos before what depends on them."""
    firsts = ((edit, edit.commands[0]) for edit in found if edit.commands)
    new = {first.id: (edit, first.depends_on) for edit, first in firsts if isinstance(first, AddTodo)}
    try:
        order = TopologicalSorter({todo: [one for one in needed if one in new] for todo, (_, needed) in new.items()})
        ranked = list(order.static_order())
    except CycleError:
        # In a circle no order is right: the planner refuses it.
        ranked = list(new)
    return [*(new[todo][0] for todo in ranked), *(edit for edit in found if edit.todo not in new)]
