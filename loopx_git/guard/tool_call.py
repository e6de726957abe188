"""A coding agent's tool call: whose form it has, which tool is called, and which files the call names.

Tools are known by the table of agents. A tool that it does not know is judged when it names a file, and passes when
it names none. Standard library alone: this runs at every edit.
"""

from __future__ import annotations

import json
import os
import re

from loopx_git.guard.agents import AGENTS, BOTH, EDITS, READS, SHELLS, Agent, folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

#: Keys of the call that name the tool, and those that hold its input. The first one that is there counts.
_NAMES = ("tool_name", "toolName", "tool", "recipient_name")
#: Keys of an input that hold calls of other tools; and those that name the tool of another server that is called.
_CALLS = ("tool_calls", "tool_uses", "toolCalls", "calls")
_CALLED = ("mcp_tool_name", "tool_name", "toolName")
_INPUTS = ("tool_input", "toolInput", "toolArgs", "tool_args", "tool_info", "args", "arguments", "parameters",
           "params", "input")  # fmt: skip
#: Keys of an input that name a file, folded; and those that hold many, or hold further inputs.
_FILE = frozenset((
    "filepath", "path", "file", "filename", "absolutepath", "relativepath", "relativeworkspacepath", "targetfile",
    "targetfilepath", "targetpath", "notebookpath", "targetnotebook", "notebookuri", "outputpath", "outputfile",
    "destination", "destinationpath", "destinationfile", "dest", "destpath", "dst", "oldpath", "newpath",
    "oldfilepath", "newfilepath", "sourcepath", "frompath", "topath", "uri", "fileuri", "documenturi", "olduri",
    "newuri", "targeturi",
))  # fmt: skip
_FILES = frozenset(("files", "paths", "filepaths", "filenames", "filelist", "targetfiles", "uris", "documents"))
_INNER = frozenset((
    "edits", "changes", "operations", "replacements", "items", "actions", "patches", "documentchanges",
    "textdocument", "arguments", "args", "input", "parameters", "params", "request", "toolinput", "toolargs",
    "mcptoolarguments", "renames", "moves",
))  # fmt: skip
#: Further keys of a tool that moves or copies.
_MOVED = frozenset(("source", "src", "from", "to", "target", "oldname", "newname"))
#: Keys that hold what a shell runs, and where it runs it.
_COMMANDS = ("command", "command_line", "commandLine", "cmd", "script", "input", "chars")
_WORK = ("workdir", "cwd", "working_directory", "workingDirectory", "directory", "dir_path")
#: Keys of the call that say where the agent works.
_CWD = ("cwd", "workspace_roots", "workspaceRoots", "workspace_root", "workspaceRoot", "working_directory",
        "directory")  # fmt: skip
#: Keys that may hold a patch.
_PATCHES = ("command", "input", "patch", "patchText", "patch_text", "diff", "cmd")

_WRITING = frozenset((
    "write", "edit", "edits", "replace", "create", "delete", "remove", "move", "rename", "patch", "insert", "update",
    "append", "save", "apply", "modify", "change", "overwrite", "copy", "touch", "format", "fix", "refactor",
    "revert", "restore", "undo", "put", "set", "add", "mv", "cp", "rm",
))  # fmt: skip
_READING = frozenset((
    "read", "view", "open", "grep", "glob", "list", "ls", "search", "find", "fetch", "get", "show", "cat", "stat",
    "tree", "lookup", "query", "explore", "describe", "inspect", "preview",
))  # fmt: skip
_MOVING = frozenset(("move", "rename", "mv", "copy", "cp"))
# The expressions are texts: what a call has no use for is not compiled.
_SHELL = r"(?i)bash|shell|terminal|exec(?:ute)?_?command|run_?command"
_WORDS = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
#: The head lines of Codex's patches. Codex reads them without the white space around them.
_PATCHED = r"(?m)^[ \t]*\*\*\* (?:Add File|Update File|Delete File|Move to):[ \t]*(.+?)[ \t\r]*$"
#: The head lines of a diff.
_DIFFED = r"(?m)^(?:--- |\+\+\+ |rename (?:from|to) )(?:[ab]/)?([^\t\r\n]+?)[ \t\r]*$"
_SCHEME = r"(?s)([A-Za-z][A-Za-z0-9+.-]+):(?://([^/]*))?(.*)"
#: Schemes of addresses whose path is one of this machine's file system.
_LOCAL = ("file", "vscode-remote", "vscode-notebook-cell")
_DRIVE = r"/?[A-Za-z]:[\\/]"
_DEPTH_MAX = 8


