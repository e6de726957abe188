"""Histories that somebody edited by hand: `verify` names the commit, and no clone that fetches it grants anything on
it, whether it knew the ledger before or not."""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from clones import COORD, Clone, World, populate

from loopx_git.client.client import Client
from loopx_git.errors import InvalidState


@dataclass
class Forger:
    """Somebody with a checkout of the coordination ref and the right to push."""

    world: World
    clone: Clone
    held: str
    free: str
    released: str

    def path(self, todo: str, kind: str = "todos") -> Path:
        ending = "json" if kind == "leases" else "md"
        return self.clone.path / f".loopx/goals/main/{kind}/{todo[5:7]}/{todo}.{ending}"

    def edit(self, path: Path, pattern: str, new: str) -> None:
        text = path.read_text()
        assert re.search(pattern, text, re.MULTILINE), (pattern, text)
        path.write_text(re.sub(pattern, new, text, count=1, flags=re.MULTILINE))

    def record(self, of: str, **values: object) -> None:
        """Rewrite keys of a lease record, in its own form."""
        path = self.path(of, "leases")
        text = path.read_text()
        for key, value in values.items():
            text, count = re.subn(
                rf'(^ *"{key}": ).*?(,?)$', rf"\g<1>{json.dumps(value)}\2", text, flags=re.MULTILINE
            )
            assert count == 1, (key, text)
        path.write_text(text)

    def commit(self, message: str | None = None, *, author: str | None = None) -> str:
        self.clone.git("add", "-A")
        who = author or "mallory <mallory@example.com>"
        args = ["commit", "-q", "--allow-empty", "--cleanup=verbatim", f"--author={who}", "-F", "-"]
        self.clone.git(*args, stdin=(message or "fix the record by hand\n").encode())
        return self.clone.git("rev-parse", "HEAD")

    def push(self) -> None:
        self.clone.git("push", "-q", "--force", "origin", f"HEAD:{COORD}")


def said(op: str, agent: str, todo: str | None, epoch: int | None, **more: str) -> str:
    """A commit message that says what it should."""
    values = {
        "Op": op, "Goal": "main" if todo else None, "Todo": todo, "Epoch": epoch, "Agent": agent,
        "Session": more.get("session", "s-forged") if "@" not in agent else None, "Prev": more.get("prev"),
        "Reason": more.get("reason"), "Request": more.get("request", secrets.token_hex(16)),
        "Nonce": secrets.token_hex(16), "Version": "0.1.0",
    }  # fmt: skip
    lines = [f"{op} {todo} by {agent}", ""] + [f"Loopx-{key}: {value}" for key, value in values.items() if value]
    return "\n".join(lines) + "\n"


def as_agent(name: str) -> str:
    return f"{name} <{name}@agents.loopx.invalid>"


#: name -> (what it does to the history, the rule that `verify` names)
FORGERIES: dict[str, tuple[Callable[[Forger], str], str]] = {}


def forgery(rule: str) -> Callable[[Callable[[Forger], str]], Callable[[Forger], str]]:
    def add(make: Callable[[Forger], str]) -> Callable[[Forger], str]:
        FORGERIES[make.__name__] = (make, rule)
        return make

    return add


@forgery("format")
def an_epoch_by_hand(forger: Forger) -> str:
    forger.record(forger.held, epoch=7)
    return forger.commit()


@forgery("content")
def an_epoch_with_a_forged_message(forger: Forger) -> str:
    forger.record(forger.held, epoch=7, seq=1)
    return forger.commit(said("renew", "alice", forger.held, 7, session="one"), author=as_agent("alice"))


@forgery("release")
def an_epoch_that_goes_back(forger: Forger) -> str:
    """The tombstone is set back, so that an old epoch would be granted again."""
    request = secrets.token_hex(16)
    forger.record(forger.released, epoch=1, last_request=request)
    message = said("release", "bob", forger.released, 1, request=request)
    return forger.commit(message, author=as_agent("bob"))


@forgery("claim")
def a_holder_with_a_forged_message(forger: Forger) -> str:
    """Mallory takes a live claim: tree, record and trailers agree, and no rule grants it."""
    forger.record(forger.held, epoch=2, holder="bob", session="s-forged")
    forger.edit(forger.path(forger.held), "^claimed_by: .*", "claimed_by: bob")
    message = said("claim", "bob", forger.held, 2, prev="alice@1")
    return forger.commit(message, author=as_agent("bob"))


