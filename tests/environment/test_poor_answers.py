"""Remotes that answer poorly: pages of a proxy, early refusals, too many requests, names in the way.

A real repository behind a real web server; what the server says in its place is the test's.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pytest
from clones import COORD, Clone, World, populate
from servers import LOOPBACK, git_daemon, http_backend

Answer = tuple[int, list[tuple[str, str]], bytes]
HTML = [("Content-Type", "text/html")]
PAGE = b"<html><body>Please log in</body></html>"


@dataclass
class Weather:
    """What a web server answers in place of the repository: `answer` to the requests that `to` names ("": to all),
    `times` times."""

    answer: Answer | None = None
    to: str = ""
    times: int = 1000
    requests: list[str] = field(default_factory=list)

    def __call__(self, method: str, path: str) -> Answer | None:
        if self.answer is None or self.to not in f"{method} {path}":
            return None
        self.requests.append(f"{method} {path}")
        return self.answer if len(self.requests) <= self.times else None


@dataclass
class Place:
    world: World
    clone: Clone
    todo: str
    weather: Weather

    def pending(self) -> list[str]:
        folder = self.clone.home / "pending"
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []

    def claim(self, code: int, *args: str) -> str:
        """The message of a claim that ends so, and leaves the remote and the records as they were."""
        tip = self.world.tip()
        error = self.clone.run("todo", "claim", self.todo, *args, agent="alice", check=code).error
        assert self.world.tip() == tip
        return str(error["message"])


@pytest.fixture
def place(ledger: World) -> Iterator[Place]:
    weather = Weather()
    with http_backend(ledger.root, instead=weather) as url:
        clone = ledger.clone("alice", url=f"{url}remote.git")
        todo = populate(clone, titles=["a todo"])[0]
        yield Place(ledger, clone, todo, weather)


# -- an unreadable remote is not a fact


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param((200, HTML, b""), id="an empty page"),
        pytest.param((200, HTML, PAGE), id="a page of one line"),
        pytest.param((200, HTML, PAGE + b"\n"), id="a page with its line end"),
        pytest.param((204, [], b""), id="no content"),
        pytest.param((200, [("Content-Type", "text/plain")], b""), id="an empty file"),
        pytest.param((200, [("Content-Type", "application/x-git-upload-pack-advertisement")], b""), id="cut off"),
        pytest.param(
            (200, [("Content-Type", "application/x-git-upload-pack-advertisement")],
             b"001e# service=git-upload-pack\n0000000eversion 2\n0015agent"), id="cut off in a packet"),
        pytest.param(
            (200, [("Content-Type", "application/x-git-upload-pack-advertisement")], PAGE), id="a page as a packet"),
    ],
)  # fmt: skip
def test_a_page_in_place_of_the_repository_says_nothing_of_the_ref(place: Place, answer: Answer) -> None:
    place.weather.answer = answer
    assert "cannot be read" in str(place.clone.run("sync", check=14).error["message"])
    message = place.claim(14, "--timeout", "3")
    assert "gone" not in message and not place.pending()
    assert place.clone.run("todo", "list").json["todos"], "a reader shows what it has"
    place.weather.answer = None
    place.clone.run("todo", "claim", place.todo, agent="alice")


def test_a_redirection_to_a_login_page_says_nothing_of_the_ref(place: Place) -> None:
    place.weather.answer, place.weather.to = (302, [("Location", "/login")], b""), "/info/refs"
    assert "gone" not in place.claim(14) and not place.pending()


def test_a_clone_that_meets_a_page_first_is_not_told_to_begin(place: Place) -> None:
    late = place.world.clone("late", url=place.clone.git("remote", "get-url", "origin"))
    place.weather.answer = (200, HTML, PAGE)
    for command in (["todo", "list"], ["init"], ["sync"]):
        error = late.run(*command, check=14).error
        assert "init" not in error["hint"], error


@pytest.mark.parametrize("static", [False, True])
def test_a_ref_that_is_gone_while_others_are_there_is_an_alarm(place: Place, static: bool) -> None:
    """Also where plain files behind a web server show it."""
    place.world.git("update-ref", "-d", COORD, folder=place.world.remote)
    place.world.git("pack-refs", "--all", folder=place.world.remote)
    if static:
        place.weather.to = "/info/refs"
        text = place.world.git("for-each-ref", "--format=%(objectname)%09%(refname)", folder=place.world.remote)
        place.weather.answer = (200, [("Content-Type", "text/plain")], f"{text}\n".encode())
    assert "gone" in str(place.clone.run("sync", check=16).error["message"])


def test_the_next_command_of_a_ref_that_is_gone_does_not_lead_back(ledger: World) -> None:
    clone = ledger.clone("clone")
    clone.add("one")
    ledger.git("update-ref", "-d", COORD, folder=ledger.remote)
    hint = clone.run("sync", check=16).error["hint"]
    assert "git loopx config show" in hint and "git loopx sync" not in hint
    clone.run("config", "show")


def test_a_repository_without_any_ref_is_a_fact(place: Place) -> None:
    """It answers as git does, so it is not a page of a proxy: an alarm where a ledger is known, else a beginning."""
    place.world.git("init", "-q", "--bare", "empty.git")
    url = place.clone.git("remote", "get-url", "origin").replace("remote.git", "empty.git")
    place.clone.run("sync")
    fresh = place.world.clone("fresh", url=url)
    assert fresh.run("init").json["created"]
    for ref in place.world.git("for-each-ref", "--format=%(refname)", folder=place.world.remote).split():
        place.world.git("update-ref", "-d", ref, folder=place.world.remote)
    assert "gone" in str(place.clone.run("sync", check=16).error["message"])


# -- refused before anything was sent


@pytest.mark.parametrize("status", [400, 404, 410, 413])
@pytest.mark.parametrize("to", ["GET", "POST /remote.git/git-receive-pack"])
def test_refused_requests_end_at_once_and_leave_nothing_open(place: Place, status: int, to: str) -> None:
    place.weather.answer, place.weather.to = (status, HTML, PAGE), to
    message = place.claim(14)
    assert "nothing was written" in message
    assert len(place.weather.requests) <= 2 and not place.pending()


def test_a_place_where_nobody_listens_ends_at_once_and_leaves_nothing_open(place: Place) -> None:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        for scheme in ("http", "git", "ssh"):
            place.clone.config("remote.origin.url", f"{scheme}://{LOOPBACK}:{probe.getsockname()[1]}/remote.git")
            (place.clone.home / "location").unlink(missing_ok=True)
            assert "nothing was written" in place.claim(14) and not place.pending()


# -- too much at once


@pytest.mark.parametrize("status", [429, 502, 503])
def test_an_overloaded_remote_is_asked_a_few_times_and_nothing_is_open(place: Place, status: int) -> None:
    place.weather.answer = (status, [("Content-Type", "text/plain")], b"Retry-After: 60\n")
    place.claim(14)
    assert len(place.weather.requests) == 1, "it wants more time than there is"
    place.weather.answer = (status, HTML, b"")
    place.weather.requests.clear()
    place.claim(14, "--timeout", "1.5")
    assert len(place.weather.requests) == 1 and not place.pending()


def test_a_remote_that_is_overloaded_once_is_asked_again(place: Place) -> None:
    place.weather.answer, place.weather.times = (503, HTML, b""), 1
    assert place.clone.run("todo", "claim", place.todo, agent="alice").json["acquired"]
    assert len(place.weather.requests) <= 4, place.weather.requests


def test_an_error_in_answer_to_the_commit_itself_is_looked_into(place: Place) -> None:
    """A gateway that lost the answer: the commit may be there."""
    place.weather.answer, place.weather.times = (502, HTML, b""), 1
    place.weather.to = "POST /remote.git/git-receive-pack"
    assert place.clone.run("todo", "claim", place.todo, agent="alice").json["acquired"]
    assert not place.pending()


# -- a total


@contextmanager
def silence() -> Iterator[tuple[int, list[socket.socket]]]:
    """The port of a server that accepts and never answers, and its connections."""
    with socket.create_server((LOOPBACK, 0)) as server:
        kept: list[socket.socket] = []

        def accept() -> None:
            with suppress(OSError):
                while True:
                    kept.append(server.accept()[0])

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1], kept
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in kept:
                connection.close()


@pytest.mark.parametrize("scheme", ["http", "git"])
def test_a_host_that_never_answers_is_asked_once_at_first_contact(ledger: World, scheme: str) -> None:
    with silence() as (port, connections):
        clone = ledger.clone("late")
        clone.config("remote.origin.url", f"{scheme}://{LOOPBACK}:{port}/remote.git")
        assert "no answer in time" in clone.run("todo", "list", "--timeout", "1", check=14).error["message"]
        assert len(connections) == 1


def test_readers_of_one_clone_wait_for_a_silent_host_once(ledger: World) -> None:
    """What was waited for in vain is told for some seconds, with the age of what is shown; who needs the truth, and
    who comes later, asks again."""
    clone = ledger.clone("reader")
    todo = clone.add("one")
    with silence() as (port, connections):
        clone.config("remote.origin.url", f"http://{LOOPBACK}:{port}/remote.git")
        clone.config("loopx.home", f"{LOOPBACK}/remote")
        for number in range(3):
            shown = clone.run("todo", "show", todo, "--timeout", "1", json=False, env={"LOOPX_NOW": "+40s"})
            assert "s old" in shown.err, shown.err
            assert ("the remote could not be read" in shown.err) is (number > 0), shown.err
            assert len(connections) == 1
        clone.run("todo", "list", "--fresh", "--timeout", "1", check=14)
        assert len(connections) == 2
        clone.run("todo", "list", "--timeout", "1", env={"LOOPX_NOW": "+80s"})
        assert len(connections) == 3


# -- names in the way


@pytest.mark.parametrize("taken", ["refs/heads/loopx", "refs/heads/loopx/coord/old"])
@pytest.mark.parametrize("where", ["remote", "daemon", "here"])
def test_a_branch_that_stands_in_the_way_is_named_at_once(world: World, taken: str, where: str) -> None:
    short = taken.removeprefix("refs/heads/")
    if where == "here":
        clone = world.repository("alone")
        clone.commit("code.py")
        clone.git("update-ref", taken, "HEAD")
        refused(clone, short)
        return
    world.git("update-ref", taken, "refs/heads/main", folder=world.remote)
    if where == "remote":
        refused(world.clone("alice"), short)
        return
    with git_daemon(world.root) as url:
        refused(world.clone("alice", url=f"{url}remote.git"), short)


def refused(clone: Clone, branch: str) -> None:
    error = clone.run("init", "--timeout", "60", check=14).error
    assert f"the branch {branch} conflicts with the branch loopx/coord" in error["message"], error
    assert "git config loopx.ref refs/heads/loopx-coord" in error["hint"]
    clone.config("loopx.ref", "refs/heads/loopx-coord")
    assert clone.run("init").json["ref"] == "refs/heads/loopx-coord"


def test_another_full_name_is_no_clash(world: World) -> None:
    world.git("update-ref", "refs/tags/loopx", "refs/heads/main", folder=world.remote)
    world.git("update-ref", "refs/heads/loopx-coord", "refs/heads/main", folder=world.remote)
    assert world.clone("alice").run("init").json["created"]


def test_a_tag_that_stands_in_the_way_is_named_too(world: World) -> None:
    world.git("update-ref", "refs/tags/coord", "refs/heads/main", folder=world.remote)
    clone = world.clone("alice")
    clone.config("loopx.ref", "refs/tags/coord/x")
    error = clone.run("init", check=(2, 14, 16)).error
    assert error["code"] != 14 or "the tag coord conflicts" in error["message"]
