"""The commit: what it is refused for, what it says, and everything of the user's that it leaves alone."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clones import Clone, World, differences, footprint
from sites import Site, hold

from loopx_git.client import claims_file
from loopx_git.client.client import Client
from loopx_git.core.commands import AddTodo, OnTodo
from loopx_git.core.table import Operation
from loopx_git.coverage.changes import Code
from loopx_git.coverage.policy import parse
from loopx_git.coverage.verdict import Who
from loopx_git.guard import cached, hook, refresh
from loopx_git.guard.answer import examine
from loopx_git.guard.free import Finder
from loopx_git.store import process, remote

MakeSite = Callable[..., Site]
CHANGE = "echo x >> src/a.py; git commit -q -a -m work"


def staged(clone: Clone) -> list[str]:
    return Code(str(clone.path), str(clone.common_dir), clone.env).staged(str(clone.git_dir))


def check(site: Site, *args: str, code: int = 0, **env: str) -> Any:
    return site.clone.run("guard", "check", *args, check=code, env=env).json


def test_a_denial_names_everything_in_one_screen(site: MakeSite) -> None:
    made = site(claim="other")
    done = made.sh("echo x >> src/a.py; git add src; git commit -q -m work")
    assert done.returncode != 0
    lines = done.stderr.splitlines()
    assert len(lines) < 25
    for text in ("src/a.py", "bob holds", f"{made.todo}@1", "(the work)", "it lapses in", "read 0 s ago",
                 f"next: git loopx todo show {made.todo}", "pull-request check fails"):  # fmt: skip
        assert text in done.stderr
    shown = check(made, code=19)
    assert shown["kind"] == "guard"
    assert shown["findings"][0]["holder"] == "bob"
    assert shown["findings"][0]["epoch"] == 1
    assert shown["next"] == f"git loopx todo show {made.todo}"
    assert shown["known_age_s"] < 600
    error = made.clone.run("guard", "check", check=19).error
    assert (error["code"], error["holder"], error["rule"]) == (19, "bob", "held")


def test_paths_of_every_kind(site: MakeSite) -> None:
    made = site(claim="own")
    git = made.clone.git
    made.quietly(
        "mkdir -p src docs; echo x > docs/old.md; echo x > docs/gone.md; echo x > docs/mode.sh; ln -s a docs/link;"
        " printf '[submodule \"m\"]\\n\\tpath = docs/m\\n\\turl = ./m\\n\\tignore = all\\n' > .gitmodules;"
        f" git add docs .gitmodules; git update-index --add --cacheinfo 160000,{'1' * 40},docs/m;"
        " g commit -q -m before"
    )
    blob = git("hash-object", "-w", "--stdin", stdin=b"x")
    git("mv", "docs/old.md", "src/new.md")
    git("rm", "-q", "--cached", "docs/gone.md")
    git("update-index", "--chmod=+x", "docs/mode.sh")
    made.quietly("ln -sfn b docs/link; git add docs/link")
    git("update-index", "--cacheinfo", f"160000,{'2' * 40},docs/m")
    entries = [
        b"100644 " + blob.encode() + b"\t" + name
        for name in (b"docs/caf\xe9", b"docs/A", b"docs/a", b'docs/"q" \xc3\xa9')
    ]
    git("update-index", "-z", "--index-info", stdin=b"\0".join(entries) + b"\0")
    wanted = {
        "docs/old.md", "docs/gone.md", "docs/mode.sh", "docs/link", "docs/m", "docs/caf\udce9", "docs/A", "docs/a",
        'docs/"q" é',
    }  # fmt: skip
    shown = check(made, code=19)
    assert set(shown["findings"][0]["paths"]) == wanted
    assert shown["checked"] == len(wanted) + 1
    assert set(staged(made.clone)) == {*wanted, "src/new.md"}
    done = made.sh("git commit -q -m all")
    assert done.returncode != 0
    assert "\\udce9" in done.stderr or "more paths" in done.stderr


def test_the_first_commit_of_a_repository(tmp_path: Path) -> None:
    world = World(tmp_path / "world")
    clone = world.repository("new")
    (clone.path / "a").write_text("x")
    clone.git("add", "a")
    assert staged(clone) == ["a"]


def test_no_state_yet(ledger: World) -> None:
    clone = ledger.clone("fresh")
    clone.config("loopx.agent", "alice")
    (clone.path / "a").write_text("x")
    clone.git("add", "a")
    shown = clone.run("guard", "check", check=19)
    assert shown.json["problem"]["rule"] == "no-state"
    assert shown.error["hint"] == "git loopx sync"
    clone.run("sync")
    assert clone.run("guard", "check", check=19).json["problem"] is None


def test_knowledge_grows_old(site: MakeSite) -> None:
    made = site(claim="own")
    made.quietly("echo x >> src/a.py; git add src")
    day = time.time() - 2 * 86400
    os.utime(made.clone.home / "fetched", (day, day))
    done = made.sh("git commit -q -m work")
    assert done.returncode != 0
    assert "next: git loopx sync" in done.stderr
    made.client().read(fresh=True)
    assert made.sh("git commit -q -m work").returncode == 0


def test_old_knowledge_is_told_also_to_one_who_may(site: MakeSite) -> None:
    made = site(claim="own")
    hours = time.time() - 5 * 3600
    os.utime(made.clone.home / "fetched", (hours, hours))
    done = made.sh(CHANGE)
    assert done.returncode == 0
    assert "by the claims as they were read 5 h ago" in done.stderr


def test_the_own_claim_past_its_deadline_and_renewed(site: MakeSite) -> None:
    made = site(claim="lapsed")
    done = made.sh(CHANGE)
    assert done.returncode != 0
    assert f"next: git loopx task-lease renew {made.todo}" in done.stderr
    made.clone.run("task-lease", "renew", made.todo)
    assert made.sh(CHANGE).returncode == 0


def test_another_sessions_claim_and_its_resumption(site: MakeSite) -> None:
    made = site(claim="own")
    done = made.sh(CHANGE, LOOPX_SESSION="another")
    assert done.returncode != 0
    assert f"git loopx todo claim {made.todo} --resume" in done.stderr
    assert made.sh(CHANGE).returncode == 0


def test_anothers_lapsed_claim_is_no_conflict(site: MakeSite) -> None:
    made = site(claim="own")
    client = made.client()
    client.policy.set("claims.scope_overlap", "allow")
    todo = client.todo.add("also src", scope=("/src/",)).id
    Client(made.clone.path, made.clone.env, {"agent": "bob"}).todo.claim(todo, ttl=600)
    assert made.sh("echo x >> src/a.py; git add src; git commit -q -m work").returncode != 0
    # By the cached time and the skew it is over; the own one is held by another clock, and ended earlier.
    made.client().task_lease.renew(made.todo, ttl=86400)
    assert made.sh("git commit -q -m work", LOOPX_NOW="+700s").returncode == 0


def test_errors_of_our_own_never_let_an_edit_pass(site: MakeSite) -> None:
    made = site(claim="own")
    config = made.clone.path / ".loopx/config.toml"
    text = config.read_text()
    for bad, words in (
        ("[guard]\nmoode = 'off'\n", "unknown key guard.moode"),
        ("[guard]\nmode = 'strict'\n", "guard.mode"),
        ("[guard", "not TOML"),
        ("[guard]\npaths = 'src'\n", "guard.paths"),
        ("a = " + "[" * 300, "not TOML"),
        ("[[guard]]\n", "unknown table or key"),
    ):
        config.write_text(bad)
        done = made.sh(CHANGE)
        assert done.returncode != 0, bad
        assert words in done.stderr
        assert "next: mend .loopx/config.toml" in done.stderr
    config.write_text(text)
    (made.clone.home / "claims.json").unlink()
    (made.clone.home / "claims.json").mkdir()
    done = made.sh(CHANGE)
    assert done.returncode != 0
    assert "next: " in done.stderr
    (made.clone.home / "claims.json").rmdir()
    (made.clone.home / "claims.json").write_text("{}")
    assert made.sh(CHANGE).returncode == 0


def test_a_claim_that_cannot_be_read_covers_nothing_and_that_is_said() -> None:
    from memory_store import MemoryTree

    from loopx_git.core.lease import Clocks, Lease
    from loopx_git.core.policy import Policy
    from loopx_git.core.times import parse_time
    from loopx_git.format import layout, policy_file
    from loopx_git.format.lease_record import dump
    from loopx_git.ledger.snapshot import TreeSnapshot

    now = parse_time("2026-01-01T00:00:00Z")
    todo = "todo_0123456789ab"
    record = dump(Lease(todo, 1, "bob", "s", acquired_at=now, renewed_at=now, ttl_s=60))
    files = {
        layout.FORMAT: b"1\n", layout.POLICY: policy_file.dump(Policy()), layout.lease("main", todo): record,
        layout.todo("main", todo): b"---\nid: nonsense\n---\n",
    }  # fmt: skip
    claims, unreadable = claims_file.claims_at(TreeSnapshot(MemoryTree(files)), Clocks(now))
    assert claims == []
    assert len(unreadable) == 1
    known = {"tip": None, "claims": claims, "unreadable": unreadable, "here": True}
    found = cached.of_claims(
        known, parse({}, "x"), Who(None, None), "/nowhere", 0.0, 0.0, "", free=Finder(Client, None)
    )
    assert found.notes[0].startswith("a claim cannot be read and covers nothing")


def test_the_copy_says_what_the_rules_of_claims_say(site: MakeSite) -> None:
    """`lapses_at` and `late_at` are the moments at which the core changes its mind."""
    from datetime import UTC, datetime

    from loopx_git.core.claim import state_of
    from loopx_git.core.lease import Clocks, LeaseState, is_late

    made = site(claim="own")
    client = made.client()
    bound = client.todo.add("bound", scope=("/x/",)).id
    free = client.todo.add("free", scope=("/y/",)).id
    client.todo.claim(bound, ttl=600)
    client.todo.claim(free, ttl=None)
    task = client.todo.add("task", scope=("/z/",)).id
    client.loop.create("night")
    client.loop.claim("night", task)
    snapshot = client.snapshot(client.read())
    found, _ = claims_file.claims_at(snapshot, client.clocks())
    assert {item["todo"] for item in found} == {made.todo, bound, free, task}
    for item in found:
        lease = snapshot.lease("main", item["todo"])
        assert lease is not None
        for shift in (-1, 1):
            then = Clocks(datetime.fromtimestamp(item["lapses_at"] + shift, UTC))
            assert (state_of(lease, snapshot, then) is LeaseState.LAPSED) == (shift > 0), item
            if item["late_at"] is not None:
                assert is_late(lease, Clocks(datetime.fromtimestamp(item["late_at"] + shift, UTC))) == (shift > 0)
    client.loop.pause("night")
    found, _ = claims_file.claims_at(client.snapshot(client.read()), client.clocks())
    assert [item["lapses_at"] for item in found if item["todo"] == task] == [None]


def test_the_copy_follows_the_tip(site: MakeSite) -> None:
    made = site(claim="own")
    client = made.client()
    todo = client.todo.add("more", scope=("/docs/",)).id
    client.todo.claim(todo)
    text = claims_file.read(str(made.clone.home))
    assert text is not None
    assert text["tip"] == client.connection.ledger.tip()
    assert todo in {item["todo"] for item in text["claims"]}


def test_the_tip_is_found_wherever_git_keeps_its_refs(site: MakeSite) -> None:
    made = site(claim="own")
    common, tip = str(made.clone.common_dir), made.client().connection.ledger.tip()
    ref = "refs/heads/loopx/coord"
    assert claims_file.known_tip(common, ref, here=False) == tip
    made.clone.git("-C", str(made.clone.home / "coord.git"), "pack-refs", "--all", "--prune")
    assert not (made.clone.home / "coord.git/refs/loopx/tip").exists()
    assert claims_file.known_tip(common, ref, here=False) == tip
    assert claims_file.known_tip(common, ref, here=True) is None
    made.clone.git("update-ref", ref, "HEAD")
    assert claims_file.known_tip(common, ref, here=True) == made.base


def test_where_nobody_asked_for_the_guard_nothing_is_written(alice: Any) -> None:
    alice.run("todo", "add", "x")
    assert not (alice.home / claims_file.NAME).exists()


def test_the_quick_way_and_the_slow_way_agree(site: MakeSite) -> None:
    made = site(claim="own")
    where = cached.places(str(made.clone.path))
    assert where is not None
    slow = refresh.context(made.client())
    fast = cached.context(where, made.clone.env)
    assert fast is not None
    assert (fast.who.agent, fast.who.session, fast.tip) == (slow.who.agent, slow.who.session, slow.tip)
    paths = ["src/a", "docs/b", ".loopx/x"]
    assert [group.rule for group in examine(fast, paths, "paths").groups] == [
        group.rule for group in examine(slow, paths, "paths").groups
    ]


def test_what_changes_the_answer_ends_the_quick_way(site: MakeSite) -> None:
    made = site(claim="own")
    where = cached.places(str(made.clone.path))
    assert where is not None
    env = dict(made.clone.env)
    assert cached.context(where, env) is not None
    assert cached.context(where, {**env, "GIT_CONFIG_PARAMETERS": "'loopx.agent=bob'"}) is None
    assert cached.context(where, {**env, "LOOPX_NOW": "+1h"}) is None
    assert cached.context(where, {**env, "LOOPX_AGENT": "-x"}) is None
    config = made.clone.path / ".loopx/config.toml"
    text = config.read_text()
    config.write_text(text + "[guard]\nmode = 'warn'\n")
    assert cached.context(where, env) is None
    config.write_text(text)
    assert cached.context(where, env) is not None
    made.clone.config("loopx.agent", "bob")
    assert cached.context(where, env) is None
    made.clone.config("loopx.agent", "alice")
    refresh.context(made.client())
    assert cached.context(where, env) is not None
    (made.clone.home / "coord.git/refs/loopx/tip").write_text("1" * 40 + "\n")
    assert cached.context(where, env) is None


def test_a_commit_uses_no_network_and_no_pygit2(site: MakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 todos, 3,000 paths, a transport that raises; and it does raise where it is used."""
    made = site(claim="own")
    client = made.client()
    actor = client.connection.actor()
    client.submit(
        [AddTodo(f"todo_{number:012x}", "work", scope=(f"/area-{number}/**",)) for number in range(40)], actor
    )
    client.submit([OnTodo(Operation.CLAIM, f"todo_{number:012x}") for number in range(20)], actor)
    made.quietly("for n in $(seq 300); do echo $n > src/$n; done; git add src")

    def raising(*args: object, **more: object) -> None:
        raise AssertionError("the network was used")

    for step in ("fetch", "push", "look"):
        monkeypatch.setattr(remote.RemotePublisher, step, raising)
    began: list[str] = []
    spawn = process.subprocess.Popen

    class Watching(spawn):  # type: ignore[misc,valid-type]
        def __init__(self, argv: list[str], **more: Any) -> None:
            began.append(" ".join(argv))
            super().__init__(argv, **more)

    monkeypatch.setattr(process.subprocess, "Popen", Watching)
    folder, env = str(made.clone.path), made.clone.env
    assert hook.run("pre-commit", [], folder=folder, env=env, stdin=lambda: "") == (0, [])
    assert all(word not in line for line in began for word in ("fetch", "push", "ls-remote"))
    assert any("diff-index" in line for line in began)
    # The slow way, too.
    (made.clone.home / claims_file.NAME).unlink()
    assert hook.run("pre-commit", [], folder=folder, env=env, stdin=lambda: "") == (0, [])
    with pytest.raises(AssertionError, match="network"):
        made.client().read(fresh=True)


