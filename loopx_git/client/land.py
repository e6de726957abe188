"""`client.land`: the code lands if and only if the claim is still held at that moment."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from loopx_git.client.base import BaseClient
from loopx_git.client.config import HERE
from loopx_git.client.lease_renewer import LeaseRenewer
from loopx_git.client.validation import validate
from loopx_git.client.views import TodoView
from loopx_git.core import resolve
from loopx_git.core.change import Actor, Facts, Op, place_of
from loopx_git.core.commands import OnTodo
from loopx_git.core.lease import Lease
from loopx_git.core.plan_todo import NeedsValidation
from loopx_git.core.table import Operation
from loopx_git.errors import InvalidState, LoopXError, NotAllowed, NotYourClaim, UsageError
from loopx_git.format import message
from loopx_git.ledger.commits import newest_first
from loopx_git.ledger.snapshot import TreeSnapshot
from loopx_git.store.base import CodePush, Publisher
from loopx_git.store.user_command import watched

Sink = Callable[[bytes], None]
#: How long the user's pre-push hook may take, in seconds.
HOOK_TIMEOUT = 1800.0
#: What a landing in two steps does not promise.
TWO_STEPS = (
    "landed in two steps: the todo was completed first, the code pushed after it; had the second step failed, the "
    "todo would be completed without its code"
)


@dataclass(frozen=True, slots=True)
class Landed:
    """What landed: the completed todo, the code (ref@oid), and whether it had landed before (then nothing was
    written).

    The last field says what this way of landing does not guarantee ("": it guarantees all).
    """

    view: TodoView
    code: str
    already: bool = False
    caveat: str = ""
    warning: str = ""


def land(
    client: BaseClient, todo_id: str | None = None, *, to: str | None = None, rev: str = "HEAD",
    agent_id: str | None = None, session: str | None = None, epoch: int | None = None, note: str | None = None,
    need_check: bool = False, two_step: bool = False, verify: bool = True, sink: Sink = lambda chunk: None,
) -> Landed:  # grouped by meaning  # fmt: skip
    """Push `rev` to the branch `to` of the coordination remote and complete the todo, in one atomic push.

    The todo's own check and the user's pre-push hook run once, before. Raises NotYourClaim when the claim is lost,
    NotAllowed when the code is not a fast-forward, RemoteFailure when the branch does not take it; nothing has landed
    then. `need_check` refuses a todo that has no check. Landing the same again writes nothing.
    """
    actor = client.connection.actor(agent_id, session)
    snapshot = client.snapshot(client.read(fresh=True))
    goal, todo = resolve.todo(snapshot, todo_id) if todo_id is not None else _only_held(snapshot, actor)
    found = snapshot.todo(goal, todo)
    code = _code(client, rev, to if to is not None else found.branch)
    if need_check and not found.validate:
        raise NotAllowed(
            f"{todo} has no check of its own, and --validate asks for one",
            hint=f"leave out --validate, or give it one: git loopx todo update {todo} --validate 'make test'",
            about={"todo_id": todo},
        )
    command = OnTodo(Operation.COMPLETE, todo, goal, epoch=epoch, note=note, code=f"{code.ref}@{code.oid}")
    try:
        command = _checked(client, command, actor, sink)
    except NotYourClaim:
        if _landed_before(client, todo, command.code, actor):
            return Landed(client.view(snapshot, goal, todo), command.code or "", already=True)
        raise
    lease = snapshot.lease(goal, todo) or Lease(todo)
    if verify:
        _pre_push(client, code, lease, actor, sink)
    warning = _uncommitted(client) if rev == "HEAD" else ""
    publisher, repository = client.connection.ledger.publisher, client.connection.repository
    if two_step:
        push_code = publisher.code_push(code, repository)
        view = _result(client, command, actor, None)
        try:
            push_code(client.connection.left)
        except LoopXError as error:
            error.message = f"{todo} is completed, but its code is not on {code.branch}: {error.message}"
            error.hint = f"once that is mended: git push   or take it up again: git loopx todo reopen {todo}"
            raise
        _track(client, code)
        return Landed(view, command.code or "", caveat=TWO_STEPS, warning=warning)
    with publisher.landing(code, repository) as both:
        view = _result(client, command, actor, both)
    _track(client, code)
    return Landed(view, command.code or "", warning=warning)


# -- what lands, and whether it may


def _only_held(snapshot: TreeSnapshot, actor: Actor) -> tuple[str, str]:
    """The one todo that the session holds."""
    held = [
        (goal, lease.todo)
        for goal in snapshot.goal_ids()
        for lease in snapshot.leases(goal)
        if lease.holder == actor.name and lease.session in (None, actor.session)
    ]
    if len(held) != 1:
        names = ", ".join(todo for _, todo in held[:5])
        raise UsageError(
            f"{actor.name} holds {len(held)} todos in this session" + (f": {names}" if names else ""),
            hint="name one, as --todo-id TODO; yours are: git loopx todo list --mine",
            about={"held": [todo for _, todo in held]},
        )
    return held[0]


def _code(client: BaseClient, rev: str, to: str | None) -> CodePush:
    """The commit and the full name of its branch."""
    if rev.startswith("-"):
        raise UsageError(f"{rev[:60]!r} names no commit", hint="--rev REVISION")
    oid = client.connection.repository.resolve(rev)
    if oid is None:
        raise UsageError(f"{rev[:60]!r} names no commit here", hint="--rev REVISION")
    if to is None:
        current = _ask(client, ["symbolic-ref", "--quiet", "HEAD"])
        if current is None or not current.startswith("refs/heads/"):
            raise UsageError("no branch is checked out here, so where to land is not known", hint="--to BRANCH")
        to = current
    name = to.removeprefix("refs/heads/")
    if name.startswith("-") or _ask(client, ["check-ref-format", f"refs/heads/{name}"]) is None:
        raise UsageError(f"{to[:60]!r} is not a name of a branch", hint="--to BRANCH")
    if f"refs/heads/{name}" == client.connection.settings.ref:
        raise UsageError(f"{name} is the coordination ref; code does not land there", hint="--to BRANCH")
    return CodePush(oid, f"refs/heads/{name}")


def _checked(client: BaseClient, command: OnTodo, actor: Actor, sink: Sink) -> OnTodo:
    """Run the todo's own check, if it has one; the command that says so. Raises what refuses the command."""
    try:
        client.submit([command], actor, dry_run=True)
    except NeedsValidation as needed:
        validate(client, needed, actor, sink)
        return replace(command, validated=needed.argv)
    return command


