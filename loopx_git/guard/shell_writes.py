"""The files that a shell command plainly writes, for the verdict on an agent's command before it runs.

Only what can be read with certainty is read: words that the shell takes as they stand. A variable, a pattern, a
command inside of a command or a script in a file is not followed, and what it writes is not seen here. The commit,
the push and the pull request look again.
"""

from __future__ import annotations

import os

from loopx_git.guard.shell_words import REDIRECTIONS, Word, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: The longest command that is read, and the most files of a folder that are named one by one.
_LENGTH_MAX, _FILES_MAX, _DEPTH_MAX = 200_000, 400, 4
#: Words before a command that leave it what it is.
_BEFORE = frozenset((
    "sudo", "command", "builtin", "exec", "nohup", "time", "env", "then", "do", "else", "if", "elif", "while",
    "until", "{", "!", "nice", "stdbuf", "doas",
))  # fmt: skip
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh"))
_WRITES = frozenset((">", ">>", ">|", "&>", "&>>", ">&", "<>"))


def written(
    command: str | Sequence[str], folder: str, depth: int = 0, patched: list[str | None] | None = None
) -> list[str]:
    """The absolute paths that the command plainly writes, moves or deletes when it runs in `folder`.

    `patched` gets the folder of each `apply_patch` in it, or None where that cannot be known.
    """
    words: list[Word] = []
    if not isinstance(command, str):
        words = [Word(text, sure=True, bare=False) for text in command]
        return list(_run(words, folder, depth, patched))
    if len(command) > _LENGTH_MAX or depth > _DEPTH_MAX:
        return []
    found: list[str] = []
    where: str | None = folder
    stack: list[str | None] = []
    redirection = ""
    for token in tokens(command):
        if isinstance(token, Word):
            if redirection:
                # The number of a stream is no file.
                stream = redirection in (">&", "<&") and (token.text.isdigit() or token.text == "-")
                compared = words[:1] and words[0].text in ("[[", "((")
                if redirection in _WRITES and token.sure and not stream and not compared:
                    found += _at(where, token.text)
                redirection = ""
            else:
                words.append(token)
        elif token in REDIRECTIONS:
            redirection = token
        else:
            found += _run(words, where, depth, patched)
            # A part of a pipeline runs by itself; its `cd` is not the shell's.
            where = where if token in ("|", "|&", "&") else _after(words, where)
            words, redirection = [], ""
            if token == "(":
                stack.append(where)
            elif token == ")" and stack:
                where = stack.pop()
    found += _run(words, where, depth, patched)
    return list(dict.fromkeys(found))


def _at(folder: str | None, text: str) -> list[str]:
    """The path of a word; [] for one that cannot be known."""
    if text.startswith("~"):
        text = os.path.expanduser(text)
    if not text or (folder is None and not os.path.isabs(text)):
        return []
    return [os.path.join(folder or "/", text)]


def _after(words: Sequence[Word], folder: str | None) -> str | None:
    """Where the shell is after this command; None: it cannot be known."""
    words = _bare(words)
    if not words or words[0].text not in ("cd", "pushd", "popd"):
        return folder
    targets = [word for word in words[1:] if word.text not in ("--", "-P", "-L")]
    if words[0].text == "popd" or len(targets) != 1 or not targets[0].sure or targets[0].text == "-":
        return None
    return next(iter(_at(folder, targets[0].text)), None)


def _bare(words: Sequence[Word]) -> Sequence[Word]:
    """The command less assignments and words that stand before it."""
    at, before = 0, False
    while at < len(words):
        text = words[at].text
        name, equals, _ = text.partition("=")
        if text in _BEFORE:
            before = True
        elif before and text.startswith("-"):
            # sudo -u NAME, nice -n 5
            at += text in ("-u", "-g", "-n", "-C")
        elif not (equals and name.isidentifier()):
            break
        at += 1
    return words[at:]