@pytest.mark.parametrize("place", ["linked", "submodule", "main"])
def test_nothing_of_the_users_changes_but_the_commit(site: MakeSite, place: str) -> None:
    made = site(place=place, claim="own")
    git = made.clone.git
    made.quietly(
        "echo stashed >> src/b.py; git stash -q; echo staged >> src/a.py; git add src/a.py; echo loose >> src/a.py;"
        " echo other >> docs/d.md; git add docs/d.md; echo untracked > new.txt"
    )

    def known() -> dict[str, str]:
        return {
            "refs": git("for-each-ref"), "config": git("config", "--list", "--local"), "stash": git("stash", "list"),
            "loose": git("diff", "--", "docs"), "bare": git("rev-parse", "--is-bare-repository"),
        }  # fmt: skip

    before, guarded, index = known(), footprint(made.clone), git("ls-files", "-s")
    assert check(made, code=19)["refused"] == 1
    assert differences(guarded, footprint(made.clone)) == {}
    # A commit that is refused: git itself has written the index and trees, and nothing else is otherwise.
    assert made.sh("git commit -q -m all").returncode != 0
    changed = differences(guarded, footprint(made.clone))
    assert [
        key for key in changed if not key.endswith("/index") and "objects/" not in key and key != "git: index"
    ] == []
    assert git("ls-files", "-s") == index
    work = (made.clone.path / "src/a.py").read_text()
    done = made.sh("git commit -q -m mine src/a.py")
    assert done.returncode == 0, done.stderr
    after = known()
    assert (made.clone.path / "src/a.py").read_text() == work
    assert git("diff", "--cached", "--name-only") == "docs/d.md"
    head = git("rev-parse", "HEAD")
    assert after["refs"].replace(head, made.base) == before["refs"]
    assert {**after, "refs": ""} == {**before, "refs": ""}
    assert git("fsck", "--no-dangling", "--strict") == ""
    assert sorted(path.name for path in made.clone.path.iterdir()) == sorted(
        {"src", "docs", "code.py", ".loopx", ".git", "new.txt"}
    )


