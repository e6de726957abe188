"""A denial names the free todo that covers the path: its command is granted, and then the edit is allowed."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from sites import Site, hold

from loopx_git.client.client import Client
from loopx_git.client.views import TodoView
from loopx_git.core.times import after

MakeSite = Callable[..., Site]
TITLE = "mend the form"
EDIT = "echo x >> docs/d.md; git commit -q -a -m work"


def add(made: Site, title: str = TITLE, scope: tuple[str, ...] = ("/docs/",), **more: Any) -> TodoView:
    return made.client().todo.add(title, scope=scope, **more)


def edits(made: Site, path: str) -> subprocess.CompletedProcess[str]:
    """What the agent's hook says of an edit."""
    call = {"cwd": str(made.clone.path), "tool_name": "Edit", "tool_input": {"file_path": path}}
    return subprocess.run([sys.executable, "-m", "loopx_git", "agent-hook"], cwd=made.clone.path, text=True,
                          input=json.dumps(call), env=made.clone.env, capture_output=True, check=False)  # fmt: skip


def finding(made: Site, *args: str) -> dict[str, Any]:
    found: dict[str, Any] = made.clone.run("guard", "check", *args, check=19).json["findings"][0]
    return found


def test_the_commit_the_edit_and_the_check_name_it_and_its_command_is_granted(site: MakeSite) -> None:
    made = site(claim="own")
    todo = add(made, alias="mend-form").id
    command = "git loopx todo claim mend-form"
    said = [made.sh(f"{EDIT} || true").stderr, edits(made, "docs/d.md").stderr]
    for text in said:
        assert f"a free todo covers this: {TITLE}: {command}" in text
        assert f"next: {command}" in text
    found = finding(made, "docs/d.md")
    assert found["free"] == {"todo_id": todo, "alias": "mend-form", "title": TITLE, "covers": 1}
    assert found["next"] == command
    made.clone.run(*shlex.split(command)[2:])
    assert edits(made, "docs/d.md").returncode == 0
    assert made.sh(EDIT).returncode == 0


def test_a_soft_claim_covers_no_edit_and_the_lease_is_named(site: MakeSite) -> None:
    made = site(claim="own")
    made.clone.run("goal", "create", "ideas", "--claims", "soft")
    todo = add(made, goal_id="ideas").id
    made.clone.run("todo", "claim", todo)
    found = finding(made, "docs/d.md")
    assert (found["rule"], found["next"]) == ("unclaimed", f"git loopx task-lease acquire {todo}")
    made.clone.run(*shlex.split(found["next"])[2:])
    assert edits(made, "docs/d.md").returncode == 0


def test_a_push_and_a_range_name_it_too(site: MakeSite) -> None:
    made = site(claim="own")
    todo = add(made).id
    made.quietly("echo x >> docs/d.md; g commit -q -a -m work")
    command = f"git loopx todo claim {todo}"
    assert finding(made, "--range", "HEAD~..HEAD")["next"] == command
    pushed = made.sh("git push -q origin HEAD:refs/heads/work || true")
    assert f"a free todo covers this: {TITLE}: {command}" in pushed.stderr


def test_what_would_not_be_granted_is_not_named(site: MakeSite) -> None:
    made = site(claim="own")
    client, bob = made.client(), Client(made.clone.path, made.clone.env, {"agent": "bob"})
    add(made, "waits", depends_on=[made.todo])
    add(made, "resumes", resume_after=after(client.clocks().now, 3600))
    add(made, "excludes", excluded=["alice"])
    add(made, "requires", requires=["gpu"])
    add(made, "is about another folder", ("/doc/",))
    add(made, "is about no path", ())
    add(made, "clashes with a claim of bob's", ("*.md",))
    bob.todo.claim(add(made, "is held", ("/other/",)).id)
    client.todo.cancel(add(made, "has ended").id, force=True, reason="no use")
    found = finding(made, "docs/d.md")
    assert (found["rule"], found["free"], found["next"]) == ("unclaimed", None, "git loopx todo next --claim")
    assert "a free todo" not in edits(made, "docs/d.md").stderr
    # The sentinel, and the limit of claims.
    todo = add(made)
    assert finding(made, "docs/d.md")["free"]["todo_id"] == todo.id
    client.policy.set("claims.max_per_agent", "1")
    assert finding(made, "docs/d.md")["free"] is None
    bob.policy.set("claims.max_per_agent", "2")
    bob.todo.claim(todo.id)
    found = finding(made, "docs/d.md")
    assert (found["rule"], found["free"]) == ("held", None)


def test_one_whose_claim_has_lapsed_is_free(site: MakeSite) -> None:
    made = site(claim="own")
    todo = hold(made.clone, "lapsed", ("/docs/",))
    found = finding(made, "docs/d.md")
    # The own claim that is late is renewed, not claimed anew.
    assert (found["rule"], found["free"]) == ("late", None)
    made.clone.config("loopx.agent", "bob")
    assert finding(made, "docs/d.md")["free"]["todo_id"] == todo


def test_the_one_that_covers_most_of_the_paths(site: MakeSite) -> None:
    made = site(claim="own")
    add(made, "one page", ("docs/d.md",), priority=0)
    both = add(made, "all pages", ("/docs/",), priority=3).id
    assert finding(made, "docs/d.md", "docs/e.md", "README")["free"]["todo_id"] == both
    done = made.clone.run("guard", "check", "docs/d.md", "docs/e.md", "README", json=False, check=19)
    assert "a free todo covers 2 of these 3: all pages" in done.out


def test_a_person_is_told_of_it_and_first_of_the_name(site: MakeSite) -> None:
    made = site(claim="none")
    made.clone.config("--unset", "loopx.agent")
    add(made)
    done = made.clone.run("guard", "check", "docs/d.md")
    found = done.json["findings"][0]
    assert (found["rule"], found["next"], found["free"]["title"]) == (
        "unidentified", "git loopx peer list   then one of them: git config loopx.agent NAME", TITLE,
    )  # fmt: skip
