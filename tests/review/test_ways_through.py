"""Ways around the check and the gate that were tried: each is an attack that must not pass."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from clones import COORD, World, git, plant
from review.coding import Coding, found
from review.test_receive import Server, copied, guarded, server

from loopx_git.client.client import Client
from loopx_git.client.connect import Overrides
from loopx_git.errors import InvalidState, LoopXError, UsageError
from loopx_git.review.receive import ABSENT, Gate, Update
from loopx_git.store.clock import SystemClock
from loopx_git.store.repository import open_repository

__all__ = ["copied", "guarded", "server"]
CONFIG, SIGNERS = ".loopx/config.toml", ".loopx/allowed_signers"
API = "todo_aaaa00000001"


@pytest.fixture
def coding(ledger: World) -> Coding:
    coding = Coding(ledger, ledger.clone("dev"))
    coding.todo(API, "the api", scope=("api/**",))
    return coding


# -- names that mean more than one thing


@pytest.mark.parametrize(
    ("kind", "name", "base"),
    [
        ("tag", "refs/tags/origin/main", "origin/main"),
        ("branch", "refs/heads/origin/main", "origin/main"),
        ("tag", "refs/tags/main", "main"),
        ("tag", "refs/tags/main", "main~1"),
        ("other remote", "refs/remotes/main/HEAD", "main"),
    ],
)
def test_an_ambiguous_name_is_refused(coding: Coding, kind: str, name: str, base: str) -> None:
    coding.branch("work")
    coding.commit({"x.py": "0"})
    coding.commit({"x.py": "1"})
    coding.clone.git("branch", "-f", "main", "origin/main")
    # The outsider's ref holds the whole change: nothing would lie between.
    coding.clone.git("update-ref", name, coding.head())
    with pytest.raises(UsageError, match="ambiguous") as raised:
        coding.check(base=base)
    assert name in raised.value.message
    assert raised.value.hint
    for text in (f"{base}..HEAD", f"HEAD~1..{base}"):
        done = coding.clone.run("guard", "check", "--range", text, check=None)
        assert done.code == 2
        assert "ambiguous" in done.error["message"]


@pytest.mark.parametrize("outsider", ["refs/tags/refs/remotes/origin/main", "refs/heads/refs/remotes/origin/main"])
def test_a_whole_name_is_taken_at_its_word(coding: Coding, outsider: str) -> None:
    coding.branch("work")
    coding.commit({"x.py": "1"})
    coding.clone.git("update-ref", outsider, coding.head())
    coding.clone.git("update-ref", "refs/tags/HEAD", "origin/main")
    assert found(coding.check(base="refs/remotes/origin/main")) == [("missing", "x.py", None)]


def test_a_short_id_that_is_a_branch_too_is_refused(coding: Coding) -> None:
    coding.branch("work")
    head = coding.commit({"x.py": "1"})
    short = coding.head("refs/remotes/origin/main")[:8]
    assert found(coding.check(base=short)) == [("missing", "x.py", None)]
    coding.clone.git("update-ref", f"refs/heads/{short}", head)
    with pytest.raises(UsageError, match="ambiguous"):
        coding.check(base=short)
    coding.clone.git("update-ref", f"refs/heads/{head}", coding.head("origin/main"))
    assert found(coding.check(base="refs/remotes/origin/main", head=head)) == [("missing", "x.py", None)]


def test_an_empty_range_is_said_aloud(coding: Coding) -> None:
    coding.branch("work")
    verdict = coding.check()
    assert [(item.rule, item.level) for item in verdict.findings] == [("empty", "notice")]
    assert "nothing was judged" in coding.clone.run("review", "check", "--base", "refs/remotes/origin/main").out


# -- what is read is what is stored


def swapped(coding: Coding, way: str) -> Mapping[str, str]:
    """Make git show another history or other files; the environment that it takes."""
    clone, honest = coding.clone, coding.head("refs/remotes/origin/main")
    head = coding.head()
    clean = clone.git("commit-tree", f"{honest}^{{tree}}", "-p", honest, "-m", "nothing")
    grafts = clone.path / ".git/info/grafts"
    if way == "replace":
        clone.git("update-ref", f"refs/replace/{head}", clean)
    elif way == "replace base":
        clone.git("update-ref", f"refs/mine/{head}", clean)
        return {"GIT_REPLACE_REF_BASE": "refs/mine/"}
    elif way == "replace setting":
        clone.git("update-ref", f"refs/replace/{head}", clean)
        clone.config("core.useReplaceRefs", "true")
    elif way == "replace blob":
        old = clone.git("rev-parse", f"{honest}^{{tree}}")
        clone.git("update-ref", f"refs/replace/{clone.git('rev-parse', 'HEAD^{tree}')}", old)
    elif way == "grafts":
        grafts.parent.mkdir(exist_ok=True)
        grafts.write_text(f"{honest} {head}\n")
    else:
        (clone.path / "mine").write_text(f"{honest} {head}\n")
        return {"GIT_GRAFT_FILE": str(clone.path / "mine")}
    return {}


@pytest.mark.parametrize(
    "way", ["replace", "replace base", "replace setting", "replace blob", "grafts", "graft file"]
)
def test_nothing_swaps_what_is_read(coding: Coding, way: str) -> None:
    coding.branch("work")
    coding.commit({"x.py": "1"})
    more = swapped(coding, way)
    clone = coding.clone.having(**more)
    done = clone.run("review", "check", "--base", "refs/remotes/origin/main", check=None)
    assert done.code == 19
    assert [(item["rule"], item["file"]) for item in done.json["findings"]] == [("missing", "x.py")]
    shown = clone.run("guard", "check", "--range", "refs/remotes/origin/main..HEAD").json
    assert [(item["rule"], item["paths"]) for item in shown["findings"]] == [("missing", ["x.py"])]


def test_replacements_are_not_pushed_through_the_gate(server: Server) -> None:
    clone = server.world.clone("code")
    head = clone.git("rev-parse", "HEAD")
    (line,) = server.refused(clone, f"HEAD:refs/replace/{head}")
    assert "replacement" in line


# -- who changes the rules

CHANGES = {
    "mode": {CONFIG: '\n[guard]\nmode = "off"\n'},
    "operators": {CONFIG: '\n[guard]\noperators = ["mallory"]\n'},
    "branches": {CONFIG: '\n[guard]\nbranches = ["other"]\n'},
    "signers": {SIGNERS: "mallory ssh-ed25519 AAAA\n"},
    "format": {".loopx/format": "1\n"},
    "other case": {".loopx/Config.TOML": "x"},
    "deleted": {CONFIG: None},
}


def edited(coding: Coding, change: str) -> dict[str, str | None]:
    """The files of a change; a policy is added to the one that is there."""
    text = coding.clone.git("show", f"HEAD:{CONFIG}")
    return {name: text + more if name == CONFIG and more else more for name, more in CHANGES[change].items()}


@pytest.mark.parametrize("change", CHANGES)
def test_rules_are_changed_by_nobody_else(coding: Coding, change: str) -> None:
    coding.branch("work")
    coding.commit(edited(coding, change), [coding.claim(API, "alice")], subject="rules")
    errors = [item for item in coding.check().findings if item.level == "error"]
    assert [(item.rule, item.file) for item in errors] == [("config", *CHANGES[change])]
    assert "nobody may" in errors[0].message
    assert coding.check(rule_changes="anyone").ok


@pytest.mark.parametrize(
    ("holder", "scope", "passes"),
    [
        ("alice", (CONFIG,), True),
        ("alice", (".loopx/**",), True),
        ("bob", (CONFIG,), False),
        ("alice", ("api/**",), False),
        ("alice", (), False),
    ],
)
def test_an_operators_claim_that_names_the_file_changes_it(
    coding: Coding, holder: str, scope: tuple[str, ...], passes: bool
) -> None:
    coding.policy('\n[guard]\noperators = ["alice"]\n')
    todo = coding.todo("todo_bbbb00000002", "the rules", scope=scope)
    coding.branch("work")
    text = (coding.clone.path / CONFIG).read_text()
    claim = coding.claim(todo, holder)
    coding.commit({CONFIG: text.replace('["alice"]', '["alice", "bob"]')}, [claim], subject="rules")
    verdict = coding.check()
    assert verdict.ok is passes
    assert [(item.rule, item.level) for item in verdict.findings] == [("config", "notice" if passes else "error")]


def test_an_unreadable_base_lets_only_its_mending_through(coding: Coding) -> None:
    text = (coding.clone.path / CONFIG).read_text()
    coding.policy('\n[guard]\noperators = ["alice"]\n')
    coding.branch("broken")
    coding.commit({CONFIG: "no toml ["})
    coding.merge()
    todo = coding.todo("todo_bbbb00000002", "the rules", scope=(CONFIG,))
    claim = coding.claim(todo, "alice")
    coding.branch("work")
    coding.commit({"api/x.py": "1"}, [claim])
    with pytest.raises(InvalidState, match="not TOML"):
        coding.check()
    coding.branch("mend")
    coding.commit({CONFIG: text}, subject="mend")
    assert found(coding.check()) == [("config", CONFIG, None)]
    coding.branch("mend")
    coding.commit({CONFIG: text}, [claim], subject="mend")
    assert coding.check().ok


def test_what_an_unreadable_base_said_last_is_brought_back_by_anyone(coding: Coding) -> None:
    text = coding.clone.git("show", f"refs/remotes/origin/main:{CONFIG}") + "\n"
    coding.branch("broken")
    coding.commit({CONFIG: "no toml ["})
    coding.merge()
    for files in ({CONFIG: text + '[guard]\nmode = "off"\n'}, {CONFIG: text, SIGNERS: "mallory x\n"}):
        coding.branch("mend")
        coding.commit(dict(files), subject="mend")
        assert ("config", CONFIG, None) in found(coding.check())
    coding.branch("mend")
    coding.commit({CONFIG: text}, subject="mend")
    assert coding.check().ok


# -- the gate


def push(server: Server, files: Mapping[str, str | None], name: str = "code", ref: str = "main") -> Any:
    """A clone with one commit of these files, pushed; what git answers."""
    clone = server.world.clone(name)
    for path, text in files.items():
        if text is None:
            clone.git("rm", "-q", "--", path)
        else:
            (clone.path / path).write_text(text)
            clone.git("add", "--", path)
    clone.git("commit", "-q", "-m", "rules")
    return subprocess.run(["git", "push", "origin", f"HEAD:{ref}"], cwd=clone.path, env=dict(clone.env),
                          capture_output=True, text=True, timeout=60)  # fmt: skip


def config(server: Server) -> str:
    return git(server.world.remote, "show", f"refs/heads/main:{CONFIG}", env=server.world.env) + "\n"


@pytest.mark.parametrize("account", ["alice", "boss"])
def test_at_the_gate_only_operators_change_the_rules(server: Server, account: str) -> None:
    server.push_as(account)
    text = config(server)
    for number, files in enumerate(({CONFIG: text + 'mode = "warn"\n'}, {CONFIG: text, SIGNERS: "x\n"})):
        done = push(server, files, f"code{number}")
        assert (done.returncode == 0) is (account == "boss"), done.stderr
        assert ("(config)" in done.stderr) is (account != "boss")


def test_at_the_gate_nobody_makes_the_policy_unreadable_and_only_its_mending_passes(server: Server) -> None:
    server.push_as("boss")
    good = config(server)
    done = push(server, {CONFIG: good + "no toml ["}, "first")
    assert done.returncode != 0
    assert "could not be read after it" in done.stderr
    # Somebody breaks it on the server itself.
    clone = server.world.clone("breaker")
    clone.commit(CONFIG, good + "no toml [", "break it")
    (server.world.remote / "hooks/pre-receive").rename(server.world.remote / "hooks/off")
    clone.git("push", "-q", "origin", "HEAD:main")
    (server.world.remote / "hooks/off").rename(server.world.remote / "hooks/pre-receive")
    for number, (files, ref) in enumerate([
        ({"a.py": "1"}, "main"), ({CONFIG: good, "a.py": "1"}, "main"), ({CONFIG: good}, "other"),
        ({CONFIG: good + "still ["}, "main"),
    ]):  # fmt: skip
        done = push(server, files, f"try{number}", ref)
        assert done.returncode != 0, (files, ref)
        assert "not TOML" in done.stderr
    server.push_as("alice")
    assert push(server, {CONFIG: good + 'mode = "warn"\n'}, "not-alice").returncode != 0
    # What was there before is no change of the rules.
    done = push(server, {CONFIG: good}, "mender")
    assert done.returncode == 0, done.stderr
    server.push_as("alice")
    assert server.client("alice").todo.update(server.held, note="on it goes").acquired is None


@pytest.mark.parametrize("head", ["refs/heads/missing", "detached"])
def test_at_the_gate_a_head_that_names_no_branch_is_refused(server: Server, head: str) -> None:
    if head == "detached":
        oid = git(server.world.remote, "rev-parse", "refs/heads/main", env=server.world.env)
        (server.world.remote / "HEAD").write_text(f"{oid}\n")
    else:
        (server.world.remote / "HEAD").write_text(f"ref: {head}\n")
    clone = server.world.clone("code", "--branch=main")
    clone.commit("a.py", "1", "no claim")
    for ref in ("main", "missing", COORD):
        (line,) = server.refused(clone, f"+HEAD:{ref}" if ref == COORD else f"HEAD:{ref}")
        assert "is not a branch here" in line
        assert "git symbolic-ref HEAD" in line


def test_at_the_gate_the_first_push_of_a_repository_passes(world: World) -> None:
    bare = world.root / "new.git"
    git(world.root, "init", "-q", "--bare", "-b", "main", str(bare), env=world.env)
    clone = world.clone("code")
    plant(bare / "hooks/pre-receive", f'#!/bin/sh\nexec "{sys.executable}" -m loopx_git receive-check\n')
    clone.git("push", "-q", str(bare), "HEAD:refs/heads/main")
    assert git(bare, "rev-parse", "main", env=world.env) == clone.git("rev-parse", "HEAD")


@pytest.mark.parametrize(
    ("branches", "ref", "judged"),
    [
        ('["main", "release/*"]', "release/1", True),
        ('["main", "release/*"]', "release/1/x", False),
        ('["**"]', "anything/at/all", True),
        ('["main"]', "feature", False),
    ],
)
def test_at_the_gate_a_pattern_of_branches_is_one(server: Server, branches: str, ref: str, judged: bool) -> None:
    server.push_as("boss")
    done = push(server, {CONFIG: f"{config(server)}branches = {branches}\n"}, "policy")
    assert done.returncode == 0, done.stderr
    server.push_as("alice")
    done = push(server, {"a.py": "1"}, "code", ref)
    assert (done.returncode != 0) is judged, done.stderr
    assert ("(missing) a.py" in done.stderr) is judged


def test_at_the_gate_branches_that_match_nothing_are_refused(server: Server) -> None:
    server.push_as("boss")
    good = config(server)
    assert push(server, {CONFIG: good + 'branches = ["mian", "release/*"]\n'}, "policy").returncode == 0
    done = push(server, {"a.py": "1"}, "code")
    assert done.returncode != 0
    assert "matches no branch here" in done.stderr
    done = push(server, {CONFIG: good + 'branches = ["main"]\n'}, "mender")
    assert done.returncode == 0, done.stderr


def test_at_the_gate_what_is_not_judged_is_said(server: Server) -> None:
    server.push_as("boss")
    assert push(server, {CONFIG: config(server) + 'mode = "off"\n'}, "policy").returncode == 0
    done = push(server, {"a.py": "1"}, "code")
    assert done.returncode == 0
    assert "not judged: guard.mode is off" in done.stderr


def test_at_the_gate_a_warning_is_said(server: Server) -> None:
    server.push_as("boss")
    text = config(server) + 'mode = "warn"\nbranches = ["main", "relaese/*"]\n'
    assert push(server, {CONFIG: text}, "policy").returncode == 0
    done = push(server, {"a.py": "1"}, "code")
    assert done.returncode == 0
    assert "(missing) a.py" in done.stderr
    assert "guard.branches (relaese/*) matches no branch here" in done.stderr


@pytest.mark.parametrize("alias", ["refs/heads/master", "refs/old/main"])
def test_at_the_gate_a_symbolic_ref_is_the_branch_that_it_moves(server: Server, alias: str) -> None:
    git(server.world.remote, "symbolic-ref", alias, "refs/heads/main", env=server.world.env)
    clone = server.world.clone("code")
    clone.commit("a.py", "1", "no claim")
    (line,) = server.refused(clone, f"HEAD:{alias}")
    assert "(missing) a.py" in line


def test_at_the_gate_refs_that_cannot_be_listed_are_not_taken_for_none(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = server.world
    gate = Gate(open_repository(str(world.remote), world.env), world.env, 60)
    # Git reads a broken packed-refs file only when it lists: the gate has read HEAD before.
    plant(world.remote / "packed-refs", "no ref\n")
    with pytest.raises(InvalidState, match="cannot be listed"):
        gate.refusals([Update(ABSENT, "1" * 40, "refs/heads/other")])


@pytest.mark.parametrize(("ahead", "passes"), [(30, True), (3600, False)])
def test_at_the_gate_an_operation_of_the_future_is_refused(server: Server, ahead: int, passes: bool) -> None:
    clone = server.world.clone("late", url=server.url)
    overrides = Overrides(clock=SystemClock(offset=ahead))
    client = Client(clone.path, clone.env, {"agent": "alice", "session": "one"}, overrides)
    if passes:
        assert client.todo.update(server.held, note="soon").acquired is None
        return
    with pytest.raises(LoopXError, match=r"dated .*, in the future here"):
        client.todo.update(server.held, note="far away")