def test_a_lease_that_is_due_is_renewed_by_a_command_of_its_own(
    site: MakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = site(claim="none")
    client = made.client()
    client.todo.claim(made.todo, ttl=600)
    before = client.todo.show(made.todo)[0].lease.lease
    started: list[tuple[list[str], dict[str, Any]]] = []
    monkeypatch.setattr(process, "detached", lambda argv, **more: started.append((argv, more)))

    def after_commit() -> None:
        env = {**made.clone.env, "GIT_DIR": ".git", "GIT_INDEX_FILE": ".git/index"}
        assert hook.run("post-commit", [], folder=str(made.clone.path), env=env, stdin=lambda: "") == (0, [])

    after_commit()
    assert started == []
    # More than two thirds have passed by the clock of the clone.
    path = made.clone.home / "deadlines.json"
    entries = json.loads(path.read_text())
    entries[before.id]["until"] -= 500
    path.write_text(json.dumps(entries))
    after_commit()
    [(argv, more)] = started
    assert "--timeout" in argv
    assert not {"GIT_DIR", "GIT_INDEX_FILE"} & set(more["env"])
    # What was started, run to its end here.
    assert subprocess.run(argv, **more, capture_output=True, check=False).returncode == 0
    assert made.client().todo.show(made.todo, fresh=True)[0].lease.lease.seq == before.seq + 1


def test_a_command_that_cannot_be_started_is_no_error(tmp_path: Path) -> None:
    process.detached(["/nowhere/at-all"], cwd=str(tmp_path), env={})


def test_the_renewal_is_off_by_policy(site: MakeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    made = site(claim="own")
    started: list[object] = []
    monkeypatch.setattr(process, "detached", lambda argv, **more: started.append(argv))
    path = made.clone.home / "deadlines.json"
    entries = json.loads(path.read_text())
    for entry in entries.values():
        entry["until"] -= 6000
    path.write_text(json.dumps(entries))

    def after() -> None:
        refresh.context(made.client())
        hook.run("post-commit", [], folder=str(made.clone.path), env=made.clone.env, stdin=lambda: "")

    after()
    assert len(started) == 1
    made.policy("renew_on_commit = false")
    after()
    assert len(started) == 1


def test_warn_and_off(site: MakeSite) -> None:
    made = site(claim="other")
    made.policy("mode = 'warn'")
    done = made.sh(CHANGE)
    assert done.returncode == 0
    assert "loopx guard: warning" in done.stderr
    assert made.clone.git("log", "-1", "--format=%(trailers:key=Loopx-Guard,valueonly)").strip() == "unseen"
    text = (made.clone.path / ".loopx/config.toml").read_text()
    (made.clone.path / ".loopx/config.toml").write_text(text.replace("'warn'", "'off'"))
    assert made.sh(CHANGE).stderr == ""


def test_the_policys_patterns(site: MakeSite) -> None:
    made = site(claim="none")
    made.policy("paths = ['src/**', 'docs/**']\nexempt = ['docs/*.md']")
    assert made.sh("echo x >> docs/d.md; git commit -q -a -m docs").returncode == 0
    assert made.sh("echo x > README; git add README; git commit -q -m readme").returncode == 0
    assert made.sh(CHANGE).returncode != 0


def test_a_repository_of_its_own(tmp_path: Path) -> None:
    world = World(tmp_path / "world")
    clone = world.repository("alone")
    clone.commit("src/a.py", "1\n")
    clone.run("init")
    for name in ("alice", "bob"):
        clone.run("peer", "register", name)
    clone.config("loopx.agent", "alice")
    todo = hold(clone, "other")
    clone.run("guard", "install")
    (clone.path / "src/a.py").write_text("2\n")
    clone.git("add", "src")
    assert clone.run("guard", "check", check=19).json["findings"][0]["todo_id"] == todo
    clone.run("todo", "release", todo, "--force", "--reason", "gone")
    clone.run("todo", "claim", todo)
    assert clone.run("guard", "check").json["known_age_s"] == 0.0


def test_another_git_directory_than_the_folders(site: MakeSite) -> None:
    """GIT_DIR of the hook wins over what lies in the folder."""
    made = site(claim="other")
    outer = made.world.repository("outer")
    git_dir = str(made.clone.git_dir)
    made.quietly("echo x >> src/a.py; git add src")
    code, lines = hook.run("pre-commit", [], folder=str(outer.path), stdin=lambda: "", env={
        **made.clone.env, "GIT_DIR": git_dir, "GIT_WORK_TREE": str(made.clone.path)})  # fmt: skip
    assert code == 19
    assert any("bob holds" in line for line in lines)


def test_paths_by_hand(site: MakeSite) -> None:
    made = site(claim="own")
    assert check(made, "src/a.py", "src/not/there/yet.py")["verdict"] == "allowed"
    assert check(made, "docs/d.md", code=19)["findings"][0]["rule"] == "unclaimed"
    below = made.clone.at("src")
    assert below.run("guard", "check", "a.py").json["verdict"] == "allowed"
    assert below.run("guard", "check", "../docs/d.md", check=19).json["refused"] == 1
    made.clone.run("guard", "check", "../elsewhere", check=2)
    made.clone.run("guard", "check", "--staged", "--push", check=2)
