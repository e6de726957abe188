"""What a hook's script says about the guard: whether it calls it, comes to the call, and heeds the answer.

The script is read and never run: it is somebody else's. What cannot be read (a loop over a folder, another program)
counts as no call.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

#: Hooks whose answer stops nothing: whether a script heeds it makes no difference.
ADVICE = ("prepare-commit-msg", "commit-msg", "post-commit")
_OPENS = {"if", "for", "while", "until", "case", "select", "{", "("}
_CLOSES = {"fi", "done", "esac", "}", ")"}
#: Words that may stand before a command, and change nothing about what it is.
_BEFORE = {"then", "do", "else", "elif", "if", "!", "exec", "command", "env", "time", "nice", "&&", "||"}
_SAYS = {"echo", "printf", ":", "true", "#"}
_HERE = re.compile(r"<<(-?)\s*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\2")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "\n")


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command: the operators around it, its words, and how deep it stands in ifs, loops and functions."""

    before: str
    words: tuple[str, ...]
    after: str
    depth: int


@dataclass(frozen=True, slots=True)
class Call:
    """What was found. `program` is the word by which the script names ours; `wrong` says why the call does not count
    ("" when it does)."""

    program: str = ""
    wrong: str = ""


def read(text: str, name: str, *, errexit: bool = False) -> Call:
    """The call of the guard's hook NAME in a shell script. `errexit`: it is run by `sh -e`."""
    commands = parse(text)
    errexit = errexit or bool(re.match(r"#![^\n]*\bsh\s+-\w*e", text))
    ended = ""
    for number, command in enumerate(commands):
        words = _plain(command.words)
        program = called(command.words, name)
        if program:
            if ended:
                return Call(program, f"`{ended}` ends it before it comes to the guard")
            heeded = name in ADVICE or _heeds(commands[number:], errexit)
            return Call(program, "" if heeded else "it does not heed the guard's answer: add || exit $? to that line")
        if words[:1] == ["set"] and any(re.fullmatch(r"-\w*e\w*|errexit", word) for word in words[1:]):
            errexit = True
        certain = command.depth == 0 and command.before not in ("&&", "||")
        # Within a pipe they end that part of it alone.
        if certain and not ended and command.before != "|" and command.after != "|" and _ends(command.words):
            ended = " ".join(command.words)[:60]
    return Call(wrong="it does not call the guard")


def called(words: tuple[str, ...], name: str) -> str:
    """The word by which a command calls our program for the hook NAME; "" when it calls something else."""
    rest = _plain(words)
    if not rest or rest[0] in _SAYS:
        return ""
    for number in range(1, len(rest) - 1):
        asks = rest[number : number + 3]
        if not _is_ours(rest[number - 1]) or asks[0] != "guard":
            continue
        if asks[1:] == ["hook", name] or (asks[1] == "check" and _checks(rest[number + 2 :], name)):
            return rest[number - 1]
    return ""


def _is_ours(word: str) -> bool:
    return word.rpartition("/")[2] in ("git-loopx", "loopx", "loopx_git") or word.startswith("$")


def _checks(words: list[str], name: str) -> bool:
    """Whether `guard check` with these words asks what the hook has to ask."""
    if name == "pre-push":
        return "--push" in words
    return name in ("pre-commit", "pre-merge-commit") and "--push" not in words and "--range" not in words


def _plain(words: tuple[str, ...]) -> list[str]:
    """The words without assignments and what else may stand before a command."""
    left = list(words)
    while left and (left[0] in _BEFORE or _ASSIGNMENT.match(left[0])):
        del left[0]
    return left


def _ends(words: tuple[str, ...]) -> bool:
    """Whether a command ends the script: `exit`, or an `exec` that is more than a redirection."""
    if words[0] == "exit":
        return True
    return words[0] == "exec" and any(not re.match(r"\d*[<>]|\d+$|&", word) for word in words[1:2])


