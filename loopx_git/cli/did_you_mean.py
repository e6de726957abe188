"""Suggestions for a command that does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from loopx_git.errors import UsageError

#: What other tools call our commands: word -> the words of ours, below `git loopx`. Below a group (`todo new`) the
#: last word of ours counts.
SYNONYMS: Mapping[str, str] = {
    "new": "todo add",
    "create": "todo add",
    "add": "todo add",
    "make": "todo add",
    "list": "todo list",
    "ls": "todo list",
    "tasks": "todo list",
    "todos": "todo list",
    "issues": "todo list",
    "ready": "todo list",
    "search": "todo list",
    "find": "todo list",
    "grep": "todo list",
    "filter": "todo list",
    "show": "todo show",
    "view": "todo show",
    "get": "todo show",
    "cat": "todo show",
    "info": "todo show",
    "describe": "todo show",
    "next": "todo next",
    "pick": "todo next",
    "claim": "todo claim",
    "take": "todo claim",
    "assign": "todo claim",
    "start": "todo claim",
    "begin": "todo claim",
    "checkout": "todo claim",
    "acquire": "task-lease acquire",
    "lock": "task-lease acquire",
    "renew": "task-lease renew",
    "extend": "task-lease renew",
    "touch": "task-lease renew",
    "lease": "task-lease inspect",
    "inspect": "task-lease inspect",
    "update": "todo update",
    "edit": "todo update",
    "set": "todo update",
    "change": "todo update",
    "modify": "todo update",
    "comment": "todo update",
    "note": "todo update",
    "status": "heartbeat status",
    "who": "heartbeat status",
    "ps": "heartbeat status",
    "agents": "peer list",
    "peers": "peer list",
    "register": "peer register",
    "join": "peer register",
    "login": "peer register",
    "history": "log",
    "audit": "log",
    "blame": "log",
    "pull": "sync",
    "fetch": "sync",
    "refresh": "sync",
    "update-local": "sync",
    "check": "guard check",
    "install": "guard install",
    "hooks": "guard status",
    "settings": "config show",
    "version": "--version",
    "help": "-h",
}
#: Words for what ends a claim or a todo. None of these commands is proposed ready to run: its help is.
ENDINGS: Mapping[str, str] = {
    "done": "todo complete",
    "close": "todo complete",
    "finish": "todo complete",
    "complete": "todo complete",
    "resolve": "todo complete",
    "end": "todo complete",
    "release": "todo release",
    "unassign": "todo release",
    "drop": "todo release",
    "unlock": "todo release",
    "unclaim": "todo release",
    "stop": "todo release",
    "cancel": "todo cancel",
    "rm": "todo cancel",
    "delete": "todo cancel",
    "remove": "todo cancel",
    "del": "todo cancel",
    "wontfix": "todo cancel",
    "archive": "todo archive",
    "supersede": "todo supersede",
    "replace": "todo supersede",
    "transfer": "todo transfer",
    "handoff": "todo transfer",
    "reassign": "todo transfer",
    "give": "todo transfer",
    "reopen": "todo reopen",
}
#: Commands that end a claim, a todo or a peer, or accept another history, by their last word: never proposed for a
#: mistyped word, only named by their help.
ENDS = frozenset({
    "complete", "release", "unclaim", "cancel", "archive", "supersede", "transfer", "retire", "reclaim", "watch",
    "halt", "uninstall", "adopt", "accept", "land", "close", "reopen",
})  # fmt: skip


def unknown_command(word: str, path: str, known: Iterable[str]) -> UsageError:
    """The error for an unknown command. `path` is what was typed before it, `known` what may follow."""
    shown, names = word[:80], list(known)
    message = f"there is no command {shown!r}"
    meant = _meant(word.lower(), path, names)
    if meant is None:
        return UsageError(f"{message}; there are: {', '.join(names)}", hint=f"{path} -h")
    command, ends = meant
    if ends:
        return UsageError(f"{message}; see what {command} does", hint=f"{command} -h")
    return UsageError(message, hint=f"did you mean: {command}")


def _meant(word: str, path: str, known: list[str]) -> tuple[str, bool] | None:
    """(the command with its path, whether it ends something), or None where nothing comes near."""
    group = path.partition("git loopx")[2].strip()
    for table, ends in ((ENDINGS, True), (SYNONYMS, False)):
        if word not in table:
            continue
        last = table[word].rpartition(" ")[2]
        if not group or table[word] == "-h":
            return f"{path} {table[word]}", ends
        if last in known:
            return f"{path} {last}", ends
        if group == "todo" or table[word].startswith("-"):
            # A todo's word that another group serves, or a flag of the program itself.
            return f"git loopx {table[word]}", ends
    near = get_close_matches(word, known, 1, 0.6)
    if not near:
        return None
    return f"{path} {near[0]}", near[0] in ENDS