class UnreadablePayload(Exception):
    """The input is not what an agent sends. The edit is denied, because its paths are unknown."""


class Form:
    """How an agent is answered: its row of the table, and what a denial prints."""

    __slots__ = ("agent", "denial")

    def __init__(self, agent: Agent, denial: Any = None) -> None:
        self.agent, self.denial = agent, agent.denial if denial is None else denial


def form_of(call: Mapping[str, Any], named: str | None) -> Form:
    """The form of the answer: by the marks of the call itself, else that of the agent that was named. One agent runs
    what stands in the settings of another, and then the call tells whose it is."""
    event = call.get("hook_event_name") or call.get("hookEventName")
    if "cursor_version" in call:
        return Form(AGENTS["cursor"])
    if "agent_action_name" in call:
        return Form(AGENTS["windsurf"])
    if "toolName" in call:
        return Form(AGENTS["copilot"])
    if isinstance(event, str) and event.startswith(("preToolUse", "before")):
        return Form(AGENTS["cursor"])
    if event == "BeforeTool":
        return Form(AGENTS["gemini"])
    if event == "tool.execute.before":
        return Form(AGENTS["opencode"])
    if "hookEventName" in call:
        return Form(AGENTS["vscode"])
    timed = event == "PreToolUse" and "timestamp" in call and "permission_mode" not in call
    if timed and named not in ("copilot", "vscode"):
        # The two that have Claude's event and a time: only VS Code has a transcript.
        named = "vscode" if "transcript_path" in call else "copilot"
    if named == "copilot" and "tool_name" in call:
        return Form(AGENTS["copilot"], BOTH)
    if named is not None:
        return Form(AGENTS[named])
    if "turn_id" in call:
        return Form(AGENTS["codex"])
    return Form(AGENTS["cursor" if "workspace_roots" in call and "conversation_id" in call else "claude"])


def folder_of(call: Mapping[str, Any]) -> str:
    """Where the agent works, absolute. Raises UnreadablePayload. A folder of a drive is where this program runs: the
    agent works on Windows, and its hook in a system beside it."""
    found = _cwd(call)
    if not found or (os.name != "nt" and re.match(_DRIVE, found)):
        return os.getcwd()
    return os.path.join(os.getcwd(), plain_path(found, "") or "")


def _cwd(call: Mapping[str, Any]) -> str:
    """The folder that the call names, or ""."""
    for key in _CWD:
        found = call.get(key)
        if isinstance(found, list):
            found = found[0] if found else None
        if found is None or found == "":
            continue
        if not isinstance(found, str) or "\0" in found:
            raise UnreadablePayload(f"{key} is not a path")
        return found
    return ""


def edited_paths(call: Mapping[str, Any]) -> list[str]:
    """The absolute paths that the tool call would change; [] for a tool that changes none that can be seen.

    Raises UnreadablePayload for a tool that is known to edit, and names no file.
    """
    event = _event(call)
    if folded(event).startswith(("post", "after")):
        return []
    name, given = _tool(call, event)
    folder = folder_of(call)
    found = _edited(name, given, folder)
    root = _cwd(call)
    if os.name != "nt" and re.match(_DRIVE, root):
        found = list(_on_the_drive(found, folder, root))
    if any("\0" in path for path in found):
        raise UnreadablePayload("a path has NUL in it")
    return list(dict.fromkeys(place for path in found for place in _places(path)))


def runs_command(call: Mapping[str, Any]) -> bool:
    """Whether the tool is one that runs a command."""
    return _kind(_tool(call, _event(call))[0]) == "shell"


def _event(call: Mapping[str, Any]) -> str:
    return str(call.get("hook_event_name") or call.get("hookEventName") or call.get("agent_action_name") or "")


