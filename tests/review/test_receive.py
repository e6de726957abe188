"""The gate of a bare repository, reached by path, git:// and http: what is legal passes, the rest is refused with its
own line, and no ref moves."""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from clones import COORD, Clone, World, plant, populate
from race.test_foreign import Forger, as_agent, said
from servers import git_daemon, http_backend

from loopx_git.client.client import Client
from loopx_git.core.change import Op
from loopx_git.core.meaning import NOTE_REASON
from loopx_git.coverage.policy import parse
from loopx_git.errors import InvalidState
from loopx_git.format.message import Message
from loopx_git.review.pusher import Pusher, pusher_of
from loopx_git.review.receive import Refusal, updates_of

HOOK = """#!/bin/sh
LOOPX_PUSHER="$(cat "{pusher}")" exec "{python}" -m loopx_git receive-check {arguments}
"""
GUARD = '\n[guard]\npusher = "LOOPX_PUSHER"\noperators = ["boss"]\n'


@dataclass
class Server:
    """A bare repository with the gate in its hook; `pusher` says whose account the server takes a push for."""

    world: World
    url: str
    held: str
    free: str

    def push_as(self, account: str) -> None:
        (self.world.root / "pusher").write_text(account)

    def client(self, agent: str, name: str = "clone") -> Client:
        clone = self.world.clone(f"{name}-{agent}", url=self.url)
        return Client(clone.path, clone.env, {"agent": agent, "session": "one"})

    def forger(self) -> Forger:
        checkout = self.world.clone("forger", "--branch=loopx/coord", url=self.url)
        return Forger(self.world, checkout, self.held, self.free, "")

    def refused(self, clone: Clone, *refspecs: str) -> list[str]:
        """The lines with which the gate refuses a push; every ref stays."""
        before = self.world.git("for-each-ref", folder=self.world.remote)
        done = subprocess.run(["git", "push", "origin", *refspecs], cwd=clone.path, env=dict(clone.env),
                              capture_output=True, text=True, timeout=60)  # fmt: skip
        assert done.returncode != 0, done.stderr
        assert self.world.git("for-each-ref", folder=self.world.remote) == before
        assert "Traceback" not in done.stderr
        said = re.findall(r"^remote: (.*?)\s*$", done.stderr, re.MULTILINE)
        return [line for line in said if line.startswith("loopx: ")]


def serve(world: World, held: str, free: str, url: str, *, hook: str = "pre-receive") -> Server:
    arguments = '"$@"' if hook == "update" else ""
    text = HOOK.format(pusher=world.root / "pusher", python=sys.executable, arguments=arguments)
    plant(world.remote / "hooks" / hook, text)
    server = Server(world, url, held, free)
    server.push_as("alice")
    return server


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, ledger_template: Path) -> tuple[Path, str, str]:
    """A bare repository whose policy names the pusher; alice's session `one` holds a todo, another is free."""
    world = World(tmp_path_factory.mktemp("guarded") / "world")
    shutil.copytree(ledger_template, world.remote)
    clone = world.clone("first")
    held, free = populate(clone, titles=["held", "free"])
    client = Client(clone.path, clone.env, {"agent": "alice", "session": "one"})
    client.todo.claim(held)
    config = (clone.path / ".loopx/config.toml").read_text()
    clone.commit(".loopx/config.toml", config + GUARD, "guard")
    clone.git("push", "-q", "origin", "main")
    return world.remote, held, free


@pytest.fixture
def copied(tmp_path: Path, guarded: tuple[Path, str, str]) -> tuple[World, str, str]:
    world = World(tmp_path / "world")
    shutil.copytree(guarded[0], world.remote)
    return world, guarded[1], guarded[2]


@pytest.fixture
def server(copied: tuple[World, str, str]) -> Server:
    return serve(*copied, url=str(copied[0].remote))


@contextlib.contextmanager
def reached_by(transport: str, world: World) -> Iterator[str]:
    if transport == "path":
        yield str(world.remote)
    elif transport == "daemon":
        with git_daemon(world.root) as url:
            yield url + "remote.git"
    else:
        with http_backend(world.root) as url:
            yield url + "remote.git"


def a_hand_edited_epoch(forger: Forger) -> None:
    request = secrets.token_hex(16)
    forger.record(forger.held, epoch=7, seq=1, last_request=request)
    message = said("renew", "alice", forger.held, 7, session="one", request=request)
    forger.commit(message, author=as_agent("alice"))


