"""Every command: name -> (module, one line of help). Imports nothing, so that help and start-up stay cheap."""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("init", "Begin a ledger here, or join the one that is there."),
    "todo": ("todo", "Todos: add, list, next, claim, update, complete, and the rest of their life."),
    "task-lease": ("task_lease", "Leases by their own name: acquire, renew, transfer, release, inspect."),
    "heartbeat": ("heartbeat", "Which agents are alive, what has lapsed, and reclaiming it."),
    "run": ("run", "Claim a todo, run a command under the claim, settle by its exit code."),
    "land": ("land", "Push the code and complete the todo in one atomic push."),
    "loop": ("loop", "Loops: peers that work tick by tick, one task at a time."),
    "goal": ("goal", "Goals: named sets of todos."),
    "peer": ("peer", "Peers: registered agents, humans and loops."),
    "policy": ("policy", "The ledger's policy."),
    "sync": ("sync", "Fetch the coordination ref and check what is new."),
    "log": ("log", "The audit trail, newest first."),
    "verify": ("verify", "Replay the whole history against the rules."),
    "guard": ("guard", "Claim before you edit: check, install, uninstall, status."),
    "agent-hook": ("agent_hook", "Allow or deny a coding agent's edit before it is made."),
    "propose": ("propose", "Todos on a branch for review, and their acceptance."),
    "adopt": ("adopt", "Adopt what was merged or edited on the coordination ref by hand."),
    "review": ("review", "Pull requests: was every change claimed, and by whom."),
    "receive-check": ("receive_check", "The gate of a bare repository, as its receive hook."),
    "doctor": ("doctor", "Check the installation, the configuration and the remote."),
    "config": ("config", "What is in force here, and where it comes from."),
    "completion": ("completion", "The completion script of a shell."),
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
            "next": ("todo_next", "The next todo that fits; with --claim, claim it."),
            "claim": ("todo_claim", "Claim a todo for this session, or learn who holds it."),
            "release": ("todo_release", "Release a claim."),
            "unclaim": ("todo_release", "The same as release."),
            "update": ("todo_update", "Change status, notes or fields of a todo you hold."),
            "complete": ("todo_complete", "Complete a todo you hold."),
            "supersede": ("todo_supersede", "End a todo you hold because another continues the work."),
            "reopen": ("todo_reopen", "Reopen a todo."),
            "cancel": ("todo_cancel", "Cancel a todo you hold."),
            "transfer": ("todo_transfer", "Transfer a claim to another agent."),
            "archive": ("todo_archive", "Archive a todo that has ended."),
        },
    ),
    "task_lease": (
        "Leases by their own name, todo@epoch.",
        {
            "acquire": ("task_lease_acquire", "Acquire the exclusive lease of a todo."),
            "renew": ("task_lease_renew", "Renew a lease, or every lease of the session."),
            "transfer": ("task_lease_transfer", "Transfer a lease to another agent."),
            "release": ("task_lease_release", "Release a lease."),
            "inspect": ("task_lease_inspect", "Show a lease record and its state."),
        },
    ),
    "heartbeat": (
        "Which agents are alive, what has lapsed, and reclaiming it.",
        {
            "beat": ("heartbeat_beat", "Report that the agent is alive, and renew what it holds."),
            "status": ("heartbeat_status", "When agents were last seen, what lapsed, what is unclaimed."),
            "suggest": ("heartbeat_suggest", "Which agent should take which todo."),
            "reclaim": ("heartbeat_reclaim", "Reclaim what has lapsed."),
            "watch": ("heartbeat_watch", "Reclaim on an interval."),
        },
    ),
    "loop": (
        "Loops: peers that work tick by tick, one task at a time.",
        {
            "create": ("loop_create", "Make a loop."),
            "list": ("loop_list", "List loops: claim, status, last tick."),
            "show": ("loop_show", "Show one loop."),
            "claim": ("loop_claim", "Claim a todo as the task of a loop."),
            "tick": ("loop_tick", "One tick: find or keep the task, run a command, count."),
            "run": ("loop_run", "Tick again and again."),
            "pause": ("loop_pause", "Let a loop rest."),
            "resume": ("loop_resume", "Let a paused loop go on."),
            "halt": ("loop_halt", "Stop a loop until somebody approves."),
            "approve": ("loop_approve", "Let a halted loop go on."),
            "audit": ("loop_audit", "The loops that are halted or gone and hold a task."),
        },
    ),
    "goal": (
        "Goals: named sets of todos.",
        {
            "create": ("goal_create", "Create a goal."),
            "list": ("goal_list", "List goals with their todos by status."),
            "show": ("goal_show", "Show one goal, as text or as markdown with every claim."),
            "close": ("goal_close", "Close a goal."),
        },
    ),
    "peer": (
        "Peers: registered agents, humans and loops.",
        {
            "register": ("peer_register", "Register a peer, or change its capabilities."),
            "list": ("peer_list", "List peers."),
            "show": ("peer_show", "Show one peer and what it holds."),
            "pause": ("peer_pause", "Pause a peer: it claims nothing new."),
            "resume": ("peer_resume", "Let a paused peer claim again."),
            "retire": ("peer_retire", "Retire a peer for good."),
        },
    ),
    "guard": (
        "Claim before you edit: an edit needs a live claim that covers it.",
        {
            "check": ("guard_check", "May these paths be changed here, by this session, now?"),
            "install": ("guard_install", "Let git run the guard before commits and pushes."),
            "uninstall": ("guard_uninstall", "Take the guard away; the hooks are as they were."),
            "status": ("guard_status", "Prove that git runs the guard."),
            "hook": ("guard_hook", "The guard's part of a git hook."),
        },
    ),
    "propose": (
        "Todos on a branch for review, and their acceptance.",
        {
            "add": ("propose_add", "Put a new todo on a branch."),
            "edit": ("propose_edit", "Edit a todo on a branch."),
            "show": ("propose_show", "What a branch proposes, and what the rules say to it."),
            "accept": ("propose_accept", "Replay what was proposed as ordinary operations."),
        },
    ),
    "review": (
        "Pull requests: was every change claimed, and by whom.",
        {
            "check": ("review_check", "Check that claims cover every change of a range."),
            "report": ("review_report", "What a reviewer reads: todos, holders, timeline, paths."),
        },
    ),
    "config": (
        "What is in force here, and where it comes from.",
        {
            "show": ("config_show", "Show every setting with its origin."),
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
