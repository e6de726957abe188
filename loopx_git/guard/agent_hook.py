"""The PreToolUse side of the guard: a coding agent's edit is allowed or denied before it is made.

JSON on standard input, as Claude Code, Codex and Cursor send it; exit 0 lets the edit pass, exit 2 stops it, with the
reason and the next command on standard error. Every other exit code would let it pass, so a crash of ours is exit 2.
What a shell command writes cannot be seen from here; the commit, the push and the pull request look again.

It runs at every edit: the standard library alone, until something is not as it was at the last slower look.
"""

from __future__ import annotations

import json
import os
import re
import sys

from loopx_git.guard import cached
from loopx_git.guard.answer import examine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from loopx_git.guard.answer import Answer
    from loopx_git.guard.context import Context

ALLOW, DENY = 0, 2
_SIZE_MAX = 64_000_000
#: Keys of a tool's input that name the file.
_KEYS = ("file_path", "notebook_path", "target_file", "filePath", "target_notebook", "path")
#: Tools that look and do not touch.
_READS = re.compile(r"(?:^|_)(?:read|view|open|grep|glob|ls|list|search|find|fetch|get|web|task|todo)", re.IGNORECASE)
_SHELLS = re.compile(r"bash|shell|exec_command|terminal", re.IGNORECASE)
#: The head lines of Codex's patches.
_PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+?)[ \t\r]*$", re.MULTILINE)


class UnreadablePayload(Exception):
    """The input is not what an agent sends. The edit is denied, because its paths are unknown."""


def main(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """One tool call: its exit code. Prints the reason of a denial."""
    style = "cursor" if any("cursor" in word for word in argv) else "auto"
    try:
        data = sys.stdin.buffer.read(_SIZE_MAX + 1)
        code, lines, style = decide(data, style, env)
    except UnreadablePayload as error:
        code, lines = DENY, [f"loopx guard: the hook's input cannot be read: {error}"]
    except Exception as error:
        code, lines = _crashed(error)
    _say(code, lines, style)
    return code


def decide(data: bytes, style: str, env: Mapping[str, str]) -> tuple[int, list[str], str]:
    """(exit code, lines, whose format) for the bytes on standard input."""
    if len(data) > _SIZE_MAX:
        raise UnreadablePayload("it is too large")
    try:
        call = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UnreadablePayload(str(error)) from None
    if not isinstance(call, dict):
        raise UnreadablePayload("it is not a JSON object")
    if "cursor_version" in call:
        style = "cursor"
    folder = _folder(call)
    reports = [_examine(path, env) for path in edited_paths(call)] if folder else []
    denied = [report for report in reports if report is not None and report.effect != "allowed"]
    if not denied:
        return ALLOW, [], style
    worst = next((report for report in denied if report.effect == "denied"), denied[0])
    code = DENY if worst.effect == "denied" else ALLOW
    word = "denied" if code == DENY else "warning"
    return code, [f"loopx guard: {word}: {worst.headline}", *worst.lines(), f"  next: {worst.command}"], style


def _folder(call: Mapping[str, Any]) -> str:
    """Where the agent works."""
    roots = call.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    found = call.get("cwd") or first or os.getcwd()
    if not isinstance(found, str) or "\0" in found:
        raise UnreadablePayload("cwd is not a path")
    return found


def edited_paths(call: Mapping[str, Any]) -> list[str]:
    """The absolute paths that the tool call would change; [] for a tool that changes none that can be seen."""
    name = str(call.get("tool_name") or "")
    given = call.get("tool_input")
    if isinstance(given, str):
        given = {"command": given}
    if given is None:
        given = call if "file_path" in call else {}
    if not isinstance(given, dict):
        raise UnreadablePayload("tool_input is not an object")
    found = [path for text in _texts(given) for path in _PATCHED.findall(text)]
    if not found and (_SHELLS.search(name) or _READS.search(name)):
        return []
    items = [given, *(item for item in given.get("edits") or () if isinstance(item, dict))]
    found += [str(item[key]) for item in items for key in _KEYS if isinstance(item.get(key), str) and item[key]]
    if not found and name:
        raise UnreadablePayload(f"the tool {name[:40]!r} names no file")
    if any("\0" in path for path in found):
        raise UnreadablePayload("a path has NUL in it")
    folder = _folder(call)
    return list(dict.fromkeys(os.path.normpath(os.path.join(folder, path)) for path in found))


def _texts(given: Mapping[str, Any]) -> list[str]:
    """The texts of an input that may hold a patch."""
    texts: list[str] = []
    for key in ("command", "input", "patch"):
        value = given.get(key)
        texts += [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]
    return [text for text in texts if "*** " in text]


def _examine(path: str, env: Mapping[str, str]) -> Answer | None:
    """The verdict on one absolute path; None where no guard is asked for. A link is judged by its own name and by
    what it leads to: an editor writes through it."""
    real = os.path.realpath(os.path.dirname(path))
    named = os.path.join(real, os.path.basename(path))
    worst: Answer | None = None
    for place in dict.fromkeys((named, os.path.realpath(path))):
        where = cached.places(os.path.dirname(place))
        if where is None or not _is_ours(where):
            continue
        inside = os.path.relpath(place, os.path.realpath(where.top)).replace(os.sep, "/")
        report = examine(_context(where, env), [inside], "agent")
        if worst is None or worst.effect == "allowed" or report.effect == "denied":
            worst = report
    return worst


def _is_ours(where: cached.RepositoryPaths) -> bool:
    """Whether this repository coordinates at all: the hook may stand in settings that serve others, too."""
    return os.path.lexists(os.path.join(where.top, ".loopx")) or os.path.exists(
        os.path.join(where.common_dir, "loopx", "location")
    )


def _context(where: cached.RepositoryPaths, env: Mapping[str, str]) -> Context:
    found = cached.context(where, env) if "GIT_DIR" not in env else None
    if found is not None:
        return found
    from loopx_git.guard import refresh
    from loopx_git.guard.clock import hooks_of

    clean = {key: value for key, value in env.items() if key not in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE")}
    return refresh.context(refresh.open_client(where.top, clean, overrides=hooks_of(env)))


def _crashed(error: Exception) -> tuple[int, list[str]]:
    from loopx_git.errors import LoopXError

    if isinstance(error, LoopXError):
        return DENY, [f"loopx guard: denied: {error.message}", f"  next: {error.hint}"]
    return DENY, [f"loopx guard: denied, since it failed itself: {type(error).__name__}: {error}",
                  "  next: git loopx guard check"]  # fmt: skip


def _say(code: int, lines: Sequence[str], style: str) -> None:
    if not lines:
        return
    text = "\n".join(plain(line) for line in lines) + "\n"
    if style == "cursor" and code == DENY:
        answer = {"permission": "deny", "user_message": plain(lines[0]), "agent_message": text}
        sys.stdout.write(json.dumps(answer) + "\n")
    if code == ALLOW and style != "cursor":
        sys.stdout.write(json.dumps({"systemMessage": text}) + "\n")
    sys.stderr.write(text)


def plain(text: str) -> str:
    """The line with every character escaped that could steer a terminal."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
