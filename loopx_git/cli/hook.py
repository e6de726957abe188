"""`git loopx guard hook`: runs a git hook without the command tree, and turns errors into exit codes itself."""

from __future__ import annotations

import os
import sys

from loopx_git.guard import hook

# What is not imported here is imported where something is to be said: three hooks run at every commit.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopx_git.client.connect import Overrides


def main(name: str, args: Sequence[str]) -> int:
    """Run the hook and return its exit code.

    Our own error blocks like a denial, because silence would let the edit pass.
    """
    try:
        code, lines = hook.run(name, args, folder=os.getcwd(), env=os.environ, stdin=_stdin, overrides=_hooks())
    except Exception as error:
        return _failed(name, error)
    if lines:
        from loopx_git.cli.output import safe

        sys.stderr.writelines(safe(line) + "\n" for line in lines)
    return code


def _failed(name: str, error: Exception) -> int:
    from loopx_git.cli.output import Output, wants_color
    from loopx_git.errors import InternalError, LoopXError

    if not isinstance(error, LoopXError):
        if os.environ.get("LOOPX_TRACEBACK"):
            raise error
        from loopx_git.store.system import is_system, of_system

        hint = "this is a bug of loopx-git; LOOPX_TRACEBACK=1 shows where; please report it"
        text = f"{type(error).__name__}: {error}"
        error = of_system(error, os.getcwd()) if is_system(error) else InternalError(text, hint=hint)
    output = Output(as_json=False, color=wants_color(None, os.environ, sys.stderr))
    error.message = f"loopx guard ({name}): {error.message}"
    output.error(error)
    # What comes after the verdict stops nothing, whatever happens to it.
    return 0 if name in ("prepare-commit-msg", "commit-msg", "post-commit") else error.code


def _stdin() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


def _hooks() -> Overrides | None:
    if "LOOPX_NOW" not in os.environ:
        return None
    from loopx_git.guard.clock import hooks_of

    return hooks_of(os.environ)