@forgery("format")
def a_holder_by_hand(forger: Forger) -> str:
    forger.record(forger.held, holder="bob")
    forger.edit(forger.path(forger.held), "^claimed_by: .*", "claimed_by: bob")
    return forger.commit()


@forgery("extra")
def a_record_with_a_longer_ttl(forger: Forger) -> str:
    forger.record(forger.held, ttl_s=86400, renewed_at="2037-01-01T00:00:00Z", seq=1)
    return forger.commit(said("update", "alice", forger.held, 1, session="one"), author=as_agent("alice"))


@forgery("update")
def a_title_without_the_claim(forger: Forger) -> str:
    forger.edit(forger.path(forger.held), "^title: .*", "title: another")
    return forger.commit(said("update", "bob", forger.held, 1), author=as_agent("bob"))


@forgery("format")
def a_title_by_hand(forger: Forger) -> str:
    """Of a todo that nobody holds it would be adopted; see tests/review/test_adopt.py."""
    forger.edit(forger.path(forger.held), "^title: .*", "title: another")
    return forger.commit()


@forgery("parents")
def a_merge(forger: Forger) -> str:
    """Two histories that do not touch the same file merge cleanly; it is not an operation all the same."""
    main = forger.clone.git("rev-parse", "HEAD")
    forger.clone.git("checkout", "-q", "--detach", "HEAD~1")
    forger.edit(forger.path(forger.free), "^title: .*", "title: another")
    other = forger.commit(said("update", "bob", forger.free, 0), author=as_agent("bob"))
    forger.clone.git("checkout", "-q", "-B", "coord", main)
    forger.clone.git("merge", "-q", "--no-ff", "-m", said("update", "bob", forger.free, 0), other)
    return forger.clone.git("rev-parse", "HEAD")


@forgery("deleted")
def a_lease_that_is_deleted(forger: Forger) -> str:
    forger.path(forger.held, "leases").unlink()
    forger.edit(forger.path(forger.held), "^claimed_by: .*", "claimed_by:")
    return forger.commit(said("release", "alice", forger.held, 1, session="one"), author=as_agent("alice"))


@forgery("deleted")
def a_todo_that_is_deleted(forger: Forger) -> str:
    forger.path(forger.free).unlink()
    return forger.commit(said("update", "bob", forger.free, 0), author=as_agent("bob"))


@forgery("extra")
def a_file_that_rides_along(forger: Forger) -> str:
    """A legal release that also edits the policy."""
    request = secrets.token_hex(16)
    forger.record(forger.held, holder=None, session=None, ttl_s=None, ended="released", last_request=request)
    forger.edit(forger.path(forger.held), "^claimed_by: .*", "claimed_by:")
    policy = forger.clone.path / ".loopx/policy.toml"
    policy.write_text(re.sub("max_attempts = .*", 'max_attempts = "99"', policy.read_text()))
    message = said("release", "alice", forger.held, 1, session="one", request=request)
    return forger.commit(message, author=as_agent("alice"))


@forgery("format")
def a_foreign_file(forger: Forger) -> str:
    (forger.clone.path / "README.md").write_text("hello\n")
    return forger.commit(said("goal", "bob", None, None), author=as_agent("bob"))


@forgery("format")
def a_file_that_is_a_symbolic_link(forger: Forger) -> str:
    path = forger.path(forger.free)
    path.unlink()
    path.symlink_to("/etc/passwd")
    return forger.commit(said("update", "bob", forger.free, 0), author=as_agent("bob"))


@forgery("format")
def a_newer_format(forger: Forger) -> str:
    (forger.clone.path / ".loopx/format").write_text("2\n")
    return forger.commit(said("policy", "bob", None, None), author=as_agent("bob"))


@forgery("claim")
def a_claim_by_a_stranger(forger: Forger) -> str:
    path = forger.path(forger.free, "leases")
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(forger.path(forger.held, "leases"), path)
    request = secrets.token_hex(16)
    forger.record(forger.free, todo=forger.free, holder="mallory", session="s-forged", last_request=request)
    forger.edit(forger.path(forger.free), "^claimed_by:.*", "claimed_by: mallory")
    message = said("claim", "mallory", forger.free, 1, request=request)
    return forger.commit(message, author=as_agent("mallory"))


@forgery("author")
def an_author_that_is_not_the_agent(forger: Forger) -> str:
    message = forger.clone.git("log", "-1", "--format=%B") + "\n"
    return forger.commit(message, author=as_agent("mallory"))


