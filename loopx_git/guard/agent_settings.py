"""`agent-hook install`: the settings of each agent of the table, merged with what is there.

The file is edited as text, and what is not ours keeps its bytes. What it was before stands in the worktree's git
folder: as long as nobody else has changed the file, an uninstall gives back those bytes.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from loopx_git.client.tree_settings import NOTED
from loopx_git.errors import InvalidState
from loopx_git.guard import json_text
from loopx_git.guard.agents import AGENTS, VERSIONED, Agent, entries
from loopx_git.guard.record import decode, digest, encode, missing_folders
from loopx_git.store.lock import read_file, write_file
from loopx_git.store.state_file import load, save

_SIZE_MAX = 4_000_000
#: By which an entry of ours is recognised, also one of an older edition.
_MARK = "agent-hook --format="
#: In the folder of ours of the worktree: file below the top -> what it was before.
FORMER = NOTED


def change(
    top: str, agent: str, *, shared: bool, remove: bool, dry_run: bool, home: str | None = None
) -> dict[str, Any]:
    """Add the hook to the agent's settings below `top`, or remove it: what was done, where, and notes. `home` is the
    folder in which to note what was there before.

    Everything else in the file stays, byte for byte. Raises InvalidState for a file that is not a JSON object, or
    that a link puts outside of the work tree.
    """
    row = AGENTS[agent]
    name = row.shared if shared else row.local
    path = _real(top, os.path.join(top, *name.split("/")))
    current = read_file(path, _SIZE_MAX)
    former = None if home is None else (load(os.path.join(home, FORMER)) or {}).get(name)
    made: list[str] = []
    if row.layout == "plugin":
        _refuse_plugin(path, current)
        base, after = None, None if remove else _plugin()
    elif not remove and current is not None and _is_in(_parsed(path, current), row):
        base = after = current
    else:
        base = _base(path, current, row, former if isinstance(former, dict) else None)
        after, made = (base, []) if remove else _with(base, row)
    what = "unchanged" if after == current else "removed" if remove else "written"
    settings = {} if after is None or row.layout == "plugin" else _parsed(path, after)
    if what != "unchanged" and not dry_run:
        folders = missing_folders(os.path.dirname(path))
        if home is not None:
            known = None if remove else {"before": encode(base), "after": digest(after or b""), "made": made,
                                         "folders": [os.path.relpath(one, top) for one in folders]}  # fmt: skip
            if known is not None and isinstance(former, dict):
                known["folders"] = former.get("folders", known["folders"])
            _note(home, name, known)
        _write(path, after)
        if remove and isinstance(former, dict) and after is None:
            _remove_folders(top, former)
    notes = []
    if agent == "codex" and not remove:
        notes.append("Codex runs a project's hooks only once they are trusted: look at /hooks")
    return {"what": what, "file": path, "notes": notes, "settings": settings}


def _real(top: str, path: str) -> str:
    """The file itself: a link may lead to another place in the work tree, and stays as it is."""
    real, inside = os.path.realpath(path), os.path.realpath(top)
    if real == os.path.join(inside, os.path.relpath(path, top)):
        return path
    parts = os.path.relpath(real, inside).split(os.sep)
    if parts[0] == os.pardir or ".git" in parts:
        linked = path if os.path.islink(path) else os.path.dirname(path)
        raise InvalidState(f"{linked} is a symbolic link that leads out of the work tree; loopx does not follow it",
                           hint=f"ls -ld {linked}")  # fmt: skip
    return real


def _write(path: str, data: bytes | None) -> None:
    if data is None:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    there = os.stat(path, follow_symlinks=False) if os.path.lexists(path) else None
    write_file(path, data, like=there if there is not None and stat.S_ISREG(there.st_mode) else None)


def _note(home: str, name: str, known: dict[str, Any] | None) -> None:
    """Write down what a file was before, or forget it."""
    path = os.path.join(home, FORMER)
    noted = load(path) or {}
    if known is None:
        noted.pop(name, None)
    else:
        noted[name] = known
    if noted:
        save(path, noted, indent=1)
        return
    with suppress(FileNotFoundError):
        os.unlink(path)
    with suppress(OSError):
        # It is in use by others of ours, mostly.
        os.rmdir(home)


def _remove_folders(top: str, former: Mapping[str, Any]) -> None:
    for folder in former.get("folders", ()):
        with suppress(OSError):
            # Not empty: somebody uses it by now.
            os.rmdir(os.path.join(top, folder))


def _base(path: str, current: bytes | None, row: Agent, former: Mapping[str, Any] | None) -> bytes | None:
    """The file less what is ours: None when then there is no file."""
    if current is None:
        return None
    settings = _parsed(path, current)
    if former is not None and digest(current) == former.get("after"):
        return decode(former.get("before"))
    text = _decoded(path, current)
    left = text
    for event in row.events:
        left = _without(left, event, None if former is None else former.get("made", ()))
    if left == text:
        return current
    created = former is None or former.get("before") is None
    if created and json.loads(left) in ({}, {"version": 1}) and settings:
        return None
    return _encoded(current, left)


def _parsed(path: str, data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(_decoded(path, data))
    except (ValueError, RecursionError) as error:
        raise InvalidState(f"{path} is not JSON: {error}", hint=f"mend {path}", about={"file": path}) from None
    hooks = found.get("hooks", {}) if isinstance(found, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(item, list) for item in hooks.values()):
        raise InvalidState(f"{path} has no settings that loopx knows how to merge with", hint=f"mend {path}",
                           about={"file": path})  # fmt: skip
    return dict(found)


def _decoded(path: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidState(f"{path} is not UTF-8: {error}", hint=f"mend {path}", about={"file": path}) from None


def _encoded(former: bytes, text: str) -> bytes:
    """The text with the mark of the byte order that the file had."""
    return text.encode("utf-8-sig" if former.startswith(b"\xef\xbb\xbf") else "utf-8")


def _with(base: bytes | None, row: Agent) -> tuple[bytes, list[str]]:
    """(the file with our entries; which keys were made for them)."""
    ours, made = entries(row), []
    if base is None:
        settings = {
            **({"version": 1} if row.name in VERSIONED else {}),
            "hooks": {key: [one] for key, one in ours.items()},
        }
        return (json.dumps(settings, indent=2, ensure_ascii=False) + "\n").encode("utf-8"), []
    text = base.decode("utf-8-sig")
    if row.name in VERSIONED and json_text.parse(text).get("version") is None:
        text = json_text.with_item(text, json_text.parse(text), 1, "version")
    if json_text.parse(text).get("hooks") is None:
        text = json_text.with_item(text, json_text.parse(text), {}, "hooks")
        made.append("hooks")
    for event, entry in ours.items():
        hooks = json_text.parse(text).get("hooks")
        assert hooks is not None
        events = hooks.get(event)
        if events is None:
            text = json_text.with_item(text, hooks, [entry], event)
            made.append(event)
        else:
            text = json_text.with_item(text, events, entry)
    return _encoded(base, text), made


def _without(text: str, event: str, made: Any) -> str:
    """The text less every entry of ours; an entry that others share keeps theirs. What was made for ours goes when it
    is empty (`made` None: that is not known, and what is empty goes)."""
    while (place := _ours(text, event)) is not None:
        text = json_text.without(text, *place)
        for key, holder in ((event, "hooks"), ("hooks", "")):
            root = json_text.parse(text)
            container = root.get(holder) if holder else root
            item = None if container is None else container.get(key)
            if container is None or item is None or item.items or not (made is None or key in made):
                break
            text = json_text.without(text, container, container.items.index(item))
    return text


def _is_in(settings: Mapping[str, Any], row: Agent) -> bool:
    """Whether the settings have our entries as they are to be, and no older ones."""
    for event, entry in entries(row).items():
        found = [one for one in settings.get("hooks", {}).get(event, ()) if _MARK in json.dumps(one)]
        if found != [entry]:
            return False
    return True


def _ours(text: str, event: str) -> tuple[json_text.Node, int] | None:
    """(the list, the number in it) of the next entry that is ours alone, or of our part of an entry."""
    hooks = json_text.parse(text).get("hooks")
    events = None if hooks is None else hooks.get(event)
    for number, entry in enumerate(() if events is None else events.items):
        said = text[entry.start : entry.end]
        if not said.startswith("{") or _MARK not in said:
            continue
        assert events is not None
        parts = entry.get("hooks")
        inner = [] if parts is None else [_MARK in text[part.start : part.end] for part in parts.items]
        if parts is None or all(inner) or not any(inner):
            return events, number
        return parts, inner.index(True)
    return None


def _plugin() -> bytes:
    from loopx_git.guard.opencode_plugin import text

    return text().encode("utf-8")


def _refuse_plugin(path: str, current: bytes | None) -> None:
    """An agent that loads a file of code: the file is ours as a whole, or InvalidState."""
    from loopx_git.guard.opencode_plugin import MARK

    if current is not None and MARK.encode() not in current:
        raise InvalidState(f"{path} is not a plugin of loopx", hint=f"look at it: ls -l {path}", about={"file": path})
