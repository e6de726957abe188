"""Runs the command line in processes that are forked from one that has the program loaded.

A command is a process of its own, with its own environment, folder, streams and end, as if it were started anew; only
the import of Python modules, which is most of a short command's time, is done once. `race` and tests of the start-up
itself start real processes. What depends on how Python itself begins (PYTHON*, another locale) is not forked either.
"""

from __future__ import annotations

import array
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

Ended = tuple[int, bytes, bytes]
_idle: list[_Parent] = []
_guard = threading.Lock()


def run(
    program: Sequence[str],
    args: Sequence[str | bytes],
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes,
    timeout: float,
) -> Ended:
    """(exit code, standard output, standard error) of one command; subprocess.TimeoutExpired when it takes longer."""
    plain = env.get("LANG") == "C.UTF-8" and not any(key.startswith(("PYTHON", "LC_")) for key in env)
    if not plain or not cwd.is_dir():
        done = subprocess.run([*program, *args], cwd=cwd, env=env, input=stdin, capture_output=True, timeout=timeout)
        return done.returncode, done.stdout, done.stderr
    with _guard:
        parent = _idle.pop() if _idle else None
    parent = parent or _Parent()
    words = [word if isinstance(word, str) else os.fsdecode(word) for word in args]
    ended = parent.run(words, str(cwd), dict(env), stdin, timeout)
    with _guard:
        _idle.append(parent)
    return ended


class _Parent:
    """The process that everything is loaded in, seen from the tests."""

    def __init__(self) -> None:
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()],
                env={"LANG": "C.UTF-8", "PATH": os.environ.get("PATH", os.defpath)}, stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def run(self, args: list[str], cwd: str, env: dict[str, str], stdin: bytes, timeout: float) -> Ended:
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(stdin)
            given.seek(0)
            asked = json.dumps({"args": args, "cwd": cwd, "env": env}).encode("ascii")
            handles = array.array("i", [given.fileno(), out.fileno(), err.fileno()])
            self.socket.settimeout(timeout)
            head = f"{len(asked):016}".encode()
            self.socket.sendmsg([head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handles)])
            self.socket.sendall(asked)
            pid = int(_exactly(self.socket, 16))
            try:
                code = int(_exactly(self.socket, 16))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self.socket.settimeout(None)
                _exactly(self.socket, 16)
                raise subprocess.TimeoutExpired(args, timeout, _read(out), _read(err)) from None
            return code, _read(out), _read(err)


def _read(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise EOFError("the other side is gone")
        data += chunk
    return data


# -- the process that is forked


def serve(connection: socket.socket) -> None:
    """Fork a child for every request, and tell its pid and how it ended; ends when the tests do."""
    while True:
        handles = array.array("i")
        head, extra, _, _ = connection.recvmsg(16, socket.CMSG_SPACE(3 * handles.itemsize))
        if not head:
            return
        head += _exactly(connection, 16 - len(head)) if len(head) < 16 else b""
        for _, _, data in extra:
            handles.frombytes(data[: len(data) - len(data) % handles.itemsize])
        asked = json.loads(_exactly(connection, int(head)))
        pid = os.fork()
        if pid == 0:
            connection.close()
            _become(asked, list(handles))
        for handle in handles:
            os.close(handle)
        connection.sendall(f"{pid:016}".encode())
        _, status = os.waitpid(pid, 0)
        connection.sendall(f"{os.waitstatus_to_exitcode(status):016}".encode())


def _become(asked: dict[str, Any], handles: list[int]) -> NoReturn:
    """Be the command, and end as an interpreter does, but for taking every module apart."""
    for target, handle in enumerate(handles):
        os.dup2(handle, target)
        os.close(handle)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    # As Python itself opens them in this locale.
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)  # noqa: SIM115
    sys.argv = ["git-loopx", *asked["args"]]
    look_for_homes_anew()
    from loopx_git.cli.entry import run as command

    try:
        command()
        code: object = 0
    except SystemExit as stop:
        code = stop.code
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def look_for_homes_anew() -> None:
    """libgit2 asks the environment where the user's configuration is when it is loaded: in the parent."""
    import pygit2
    from pygit2.enums import ConfigLevel, Option

    pygit2.option(Option.SET_HOMEDIR, None)  # type: ignore[call-overload]
    for level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.option(Option.SET_SEARCH_PATH, level, None)  # type: ignore[call-overload]


#: What functions of the program import when they are called. With it a short command takes a third of the time.
_LATER = ("pygit2", "yaml", "frontmatter", "frontmatter.default_handlers", "wcwidth", "difflib", "tempfile", "git")


def _load() -> None:
    """Import what commands need, so that a child has it."""
    import gc
    import importlib
    import pkgutil

    import loopx_git

    sys.path.pop(0)
    for module in pkgutil.walk_packages(loopx_git.__path__, "loopx_git."):
        # The program's own start would run it.
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in _LATER:
        importlib.import_module(name)
    importlib.import_module("pathspec.patterns.gitignore.spec")
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _load()
    serve(socket.socket(fileno=int(sys.argv[1])))
