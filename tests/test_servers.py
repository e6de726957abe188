"""The servers of the other tests: plain git fetches from them and pushes to them, alone and many at once."""

import gzip
import http.client
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from servers import ServerMissing, clean_env, git_daemon, http_backend, ssh_server

Env = dict[str, str]
KINDS = ["git", "http", "ssh"]
ENV = clean_env() | {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@localhost.invalid",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@localhost.invalid",
    "no_proxy": "*",
}


def git(*args: str, cwd: Path, env: Env | None = None, ok: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["git", *args], cwd=cwd, env=ENV | (env or {}), capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == ok, done.stderr
    return done


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    folder.mkdir()
    git("init", "-q", "--bare", "-b", "main", "one.git", cwd=folder)
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    git("init", "-q", "-b", "main", "work", cwd=tmp_path)
    commit(tmp_path / "work", "first")
    return tmp_path / "work"


def commit(work: Path, text: str) -> str:
    git("commit", "-q", "--allow-empty", "-m", text, cwd=work)
    return head(work)


def head(repository: Path, ref: str = "HEAD") -> str:
    return git("rev-parse", ref, cwd=repository).stdout.strip()


@contextmanager
def serving(kind: str, base: Path) -> Iterator[tuple[str, Env]]:
    """One of the three servers, with the variables that git needs for it; skips the test without one."""
    env: Env = {}
    with ExitStack() as stack:
        try:
            if kind == "git":
                url = stack.enter_context(git_daemon(base))
            elif kind == "http":
                url = stack.enter_context(http_backend(base))
            else:
                url, env = stack.enter_context(ssh_server(base))
        except ServerMissing as missing:
            pytest.skip(str(missing))
        yield url, env


@pytest.fixture(params=KINDS)
def served(request: pytest.FixtureRequest, base: Path) -> Iterator[tuple[str, Env]]:
    with serving(request.param, base) as url_and_env:
        yield url_and_env


def test_push_and_fetch(served: tuple[str, Env], base: Path, work: Path, tmp_path: Path) -> None:
    url, env = served
    git("push", "-q", url + "one.git", "HEAD:refs/heads/main", cwd=work, env=env)
    assert head(base / "one.git", "main") == head(work)
    git("clone", "-q", url + "one.git", "copy", cwd=tmp_path, env=env)
    assert head(tmp_path / "copy") == head(work)
    oid = commit(work, "second")
    git("push", "-q", url + "one.git", "main", cwd=work, env=env)
    git("fetch", "-q", cwd=tmp_path / "copy", env=env)
    assert head(tmp_path / "copy", "origin/main") == oid
    git("ls-remote", url + "missing.git", cwd=work, env=env, ok=False)


def test_a_refused_push_says_so(served: tuple[str, Env], base: Path, work: Path) -> None:
    url, env = served
    hook = base / "one.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today\nexit 1\n")
    hook.chmod(0o755)
    done = git("push", "--porcelain", url + "one.git", "HEAD:refs/heads/main", cwd=work, env=env, ok=False)
    assert "not today" in done.stderr
    assert "pre-receive hook declined" in done.stdout
    git("rev-parse", "-q", "--verify", "main", cwd=base / "one.git", ok=False)


def test_sixteen_pushes_at_once(served: tuple[str, Env], base: Path, work: Path) -> None:
    url, env = served
    oids = [commit(work, f"number {n}") for n in range(16)]

    def push(n: int) -> None:
        git("push", "-q", url + "one.git", f"{oids[n]}:refs/heads/b{n}", cwd=work, env=env)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(push, range(16)))
    assert [head(base / "one.git", f"b{n}") for n in range(16)] == oids


def test_a_large_push(served: tuple[str, Env], base: Path, work: Path) -> None:
    """Beyond http.postBuffer (1 MiB) git sends chunks of unknown number."""
    url, env = served
    (work / "noise").write_bytes(os.urandom(3 << 20))
    git("add", "noise", cwd=work)
    oid = commit(work, "noise")
    git("push", "-q", url + "one.git", "main", cwd=work, env=env)
    assert head(base / "one.git", "main") == oid
    git("fsck", "--strict", cwd=base / "one.git")