def a_deleted_lease(forger: Forger) -> None:
    forger.path(forger.held, "leases").unlink()
    forger.edit(forger.path(forger.held), "^claimed_by: .*", "claimed_by:")
    forger.commit(said("release", "alice", forger.held, 1, session="one"), author=as_agent("alice"))


def a_symlink(forger: Forger) -> None:
    forger.path(forger.free).unlink()
    forger.path(forger.free).symlink_to("/etc/passwd")
    forger.commit(said("update", "alice", forger.free, 0), author=as_agent("alice"))


def two_operations(forger: Forger) -> None:
    request = secrets.token_hex(16)
    forger.record(forger.held, holder=None, session=None, ttl_s=None, ended="released", last_request=request)
    forger.edit(forger.path(forger.held), "^claimed_by: .*", "claimed_by:")
    forger.edit(forger.path(forger.free), "^title: .*", "title: other")
    message = said("release", "alice", forger.held, 1, session="one", request=request)
    forger.commit(message, author=as_agent("alice"))


def a_large_blob(forger: Forger) -> None:
    path = forger.path(forger.free)
    with path.open("a") as file:
        for _ in range(100):
            file.write("\n" + "x" * 1_000_000)
    forger.commit(said("update", "alice", forger.free, 0), author=as_agent("alice"))


def a_title_by_hand(forger: Forger) -> None:
    forger.edit(forger.path(forger.free), "^title: .*", "title: other")
    forger.commit()


ATTACKS: dict[str, tuple[Callable[[Forger], None], str]] = {
    "a hand-edited epoch": (a_hand_edited_epoch, r"\(content\).*leases/"),
    "a deleted lease record": (a_deleted_lease, r"\(deleted\).*is never deleted"),
    "a symlink": (a_symlink, r"\(format\).*not a plain file"),
    "two operations in one commit": (two_operations, r"\(extra\).*which this operation does not write"),
    "a 100 MB blob": (a_large_blob, r"\(format\).*bytes; 262144 at most"),
    "a commit that is not an operation": (a_title_by_hand, r"\(format\).*no trailer|subject line"),
}


@pytest.mark.parametrize("transport", ["path", "daemon", "http"])
def test_what_is_legal_passes_and_the_rest_is_refused(copied: tuple[World, str, str], transport: str) -> None:
    world = copied[0]
    world.git("config", "http.receivepack", "true", folder=world.remote)
    with reached_by(transport, world) as url:
        server = serve(*copied, url=url)
        alice = server.client("alice")
        assert alice.todo.update(server.held, note="through the gate").lease.lease.epoch == 1
        assert alice.todo.claim(server.free).acquired
        assert alice.todo.release(server.free).lease.lease.holder is None
        forger = server.forger()
        start = forger.clone.git("rev-parse", "HEAD")
        for name, (attack, line) in ATTACKS.items():
            if name == "a 100 MB blob" and transport != "path":
                continue
            forger.clone.git("checkout", "-q", "-f", "--detach", start)
            attack(forger)
            began = time.monotonic()
            refused = server.refused(forger.clone, f"HEAD:{COORD}")
            assert len(refused) == 1, (name, refused)
            assert re.search(line, refused[0]), (name, refused)
            assert time.monotonic() - began < 60
        # A rewrite, a deletion, and a claim for somebody else.
        forger.clone.git("checkout", "-q", "-f", "--detach", f"{start}~1")
        assert re.search("does not descend", "".join(server.refused(forger.clone, f"+HEAD:{COORD}")))
        assert re.search("never deleted", "".join(server.refused(forger.clone, f":{COORD}")))
        with pytest.raises(Exception, match=r"alice pushes an operation of bob"):
            server.client("bob").todo.claim(server.free)
        server.push_as("bob")
        assert server.client("bob", "again").todo.claim(server.free).acquired
        assert server.client("bob", "other").history.verify().ok