def _on_the_drive(found: list[str], folder: str, root: str) -> Iterator[str]:
    """The paths, with those of a drive below `root` taken to `folder`; other paths of a drive are outside."""
    above = os.path.join(folder, root.strip("/\\").replace("\\", "/"), "")
    for path in found:
        if path.lower().startswith(above.lower()):
            yield os.path.join(folder, path[len(above) :])
        elif not re.match(_DRIVE, path.removeprefix(f"{folder}/")):
            yield path


def _edited(name: str, given: Mapping[str, Any], folder: str, depth: int = 0) -> list[str]:
    """What this tool would change with this input, as the call has it."""
    lists = [given[key] for key in _CALLS if isinstance(given.get(key), list)]
    calls = [item for items in lists for item in items if isinstance(item, dict)]
    if calls and depth < _DEPTH_MAX:
        # A tool that calls others.
        return [path for inner in calls for path in _edited(*_tool(inner, ""), folder, depth + 1)]
    kind = _kind(name)
    if kind == "read" or given.get("command") == "view":
        return []
    found: list[str] = []
    if kind != "shell":
        found = [os.path.join(folder, path) for path in _patched(given, folder, patch=kind == "edit")]
        for text in _named(given, set(_words(name)) & _MOVING != set(), 0):
            path = plain_path(text, folder)
            if path is not None:
                found.append(os.path.join(folder, path))
    if kind == "shell" or (kind == "unknown" and not found):
        found += _shell(given, folder)
    if not found and kind == "edit":
        raise UnreadablePayload(f"the tool {name[:40]!r} names no file")
    return found


def _places(path: str) -> Iterator[str]:
    """Where the path leads: as text, and, where it goes up, as the file system has it. Programs do either."""
    yield os.path.normpath(path)
    if ".." in path.split("/"):
        head, tail = os.path.split(path.rstrip("/"))
        yield os.path.realpath(path) if tail in ("", ".", "..") else os.path.join(os.path.realpath(head), tail)


def _tool(call: Mapping[str, Any], event: str) -> tuple[str, Mapping[str, Any]]:
    """The name of the tool, "" where none is given, and its input."""
    outer = call.get("input")
    if isinstance(outer, dict) and isinstance(outer.get("tool"), str):
        # opencode hands a plugin two things: the call, and what may be changed of it.
        output = call.get("output")
        return outer["tool"], _object(outer["tool"], output.get("args") if isinstance(output, dict) else None)
    name = next((str(call[key]) for key in _NAMES if call.get(key)), "")
    if not name and folded(event) in EDITS | SHELLS | READS:
        name = event
    given = next((call[key] for key in _INPUTS if call.get(key) is not None), None)
    if given is None:
        # Some events have the input beside the rest.
        given = {key: value for key, value in call.items() if key not in (*_CWD, *_NAMES)}
    given = _object(name, given)
    if _kind(name) == "unknown":
        name = next((str(given[key]) for key in _CALLED if isinstance(given.get(key), str)), name)
    return name, given


def _object(name: str, given: Any) -> Mapping[str, Any]:
    """The input as an object: a text is JSON, or what is run."""
    if isinstance(given, str):
        if given.lstrip()[:1] in ("{", "["):
            try:
                given = json.loads(given)
            except (ValueError, RecursionError):
                if _kind(name) == "edit":
                    raise UnreadablePayload(f"the input of the tool {name[:40]!r} is not JSON") from None
                given = {"command": given}
        else:
            given = {"command": given}
    if isinstance(given, list):
        given = {"edits": given}
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise UnreadablePayload("the tool's input is not an object")
    return given


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(_WORDS, name)]


def _kind(name: str) -> str:
    """edit, shell, read or unknown: what the tool of this name is known to do."""
    # Tools of other servers: mcp__server__tool, functions.tool, MCP:tool.
    last = re.split(r"__|[.:/]", name)[-1] or name
    for known in (folded(name), folded(last)):
        if known in EDITS:
            return "edit" if last == name or known == "applypatch" else "unknown"
        if known in SHELLS:
            return "shell"
        if known in READS:
            return "read"
    words = set(_words(last))
    if words & _WRITING:
        return "unknown"
    if re.search(_SHELL, last):
        return "shell"
    return "read" if words & _READING else "unknown"


