"""Lists that answer what a reader asks: what waits and for what, who holds what, what the agent could claim now."""

from __future__ import annotations

import pytest
from clones import Clone

LONG = "Mend the login of all the users who have two accounts and one session"


@pytest.fixture
def laid(alice: Clone) -> Clone:
    """A ledger with todos of every kind; bob holds fix-login."""
    add = alice.add
    add(LONG, "--alias", "fix-login", "--scope", "/login/", "--label", "web")
    add("Use the login", "--alias", "use-login", "--depends-on", "fix-login", "--body", "The OLD accounts, too.")
    add("Later", "--resume-after", "2h")
    add("On the graphics card", "--requires", "gpu", "--alias", "gpu")
    add("Not for alice", "--exclude", "alice")
    add("Two logins", "--scope", "/login/two", "--alias", "two")
    add("The docs", "--scope", "/docs/", "--alias", "docs")
    alice.run("todo", "claim", "fix-login", agent="bob")
    return alice


def titles(clone: Clone, *args: str, agent: str | None = None) -> set[str]:
    return {item["title"] for item in clone.run("todo", "list", *args, agent=agent).json["todos"]}


def test_what_waits_is_shown_as_waiting_with_what_it_waits_for(laid: Clone) -> None:
    lines = laid.run("todo", "list", json=False).out.splitlines()
    use = next(line for line in lines if "Use the login" in line)
    assert use.split()[2:5] == ["waiting", "-", "use-login"]
    assert use.endswith("waits for fix-login (Mend the login of all the use...)")
    later = next(line for line in lines if "Later" in line)
    assert (later.split()[2], later.rpartition("  ")[2].split()[:2]) == ("waiting", ["resumes", "in"])
    assert {line.split()[2] for line in lines} == {"open", "waiting"}
    shown = laid.run("todo", "show", "use-login", json=False).out
    assert "status      open, waiting" in shown
    assert "waits for fix-login (Mend the login of all the use...)" in shown
    [wait] = laid.run("todo", "show", "use-login").json["waits_for"]
    assert (wait["alias"], wait["title"], wait["until"], wait["why"]) == ("fix-login", LONG, None, "is open")
    listed = laid.run("todo", "list", "--fields", "alias,waits_for").json["todos"]
    assert next(item for item in listed if item["alias"] == "use-login")["waits_for"] == [wait]
    assert "waits" in laid.run("todo", "list", "--fields", "id,waits", json=False).out


def test_the_page_of_a_goal_says_it_too(laid: Clone) -> None:
    page = laid.run("goal", "show", "--format", "md", json=False).out
    row = next(line for line in page.splitlines() if "| Use the login |" in line)
    assert "| waiting |" in row
    assert "Mend the login of all" in row.rpartition(" | ")[2]


def test_what_no_longer_waits_and_what_waits_in_vain(laid: Clone) -> None:
    laid.run("todo", "add", "After a cancelled one", "--alias", "vain", "--depends-on", "docs")
    laid.run("todo", "cancel", "docs", "--force", "--reason", "no use", agent="bob")
    laid.run("todo", "complete", "fix-login", agent="bob")
    lines = laid.run("todo", "list", json=False).out.splitlines()
    assert next(line for line in lines if "use-login" in line).split()[2] == "open"
    assert "waits for docs (The docs), which is cancelled" in next(line for line in lines if "vain" in line)


def test_the_filters(laid: Clone) -> None:
    blocked = laid.add("Stuck")
    laid.run("todo", "claim", blocked, agent="bob")
    laid.run("todo", "update", blocked, "--status", "blocked", agent="bob")
    assert titles(laid, "--holder", "bob") == titles(laid, "--claimed-by", "bob") == {LONG, "Stuck"}
    assert titles(laid, "--holder", "bob") == titles(laid, "--mine", agent="bob")
    assert titles(laid, "--holder", "carol") == set()
    assert titles(laid, "--waiting") == {"Use the login", "Later"}
    assert titles(laid, "--blocked") == titles(laid, "--status", "blocked") == {"Stuck"}
    assert titles(laid, "--text", "ACCOUNTS") == {LONG, "Use the login"}
    assert titles(laid, "--text", "use-log") == {"Use the login"}
    assert titles(laid, "--text", "login", "--label", "web") == {LONG}
    for other in ("--waiting", "--blocked"):
        error = laid.run("todo", "list", "--ready", other, check=2).error
        assert (other in error["message"], error["hint"]) == (True, "leave out --ready")


def test_ready_is_what_the_agent_could_claim_and_the_rest_is_named_in_one_line(laid: Clone) -> None:
    done = laid.run("todo", "list", "--ready", agent="alice", json=False)
    *rows, left = done.out.splitlines()
    assert [row.split()[-1] for row in rows] == ["docs"]
    assert left.startswith("left out 3 that alice could not claim now: ")
    for why in ("requires gpu, which alice does not have", "excludes alice", "overlaps '/login/'"):
        assert why in left
    shown = laid.run("todo", "list", "--ready", agent="alice").json
    assert len(shown["skipped"]) == 3
    # Everything that is listed is granted, and what is left out is refused.
    for item in shown["skipped"]:
        assert laid.run("todo", "claim", item["todo_id"], agent="alice", check=15).error["message"] == item["why"]
    for item in shown["todos"]:
        assert laid.run("todo", "claim", item["id"], agent="alice").json["acquired"]
    # Without an agent: what anybody could claim.
    assert titles(laid, "--ready") == {"On the graphics card", "Not for alice", "Two logins"}
    assert titles(laid, "--ready", agent="carol") == {"Not for alice"}


def test_when_nothing_is_ready_a_sentence_says_why(alice: Clone, laid: Clone) -> None:
    laid.run("policy", "set", "claims.max_per_agent", "1")
    out = laid.run("todo", "list", "--ready", agent="bob", json=False).out.splitlines()
    assert out[0] == "nothing is ready for bob: 1 is held, 2 wait"
    assert out[1] == "left out all that bob could not claim now: bob holds 1 claims and the policy allows 1"
    out = laid.run("todo", "list", "--ready", agent="dora", json=False).out.splitlines()
    assert out[1].endswith("dora is not a registered peer: git loopx peer register dora")
    assert laid.run("todo", "list", "--ready", "--text", "later", json=False).out == "nothing is ready: 1 waits\n"
    none = laid.run("todo", "list", "--ready", "--label", "nothing", json=False).out
    assert none == "nothing is ready: there is no todo that is open\n"


def test_a_todo_that_is_held_leads_to_what_is_granted(laid: Clone) -> None:
    """What a refusal says to type next lists only what this agent gets."""
    error = laid.run("todo", "claim", "fix-login", agent="carol", check=11).error
    assert "git loopx todo list --ready" in error["hint"]
    ready = laid.run("todo", "list", "--ready", agent="carol").json["todos"]
    assert ready
    assert laid.run("todo", "claim", ready[0]["id"], agent="carol").json["acquired"]


def test_what_is_ready_and_nobodys_is_counted_for_everybody(laid: Clone) -> None:
    laid.config("loopx.agent", "alice")
    assert len(laid.run("heartbeat", "status").json["unclaimed"]) == 4
