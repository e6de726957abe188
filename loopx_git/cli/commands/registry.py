"""Every command: name -> (module, one line of help). Imports nothing, so that help and start-up stay cheap."""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("init", "Begin a ledger here, or join the one that is there."),
    "todo": ("todo", "Todos: add, list, show, claim, release, update, complete."),
    "task-lease": ("task_lease", "Leases by their own name: acquire, renew, release, inspect."),
    "goal": ("goal", "Goals: named sets of todos."),
    "peer": ("peer", "Peers: registered agents, humans and loops."),
    "policy": ("policy", "The ledger's policy."),
    "sync": ("sync", "Fetch the coordination ref and check what is new."),
    "log": ("log", "The audit trail, newest first."),
    "verify": ("verify", "Replay the whole history against the rules."),
    "demo": ("demo", "Eight agents race for two dozen todos in a temporary remote."),
}
#: Groups: key in COMMANDS' second column -> (help, its commands).
GROUPS: Mapping[str, tuple[str, Mapping[str, tuple[str, str]]]] = {
    "todo": (
        "Todos: what there is to do, and who does it.",
        {
            "add": ("todo_add", "Add a todo."),
            "list": ("todo_list", "List todos."),
            "show": ("todo_show", "Show one todo with its lease and notes."),
            "claim": ("todo_claim", "Claim a todo for this session, or learn who holds it."),
            "release": ("todo_release", "Let go of a claim."),
            "unclaim": ("todo_release", "The same as release."),
            "update": ("todo_update", "Change status, notes or fields of a todo you hold."),
            "complete": ("todo_complete", "Complete a todo you hold."),
        },
    ),
    "task_lease": (
        "Leases by their own name, todo@epoch.",
        {
            "acquire": ("task_lease_acquire", "Acquire the exclusive lease of a todo."),
            "renew": ("task_lease_renew", "Renew a lease."),
            "release": ("task_lease_release", "Release a lease."),
            "inspect": ("task_lease_inspect", "Show a lease record and its state."),
        },
    ),
    "goal": (
        "Goals: named sets of todos.",
        {
            "create": ("goal_create", "Create a goal."),
            "list": ("goal_list", "List goals with their todos by status."),
            "show": ("goal_show", "Show one goal."),
        },
    ),
    "peer": (
        "Peers: registered agents, humans and loops.",
        {
            "register": ("peer_register", "Register a peer, or change its capabilities."),
            "list": ("peer_list", "List peers."),
            "show": ("peer_show", "Show one peer."),
        },
    ),
    "policy": (
        "The ledger's policy.",
        {
            "show": ("policy_show", "Show every key with its value."),
            "set": ("policy_set", "Set one key."),
        },
    ),
}  # fmt: skip
