"""A command that does not exist is answered with the one that was meant, and never with one that ends something."""

from __future__ import annotations

import pytest

from loopx_git.cli.commands.registry import COMMANDS, GROUPS
from loopx_git.cli.did_you_mean import ENDINGS, ENDS, SYNONYMS, unknown_command


def _exists(command: str) -> bool:
    """Whether `git loopx ...` is a command, a group or a flag of the program."""
    if command in ("git loopx -h", "git loopx --version"):
        return True
    first, _, second = command.removeprefix("git loopx ").removesuffix(" -h").partition(" ")
    if first not in COMMANDS:
        return False
    group = GROUPS.get(COMMANDS[first][0])
    return not second if group is None else not second or second in group[1]


@pytest.mark.parametrize("word", [*SYNONYMS, *ENDINGS])
def test_every_synonym_leads_to_a_command_that_exists(word: str) -> None:
    for path, known in (("git loopx", COMMANDS), *((f"git loopx {name}", GROUPS[COMMANDS[name][0]][1])
                                                   for name in COMMANDS if COMMANDS[name][0] in GROUPS)):  # fmt: skip
        if word in known:
            continue
        error = unknown_command(word, path, known)
        if error.hint.startswith("did you mean: "):
            command = error.hint.removeprefix("did you mean: ")
            assert _exists(command), (path, word, error.hint)
            assert command.rpartition(" ")[2] not in ENDS, (path, word, error.hint)
        else:
            assert error.hint.endswith(" -h")
            assert _exists(error.hint.removesuffix(" -h")), (path, word, error.hint)


@pytest.mark.parametrize(
    ("path", "word", "hint"),
    [
        ("git loopx", "close", "git loopx todo complete -h"),
        ("git loopx", "done", "git loopx todo complete -h"),
        ("git loopx", "create", "did you mean: git loopx todo add"),
        ("git loopx", "search", "did you mean: git loopx todo list"),
        ("git loopx", "help", "did you mean: git loopx -h"),
        ("git loopx", "Claim", "did you mean: git loopx todo claim"),
        ("git loopx todo", "finish", "git loopx todo complete -h"),
        ("git loopx todo", "new", "did you mean: git loopx todo add"),
        ("git loopx todo", "comment", "did you mean: git loopx todo update"),
        ("git loopx todo", "assign", "did you mean: git loopx todo claim"),
        ("git loopx todo", "help", "did you mean: git loopx todo -h"),
        ("git loopx todo", "renew", "did you mean: git loopx task-lease renew"),
        ("git loopx todo", "releas", "git loopx todo release -h"),
        ("git loopx todo", "clam", "did you mean: git loopx todo claim"),
        ("git loopx peer", "retir", "git loopx peer retire -h"),
        ("git loopx peer", "xyzzy", "git loopx peer -h"),
    ],
)
def test_what_is_proposed(path: str, word: str, hint: str) -> None:
    name = path.removeprefix("git loopx").strip()
    known = GROUPS[COMMANDS[name][0]][1] if name else COMMANDS
    assert unknown_command(word, path, known).hint == hint


def test_what_comes_near_nothing_lists_the_commands() -> None:
    error = unknown_command("xyzzy", "git loopx", COMMANDS)
    assert all(name in error.message for name in COMMANDS)


def test_no_mistyped_word_proposes_what_ends_something() -> None:
    """Every command with a letter left out or two swapped."""
    for name, (key, _) in COMMANDS.items():
        group = GROUPS.get(key)
        for path, known in (("git loopx", COMMANDS), *([(f"git loopx {name}", group[1])] if group else [])):
            for command in known:
                for place in range(1, len(command)):
                    for word in (command[:place] + command[place + 1 :], command[:place] + "x" + command[place:]):
                        if word in known:
                            continue
                        hint = unknown_command(word, path, known).hint
                        assert not hint.startswith("did you mean") or hint.rpartition(" ")[2] not in ENDS