def test_a_replayed_request_is_refused(server: Server) -> None:
    """bob's release, long in history, made again by somebody who kept its words, on a state that would allow it."""
    server.push_as("bob")
    bob = server.client("bob")
    bob.todo.claim(server.free)
    bob.todo.release(server.free)
    old = {entry["request"] for entry in server.world.log() if entry.get("todo") == server.free}
    bob.todo.claim(server.free)
    forger = server.forger()
    request = sorted(old)[0]
    forger.record(server.free, holder=None, session=None, ttl_s=None, ended="released", last_request=request)
    forger.edit(forger.path(server.free), "^claimed_by: .*", "claimed_by:")
    forger.commit(said("release", "bob", server.free, 2, session="one", request=request), author=as_agent("bob"))
    (line,) = server.refused(forger.clone, f"HEAD:{COORD}")
    assert "repeats the request" in line


def test_an_operator_may_force_and_others_may_not(server: Server) -> None:
    server.push_as("bob")
    bob = server.client("bob")
    person = Client(bob.connection.repository.cwd, bob.connection.env)
    with pytest.raises(Exception, match="bob is not an operator"):
        bob.todo.release(server.held, force=True, reason="gone")
    with pytest.raises(Exception, match="acts as a person"):
        person.goal.create("other")
    server.push_as("boss")
    assert person.goal.create("other") is not None


def test_code_on_a_guarded_branch_needs_a_claim(server: Server) -> None:
    clone = server.world.clone("code")
    clone.commit("a.py")
    (line,) = server.refused(clone, "HEAD:main")
    assert re.search(r"refs/heads/main: commit [0-9a-f]{12} \(missing\) a.py: the commit names no claim", line)
    clone.git("commit", "-q", "--amend", "-m", f"work\n\nLoopx-Claim: {server.held}@2")
    assert "(forged)" in server.refused(clone, "HEAD:main")[0]
    clone.git("push", "-q", "origin", "HEAD:refs/heads/unguarded")
    clone.git("commit", "-q", "--amend", "-m", f"work\n\nLoopx-Claim: {server.held}@1")
    clone.git("push", "-q", "origin", "HEAD:main")
    assert "not rewritten" in server.refused(clone, "+HEAD~1:main")[0]


def test_code_that_is_landed_passes_with_its_completion(server: Server) -> None:
    """One atomic push: the claim is judged at the tip that it brings, where its holder has completed it."""
    clone = server.world.clone("lander")
    clone.commit("a.py", message=f"work\n\nLoopx-Claim: {server.held}@1")
    client = Client(clone.path, clone.env, {"agent": "alice", "session": "one"})
    client.land(server.held, to="main")
    assert client.todo.show(server.held)[0].todo.status == "completed"
    assert clone.git("ls-remote", "origin", "refs/heads/main").split("\t")[0] == clone.git("rev-parse", "HEAD")
    # The claim ended with what has landed.
    clone.commit("b.py", message=f"more\n\nLoopx-Claim: {server.held}@1")
    (line,) = server.refused(clone, "HEAD:main")
    assert "(completed) b.py" in line
    clone.commit("c.py", message="unclaimed")
    with pytest.raises(Exception, match="names no claim"):
        server.client("alice", "again").todo.claim(server.free)
        other = Client(clone.path, clone.env, {"agent": "alice", "session": "one"})
        other.land(server.free, to="main")


def test_a_change_of_the_policy_counts_after_it_is_in(server: Server) -> None:
    clone = server.world.clone("code")
    text = (clone.path / ".loopx/config.toml").read_text()
    (clone.path / "a.py").write_text("x")
    clone.git("add", "a.py")
    clone.commit(".loopx/config.toml", text + 'mode = "off"\n', "switch it off, and use it at once")
    refused = server.refused(clone, "HEAD:main")
    assert ["(config) .loopx/config.toml" in line for line in refused] == [True, False]
    assert "(missing) a.py" in refused[1]


def test_as_an_update_hook(copied: tuple[World, str, str]) -> None:
    server = serve(*copied, url=str(copied[0].remote), hook="update")
    assert server.client("alice").todo.update(server.held, note="fine").acquired is None
    forger = server.forger()
    a_title_by_hand(forger)
    assert len(server.refused(forger.clone, f"HEAD:{COORD}")) == 1


