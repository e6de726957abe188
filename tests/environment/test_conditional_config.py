"""What the user's configuration includes on a condition counts for our git as for theirs; nothing counts twice."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from clones import COORD, Clone, World, plant, sentinel
from servers import http_backend

from loopx_git.store.environment import has_conditions, transport_settings

TOKEN = ("Authorization", "Bearer s3cret")
HEADER = f"{TOKEN[0]}: {TOKEN[1]}"
#: name of a condition -> how it is spelt for a clone. None but the first holds in a repository below the clone's.
CONDITIONS = {
    "a folder above": "gitdir:{path}/",
    "the git directory alone": "gitdir:{path}/.git",
    "ignoring case": "gitdir/i:{upper}/.GIT",
    "a branch": "onbranch:main",
}


#: One that holds in a repository of ours as well, and one that does not.
@pytest.fixture(params=["a folder above", "a branch"])
def condition(request: pytest.FixtureRequest, ledger: World) -> str:
    return spelt(ledger, request.param)


def spelt(world: World, name: str) -> str:
    path = str(world.root / "clone")
    return CONDITIONS[name].format(path=path, upper=path.upper())


def included(world: World, condition: str, text: str) -> Path:
    """Settings that count only where the condition holds."""
    path = world.home / "included"
    path.write_text(text)
    world.configure(f'[includeIf "{condition}"]\n\tpath = {path}\n', more=True)
    return path


def test_a_header_is_sent_once(ledger: World, condition: str) -> None:
    """Two Authorization headers are as wrong as none."""
    with http_backend(ledger.root, require_header=TOKEN) as url:
        clone = ledger.clone("clone")
        clone.git("remote", "set-url", "origin", f"{url}remote.git")
        clone.run("sync", check=14)
        included(ledger, condition, f'[http]\n\textraHeader = "{HEADER}"\n')
        assert clone.git("config", "--get-all", "http.extraHeader") == HEADER
        clone.run("sync")
        assert clone.add("behind a header")


def test_a_header_that_replaces_another(ledger: World, condition: str) -> None:
    ledger.configure('[http]\n\textraHeader = "Authorization: wrong"\n', more=True)
    with http_backend(ledger.root, require_header=TOKEN) as url:
        clone = ledger.clone("clone")
        clone.git("remote", "set-url", "origin", f"{url}remote.git")
        clone.run("sync", check=14)
        included(ledger, condition, f'[http]\n\textraHeader =\n\textraHeader = "{HEADER}"\n')
        clone.run("sync")


@pytest.mark.parametrize("name", CONDITIONS)
def test_an_address_is_rewritten(ledger: World, name: str) -> None:
    condition = spelt(ledger, name)
    clone = ledger.clone("clone")
    clone.git("remote", "set-url", "origin", "work:remote.git")
    included(ledger, condition, f'[url "{ledger.root}/"]\n\tinsteadOf = work:\n')
    clone.git("fetch", "-q")
    assert clone.add("elsewhere")


def test_the_ssh_command(ledger: World, condition: str) -> None:
    clone = ledger.clone("clone")
    clone.git("remote", "set-url", "origin", f"ssh://host{ledger.remote}")
    program = plant(ledger.root / "ssh", '#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    wrong = sentinel(ledger.root / "wrong")
    ledger.configure(f"[core]\n\tsshCommand = {wrong}\n", more=True)
    included(ledger, condition, f"[core]\n\tsshCommand = {program}\n[ssh]\n\tvariant = simple\n")
    assert clone.add("by another ssh")
    assert not Path(f"{wrong}.ran").exists()


@pytest.mark.parametrize("reset", [False, True])
def test_a_credential_helper_is_asked_once(ledger: World, condition: str, reset: bool) -> None:
    with http_backend(ledger.root, require_header=("Authorization", "Basic bWU6c2VjcmV0")) as url:
        clone = ledger.clone("clone")
        clone.git("remote", "set-url", "origin", f"{url}remote.git")
        asked = ledger.root / "asked"
        script = (
            f'#!/bin/sh\n[ "$1" = get ] || exit 0\necho "$0" >> {asked}\necho username=me\necho password=secret\n'
        )
        unwanted = plant(ledger.root / "unwanted", f"#!/bin/sh\necho unwanted >> {asked}\n")
        helper = plant(ledger.root / "helper", script)
        ledger.configure(f"[credential]\n\thelper = {unwanted}\n", more=True)
        included(ledger, condition, "[credential]\n" + "\thelper =\n" * reset + f"\thelper = {helper}\n")
        clone.git("ls-remote", "origin", COORD)
        theirs = asked.read_text()
        asked.unlink()
        clone.run("sync")
        ours = asked.read_text().split()
        # One git after another, each of them as the user's own one.
        assert ours == theirs.split() * (len(ours) // len(theirs.split()))
        assert ("unwanted" in ours) is not reset


def test_the_committer_and_the_key(ledger: World, condition: str) -> None:
    clone = ledger.clone("clone")
    key = ledger.root / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    clone.config("loopx.sign", "true")
    included(
        ledger, condition,
        f"[user]\n\tname = At Work\n\temail = me@work.example\n\tsigningKey = {key}\n[gpg]\n\tformat = ssh\n",
    )  # fmt: skip
    clone.add("signed at work")
    shown = ledger.git("cat-file", "commit", COORD, folder=ledger.remote)
    assert "committer At Work <me@work.example>" in shown and "gpgsig -----BEGIN SSH SIGNATURE" in shown


@pytest.mark.parametrize("where", ["local", "on a condition"])
def test_the_key_of_a_ledger_without_a_remote(world: World, where: str) -> None:
    clone = world.repository("clone")
    key = world.root / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    if where == "local":
        clone.config("gpg.format", "ssh")
        clone.config("user.signingKey", str(key))
    else:
        included(world, "onbranch:main", f"[user]\n\tsigningKey = {key}\n[gpg]\n\tformat = ssh\n")
    clone.config("loopx.sign", "true")
    clone.run("init")
    assert "gpgsig" in clone.git("cat-file", "commit", COORD)


def test_settings_of_another_branch_do_not_count(ledger: World) -> None:
    clone = ledger.clone("clone")
    clone.git("remote", "set-url", "origin", "work:remote.git")
    included(ledger, "onbranch:other", f'[url "{ledger.root}/"]\n\tinsteadOf = work:\n')
    clone.run("sync", check=14, env={"GIT_SSH_COMMAND": "false"})
    clone.git("checkout", "-q", "-b", "other")
    clone.run("sync", env={"GIT_SSH_COMMAND": "false"})


def test_a_linked_worktree_has_its_own_conditions(ledger: World) -> None:
    clone = ledger.clone("clone")
    clone.git("worktree", "add", "-q", "../linked", "-b", "linked")
    clone.git("remote", "set-url", "origin", "work:remote.git")
    included(ledger, f"gitdir:{clone.path}/.git/worktrees/linked", f'[url "{ledger.root}/"]\n\tinsteadOf = work:\n')
    clone.run("sync", check=14, env={"GIT_SSH_COMMAND": "false"})
    Clone(ledger.root / "linked", clone.env).run("sync", env={"GIT_SSH_COMMAND": "false"})


def test_it_counts_while_a_damaged_coord_git_is_fetched_anew(ledger: World, condition: str) -> None:
    clone = ledger.clone("clone")
    clone.run("sync")
    clone.git("remote", "set-url", "origin", f"work:{shlex.quote('remote.git')}")
    included(ledger, condition, f'[url "{ledger.root}/"]\n\tinsteadOf = work:\n')
    (clone.home / "coord.git/HEAD").write_text("")
    clone.run("sync")
    assert list(clone.home.glob("coord.git.broken-*"))


def test_a_key_without_a_value_is_true(ledger: World) -> None:
    """Passed on as an empty value it would be false, and no certificate would be looked at."""
    clone = ledger.clone("clone")
    with (clone.path / ".git/config").open("a") as file:
        file.write("[http]\n\tsslVerify\n")
    from loopx_git.store.repository import open_repository

    assert open_repository(str(clone.path), clone.env).value("http.sslverify") == "true"


# -- which entries are passed on

G, L = "global", "local"


@pytest.mark.parametrize(
    ("config", "seen", "passed"),
    [
        # Nothing differs: only what is the repository's own.
        ([(G, "http.proxy", "a"), (L, "http.proxy", "b")], [(G, "http.proxy", "a")], [("http.proxy", "b")]),
        # The last one counts, and an unconditional one may stand behind the conditional one.
        (
            [(G, "http.proxy", "if"), (G, "http.proxy", "always")], [(G, "http.proxy", "always")],
            [("http.proxy", "if"), ("http.proxy", "always")],
        ),
        # Every value counts: only what is missing.
        (
            [(G, "http.extraheader", "a"), (G, "http.extraheader", "if"), (L, "http.extraheader", "b")],
            [(G, "http.extraheader", "a")],
            [("http.extraheader", "if"), ("http.extraheader", "b")],
        ),
        # A reset on a condition, and one of another key of the same kind.
        (
            [(G, "credential.helper", "a"), (G, "credential.https://x.helper", ""), (G, "credential.helper", "b")],
            [(G, "credential.helper", "a"), (G, "credential.helper", "b")],
            [("credential.https://x.helper", ""), ("credential.helper", "b")],
        ),
        # What was on a condition is reset later by what counts everywhere.
        (
            [(G, "credential.helper", "if"), (G, "credential.helper", ""), (G, "credential.helper", "b")],
            [(G, "credential.helper", ""), (G, "credential.helper", "b")],
            [],
        ),
        # The same value, on a condition and without one.
        (
            [(G, "url.a.insteadof", "x"), (G, "url.a.insteadof", "x")], [(G, "url.a.insteadof", "x")],
            [("url.a.insteadof", "x")],
        ),
        # What says nothing about transport stays at home.
        ([(G, "core.editor", "vi"), (G, "user.name", "x"), (G, "alias.x", "!y")], [], []),
    ],
    ids=range(7),
)  # fmt: skip
def test_which_entries_are_passed_on(
    config: list[tuple[str, str, str]], seen: list[tuple[str, str, str]], passed: list[tuple[str, str]]
) -> None:
    assert transport_settings(config, "origin", "url", None, seen)[1:] == passed


def test_only_a_condition_costs_a_second_look() -> None:
    assert not has_conditions([(G, "http.proxy", "a"), (L, "includeif.gitdir:x.path", "y")])
    assert has_conditions([("system", "includeif.gitdir:x.path", "y")])