def _landed_before(client: BaseClient, todo: str, code: str | None, actor: Actor) -> bool:
    """Whether the actor has completed the todo with this very code."""
    for commit in newest_first(client.connection.ledger.objects, client.read_known().tip):
        try:
            said = message.load(commit.message)
        except InvalidState:
            continue
        if said.todo == todo and said.op is Op.COMPLETE:
            return said.code == code and said.agent == actor.name
    return False


def _result(client: BaseClient, command: OnTodo, actor: Actor, publisher: Publisher | None) -> TodoView:
    answer = client.submit([command], actor, words=f"land {command.todo}", publisher=publisher)
    assert answer.tip is not None
    snapshot = client.connection.ledger.snapshot(answer.tip)
    facts: Facts = {**answer.facts[0], "found": answer.found, "losses": answer.losses}
    return client.view(snapshot, *place_of(facts), facts=facts)


# -- the user's repository


def _ask(client: BaseClient, args: list[str]) -> str | None:
    done = client.connection.repository.git(args, timeout=60)
    return None if done.code else done.text.strip()


def _uncommitted(client: BaseClient) -> str:
    """A warning when the work tree has changes that do not land."""
    if client.connection.repository.top is None:
        return ""
    changed = _ask(client, ["status", "--porcelain", "--untracked-files=no"])
    return "changes that are not committed were left out" if changed else ""


def _track(client: BaseClient, code: CodePush) -> None:
    """Move the tracking ref of the branch, if there is one, as a push by the user would."""
    connection = client.connection
    if connection.settings.remote == HERE:
        return
    name = f"refs/remotes/{connection.settings.remote}/{code.branch}"
    old = connection.repository.resolve(name)
    if old is not None and old != code.oid:
        _ask(client, ["update-ref", "-m", "loopx land", name, code.oid, old])


def _pre_push(client: BaseClient, code: CodePush, lease: Lease, actor: Actor, sink: Sink) -> None:
    """Run the user's pre-push hook once, as git would; NotAllowed when it refuses."""
    repository, settings = client.connection.repository, client.connection.settings
    hook = os.path.join(repository.hooks_folder(), "pre-push")
    if settings.remote == HERE or not os.access(hook, os.X_OK) or not os.path.isfile(hook):
        return
    listed = _ask(client, ["ls-remote", "--", settings.remote, code.ref])
    now = listed.split("\t")[0] if listed else "0" * 40
    local = _ask(client, ["symbolic-ref", "--quiet", "HEAD"]) or "HEAD"
    line = f"{local} {code.oid} {code.ref} {now}\n"
    with LeaseRenewer(client, lease, session=actor.session) as renewer:
        done = watched(
            [*started(hook), settings.remote, repository.urls(settings.remote)[0]],
            cwd=repository.top or repository.git_dir,
            env=client.connection.env,
            timeout=HOOK_TIMEOUT,
            tick=renewer.checkpoint,
            sink=sink,
            stdin=line.encode("utf-8", "surrogateescape"),
        )
    client.connection.begin_again()
    if done.code or done.timed_out:
        raise NotAllowed(
            f"the pre-push hook refused (it ended with {done.code}); nothing has landed and you still hold the claim",
            hint="fix what it reports, then land again",
            about={"hook": hook, "exit": done.code},
        )


def started(hook: str) -> list[str]:
    """The words that start a hook as git does: sh runs a file without a `#!` line."""
    with open(hook, "rb") as file:
        head = file.read(256)
    return [hook] if head.startswith(b"#!") or b"\0" in head else ["sh", hook]