def test_the_first_push_of_a_ledger_must_be_legal(world: World) -> None:
    clone = world.clone("first")
    clone.run("init")
    plant(world.remote / "hooks/pre-receive", f'#!/bin/sh\nexec "{sys.executable}" -m loopx_git receive-check\n')
    tip = world.tip()
    world.git("update-ref", "-d", COORD, folder=world.remote)
    server = Server(world, str(world.remote), "", "")
    clone.git("fetch", "-q", str(clone.home / "coord.git"), f"{tip}:refs/heads/ledger")
    clone.git("checkout", "-q", "ledger")
    clone.commit("x.md", "x", "by hand")
    assert server.refused(clone, f"HEAD:{COORD}")
    clone.git("push", "-q", "origin", f"HEAD~1:{COORD}")
    assert world.tip() == tip


def test_a_foreign_run_passes_with_its_adoption(server: Server) -> None:
    server.push_as("boss")
    forger = server.forger()
    a_title_by_hand(forger)
    aside = server.world.root / "aside.git"
    shutil.copytree(server.world.remote, aside)
    shutil.rmtree(aside / "hooks")
    forger.clone.git("push", "-q", str(aside), f"HEAD:{COORD}")
    clone = server.world.clone("adopter", url=aside)
    assert Client(clone.path, clone.env).setup.adopt()["adopted"] is True
    clone.git("fetch", "-q", "origin", COORD)
    clone.git("push", "-q", str(server.world.remote), f"FETCH_HEAD:{COORD}")


def test_a_tree_that_names_more_than_it_holds_is_refused_in_bounded_time(server: Server) -> None:
    """Eight trees, each ten times the one below: a hundred million paths."""
    forger = server.forger()
    clone = forger.clone
    oid = clone.git("hash-object", "-w", "--stdin", stdin=b"x")
    line = "".join(f"100644 blob {oid}\tf{number}\n" for number in range(10))
    for _ in range(8):
        tree = clone.git("mktree", stdin=line.encode())
        line = "".join(f"040000 tree {tree}\td{number}\n" for number in range(10))
    top = clone.git("ls-tree", "HEAD") + f"\n040000 tree {tree}\tbomb\n"
    root = clone.git("mktree", stdin=top.encode())
    message = said("update", "alice", server.free, 0)
    env = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in
           (("NAME", "alice"), ("EMAIL", "alice@agents.loopx.invalid"))}  # fmt: skip
    commit = clone.having(**env).git("commit-tree", "-p", "HEAD", root, stdin=message.encode())
    (refusal,) = server.refused(clone, f"{commit}:{COORD}")
    assert "changes more than" in refusal


@pytest.mark.parametrize("line", ["", "x", f"{'0' * 40} {'0' * 40}", f"{'0' * 40} {'z' * 40} refs/heads/a"])
def test_what_is_no_update_is_refused(line: str) -> None:
    with pytest.raises(InvalidState):
        updates_of([line])


def test_a_refusal_is_one_line() -> None:
    line = str(Refusal("refs/heads/a\u2028b", "x\n\x1b[31m" + "y" * 1000))
    assert line.isprintable()
    assert len(line) <= 400


def message_of(agent: str, reason: str | None = None) -> Message:
    return Message("s", Op.UPDATE, agent, "0" * 32, "0" * 32, "0", reason=reason)


def test_accounts_map_to_agents() -> None:
    table = {"pusher": "GL_USERNAME", "pushers": ["bot-7=codex-1", "bot-7=codex-2"], "operators": ["anna"]}
    guard = parse(table, "x")
    bot = pusher_of(guard, {"GL_USERNAME": "bot-7"})
    assert bot == Pusher("bot-7", frozenset({"codex-1", "codex-2"}), False)
    assert bot.why_not(message_of("codex-2")) == ""
    assert bot.why_not(message_of("bot-7"))
    assert bot.why_not(message_of("codex-1", "forced"))
    # A note without the claim has a reason and is not a forced operation; nothing else hides behind that reason.
    assert bot.why_not(message_of("codex-1", NOTE_REASON)) == ""
    assert bot.why_not(replace(message_of("codex-1", NOTE_REASON), op=Op.RELEASE))
    anna = pusher_of(guard, {"GL_USERNAME": "anna"})
    assert anna is not None
    assert anna.why_not(message_of("anna@example.com")) == ""
    assert pusher_of(parse({}, "x"), {"GL_USERNAME": "anna"}) is None
    nobody = pusher_of(guard, {})
    assert nobody is not None
    assert "does not say who" in nobody.why_not(message_of("codex-1"))
    with pytest.raises(InvalidState):
        parse({"pusher": "X", "pushers": ["broken"]}, "x")
