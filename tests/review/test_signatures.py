"""Signed and unsigned operations, and every way in which a signature is not the right one: only the right one passes,
before `verify --signatures`, the receive gate and the pull-request check."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from clones import COORD, Clone, World, plant, populate
from review.coding import Coding, found

from loopx_git.client.client import Client
from loopx_git.client.connect import Overrides
from loopx_git.errors import LoopXError
from loopx_git.store.clock import SystemClock
from loopx_git.store.objects import PygitObjects
from loopx_git.store.signatures import Verifier

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen on this machine")


def key(world: World, name: str) -> Path:
    path = world.root / f"key-{name}"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)], check=True)
    return path


def line(path: Path, principal: str, options: str = "") -> str:
    kind, blob, _ = Path(f"{path}.pub").read_text().split(" ")
    return f"{principal} {options + ' ' if options else ''}{kind} {blob}\n"


def signing(clone: Clone, path: Path | None) -> None:
    if path is None:
        clone.config("loopx.sign", "false")
        return
    clone.config("gpg.format", "ssh")
    clone.config("user.signingKey", str(path))
    clone.config("loopx.sign", "true")


@pytest.fixture
def signed(world: World) -> tuple[World, Clone, dict[str, Path]]:
    """A ledger in which every operation is signed, alice's by her key; old's key has expired."""
    keys = {name: key(world, name) for name in ("person", "alice", "bob", "old", "stranger")}
    clone = world.clone("signed")
    signing(clone, keys["person"])
    clone.run("init")
    populate(clone, peers=["alice", "bob", "old"], titles=[])
    allowed = (
        line(keys["person"], "tester@example.com") + line(keys["alice"], "alice", 'namespaces="git"')
        + line(keys["bob"], "bob") + line(keys["old"], "old", 'valid-before="20200101"')
    )  # fmt: skip
    config = (clone.path / ".loopx/config.toml").read_text()
    clone.commit(".loopx/allowed_signers", allowed)
    clone.commit(".loopx/config.toml", config + "\n[guard]\nsigned = true\n")
    clone.git("push", "-q", "origin", "main")
    clone.git("fetch", "-q", "origin")
    return world, clone, keys


#: who acts, whose key signs, what is done to it, whether it is proven
CASES = [
    ("alice", "alice", "", True),
    ("bob", "bob", "", True),
    ("alice", None, "", False),
    ("alice", "stranger", "", False),
    ("alice", "bob", "", False),
    ("old", "old", "", False),
    ("old", "old", "backdated", False),
    ("alice", "stranger", "signers edited on the coordination ref's side", False),
]


@pytest.mark.parametrize(("agent", "signer", "how", "good"), CASES)
def test_only_the_right_signature_passes(
    signed: tuple[World, Clone, dict[str, Path]], agent: str, signer: str | None, how: str, good: bool
) -> None:
    world, clone, keys = signed
    (todo,) = populate(clone, titles=["todo"])
    signing(clone, None if signer is None else keys[signer])
    clock = SystemClock(offset=-86400.0 * 365 * 8) if how == "backdated" else SystemClock()
    client = Client(clone.path, clone.env, {"agent": agent, "session": "one"}, Overrides(clock=clock))
    if how.startswith("signers"):
        # The work tree and a branch of one's own name the key; the protected branch does not.
        clone.git("checkout", "-q", "-b", "mine")
        clone.commit(".loopx/allowed_signers", line(keys["stranger"], "alice"))
    before = world.tip()
    claim = client.todo.claim(todo).lease.id
    tip = world.tip()
    verdict = Client(clone.path, clone.env).history.verify(signatures=True)
    if how != "backdated":
        # At its own time the key was good; only who receives it knows that it is not.
        assert ([item["commit"] for item in verdict.findings] == []) is good, verdict.findings
        assert all((item["commit"], item["rule"]) == (tip, "signature") for item in verdict.findings)
    # The gate.
    world.git("update-ref", COORD, before, folder=world.remote)
    plant(world.remote / "hooks/pre-receive", f'#!/bin/sh\nexec "{sys.executable}" -m loopx_git receive-check\n')
    pushed = subprocess.run(
        ["git", "push", str(world.remote), f"{tip}:{COORD}"], cwd=clone.home / "coord.git", env=dict(clone.env),
        capture_output=True, text=True,
    )  # fmt: skip
    assert (pushed.returncode == 0) is good, pushed.stderr
    assert ("(signature)" in pushed.stderr) is not good
    assert "Traceback" not in pushed.stderr
    # The pull-request check, which sees what was stored all the same.
    if how == "backdated":
        return
    world.git("update-ref", COORD, tip, folder=world.remote)
    coding = Coding(world, clone)
    coding.branch("work")
    coding.commit({"a.py": "1"}, [claim])
    assert found(coding.check()) == ([] if good else [("signature", "a.py", todo)])


def test_the_signature_covers_the_parent(signed: tuple[World, Clone, dict[str, Path]]) -> None:
    """A signed claim put on another tip, byte for byte but for its parent."""
    world, clone, keys = signed
    (todo,) = populate(clone, titles=["todo"])
    before = world.tip()
    signing(clone, keys["alice"])
    Client(clone.path, clone.env, {"agent": "alice", "session": "one"}).todo.claim(todo)
    raw = world.git("cat-file", "commit", world.tip(), folder=world.remote)
    moved = raw.replace(f"parent {before}", f"parent {world.tip()}") + "\n"
    planted = world.git("hash-object", "-t", "commit", "-w", "--stdin", folder=world.remote, stdin=moved.encode())
    verifier = Verifier(PygitObjects(str(world.remote)), clone.env, line(keys["alice"], "alice").encode())
    assert verifier.why_not(world.tip()) == ""
    assert verifier.why_not(planted) == "no key that is valid for alice signed it"


def test_without_a_list_of_signers_nothing_is_proven(ledger: World) -> None:
    clone = ledger.clone("clone")
    done = clone.run("verify", "--signatures", check=19)
    assert {item["rule"] for item in done.json["findings"]} == {"signature"}
    assert "allowed_signers" in done.json["findings"][0]["message"]
    assert clone.run("verify").json["ok"] is True


def test_a_signer_that_fails_writes_nothing(signed: tuple[World, Clone, dict[str, Path]]) -> None:
    world, clone, _ = signed
    (todo,) = populate(clone, titles=["todo"])
    before = world.tip()
    signing(clone, world.root / "missing")
    with pytest.raises(LoopXError, match="signed"):
        Client(clone.path, clone.env, {"agent": "alice"}).todo.claim(todo)
    assert world.tip() == before


@pytest.mark.skipif(shutil.which("gpg") is None, reason="no gpg on this machine")
def test_openpgp_keys_are_bound_by_their_fingerprint(world: World) -> None:
    home = world.root / "gpg"
    home.mkdir(mode=0o700)
    env = {**world.env, "GNUPGHOME": str(home)}

    def gpg(*args: str) -> str:
        return subprocess.run(["gpg", "--batch", "--quiet", *args], env=env, check=True, capture_output=True,
                              text=True, timeout=60).stdout  # fmt: skip

    clone = world.clone("signed").having(GNUPGHOME=str(home))
    clone.run("init")
    populate(clone, peers=["alice"], titles=["todo"])
    todo = clone.run("todo", "list").json["todos"][0]["id"]
    try:
        gpg("--passphrase", "", "--quick-generate-key", "alice <alice@example.com>", "ed25519", "sign", "never")
        fingerprint = next(line for line in gpg("--with-colons", "-k").splitlines() if line.startswith("fpr")).split(
            ":"
        )[9]
        clone.config("user.signingKey", fingerprint)
        clone.config("loopx.sign", "true")
        Client(clone.path, clone.env, {"agent": "alice", "session": "one"}).todo.claim(todo)
        objects = PygitObjects(str(world.remote))
        right, wrong = f"# openpgp alice {fingerprint}\n", f"# openpgp alice {'A' * 40}\n"
        assert Verifier(objects, clone.env, right.encode()).why_not(world.tip()) == ""
        assert "not bound to alice" in Verifier(objects, clone.env, wrong.encode()).why_not(world.tip())
        other = f"# openpgp bob {fingerprint}\n".encode()
        assert "no key of that kind" in Verifier(objects, clone.env, other).why_not(world.tip())
        empty = {**clone.env, "GNUPGHOME": str(world.root / "none")}
        (world.root / "none").mkdir(mode=0o700)
        assert "no key that is valid" in Verifier(objects, empty, right.encode()).why_not(world.tip())
    finally:
        for folder in (home, world.root / "none"):
            subprocess.run(["gpgconf", "--homedir", str(folder), "--kill", "all"], check=False, capture_output=True)
