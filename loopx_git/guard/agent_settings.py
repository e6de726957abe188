"""`agent-hook install`: the settings of each agent of the table, merged with what is there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from loopx_git.errors import InvalidState
from loopx_git.guard.agents import AGENTS, VERSIONED, Agent, entries
from loopx_git.store.lock import read_file, write_file

_SIZE_MAX = 4_000_000
#: By which an entry of ours is recognised, also one of an older edition.
_MARK = "agent-hook --format="


def change(top: str, agent: str, *, shared: bool, remove: bool, dry_run: bool) -> dict[str, Any]:
    """Add the hook to the agent's settings below `top`, or remove it: what was done, where, and notes.

    Everything else in the file stays. Raises InvalidState for a file that is not a JSON object, or that is a link.
    """
    row = AGENTS[agent]
    name = row.shared if shared else row.local
    path = os.path.join(top, *name.split("/"))
    if os.path.islink(os.path.dirname(path)):
        raise InvalidState(f"{os.path.dirname(path)} is a symbolic link; loopx does not follow it",
                           hint=f"ls -ld {os.path.dirname(path)}")  # fmt: skip
    if row.layout == "plugin":
        return _change_plugin(path, remove=remove, dry_run=dry_run)
    before = _load(path)
    after = _without(before, row)
    if not remove:
        after = _with(after, row)
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


def _with(settings: Mapping[str, Any], row: Agent) -> dict[str, Any]:
    if row.name in VERSIONED:
        settings = {"version": 1, **settings}
    hooks = dict(settings.get("hooks", {}))
    for event, ours in entries(row).items():
        hooks[event] = [*hooks.get(event, ()), ours]
    return {**settings, "hooks": hooks}


def _without(settings: Mapping[str, Any], row: Agent) -> dict[str, Any]:
    """The settings less every entry of ours; an entry that others share keeps theirs."""
    hooks = dict(settings.get("hooks", {}))
    for event in row.events:
        if event not in hooks:
            continue
        kept = []
        for entry in hooks[event]:
            if not isinstance(entry, dict) or _MARK not in json.dumps(entry):
                kept.append(entry)
                continue
            others = [item for item in entry.get("hooks", ()) if _MARK not in json.dumps(item)]
            if others:
                kept.append({**entry, "hooks": others})
        hooks[event] = kept
        if not kept:
            del hooks[event]
    left = {key: value for key, value in settings.items() if key != "hooks"}
    return {**left, "hooks": hooks} if hooks else left


def _change_plugin(path: str, *, remove: bool, dry_run: bool) -> dict[str, Any]:
    """The same for an agent that loads a file of code: the file is ours as a whole."""
    from loopx_git.guard.opencode_plugin import MARK, text

    wanted = text().encode("utf-8")
    before = read_file(path, _SIZE_MAX)
    if before is not None and MARK.encode() not in before:
        raise InvalidState(f"{path} is not a plugin of loopx", hint=f"look at it: ls -l {path}", about={"file": path})
    what = "unchanged" if before == (None if remove else wanted) else "removed" if remove else "written"
    if what != "unchanged" and not dry_run:
        if remove:
            os.unlink(path)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_file(path, wanted)
    return {"what": what, "file": path, "notes": [], "settings": {}}
