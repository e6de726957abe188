"""A checkout that means harm: nothing of it runs, and the refusal is clear. Each trap is shown to work without us."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from clones import fired, sentinel
from sites import Site

from loopx_git.coverage.changes import Code
from loopx_git.errors import InvalidState
from loopx_git.guard.refresh import policy_of
from loopx_git.store import process

MakeSite = Callable[..., Site]


def code(site: Site) -> Code:
    return Code(str(site.clone.path), str(site.clone.common_dir), site.clone.env)


def plainly(site: Site, *args: str) -> None:
    """The same git without our defence."""
    subprocess.run(["git", *args], cwd=site.clone.path, env=dict(site.clone.env), capture_output=True, check=False)


def guarded(site: Site) -> None:
    """Everything that the guard does in a checkout."""
    for args in (["guard", "check"], ["guard", "check", "src/a.py"], ["guard", "check", "--range", "HEAD~1..HEAD"],
                 ["guard", "check", "--push"]):  # fmt: skip
        site.clone.run(*args, check=None)
    site.clone.run(
        "agent-hook", stdin=b'{"tool_name": "Edit", "tool_input": {"file_path": "src/a.py"}}', check=None, json=False
    )


def test_a_file_system_monitor(site: MakeSite) -> None:
    made = site()
    trap = sentinel(made.world.root / "monitor", then="exit 0")
    made.clone.config("core.fsmonitor", str(trap))
    made.quietly("echo x >> src/a.py")
    Path(f"{trap}.ran").unlink(missing_ok=True)
    guarded(made)
    assert not fired(trap)
    plainly(made, "status")
    assert fired(trap)


@pytest.mark.parametrize("what", ["textconv", "command", "external"])
def test_a_program_for_comparing(site: MakeSite, what: str) -> None:
    made = site()
    trap = sentinel(made.world.root / "differ", then='cat "$1"')
    made.quietly("echo '*.py diff=trap' > .gitattributes; git add .; g commit -q -m attributes; echo y >> src/a.py;"
                 " git add src; g commit -q -m y; echo z >> src/a.py; git add src")  # fmt: skip
    made.clone.config("diff.external" if what == "external" else f"diff.trap.{what}", str(trap))
    guarded(made)
    assert not fired(trap)
    plainly(made, "diff", "--cached")
    assert fired(trap)


def test_hooks_of_a_checkout(site: MakeSite) -> None:
    """The checkout's own hooks run for git, and never for the git that the guard itself runs."""
    made = site()
    folder = made.world.root / "traps"
    for name in ("reference-transaction", "post-checkout", "post-index-change", "pre-auto-gc"):
        sentinel(folder / name, then="exit 0")
    made.clone.config("core.hooksPath", str(folder))
    made.quietly("echo x >> src/a.py; git add src")
    for name in folder.glob("*.ran"):
        name.unlink()
    guarded(made)
    assert list(folder.glob("*.ran")) == []
    plainly(made, "update-ref", "refs/heads/trap", "HEAD")
    assert fired(folder / "reference-transaction")


def test_a_message_editor_that_is_configured(site: MakeSite) -> None:
    """`git interpret-trailers` would run a command of the configuration: ours is no such."""
    made = site()
    trap = sentinel(made.world.root / "trailer", then="exit 0")
    for key in ("command", "cmd"):
        made.clone.config(f"trailer.Loopx-Claim.{key}", str(trap))
    made.clone.config("trailer.Loopx-Claim.ifExists", "doNothing")
    assert made.sh("echo x >> src/a.py; git commit -q -a -m work").returncode == 0
    assert not fired(trap)
    assert made.clone.git("log", "-1", "--format=%(trailers:key=Loopx-Claim,valueonly)").strip() == f"{made.todo}@1"
    subprocess.run(["git", "interpret-trailers", "--trailer", "Loopx-Claim=x"], cwd=made.clone.path,
                   env=dict(made.clone.env), input=b"x\n", capture_output=True, check=False)  # fmt: skip
    assert fired(trap)


def test_a_signature_program(site: MakeSite) -> None:
    made = site()
    trap = sentinel(made.world.root / "gpg", then="exit 0")
    for key, value in (("log.showSignature", "true"), ("gpg.program", str(trap)), ("commit.gpgSign", "true")):
        made.clone.config(key, value)
    signed = made.clone.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "x")
    raw = made.clone.git("cat-file", "commit", signed)
    head, _, body = raw.partition("\n\n")
    text = f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n{body}\n"
    oid = made.clone.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text.encode())
    Path(f"{trap}.ran").unlink(missing_ok=True)
    assert len(code(made).commits([oid, f"^{made.base}"])) == 1
    guarded(made)
    made.clone.run("guard", "status")
    assert not fired(trap)
    plainly(made, "log", "-1", oid)
    assert fired(trap)


