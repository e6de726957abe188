"""Real git servers on the loopback interface, for tests: git://, smart HTTP and ssh.

Each is a context manager over a directory of bare repositories and yields what to put before a repository's
name to get its URL. All of them take a free port, are ready when the block begins, and are gone, with
everything that they started, when it ends. None of them reads the user's git configuration or environment.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

READY_WITHIN = 20.0
GONE_WITHIN = 5.0
LOOPBACK = "127.0.0.1"


#: What an HTTP server answers in place of the repository.
Instead = Callable[[str, str], tuple[int, list[tuple[str, str]], bytes] | None]


class ServerMissing(Exception):
    """A program that the server needs is missing or cannot run here; the message says which and why."""


def clean_env() -> dict[str, str]:
    """An environment in which git reads no configuration but the repository's own."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


# -- git:// --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def git_daemon(base: Path, *, writable: bool = True) -> Iterator[str]:
    """`git daemon` over every repository below base; yields `git://127.0.0.1:PORT/`.

    Anybody may push if writable, else the daemon refuses pushes. Raises ServerMissing without `git daemon`.
    """
    require_git_program("daemon")
    options = ["--verbose", "--export-all", "--reuseaddr", f"--listen={LOOPBACK}", f"--base-path={base}"]
    # 32 connections are git's default; a race of many clients is what these tests are about.
    options += ["--max-connections=0", "--enable=receive-pack" if writable else "--disable=receive-pack"]

    def command(port: int) -> list[str]:
        return ["git", "daemon", *options, f"--port={port}", str(base)]

    with listening(command, "Ready to rumble", clean_env()) as port:
        yield f"git://{LOOPBACK}:{port}/"


# -- http:// -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def http_backend(
    base: Path, *, require_header: tuple[str, str] | None = None, instead: Instead | None = None
) -> Iterator[str]:
    """`git http-backend` over every repository below base; yields `http://127.0.0.1:PORT/`.

    With require_header, a pair of name and value, a request without exactly that, once, gets 401. `instead` is asked
    first: (method, path with query) -> (status, headers, content) to answer so, None to let the repository answer.
    Pushes are allowed as to a logged-in user; a repository can forbid them by http.receivepack=false. Raises
    ServerMissing when the program is missing.
    """
    require_git_program("http-backend")
    with GitHTTPServer(base, require_header, instead) as server:
        # A short poll, since shutdown waits for the next one.
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        serving.start()
        try:
            yield f"http://{LOOPBACK}:{server.server_address[1]}/"
        finally:
            server.shutdown()
            serving.join()
            server.abandon()