def _heeds(commands: list[Command], errexit: bool) -> bool:
    """Whether a refusal of the first of these commands is one of the whole script."""
    call, rest = commands[0], _behind(commands)
    if call.words[0] in ("exec", "if", "elif"):
        return True
    if call.after == "||":
        return bool(rest) and rest[0].words[0] in ("exit", "return", "{", "(")
    if call.after in (";", "\n") and rest and rest[0].words[-1].endswith("$?"):
        return True
    while call.after == "&&" and rest:
        call, rest = rest[0], rest[1:]
    if call.after in ("|", "|&", "&", "||"):
        return False
    return not rest or (errexit and call is commands[0])


def _behind(commands: list[Command]) -> list[Command]:
    """The commands that come after the first one when it has run: without the other branches of its `if`."""
    found, skips = [], False
    for command in commands[1:]:
        if command.words[0] in ("else", "elif") and command.depth == commands[0].depth:
            skips = True
        elif command.words[0] in _CLOSES and command.depth < commands[0].depth:
            skips = False
        if not skips and command.words[0] not in _CLOSES:
            found.append(command)
    return found


def parse(text: str) -> list[Command]:
    """The simple commands of a shell script, in its order; comments and here-documents are left out."""
    found: list[Command] = []
    before, depth = "\n", 0
    for piece, after in _pieces(text):
        words = _words(piece)
        if not words:
            before = after if after != "\n" or before not in ("&&", "||", "|") else before
            continue
        opens = words[0] in _OPENS or words[-1] == "{"
        if words[0] in _CLOSES:
            depth = max(0, depth - 1)
        found.append(Command(before, tuple(words), after, depth + (words[0] in _OPENS)))
        depth += bool(opens)
        before = after
    return found


def _words(piece: str) -> list[str]:
    try:
        return shlex.split(piece)
    except ValueError:
        # A quote that is open at the end of the script.
        return piece.split()


def _pieces(text: str) -> list[tuple[str, str]]:
    """(the text of a command, the operator behind it) for all of a script."""
    found: list[tuple[str, str]] = []
    piece, quote, at, heres = "", "", 0, list[tuple[bool, str]]()
    text = text.replace("\r\n", "\n").replace("\\\n", " ")
    while at < len(text):
        char = text[at]
        if quote or char in "'\"`":
            quote = "" if quote == char else (quote or char)
            if char == "\\" and quote == '"':
                piece, at = piece + char, at + 1
            piece, at = piece + text[at : at + 1], at + 1
            continue
        if char == "\\":
            piece, at = piece + text[at : at + 2], at + 2
            continue
        if char == "#" and (not piece or piece[-1].isspace()):
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
            continue
        if text.startswith("$(", at):
            end = _closed(text, at + 2)
            piece, at = piece + text[at:end], end
            continue
        here = _HERE.match(text, at)
        if here:
            heres.append((bool(here[1]), here[3]))
            piece, at = piece + " ", here.end()
            continue
        operator = next((one for one in _OPERATORS if text.startswith(one, at)), "")
        if operator and not (operator == "&" and piece.endswith((">", "<"))) and text[at : at + 2] != "&>":
            found.append((piece, operator))
            piece, at = "", at + len(operator)
            if operator == "\n" and heres:
                at = _after(text, at, heres)
                heres.clear()
            continue
        piece, at = piece + char, at + 1
    return [*found, (piece, "\n")]


def _closed(text: str, at: int) -> int:
    """Where a command substitution ends that begins before `at`."""
    depth = 1
    while at < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def _after(text: str, at: int, heres: list[tuple[bool, str]]) -> int:
    """Where the script goes on behind its here-documents."""
    for tabs, end in heres:
        while at < len(text):
            line, _, _ = text[at:].partition("\n")
            at = min(len(text), at + len(line) + 1)
            if (line.lstrip("\t") if tabs else line) == end:
                break
    return at
