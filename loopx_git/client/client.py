"""The client: one object for a repository, one namespace for each kind of object. Faces and programs call it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

from loopx_git.client.arguments import checked, flag
from loopx_git.client.base import BaseClient
from loopx_git.client.parameters import Holding

if TYPE_CHECKING:
    from loopx_git.client.goals import Goals
    from loopx_git.client.heartbeat import Heartbeat
    from loopx_git.client.history import History
    from loopx_git.client.hold import Hold
    from loopx_git.client.land import Landed
    from loopx_git.client.loops import Loops
    from loopx_git.client.peers import Peers, PolicyKeys
    from loopx_git.client.propose import Proposals
    from loopx_git.client.run import Run
    from loopx_git.client.setup import Setup
    from loopx_git.client.task_lease import TaskLease
    from loopx_git.client.todos import Todos


def _namespace(module: str, name: str) -> Any:
    """A namespace of the client, made at its first use: a command imports only what it calls."""
    return cached_property(lambda client: getattr(import_module(f"loopx_git.client.{module}"), name)(client))


@checked(branch=flag)
class Client(BaseClient):
    """Coordination for the repository that contains `folder`: a BaseClient with namespaces."""

    #: A hold or a run is as long as the work that it does.
    LASTING = True

    # -- namespaces

    #: Operations on todos.
    todo: Todos = _namespace("todos", "Todos")
    #: Leases by their id.
    task_lease: TaskLease = _namespace("task_lease", "TaskLease")
    #: Named sets of todos.
    goal: Goals = _namespace("goals", "Goals")
    #: Registered agents, humans and loops.
    peer: Peers = _namespace("peers", "Peers")
    #: The ledger's policy.
    policy: PolicyKeys = _namespace("peers", "PolicyKeys")
    #: Signs of life, and lapsed claims.
    heartbeat: Heartbeat = _namespace("heartbeat", "Heartbeat")
    #: The log of operations, and its verification.
    history: History = _namespace("history", "History")
    #: Peers that work tick by tick.
    loop: Loops = _namespace("loops", "Loops")
    #: Todos on a branch, for a pull request.
    propose: Proposals = _namespace("propose", "Proposals")
    #: Begin, join and follow a ledger.
    setup: Setup = _namespace("setup", "Setup")

    def hold(self, todo_id: str, **how: Unpack[Holding]) -> Hold:
        """A context manager: it claims a todo under its own session and renews the claim in the background.

        A claim that this client's session already holds is kept. `resume` takes over from another session of the
        agent. `ttl` is in seconds, None for no bound, "unset" for the policy's. Entering raises what `todo.claim`
        raises.
        """
        from loopx_git.client.hold import Hold  # as the namespaces: at its first use

        return Hold(self, todo_id, **how)

    def run(self, argv: Sequence[str], *, todo_id: str | None = None, **settings: Any) -> Run:
        """Claim a todo, run the command `argv` under the claim, and end the claim by the command's exit code.

        `todo_id` None: the next todo that fits. Further settings: agent_id, goal_id, ttl (seconds), resume (take over
        from another session of the same agent), on_exit (the rules for exit codes, as text), branch, worktree,
        keep_worktree, grace (seconds), say (called with each line of progress), passed (a dict that receives the
        todos whose branch or worktree could not be prepared). Raises what `todo.claim` raises, UsageError when the
        command cannot be started, NotYourClaim when the claim was lost while the command ran.
        """
        from loopx_git.client.run import run  # as above

        return run(self, argv, todo_id=todo_id, **settings)

    def land(self, todo_id: str | None = None, **settings: Any) -> Landed:
        """Push the code to its branch and complete the todo in one atomic push: both happen, or neither.

        `todo_id` None: the one todo that the session holds. Further settings: to (branch), rev, agent_id, session,
        epoch, note, need_check, two_step, verify (run the pre-push hook), sink (called with what is printed). Raises
        NotYourClaim when the claim is lost, NotAllowed when the code is not a fast-forward or the check fails,
        RemoteFailure when the remote refuses the push.
        """
        from loopx_git.client.land import land  # as above

        with self.connection.within():
            return land(self, todo_id, **settings)