class GitHTTPServer(ThreadingHTTPServer):
    """One thread for each connection; leaving the block joins them all, so `abandon` must have freed them."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, base: Path, require_header: tuple[str, str] | None, instead: Instead | None = None) -> None:
        self.base = base
        self.instead = instead
        self.require_header = require_header
        self.lock = threading.Lock()
        self.connections: set[socket.socket] = set()
        self.backends: set[subprocess.Popen[bytes]] = set()
        self.closing = False
        super().__init__((LOOPBACK, 0), GitHandler)

    def abandon(self) -> None:
        """Ends what still runs: clients that keep a connection open, backends that wait for a hook."""
        with self.lock:
            self.closing = True
            for connection in self.connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            for backend in self.backends:
                kill_group(backend.pid, signal.SIGKILL)

    def run(self, env: dict[str, str], body: bytes) -> bytes:
        """What the backend answers to one request, empty when it was stopped."""
        with self.lock:
            if self.closing:
                return b""
            backend = subprocess.Popen(
                ["git", "http-backend"],
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            self.backends.add(backend)
        try:
            with backend:
                return backend.communicate(body)[0]
        finally:
            with self.lock:
                self.backends.discard(backend)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Clients that are killed in the middle of a request are what some tests are about.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class GitHandler(BaseHTTPRequestHandler):
    """The CGI side of one connection."""

    server: GitHTTPServer
    protocol_version = "HTTP/1.1"
    timeout = 60

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.connections.add(self.connection)
            if self.server.closing:
                self.connection.shutdown(socket.SHUT_RDWR)

    def finish(self) -> None:
        with self.server.lock:
            self.server.connections.discard(self.connection)
        # A client that has gone away makes the last flush fail.
        with contextlib.suppress(ConnectionError):
            super().finish()

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.answer(b"")

    def do_POST(self) -> None:
        self.answer(self.body())

    def body(self) -> bytes:
        """The request's body with the chunks put together; compressed content stays as it is."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.exactly(int(self.headers.get("Content-Length", "0")))
        chunks = []
        while size := int(self.line().split(b";")[0], 16):
            chunks.append(self.exactly(size))
            self.line()
        while self.line().strip():
            pass
        return b"".join(chunks)

    def exactly(self, size: int) -> bytes:
        content = self.rfile.read(size)
        if len(content) < size:
            raise ConnectionError("the client went away in the middle of a request")
        return content

    def line(self) -> bytes:
        line = self.rfile.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("the client went away in the middle of a request")
        return line

    def answer(self, body: bytes) -> None:
        if self.server.instead is not None:
            other = self.server.instead(self.command, self.path)
            if other is not None:
                self.reply(*other)
                return
        required = self.server.require_header
        if required is not None and self.headers.get_all(required[0]) != [required[1]]:
            self.reply(401, [("WWW-Authenticate", 'Basic realm="git"')], b"")
            return
        output = self.server.run(self.variables(body), body)
        head, _, content = output.partition(b"\r\n\r\n")
        status = 200 if output else 500
        headers = []
        for line in head.decode("latin-1").splitlines():
            name, _, value = line.partition(":")
            if name.lower() == "status":
                status = int(value.split()[0])
            else:
                headers.append((name, value.strip()))
        self.reply(status, headers, content)

    def variables(self, body: bytes) -> dict[str, str]:
        """The request as CGI (RFC 3875) gives it to a program."""
        url = urlsplit(self.path)
        env = clean_env() | {
            "GIT_PROJECT_ROOT": str(self.server.base),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": unquote(url.path),
            "QUERY_STRING": url.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            # receive-pack is off for people who are not logged in.
            "REMOTE_USER": "tester",
            "REMOTE_ADDR": self.client_address[0],
            "SERVER_PROTOCOL": self.request_version,
        }
        # The backend unpacks compressed content itself.
        passed_on = {"Content-Encoding": "HTTP_CONTENT_ENCODING", "Git-Protocol": "GIT_PROTOCOL"}
        for header, variable in passed_on.items():
            if value := self.headers.get(header):
                env[variable] = value
        return env

    def reply(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


# -- ssh:// --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def ssh_server(base: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """An sshd of our own for the current user, with keys made for the occasion.

    Yields `ssh://USER@127.0.0.1:PORT/BASE/` and the variables (GIT_SSH_COMMAND) with which git gets in.
    Raises ServerMissing when there is no sshd, ssh or ssh-keygen, or when sshd does not run or does not let
    this user in.
    """
    sshd = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin")
    for program, found in (("sshd", sshd), *((name, shutil.which(name)) for name in ("ssh", "ssh-keygen"))):
        if found is None:
            raise ServerMissing(f"no {program} on this machine")
    if os.geteuid() == 0:
        # sshd insists on it when it is root; elsewhere the service's start script makes it.
        with contextlib.suppress(OSError):
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    user = pwd.getpwuid(os.geteuid()).pw_name
    with tempfile.TemporaryDirectory(prefix="loopx-sshd-") as name:
        folder = Path(name)
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True)
        config = folder / "sshd_config"
        config.write_text(SSHD_CONFIG.format(folder=folder))
        checked = subprocess.run([str(sshd), "-t", "-f", str(config)], capture_output=True, text=True)
        if checked.returncode:
            raise ServerMissing(f"sshd cannot run here: {checked.stderr.strip()}")

        def command(port: int) -> list[str]:
            return [str(sshd), "-D", "-e", "-f", str(config), "-p", str(port)]

        with listening(command, "Server listening on", clean_env()) as port:
            public = (folder / "host.pub").read_text()
            (folder / "known_hosts").write_text(f"[{LOOPBACK}]:{port} {public}")
            client = ["ssh", "-F", os.devnull, "-i", str(folder / "user")]
            for option in (
                "IdentitiesOnly=yes",
                "IdentityAgent=none",
                "BatchMode=yes",
                "StrictHostKeyChecking=yes",
                f"UserKnownHostsFile={folder / 'known_hosts'}",
                f"GlobalKnownHostsFile={os.devnull}",
            ):
                client += ["-o", option]
            attempt = [*client, "-p", str(port), f"{user}@{LOOPBACK}", "true"]
            tried = subprocess.run(attempt, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if tried.returncode:
                raise ServerMissing(f"sshd does not let {user} in: {tried.stderr.strip()}")
            url = f"ssh://{user}@{LOOPBACK}:{port}{base.resolve()}/"
            yield url, {"GIT_SSH_COMMAND": shlex.join(client)}


SSHD_CONFIG = f"""\
ListenAddress {LOOPBACK}
HostKey {{folder}}/host
AuthorizedKeysFile {{folder}}/user.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
AcceptEnv GIT_PROTOCOL
SetEnv GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
PrintMotd no
MaxStartups 200
LogLevel INFO
"""


# -- processes -----------------------------------------------------------------------------------------------


def require_git_program(name: str) -> None:
    """Raises ServerMissing unless git has this program."""
    if shutil.which("git") is None:
        raise ServerMissing("no git on this machine")
    place = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
    if not (Path(place) / f"git-{name}").exists():
        raise ServerMissing(f"no git {name} on this machine")


@contextlib.contextmanager
def listening(command: Callable[[int], list[str]], ready: str, env: dict[str, str]) -> Iterator[int]:
    """Runs `command(port)` on a free port; begins when it has printed `ready`, ends it with its children.

    Neither program takes port 0, and between finding a free port and using it somebody else may take it. Then
    the program ends at once, and another port is tried. A connection would prove nothing: it may reach that
    somebody.
    """
    with tempfile.TemporaryDirectory(prefix="loopx-server-") as folder:
        log = Path(folder) / "log"
        for _ in range(10):
            port = free_port()
            with log.open("wb") as output:
                process = subprocess.Popen(
                    command(port),
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            try:
                if has_said(process, log, ready):
                    yield port
                    return
            finally:
                end_group(process)
        raise RuntimeError(f"{command(0)[0]} did not start: {log.read_text(errors='replace')}")


def has_said(process: subprocess.Popen[bytes], log: Path, ready: str) -> bool:
    """True when the process has printed these words, False when it ended first; RuntimeError when neither."""
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline:
        ended = process.poll() is not None
        if ready in log.read_text(errors="replace"):
            return not ended
        if ended:
            return False
        time.sleep(0.01)
    raise RuntimeError(f"not ready within {READY_WITHIN:g} s: {log.read_text(errors='replace')}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and whatever it started, politely first, and waits for it."""
    # sshd gives each connection a session of its own, out of reach of a signal to the group.
    started = descendants(process.pid)
    kill_group(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GONE_WITHIN)
    kill_group(process.pid, signal.SIGKILL)
    process.wait(GONE_WITHIN)
    for pid, since in started.items():
        if (now := parent_and_start(pid)) is not None and now[1] == since:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def kill_group(pid: int, number: signal.Signals) -> None:
    # macOS says "not permitted" of a group that only has a dead member.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def descendants(pid: int) -> dict[int, str]:
    """The processes below this one, with the times when they were started; none where there is no /proc."""
    known = {}
    for folder in Path("/proc").glob("[0-9]*"):
        if (found := parent_and_start(int(folder.name))) is not None:
            known[int(folder.name)] = found
    below = {pid}
    grown = True
    while grown:
        more = {child for child, (parent, _) in known.items() if parent in below} - below
        below |= more
        grown = bool(more)
    return {child: known[child][1] for child in below - {pid}}


def parent_and_start(pid: int) -> tuple[int, str] | None:
    try:
        # The name of the program, in brackets, may hold anything; see proc(5) for the fields behind it.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), fields[19]