def _named(given: Any, moves: bool, depth: int) -> Iterator[str]:
    """Every text that names a file: of this input, and of the inputs inside it."""
    if depth > _DEPTH_MAX:
        raise UnreadablePayload("the tool's input is nested too deep")
    if isinstance(given, list):
        for item in given:
            yield from _named(item, moves, depth + 1)
    if not isinstance(given, dict):
        return
    for key, value in given.items():
        short = folded(key)
        if isinstance(value, str) and value:
            moved = moves and short in _MOVED and re.search(r"[/.\\]", value)
            if short in _FILE or short in _FILES or moved or (short == "url" and value.startswith("file:")):
                yield value
            elif short in _INNER and value.lstrip()[:1] in ("{", "["):
                yield from _named(_parsed(value), moves, depth + 1)
        elif short in _FILES or short in _FILE or short == "changes":
            yield from _many(value)
            yield from _named(value, moves, depth + 1)
        elif short in _INNER:
            yield from _named(value, moves, depth + 1)


def _parsed(text: str) -> Any:
    """The value that a text of JSON stands for; None for a text of some other kind."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _many(value: Any) -> Iterator[str]:
    """The names in a list of names, or in an object that has a name as each key."""
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, str) and item)
    elif isinstance(value, dict):
        known = _FILE | _FILES | _INNER
        yield from (key for key in value if folded(key) not in known and ("/" in key or "." in key))


def _patched(given: Mapping[str, Any], folder: str, *, patch: bool) -> list[str]:
    """The files that a patch in the input names."""
    found: list[str] = []
    for text in _texts(given, _PATCHES):
        if patch or "*** Begin Patch" in text:
            found += re.findall(_PATCHED, text)
        if "\n+++ " in text or text.startswith(("--- ", "diff --git ")):
            found += [path for path in re.findall(_DIFFED, text) if path != "/dev/null"]
    return [path for path in (plain_path(text, folder) for text in found) if path is not None]


def _texts(given: Mapping[str, Any], keys: tuple[str, ...]) -> list[str]:
    texts: list[str] = []
    for key in keys:
        value = given.get(key)
        texts += [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]
    return texts


def _shell(given: Mapping[str, Any], folder: str) -> list[str]:
    """The files that a command plainly writes."""
    # An edit does not pay for it.
    from loopx_git.guard.shell_writes import written

    for key in _WORK:
        work = given.get(key)
        if isinstance(work, str) and work:
            folder = os.path.join(folder, plain_path(work, folder) or "")
            break
    found: list[str] = []
    for key in _COMMANDS:
        value = given.get(key)
        texts = _texts(given, (key,))
        if not texts:
            continue
        folders: list[str | None] = []
        found += written(value if isinstance(value, str) else texts, folder, 0, folders)
        if not folders and any("*** Begin Patch" in text for text in texts):
            folders = [folder]
        for inner in folders:
            for path in (path for text in texts for path in re.findall(_PATCHED, text)):
                if inner is not None or os.path.isabs(path):
                    found.append(os.path.join(inner or "/", path))
    return found


def plain_path(text: str, folder: str) -> str | None:
    """The path of the file system that a text names; None for an address elsewhere.

    A `file:` address, `~`, and the separators of Windows are read. A backslash stays where a file in `folder` has it
    in its name.
    """
    match = re.fullmatch(_SCHEME, text) if ":" in text else None
    if match is not None and len(match[1]) > 1:
        scheme, rest = match[1].lower(), match[3]
        if scheme in _LOCAL:
            path = _decoded(rest.partition("#")[0] if scheme == "vscode-notebook-cell" else rest)
            return path[1:] if re.match(_DRIVE, path) and path.startswith("/") else path
        if match[2] is not None or scheme == "untitled":
            return None
    if text == "~" or text.startswith("~/"):
        return os.path.expanduser(text)
    if "\\" in text and not os.path.lexists(os.path.join(folder, text)):
        return text.replace("\\", "/")
    return text


def _decoded(text: str) -> str:
    """The path of an address, whose odd bytes are written as %20."""
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), os.fsencode(text))
    return os.fsdecode(raw)
