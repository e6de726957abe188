"""The end of a process is its own end: not that of its pipes, and not of what it has left behind."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from servers import clean_env

from loopx_git.errors import InvalidState
from loopx_git.store import process
from loopx_git.store.process import git, run

#: Long enough that a test which waits for it is seen to wait; a mended run never does.
LONG = 20.0


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Path]:
    """The file in which a process that stays behind writes its pid; ended with the test."""
    note = tmp_path / "left"
    yield note
    with suppress(FileNotFoundError, ProcessLookupError, ValueError):
        os.kill(int(note.read_text()), signal.SIGKILL)


def stays(note: Path, keeps: str) -> str:
    """A line of a shell that leaves a process with a session of its own, which keeps these pipes ("1", "2", "12")."""
    closed = [f"{number}>/dev/null" for number in (1, 2) if str(number) not in keeps]
    code = "import os, sys, time; os.setsid(); open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
    wait = f'while [ ! -s "{note}" ]; do sleep 0.02; done'
    return f'{sys.executable} -c "{code}" "{note}" </dev/null {" ".join(closed)} &\n{wait}'


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def alive(note: Path) -> bool:
    os.kill(int(note.read_text()), 0)
    return True


@pytest.mark.parametrize("keeps", ["1", "2", "12"])
def test_what_stays_behind_with_the_pipes_is_not_waited_for(tmp_path: Path, left: Path, keeps: str) -> None:
    program = script(tmp_path / "program", f"{stays(left, keeps)}\necho said; echo told >&2; exit 3")
    done = run([program], cwd=str(tmp_path), env=clean_env(), timeout=LONG)
    assert (done.code, done.out, done.err, done.timed_out) == (3, b"said\n", b"told\n", False)
    assert alive(left)


def test_what_stays_behind_and_writes_on_is_cut_off(tmp_path: Path) -> None:
    """Its writing has no end, so the rest of the output has a bound in time."""
    program = script(tmp_path / "program", "setsid yes 2>/dev/null &\necho $! >pid; exec true")
    done = run([program], cwd=str(tmp_path), env=clean_env(), timeout=LONG)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert done.code == 0 and not done.timed_out


def test_a_shared_ssh_connection_that_stays_open_delays_nothing(tmp_path: Path, left: Path) -> None:
    """An ssh that becomes the master of a shared connection goes on in the background with git's error stream."""
    ssh = script(tmp_path / "ssh", f'{stays(left, "2")}\nwhile [ $# -gt 1 ]; do shift; done\neval "exec $1"')
    env = {**clean_env(), "GIT_SSH_COMMAND": ssh, "GIT_SSH_VARIANT": "simple"}
    git(["init", "-q", "--bare", "remote.git"], cwd=str(tmp_path), env=env, timeout=LONG)
    tree = git(["mktree"], cwd=str(tmp_path / "remote.git"), env=env, timeout=LONG).text.strip()
    git(["update-ref", "refs/tags/tree", tree], cwd=str(tmp_path / "remote.git"), env=env, timeout=LONG)
    done = git(["ls-remote", f"host:{tmp_path}/remote.git"], cwd=str(tmp_path), env=env, timeout=LONG)
    assert (done.code, done.text, done.timed_out) == (0, f"{tree}\trefs/tags/tree\n", False), done.err
    assert alive(left)


def test_a_process_without_an_end_is_ended_with_its_group(tmp_path: Path) -> None:
    program = script(tmp_path / "program", "echo begun\nsleep 60 &\necho $! >pid\nwait")
    done = run([program], cwd=str(tmp_path), env=clean_env(), timeout=1.0)
    assert done.timed_out and done.code == 124 and b"begun" in done.out and b"no answer in time" in done.err
    child = Path("/proc") / (tmp_path / "pid").read_text().strip() / "stat"
    with suppress(FileNotFoundError, ProcessLookupError):
        # Where nobody fetches the dead it stays as a dead one.
        while child.parent.parent.exists() and child.read_text().rpartition(")")[2].split()[0] not in "ZX":
            os.sched_yield()


@pytest.mark.parametrize("size", [0, 1, 300_000])
def test_input_and_output_larger_than_a_pipe_pass(tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    done = run(["cat"], cwd=str(tmp_path), env=clean_env(), timeout=LONG, stdin=data)
    assert done.code == 0 and done.out == data


def test_input_that_is_not_read_is_no_trouble(tmp_path: Path) -> None:
    done = run(["true"], cwd=str(tmp_path), env=clean_env(), timeout=LONG, stdin=b"x" * 300_000)
    assert (done.code, done.out, done.err) == (0, b"", b"")
    closes = "exec <&-; exec >&-; exec 2>&-; while [ ! -e go ]; do sleep 0.02; done"
    script(tmp_path / "program", f"(sleep 0.1; touch go) &\n{closes}\nexit 4")
    done = run([str(tmp_path / "program")], cwd=str(tmp_path), env=clean_env(), timeout=LONG, stdin=b"x" * 300_000)
    assert done.code == 4 and not done.timed_out


def test_where_the_system_cannot_tell_of_the_end_it_is_looked_for(
    tmp_path: Path, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    program = script(tmp_path / "program", f"{stays(left, '12')}\necho said; exit 3")
    done = run([program], cwd=str(tmp_path), env=clean_env(), timeout=LONG)
    assert (done.code, done.out, done.timed_out) == (3, b"said\n", False)


def test_an_answer_that_is_too_large_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of it would be taken for the whole: the caller gets an error, and the process an end."""
    endless = script(tmp_path / "endless", "echo $$ >pid\nexec yes")
    monkeypatch.setattr(process, "OUTPUT_MAX", 100_000)
    with pytest.raises(InvalidState, match="says more than 100000 bytes, and a part of it decides nothing"):
        run([endless], cwd=str(tmp_path), env=clean_env(), timeout=LONG)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    # Exactly as much as there may be is whole, and a caller may ask for more.
    some = script(tmp_path / "some", "yes | head -c 100000")
    assert len(run([some], cwd=str(tmp_path), env=clean_env(), timeout=LONG).out) == 100_000
    more = script(tmp_path / "more", "yes | head -c 100001")
    assert len(run([more], cwd=str(tmp_path), env=clean_env(), timeout=LONG, most=200_000).out) == 100_001
    with pytest.raises(InvalidState, match="git version says more than 3 bytes"):
        git(["version"], cwd=str(tmp_path), env=clean_env(), timeout=LONG, most=3)


def test_many_words_of_complaint_are_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_WORDS_MAX", 1000)
    program = script(tmp_path / "program", "yes | head -c 200000 >&2; echo said")
    done = run([program], cwd=str(tmp_path), env=clean_env(), timeout=LONG)
    assert (done.code, done.out, len(done.err)) == (0, b"said\n", 1000)


def test_what_an_ended_process_left_is_read_whole_on_a_busy_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its end and our look any time may pass."""
    program = script(tmp_path / "program", "yes | head -c 60000; yes | head -c 60000 >&2")
    now, drain = [0.0], process._Pipes.drain

    def later(pipes: process._Pipes) -> None:
        monkeypatch.setattr(process.time, "monotonic", lambda: now.append(now[-1] + 1000) or now[-1])
        drain(pipes)

    def nothing(pipes: process._Pipes, ends: float) -> bool:
        pipes._process.wait()
        return True

    monkeypatch.setattr(process._Pipes, "until_end", nothing)
    monkeypatch.setattr(process._Pipes, "drain", later)
    done = run([program], cwd=str(tmp_path), env=clean_env(), timeout=LONG)
    assert (len(done.out), len(done.err)) == (60_000, 60_000)
