"""doctor names what is wrong and the command that mends it; sync has the two audited ways out."""

from __future__ import annotations

import json
import os
import shutil

from clones import Clone, World


def checks(clone: Clone, code: int = 0, **options: str) -> dict[str, list[tuple[str, str, str]]]:
    found: dict[str, list[tuple[str, str, str]]] = {}
    for check in json.loads(clone.run("doctor", check=code, env=options).out)["checks"]:
        found.setdefault(check["name"], []).append((check["level"], check["text"], check["command"]))
    return found


def test_a_healthy_clone(alice: Clone) -> None:
    alice.config("loopx.agent", "alice")
    found = checks(alice)
    names = {"program", "git", "repository", "location", "reach", "clock", "agent", "pending", "packing", "state"}
    assert set(found) == names
    assert {level for rows in found.values() for level, _, _ in rows} <= {"ok", "warn"}


def test_a_remote_that_is_gone(alice: Clone, ledger: World) -> None:
    alice.run("sync")
    ledger.remote.rename(ledger.root / "away")
    assert checks(alice, 19)["reach"][0][0] == "fail"


def test_an_unregistered_agent_a_wrong_clock_and_two_urls(alice: Clone) -> None:
    alice.run("sync")
    alice.git("remote", "set-url", "--add", "origin", str(alice.path))
    found = checks(alice, 19, LOOPX_AGENT="nobody", LOOPX_NOW="-1d")
    assert found["agent"] == [
        ("fail", "nobody (LOOPX_AGENT) is not a registered peer", "git loopx peer register nobody")
    ]
    assert found["clock"][0][0] == "fail"
    assert found["remote"][0][0] == "warn"


def test_a_command_that_died_is_reported_and_its_advice_works(alice: Clone) -> None:
    todo = alice.add("one")
    alice.run("todo", "claim", todo, agent="alice", env={"LOOPX_FAILPOINT": "pushed=kill"}, check=-9)
    level, text, command = checks(alice)["pending"][0]
    assert (level, "todo claim" in text) == ("warn", True)
    assert "same command" in command
    alice.run("todo", "claim", todo, agent="alice")
    assert checks(alice)["pending"] == [("ok", "no command is waiting for its outcome", "")]


def test_an_unreadable_file_is_named(ledger: World) -> None:
    clone = ledger.clone("alice")
    todo = clone.add("one")
    clone.run("sync")
    coord = clone.home / "coord.git"
    path = f".loopx/goals/main/todos/{todo[5:7]}/{todo}.md"
    env = {**clone.env, "GIT_INDEX_FILE": str(coord / "scratch")}
    bad = Clone(coord, env)
    bad.git("read-tree", "refs/loopx/tip")
    blob = bad.git("hash-object", "-w", "--stdin", stdin=b"no frontmatter\n")
    bad.git("update-index", "--cacheinfo", f"100644,{blob},{path}")
    commit = bad.git("commit-tree", bad.git("write-tree"), "-p", "refs/loopx/tip", "-m", "broken")
    bad.git("update-ref", "refs/loopx/tip", commit)
    bad.git("push", "-q", str(ledger.remote), f"{commit}:refs/heads/loopx/coord")
    os.unlink(coord / "scratch")
    failed = checks(clone, 19)["state"]
    assert any(path in text for _, text, _ in failed)


def test_config_show_tells_where_each_value_comes_from(alice: Clone) -> None:
    alice.config("loopx.agent", "alice")
    alice.run("sync")
    shown = alice.run("config", "show", "--timeout", "5").json
    settings = shown["settings"]
    assert settings["agent"] == {"value": "alice", "origin": "git config loopx.agent"}
    assert settings["timeout"] == {"value": "5s", "origin": "--timeout"}
    assert settings["remote"]["origin"] == ".loopx/config.toml"
    assert settings["ledger"]["value"] == shown["pin"]["ledger"]


def test_a_rewritten_ref_is_accepted_only_by_name_and_with_a_reason(alice: Clone, bob: Clone, ledger: World) -> None:
    old = ledger.tip()
    alice.add("lost by the rewrite")
    bob.run("sync")
    ledger.git("update-ref", "refs/heads/loopx/coord", old, folder=ledger.remote)
    refused = bob.run("todo", "add", "x", check=14).error
    # It may be a mirror that lags: no ready command that winds the clone back.
    assert "--accept-tip" not in refused["hint"]
    assert "older" in refused["message"]
    assert (refused["tip"], refused["last_tip"] != old) == (old, True)
    assert bob.run("sync", "--accept-tip", old, check=2).error["hint"]
    assert bob.run("sync", "--accept-tip", "0" * 40, "--reason", "x", check=15).error["hint"]
    assert bob.run("sync", "--accept-tip", old, "--reason", "restored from a backup").json["tip"] == old
    kept = json.loads((bob.home / "accepted.log").read_text())
    assert (kept["to"], kept["reason"]) == (old, "restored from a backup")
    bob.run("todo", "add", "x")
    assert bob.verified()["ok"]


def test_a_local_ledger_is_published(ledger: World) -> None:
    alone = ledger.repository("alone")
    alone.commit("code.py")
    alone.run("init")
    alone.run("peer", "register", "alice")
    todo = alone.add("one")
    target = ledger.root / "target.git"
    ledger.git("init", "-q", "--bare", str(target))
    alone.git("remote", "add", "origin", str(target))
    refused = alone.run("todo", "claim", todo, agent="alice", check=16).error
    assert "git loopx sync --publish" in refused["hint"]
    assert "git config loopx.remote ." in refused["hint"]
    done = alone.run("sync", "--publish").json
    assert ledger.tip(target) == done["tip"]
    alone.run("todo", "claim", todo, agent="alice")
    assert len(ledger.claims(todo, target)) == 1
    other = ledger.clone("other", url=target)
    assert other.run("todo", "claim", todo, agent="alice", check=11).error["holder"] == "alice"
    assert alone.verified()["ok"]
    shutil.rmtree(other.path)


def test_staying_local_is_one_setting(ledger: World) -> None:
    alone = ledger.repository("alone")
    alone.run("init")
    alone.git("remote", "add", "origin", str(ledger.remote))
    alone.run("todo", "add", "x", check=16)
    alone.config("loopx.remote", ".")
    alone.run("todo", "add", "x")