@forgery("request")
def an_operation_that_is_replayed(forger: Forger) -> str:
    """The release of a claim, made by its holder, is put on top of history once more."""
    request = forger.clone.git("log", "-1", "--format=%(trailers:key=Loopx-Request,valueonly)", "HEAD~1").strip()
    message = re.sub("Loopx-Request: .*", f"Loopx-Request: {request}", forger.clone.git("log", "-1", "--format=%B"))
    return forger.commit(message + "\n", author=as_agent("bob"))


@forgery("format")
def text_above_the_trailers(forger: Forger) -> str:
    message = said("release", "bob", forger.free, 0).replace("\n\n", "\n\nA friendly word.\n\n")
    return forger.commit(message, author=as_agent("bob"))


@forgery("format")
def a_trailer_twice(forger: Forger) -> str:
    message = said("release", "bob", forger.free, 0).replace(
        "Loopx-Agent: bob", "Loopx-Agent: bob\nLoopx-Agent: alice"
    )
    return forger.commit(message, author=as_agent("bob"))


@forgery("root")
def a_second_init(forger: Forger) -> str:
    return forger.commit(said("init", "tester@example.com", None, None), author="Tester <tester@example.com>")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, ledger_template: Path) -> tuple[Path, str, str, str]:
    """A remote where alice's session `one` holds a todo, another is free, and bob released a third, twice."""
    world = World(tmp_path_factory.mktemp("prepared") / "world")
    shutil.copytree(ledger_template, world.remote)
    clone = world.clone("first")
    held, free, third = populate(clone, titles=["held", "free", "third"])
    clone.run("todo", "claim", held, "--session", "one", agent="alice")
    for _ in range(2):
        clone.run("todo", "claim", third, agent="bob")
        clone.run("todo", "release", third, agent="bob")
    return world.remote, held, free, third


@pytest.fixture
def ledger(tmp_path: Path, prepared: tuple[Path, str, str, str]) -> World:
    world = World(tmp_path / "world")
    shutil.copytree(prepared[0], world.remote)
    return world


@pytest.fixture
def knew(ledger: World) -> Clone:
    """A clone that knows the ledger as it was."""
    clone = ledger.clone("knew")
    clone.run("sync")
    return clone


@pytest.fixture
def forger(ledger: World, prepared: tuple[Path, str, str, str]) -> Forger:
    checkout = ledger.clone("forger", "--branch=loopx/coord")
    return Forger(ledger, checkout, *prepared[1:])


@pytest.mark.parametrize("name", FORGERIES)
def test_nothing_is_granted_on_it(ledger: World, knew: Clone, forger: Forger, name: str) -> None:
    make, rule = FORGERIES[name]
    bad = make(forger)
    forger.push()
    assert ledger.tip() == bad
    fresh = ledger.clone("fresh")
    known = Client(knew.path, knew.env, {"agent": "carol"})
    for todo, dry_run in ((forger.free, False), (forger.held, True)):
        with pytest.raises(InvalidState) as raised:
            known.todo.claim(todo, dry_run=dry_run)
        assert (raised.value.about["commit"], bad in raised.value.message) == (bad, True)
    error = fresh.run("todo", "claim", forger.free, agent="carol", check=16).error
    assert error["commit"] == bad
    assert bad in error["message"]
    assert error["hint"]
    if name == "a_newer_format":
        assert "upgrade" in fresh.run("verify", check=16).error["hint"]
        return
    found = fresh.run("verify", check=19)
    assert (found.json["ok"], found.error["code"]) == (False, 19)
    findings = [(item["commit"], item["rule"]) for item in found.json["findings"]]
    assert (bad, rule) in findings, found
    assert {commit for commit, _ in findings} == {bad}
    assert ledger.tip() == bad


def test_verify_names_the_commit_in_text_too(ledger: World, knew: Clone, forger: Forger) -> None:
    bad = a_title_without_the_claim(forger)
    forger.push()
    done = knew.run("verify", check=19, json=False)
    assert f"{bad[:12]}  update: not allowed by the rules" in done.out
    assert "1 of 29 operations break a rule" in done.err


def test_a_policy_that_cannot_be_read(ledger: World, knew: Clone, forger: Forger) -> None:
    """It is read by every operation; `verify` must still say which commit broke it."""
    policy = forger.clone.path / ".loopx/policy.toml"
    policy.write_text("[claims\n")
    bad = forger.commit(said("policy", "bob", None, None), author=as_agent("bob"))
    forger.push()
    for clone in (knew, ledger.clone("fresh")):
        assert clone.run("todo", "claim", forger.free, agent="carol", check=16).error["commit"] == bad
        findings = clone.run("verify", check=19).json["findings"]
        assert {item["commit"] for item in findings} == {bad}