def test_a_folder_or_file_of_ours_that_is_a_link(site: MakeSite) -> None:
    made = site(claim="other")
    top = made.clone.path
    elsewhere = made.world.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "config.toml").write_text('[guard]\nmode = "off"\n')
    made.quietly("echo x >> src/a.py; git add src")
    (top / ".loopx").rename(top / ".loopx-was")
    # The sentinel: that policy switches the guard off, where no link leads to it.
    (top / ".loopx").mkdir()
    (top / ".loopx/config.toml").write_text('[guard]\nmode = "off"\n')
    assert made.clone.run("guard", "check").json["mode"] == "off"
    (top / ".loopx/config.toml").unlink()
    (top / ".loopx/config.toml").symlink_to(elsewhere / "config.toml")
    made.clone.run("guard", "check", check=16)
    assert made.sh("git commit -q -m x").returncode != 0
    (top / ".loopx/config.toml").unlink()
    (top / ".loopx").rmdir()
    (top / ".loopx").symlink_to(elsewhere)
    refused = made.clone.run("guard", "check", check=16)
    assert "symbolic link" in refused.error["message"]
    done = made.sh("git commit -q -m x")
    assert done.returncode != 0
    assert "symbolic link" in done.stderr
    call = b'{"tool_name": "Edit", "tool_input": {"file_path": "src/a.py"}}'
    assert made.clone.run("agent-hook", stdin=call, check=2, json=False).out == ""


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[guard]\nmode = "off"\nhook = "x"\n', "unknown key guard.hook"),
        ('[guards]\nmode = "off"\n', "unknown table"),
        (BOMB, "not TOML"),
        ("x = " + "[" * 5000 + "]" * 5000, "not TOML"),
        ("# " + "x" * 70_000, "larger than"),
        ('[guard]\npaths = ["' + "*a" * 200 + '"]\n', ""),
    ],
)
def test_a_policy_that_is_a_trap(site: MakeSite, text: str, words: str) -> None:
    made = site(claim="none")
    (made.clone.path / ".loopx/config.toml").write_text(text)
    done = made.sh("echo x >> src/a.py; git add src; git commit -q -m x")
    assert done.returncode != 0 or not words
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_the_bomb_is_one() -> None:
    """300 bytes that grow to nine to the eighth items in a reader that expands them."""
    import yaml

    assert len(BOMB) <= 300
    loaded = yaml.safe_load(BOMB)
    size = 1
    inner = loaded["h"]
    while isinstance(inner, list):
        size *= len(inner)
        inner = inner[0]
    assert size == 9**8


def test_names_that_look_like_options(site: MakeSite) -> None:
    made = site(claim="own")
    trap = sentinel(made.world.root / "packer")
    name = f"--upload-pack={trap}"
    (made.clone.path / "--upload-pack=x").write_text("x")
    (made.clone.path / "-rf").write_text("x")
    made.quietly("git add -- --upload-pack=x -rf")
    assert code(made).staged(str(made.clone.git_dir)) == ["--upload-pack=x", "-rf"]
    shown = made.clone.run("guard", "check", check=19).json
    assert shown["findings"][0]["paths"] == ["--upload-pack=x", "-rf"]
    assert made.clone.run("guard", "check", "--", "--upload-pack=x", check=19).json["refused"] == 1
    made.clone.run("guard", "check", "--range", f"{name}..HEAD", check=2)
    made.clone.run("guard", "check", "--push", "--to", name, check=None)
    line = f"{name} {'1' * 40} refs/heads/x {'0' * 40}\n".encode()
    made.clone.run("guard", "check", "--push", stdin=line, check=None)
    assert not fired(trap)
    plainly(made, "ls-remote", name, str(made.world.remote))
    assert fired(trap)


def test_a_probe_that_is_forged_lets_nothing_pass(site: MakeSite) -> None:
    made = site(claim="none")
    for nonce in ("0" * 32, "../../x", ""):
        done = made.sh("echo x >> src/a.py; git commit -q -a -m x", LOOPX_GUARD_PROBE=nonce)
        assert done.returncode != 0
    assert not (made.clone.path / "x").exists()


def test_a_message_of_the_checkout_cannot_steer_the_terminal(site: MakeSite) -> None:
    made = site(claim="own")
    (made.clone.path / "a\x1b[2Jb").write_text("x")
    made.quietly("git add -A")
    done = made.sh("git commit -q -m x")
    assert done.returncode != 0
    assert "\x1b" not in done.stderr
    assert "\\u001b[2Jb" in done.stderr


def test_the_options_that_keep_a_checkout_quiet_are_there() -> None:
    assert {"core.fsmonitor=false", "core.hooksPath=/dev/null"} <= set(process.SAFE)


def test_a_policy_that_cannot_be_read_names_itself(site: MakeSite) -> None:
    made = site()
    (made.clone.path / ".loopx/config.toml").write_text("[guard]\nmode = 1\n")
    with pytest.raises(InvalidState, match=r"config\.toml"):
        policy_of(made.client().connection.repository)
