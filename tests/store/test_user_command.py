"""A command of the user's starts under its watch, and is started exactly as its caller would start it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from loopx_git.store.user_command import start_watched, watched

#: The runner dies between the start of its command and the start of the watch. It leaves the command its output.
DIES = """
import os, signal, sys
from loopx_git.store import user_command
user_command.Watch = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
user_command.start_watched(["touch", sys.argv[1]], env=dict(os.environ), grace=1.0, process_group=0)
"""
#: What a command finds: its environment, its open files, and whether a broken pipe ends it.
LOOKS = "env | grep -v '^_=' | sort; ls /dev/fd; kill -PIPE $$; echo it lives on"


def test_a_runner_that_dies_before_its_watch_starts_nothing(tmp_path: Path) -> None:
    made = tmp_path / "made"
    done = subprocess.run([sys.executable, "-c", DIES, str(made)], capture_output=True, text=True, timeout=60)
    # Its output ends with the last process that has it: whatever was started has ended, too.
    assert (done.returncode, done.stderr) == (-9, "")
    assert not made.exists()


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_a_command_finds_what_it_would_find(locale: str, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "LANG": locale, "PYTHONHOME": "/nowhere", "A": "\udcff b"}
    plain = subprocess.run(["sh", "-c", LOOKS], env=env, cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL)
    process, watch = start_watched(
        ["sh", "-c", LOOKS], env=env, grace=1.0, cwd=tmp_path, process_group=0, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    out, err = process.communicate(timeout=60)
    watch.close()
    assert (process.returncode, out, err) == (plain.returncode, plain.stdout, plain.stderr)
    assert b"it lives on" not in out


@pytest.mark.parametrize(
    ("name", "mode", "number"), [("missing", None, errno.ENOENT), ("plain", 0o644, errno.EACCES)], ids=str
)
def test_a_command_that_cannot_be_started(name: str, mode: int | None, number: int, tmp_path: Path) -> None:
    path = tmp_path / name
    if mode is not None:
        path.write_text("#!/bin/sh\n")
        path.chmod(mode)
    with pytest.raises(OSError) as raised:
        start_watched([str(path)], env=dict(os.environ), grace=1.0, process_group=0)
    assert raised.value.errno == number
    ended = watched(
        [str(path)], cwd=str(tmp_path), env=dict(os.environ), timeout=60, tick=lambda: None, sink=lambda chunk: None
    )
    assert (ended.code, ended.tail.decode()) == (127, f"cannot run {path}: {os.strerror(number)}")