def test_a_good_operation_on_top_of_a_bad_one_is_refused_for_the_bad_one(
    ledger: World, knew: Clone, forger: Forger
) -> None:
    bad = a_title_by_hand(forger)
    forger.edit(forger.path(forger.free), "^title: .*", "title: free")
    forger.commit(said("update", "bob", forger.free, 0), author=as_agent("bob"))
    forger.push()
    for clone in (knew, ledger.clone("fresh")):
        assert clone.run("todo", "claim", forger.free, agent="carol", check=16).error["commit"] == bad
        findings = clone.run("verify", check=19).json["findings"]
        assert bad in {item["commit"] for item in findings}


@pytest.mark.parametrize("to", ["an older tip", "an unrelated root", "another child of the same parent"])
def test_a_rewritten_history(ledger: World, knew: Clone, forger: Forger, to: str) -> None:
    tip = ledger.tip()
    git = forger.clone.git
    if to == "an older tip":
        git("reset", "-q", "--hard", "HEAD~2")
    elif to == "an unrelated root":
        tree, message = (
            git("rev-parse", "HEAD^{tree}"),
            git("log", "-1", "--format=%B", COORD.removeprefix("refs/heads/")),
        )
        git("reset", "-q", "--hard", git("commit-tree", tree, "-m", message))
    else:
        git("reset", "-q", "--hard", "HEAD~1")
        forger.commit(said("release", "bob", forger.free, 0), author=as_agent("bob"))
    forger.push()
    now = ledger.tip()
    assert now != tip
    # What is merely older may be a mirror that lags.
    code = 14 if to == "an older tip" else 16
    for args in (
        ["claim", forger.free],
        ["claim", forger.free, "--dry-run"],
        ["complete", forger.held],
        ["add", "x"],
    ):
        error = knew.run("todo", *args, agent="alice", check=code).error
        assert (error["tip"], error["last_tip"]) == (now, tip)
        assert now in error["message"]
        assert tip in error["message"]
        assert error["hint"]
        assert "--accept-tip" not in error["hint"]
    assert knew.run("init", check=code).error["last_tip"] == tip
    assert ledger.tip() == now
    # The audited way out takes a history that is legal of its own and the same ledger, and no other.
    accepting = ["sync", "--accept-tip", now, "--reason", "a backup was restored"]
    if to == "an older tip":
        knew.run("sync", "--accept-tip", tip, "--reason", "the wrong one", check=(2, 15, 16, 17))
        knew.run(*accepting)
        knew.run("todo", "claim", forger.free, agent="carol")
        assert knew.verified()["ok"]
        return
    knew.run(*accepting, check=16)
    if to == "an unrelated root":
        # A clone that never saw the ledger has its root from config.toml.
        fresh = ledger.clone("fresh")
        fresh.run("todo", "claim", forger.free, agent="carol", check=16)
        assert ledger.tip() == now
    git("push", "-q", "--force", "origin", f"{tip}:{COORD}")
    knew.run("todo", "claim", forger.free, agent="carol")


def test_a_root_made_by_hand(ledger: World, forger: Forger) -> None:
    """A state with an unreadable todo in it, planted as the first commit: there is no way to make a clone plan on
    it, and `verify` names the commit and the file."""
    forger.edit(forger.path(forger.free), "^status: .*", "status: nearly")
    forger.commit()
    tree = forger.clone.git("rev-parse", "HEAD^{tree}")
    message = said("init", "tester@example.com", None, None)
    root = forger.clone.git("commit-tree", tree, "-F", "-", stdin=message.encode())
    forger.clone.git("push", "-q", "--force", "origin", f"{root}:{COORD}")
    fresh = ledger.clone("fresh")
    shutil.rmtree(fresh.path / ".loopx")
    findings = fresh.run("verify", check=19).json["findings"]
    assert any("nearly" in item["message"] and item["commit"] == root for item in findings)
    assert fresh.run("todo", "claim", forger.held, agent="carol", check=16).error["commit"] == root


def test_verify_offline_checks_what_was_fetched_last(ledger: World, knew: Clone, forger: Forger) -> None:
    bad = a_title_by_hand(forger)
    forger.push()
    assert knew.run("verify", "--offline").json["ok"] is True
    assert knew.run("verify", check=19).json["tip"] == bad
    # Looking at it did not make it the tip that claims are planned on.
    assert knew.run("todo", "claim", forger.free, agent="carol", check=16).error["commit"] == bad
