"""Whether the commit in the making replaces HEAD. git tells no hook, so the command that runs is asked.

`git commit --amend -m` calls prepare-commit-msg as a new commit does. The nearest git among the processes above the
hook is the one that makes the commit. Where these cannot be seen, the author that git hands to its hooks decides: an
amended commit has that of HEAD, to the second.
"""

from __future__ import annotations

import os
import re

from loopx_git.store.state_file import read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

#: Processes between git and the hook: shells, a hook manager and its own children.
_LEVELS = 16
#: Options of git itself and of its commit that take the next word.
_OF_GIT = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix")
_OF_COMMIT = (
    "--message", "--file", "--author", "--date", "--reuse-message", "--reedit-message", "--fixup", "--squash",
    "--template", "--trailer", "--cleanup", "--pathspec-from-file",
)  # fmt: skip
_SHORT = re.compile(r"-[A-Za-z]*?([mFCct])(.*)", re.DOTALL)
_MELDS = ("fixup", "squash", "f", "s")


def is_amending(git_dir: str, env: Mapping[str, str], source: str, of: str, head: Callable[[], str]) -> bool:
    """Whether HEAD is replaced. `source` and `of` are what git says of the message; `head` gives HEAD's author as
    `name <email> @seconds`."""
    melding = rebased(git_dir)[0] in _MELDS
    command = _command()
    if command is not None:
        return _amends(command[1:]) if command[0] == "commit" else melding
    if melding or (source == "commit" and of == "HEAD"):
        return True
    who = [env.get(f"GIT_AUTHOR_{part}", "") for part in ("NAME", "EMAIL", "DATE")]
    return all(who) and f"{who[0]} <{who[1]}> {who[2].partition(' ')[0]}" == head()


def rebased(git_dir: str) -> tuple[str, str]:
    """(verb, commit) of the step that a rebase is at; ("", "") where none is going on."""
    done = read_plain(os.path.join(git_dir, "rebase-merge", "done"))
    words = done.rstrip("\n").rpartition("\n")[2].split() if done else []
    named = [word for word in words[1:] if re.fullmatch("[0-9a-f]{4,64}", word)]
    return (words[0], named[0]) if named else ("", "")


def _command() -> list[str] | None:
    """The words of the nearest git above this process, from its subcommand on; None where none is seen."""
    process = os.getppid()
    for _ in range(_LEVELS):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                argv = os.fsdecode(file.read()).rstrip("\0").split("\0")
            with open(f"/proc/{process}/stat", "rb") as file:
                # The name of the program, in parentheses, may hold anything.
                process = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return None
        name = os.path.basename(argv[0])
        if name.startswith("git-") and name != "git-loopx":
            return [name.removeprefix("git-"), *argv[1:]]
        if name == "git":
            return _subcommand(argv[1:])
    return None


def _subcommand(words: Sequence[str]) -> list[str] | None:
    left = list(words)
    while left and left[0].startswith("-"):
        left = left[2:] if left[0] in _OF_GIT else left[1:]
    return left or None


def _amends(words: Sequence[str]) -> bool:
    """Whether these words of `git commit` have --amend, which may be shortened."""
    left = list(words)
    while left:
        word, *left = left
        if word == "--":
            return False
        if len(word) >= len("--am") and "--amend".startswith(word):
            return True
        short = _SHORT.fullmatch(word)
        if word in _OF_COMMIT or (short is not None and not short[2]):
            left = left[1:]
    return False
