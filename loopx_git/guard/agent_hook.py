"""The side of the guard that a coding agent asks: its edit is allowed or denied before it is made.

A tool call as JSON on standard input, in the form of each agent of `guard.agents`. That table also says how each is
told no: most by exit 2 with the reason and the next command on standard error, some by an object on standard output.
Every other exit code would let the edit pass, so a crash of ours is a denial. A shell command is judged where it
plainly writes. What else it writes cannot be seen from here; the commit, the push and the pull request look again.

It runs at every edit: the standard library alone, until something is not as it was at the last slower look.
"""

from __future__ import annotations

import json
import os
import sys

from loopx_git.guard import cached
from loopx_git.guard.agents import AGENTS, filled
from loopx_git.guard.answer import examine
from loopx_git.guard.tool_call import Form, UnreadablePayload, edited_paths, form_of, runs_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from loopx_git.guard.answer import Answer
    from loopx_git.guard.context import Context

ALLOW, DENY = 0, 2
_SIZE_MAX = 64_000_000
#: Flags of the quick way -> the setting that each one is; every other flag takes the slower way.
_FLAGS = {
    "--agent": "agent", "--agent-id": "agent", "--claimed-by": "agent", "--session": "session", "-C": "folder",
    "--remote": "remote", "--ref": "ref", "--timeout": "timeout", "--for": "for", "--format": "for",
}  # fmt: skip
#: A setting of the command line -> the variable that says the same.
_VARIABLES = {"agent": "LOOPX_AGENT", "session": "LOOPX_SESSION", "remote": "LOOPX_REMOTE", "ref": "LOOPX_REF",
              "timeout": "LOOPX_TIMEOUT"}  # fmt: skip


def settings_of(argv: Sequence[str]) -> dict[str, str] | None:
    """The settings of `agent-hook` with nothing but flags, before its name or after it; None: take the slower way,
    which also knows what is wrong with the words."""
    found: dict[str, str] = {}
    named = False
    words = iter(argv)
    for word in words:
        flag, equals, value = word.partition("=")
        if word == "agent-hook" and not named:
            named = True
            continue
        if word.startswith("-C") and not word.startswith("-C=") and len(word) > 2:
            flag, equals, value = "-C", "=", word[2:]
        setting = _FLAGS.get(flag)
        if setting is None or (equals and flag == "-C" and word.startswith("-C=")) or (equals and not value):
            return None
        if not equals:
            value = next(words, "")
        if not value or value.startswith("-") or found.get(setting, value) != value:
            return None
        if setting == "for" and value not in AGENTS and value != "auto":
            return None
        found[setting] = value
    return found if named else None


def main(settings: Mapping[str, str | None], env: Mapping[str, str]) -> int:
    """One tool call: its exit code. Prints the reason of a denial.

    `settings` has the agent, the session, the folder to work in, and for whom the answer is, where they were given.
    """
    named = settings.get("for")
    named = None if named == "auto" else named
    form = Form(AGENTS[named or "claude"])
    given = {name: settings[key] or "" for key, name in _VARIABLES.items() if settings.get(key)}
    try:
        if settings.get("folder"):
            os.chdir(settings["folder"] or ".")
        call = _read(sys.stdin.buffer.read(_SIZE_MAX + 1))
        form = form_of(call, named)
        code, lines = decide(call, {**env, **given})
    except UnreadablePayload as error:
        code, lines = DENY, [f"loopx guard: denied: the hook's input cannot be read: {error}",
                             "  next: git loopx agent-hook -h"]  # fmt: skip
    except Exception as error:
        code, lines = DENY, _crashed(error)
    return _say(code, lines, form)


def _read(data: bytes) -> dict[str, Any]:
    """The tool call. Raises UnreadablePayload."""
    if len(data) > _SIZE_MAX:
        raise UnreadablePayload("it is too large")
    try:
        call = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UnreadablePayload(str(error)) from None
    if not isinstance(call, dict):
        raise UnreadablePayload("it is not a JSON object")
    return call


def decide(call: Mapping[str, Any], env: Mapping[str, str]) -> tuple[int, list[str]]:
    """ALLOW or DENY, and the lines to print, for a tool call."""
    answers = _examine(edited_paths(call), env, ignoring=runs_command(call))
    denied = [answer for answer in answers if answer.effect != "allowed"]
    if not denied:
        return ALLOW, []
    worst = next((answer for answer in denied if answer.effect == "denied"), denied[0])
    code = DENY if worst.effect == "denied" else ALLOW
    word = "denied" if code == DENY else "warning"
    return code, [f"loopx guard: {word}: {worst.headline}", *worst.lines(), f"  next: {worst.command}"]


def _examine(paths: Sequence[str], env: Mapping[str, str], *, ignoring: bool) -> list[Answer]:
    """The verdict of each repository on the paths that lie in it; none where no guard is asked for. A link is judged
    by its own name and by what it leads to: an editor writes through it. `ignoring`: what git ignores passes."""
    found: dict[str, tuple[cached.RepositoryPaths, list[str]]] = {}
    for path in paths:
        real = os.path.realpath(os.path.dirname(path))
        by_name = os.path.join(real, os.path.basename(path))
        for place in dict.fromkeys((by_name, os.path.realpath(path))):
            where = cached.places(os.path.dirname(place))
            if where is None or not _is_ours(where):
                continue
            inside = os.path.relpath(place, os.path.realpath(where.top)).replace(os.sep, "/")
            found.setdefault(where.top, (where, []))[1].append(inside)
    answers = []
    for where, named in found.values():
        context, wanted = _context(where, env), list(dict.fromkeys(named))
        answer = examine(context, wanted, "agent")
        if ignoring and answer.effect != "allowed":
            ignored = _ignored(where, wanted, env)
            answer = examine(context, [path for path in wanted if path not in ignored], "agent")
        answers.append(answer)
    return answers


def _ignored(where: cached.RepositoryPaths, paths: Sequence[str], env: Mapping[str, str]) -> set[str]:
    """Those of the paths that git ignores and does not track. Commands write logs and remove what was built."""
    from loopx_git.guard import refresh

    repository = refresh.open_client(where.top, _outside_of_hooks(env)).connection.repository
    given = b"".join(os.fsencode(path) + b"\0" for path in paths)
    return set(repository.git(["check-ignore", "-z", "--stdin"], stdin=given).text.split("\0"))


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

    return refresh.context(refresh.open_client(where.top, _outside_of_hooks(env), overrides=hooks_of(env)))


def _outside_of_hooks(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without what a hook of git set for its own repository."""
    return {key: value for key, value in env.items() if key not in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE")}


def _crashed(error: Exception) -> list[str]:
    from loopx_git.errors import LoopXError

    if isinstance(error, LoopXError):
        return [f"loopx guard: denied: {error.message}", f"  next: {error.hint}"]
    return [f"loopx guard: denied, since it failed itself: {type(error).__name__}: {error}",
            "  next: git loopx guard check"]  # fmt: skip


def _say(code: int, lines: Sequence[str], form: Form) -> int:
    """Print the answer as the agent reads it: the exit code."""
    if not lines:
        return code
    text = "\n".join(plain(line) for line in lines) + "\n"
    shape = form.denial if code == DENY else form.agent.warning
    if shape is not None:
        sys.stdout.write(json.dumps(filled(shape, text, plain(lines[0]))) + "\n")
    sys.stderr.write(text)
    return form.agent.code if code == DENY else code


def plain(text: str) -> str:
    """The line with every character escaped that could steer a terminal."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
