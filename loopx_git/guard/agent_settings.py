"""`agent-hook install`: the settings of Claude Code, Codex and Cursor, merged with what is there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from loopx_git.errors import InvalidState
from loopx_git.store.lock import read_file, write_file

_SIZE_MAX = 4_000_000
#: What the agent runs. Whatever goes wrong with it (it is not on the PATH, it is killed) must stop the edit, and only
#: exit 2 does.
_RUN = "git-loopx agent-hook --format={} || exit 2"
_MARK = "agent-hook --format="
_SECONDS = 20
#: agent -> (file of this clone, file of the code, event, tools).
_AGENTS: Mapping[str, tuple[str, str, str, str]] = {
    "claude": (".claude/settings.local.json", ".claude/settings.json", "PreToolUse",
               "Edit|MultiEdit|Write|NotebookEdit"),
    "codex": (".codex/hooks.json", ".codex/hooks.json", "PreToolUse", "apply_patch|Edit|Write"),
    "cursor": (".cursor/hooks.json", ".cursor/hooks.json", "preToolUse", "Write|Edit|StrReplace|Delete|EditNotebook"),
}  # fmt: skip


def change(top: str, agent: str, *, shared: bool, remove: bool, dry_run: bool) -> dict[str, Any]:
    """Add the hook to the agent's settings below `top`, or remove it: what was done, where, and notes.

    Everything else in the file stays. Raises InvalidState for a file that is not a JSON object, or that is a link.
    """
    own, common, event, tools = _AGENTS[agent]
    name = common if shared else own
    path = os.path.join(top, *name.split("/"))
    if os.path.islink(os.path.dirname(path)):
        raise InvalidState(f"{os.path.dirname(path)} is a symbolic link; loopx does not follow it",
                           hint=f"ls -ld {os.path.dirname(path)}")  # fmt: skip
    before = _load(path)
    after = _without(before, event)
    if not remove:
        after = _with(after, agent, event, tools)
    notes = []
    if agent == "codex" and not remove:
        notes.append("Codex runs a project's hooks only once they are trusted: look at /hooks")
    what = "unchanged" if after == before else "removed" if remove else "written"
    if what != "unchanged" and not dry_run:
        if remove and after in ({}, {"version": 1}):
            os.unlink(path)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_file(path, (json.dumps(after, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))
    return {"what": what, "file": path, "notes": notes, "settings": after}


def _load(path: str) -> dict[str, Any]:
    data = read_file(path, _SIZE_MAX)
    if data is None:
        return {}
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidState(f"{path} is not JSON: {error}", hint=f"mend {path}", about={"file": path}) from None
    hooks = found.get("hooks", {}) if isinstance(found, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(item, list) for item in hooks.values()):
        raise InvalidState(f"{path} has no settings that loopx knows how to merge with", hint=f"mend {path}",
                           about={"file": path})  # fmt: skip
    return dict(found)


def _with(settings: Mapping[str, Any], agent: str, event: str, tools: str) -> dict[str, Any]:
    run = _RUN.format(agent)
    if agent == "cursor":
        ours: dict[str, Any] = {"command": run, "matcher": tools, "timeout": _SECONDS, "failClosed": True}
        settings = {"version": 1, **settings}
    else:
        ours = {"matcher": tools, "hooks": [{"type": "command", "command": run, "timeout": _SECONDS}]}
    hooks = dict(settings.get("hooks", {}))
    hooks[event] = [*hooks.get(event, ()), ours]
    return {**settings, "hooks": hooks}


def _without(settings: Mapping[str, Any], event: str) -> dict[str, Any]:
    """The settings less every entry of ours; an entry that others share keeps theirs."""
    kept = []
    for entry in settings.get("hooks", {}).get(event, ()):
        if not isinstance(entry, dict) or _MARK not in json.dumps(entry):
            kept.append(entry)
            continue
        others = [item for item in entry.get("hooks", ()) if _MARK not in json.dumps(item)]
        if others:
            kept.append({**entry, "hooks": others})
    hooks = {**settings.get("hooks", {}), event: kept}
    if not kept:
        del hooks[event]
    left = {key: value for key, value in settings.items() if key != "hooks"}
    return {**left, "hooks": hooks} if hooks else left