def _run(words: Sequence[Word], folder: str | None, depth: int, patched: list[str | None] | None) -> Iterator[str]:
    """What one simple command writes."""
    words = _bare(words)
    if not words or not words[0].sure:
        return
    name = os.path.basename(words[0].text)
    if name in ("apply_patch", "applypatch") and patched is not None:
        patched.append(folder)
    if name == "git" and len(words) > 1 and words[1].text in ("mv", "rm"):
        if any(word.text == "--cached" for word in words):
            return
        name, words = words[1].text, words[1:]
    flags, files = _parts(words[1:])
    if name in _SHELLS:
        yield from _script(words, folder, depth, patched)
    elif name in ("tee", "touch", "truncate", "unlink", "shred"):
        if name == "truncate":
            files = _less(words[1:], ("-s", "-r", "--size", "--reference"))
        elif name == "touch":
            files = _less(words[1:], ("-d", "-t", "-r", "--date", "--reference"))
        yield from _all(files, folder)
    elif name in ("rm", "rmdir"):
        for path in _all(files, folder):
            # What is not there is not deleted.
            if os.path.lexists(path):
                yield from _below(path)
    elif name == "sed" and any(_in_place(flag) for flag in flags):
        yield from _all(_edited(words[1:], ("-e", "-f", "--expression", "--file")), folder)
    elif name in ("perl", "ruby") and any(flag[1:2] != "-" and "i" in flag.partition("e")[0] for flag in flags):
        yield from _all(_edited(words[1:], ("-e", "-E")), folder)
    elif name in ("cp", "mv", "ln", "install"):
        yield from _moved(name, words[1:], folder)
    elif name == "dd":
        yield from _all([Word(word.text[3:], sure=word.sure, bare=word.bare) for word in words[1:]
                         if word.text.startswith("of=")], folder)  # fmt: skip


def _script(words: Sequence[Word], folder: str | None, depth: int, patched: list[str | None] | None) -> Iterator[str]:
    """`sh -c SCRIPT`: what the script writes."""
    for at, word in enumerate(words[1:], 1):
        if word.text.startswith("-") and not word.text.startswith("--") and "c" in word.text:
            if at + 1 < len(words) and words[at + 1].sure and folder is not None:
                yield from written(words[at + 1].text, folder, depth + 1, patched)
            return
        if not word.text.startswith("-"):
            return


def _parts(words: Sequence[Word]) -> tuple[list[str], list[Word]]:
    """The flags of a command, and its other words."""
    flags: list[str] = []
    files: list[Word] = []
    ended = False
    for word in words:
        if word.text == "--" and not ended:
            ended = True
        elif word.text.startswith("-") and len(word.text) > 1 and not ended:
            flags.append(word.text)
        else:
            files.append(word)
    return flags, files


def _less(words: Sequence[Word], valued: tuple[str, ...]) -> list[Word]:
    """The words, less the flags and their values."""
    kept: list[Word] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.text in valued:
            skip = True
        else:
            kept.append(word)
    return _parts(kept)[1]


def _edited(words: Sequence[Word], valued: tuple[str, ...]) -> list[Word]:
    """The files of an editor of streams: without `-e`, the first word is its script."""
    files = _less(words, valued)
    # A letter before the `e` may be `i`, or `n`: -pie, -ne.
    given = any(word.text in valued or (word.text[:1] == "-" and word.text[1:2] != "-" and word.text[-1:] == "e")
                or word.text.startswith(("--expression", "--file")) for word in words)  # fmt: skip
    if any(word.text[:1] == "-" and word.text[1:2] != "-" and word.text[-1:] == "e" and word.text not in valued
           for word in words):  # fmt: skip
        return files[1:]
    return files if given else files[1:]


def _in_place(flag: str) -> bool:
    if flag.startswith("--"):
        return flag.startswith("--in-place")
    letters = flag[1:]
    return "i" in letters.partition("e")[0].partition("f")[0]


def _all(words: Sequence[Word], folder: str | None) -> Iterator[str]:
    for word in words:
        if word.sure:
            yield from _at(folder, word.text)


def _moved(name: str, words: Sequence[Word], folder: str | None) -> Iterator[str]:
    """`mv`, `cp`, `ln`, `install`: what is made, and what is gone."""
    into: Word | None = None
    kept: list[Word] = []
    skip = False
    for word in words:
        if skip:
            into, skip = word, False
        elif word.text in ("-t", "--target-directory"):
            skip = True
        elif word.text.startswith("--target-directory="):
            into = Word(word.text.partition("=")[2], sure=word.sure, bare=word.bare)
        else:
            kept.append(word)
    valued = ("-m", "-o", "-g", "--mode", "--owner", "--group", "-S", "--suffix")
    files = _less(kept, valued) if name == "install" else _parts(kept)[1]
    if into is None:
        if len(files) < 2:
            return
        *files, into = files
    sources = [path for word in files if word.sure for path in _at(folder, word.text)]
    if name == "mv":
        for path in sources:
            yield from _below(path)
    if not into.sure:
        return
    for target in _at(folder, into.text):
        if not (os.path.isdir(target) or into.text.endswith("/")):
            yield target
            continue
        for path in sources:
            base = path.rstrip("/")
            for inner in _below(path):
                yield os.path.join(target, os.path.basename(base), os.path.relpath(inner, base)).removesuffix("/.")


def _below(path: str) -> Iterator[str]:
    """The path, or, of a folder, the files in it."""
    if os.path.islink(path) or not os.path.isdir(path):
        yield path
        return
    count = 0
    for top, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(names):
            count += 1
            if count > _FILES_MAX:
                return
            yield os.path.join(top, name)