def test_many_wants_are_compressed(base: Path, work: Path, tmp_path: Path) -> None:
    """git compresses a long list of refs in a fetch; the server must not take it for plain text."""
    oids = [commit(work, f"number {n}") for n in range(100)]
    refs = [f"{oid}:refs/heads/b{n}" for n, oid in enumerate(oids)]
    git("push", "-q", str(base / "one.git"), *refs, cwd=work)
    with http_backend(base) as url:
        trace = {"GIT_TRACE_CURL": "1"}
        done = git("clone", "-q", url + "one.git", "copy", cwd=tmp_path, env=trace)
        assert "Content-Encoding: gzip" in done.stderr
        assert head(tmp_path / "copy", "origin/b99") == oids[99]


def test_the_required_header(base: Path, work: Path) -> None:
    with http_backend(base, require_header=("X-Token", "s3cret")) as url:
        push = ("push", "-q", url + "one.git", "HEAD:refs/heads/main")
        git("ls-remote", url + "one.git", cwd=work, ok=False)
        git(*push, cwd=work, ok=False)
        git("-c", "http.extraHeader=X-Token: wrong", *push, cwd=work, ok=False)
        git("rev-parse", "-q", "--verify", "main", cwd=base / "one.git", ok=False)
        git("-c", "http.extraHeader=X-Token: s3cret", *push, cwd=work)
        assert head(base / "one.git", "main") == head(work)
        git("-c", "http.extraHeader=X-Token: s3cret", "ls-remote", url + "one.git", cwd=work)
        # Also a request whose beginning was let in has to show it again.
        connection = http.client.HTTPConnection(str(urlsplit(url).netloc))
        body = gzip.compress(b"0000")
        connection.request("POST", "/one.git/git-receive-pack", body, {"Content-Encoding": "gzip"})
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (401, b"")
        connection.close()


def test_a_repository_can_forbid_pushes_over_http(base: Path, work: Path) -> None:
    git("config", "http.receivepack", "false", cwd=base / "one.git")
    with http_backend(base) as url:
        git("ls-remote", url + "one.git", cwd=work)
        done = git("push", url + "one.git", "HEAD:refs/heads/main", cwd=work, ok=False)
        assert "403" in done.stderr


def test_a_daemon_that_only_reads(base: Path, work: Path) -> None:
    git("push", "-q", str(base / "one.git"), "HEAD:refs/heads/main", cwd=work)
    with git_daemon(base, writable=False) as url:
        assert head(work) in git("ls-remote", url + "one.git", cwd=work).stdout
        git("push", "-q", url + "one.git", "HEAD:refs/heads/other", cwd=work, ok=False)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left_behind(kind: str, base: Path, work: Path) -> None:
    """Neither a client that says nothing nor a hook that never ends keeps a server from going away."""
    hook = base / "one.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    pid = base / "hook.pid"
    hook.write_text(f"#!/bin/sh\necho $$ >{pid}.new && mv {pid}.new {pid}\nexec sleep 600\n")
    hook.chmod(0o755)
    with serving(kind, base) as (url, env):
        place = urlsplit(url)
        silent = socket.create_connection((place.hostname, place.port))
        push = ["git", "push", "-q", url + "one.git", "HEAD:refs/heads/main"]
        client = subprocess.Popen(push, cwd=work, env=ENV | env, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 20
        while not pid.exists():
            assert client.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
    with silent, client:
        assert client.wait(20) != 0
        client.communicate()
    wait_for_end(int(pid.read_text()))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((place.hostname, place.port)).close()


def wait_for_end(pid: int) -> None:
    """An orphan that was killed stays visible until somebody above it has taken note."""
    stat = Path(f"/proc/{pid}/stat")
    deadline = time.monotonic() + 10
    with suppress(FileNotFoundError, ProcessLookupError):
        while stat.read_text().rpartition(")")[2].split()[0] not in "ZX":
            assert time.monotonic() < deadline, f"{pid} still runs"
            time.sleep(0.01)


def test_a_missing_program_is_named(base: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for server in (git_daemon, http_backend):
        with pytest.raises(ServerMissing, match="no git on this machine"), server(base):
            pass
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None if name == "sshd" else found(name))
    with pytest.raises(ServerMissing, match="no sshd on this machine"), ssh_server(base):
        pass
