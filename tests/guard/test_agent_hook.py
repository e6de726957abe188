"""The agent's hook: the input of three agents, the answer of each, what it imports, and that its failure denies."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clones import Clone, World
from sites import Site, hold

from loopx_git.client.client import Client
from loopx_git.errors import InvalidState
from loopx_git.guard import agent_settings, cached
from loopx_git.guard.agent_hook import plain
from loopx_git.guard.agents import AGENTS
from loopx_git.guard.tool_call import UnreadablePayload, edited_paths

MakeSite = Callable[..., Site]
PATCH = """\
*** Begin Patch
*** Update File: src/a.py
@@
-x
+y
*** Add File: docs/new.md
+x
*** Move to: src/b c.py
*** End Patch"""
PATCHED = ["/w/src/a.py", "/w/docs/new.md", "/w/src/b c.py"]


def ask(
    site: Site, call: Any, *args: str, folder: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    data = call if isinstance(call, bytes) else json.dumps(call).encode()
    done = subprocess.run(
        [sys.executable, "-m", "loopx_git", "agent-hook", *args], cwd=folder or site.clone.path, input=data,
        env={**site.clone.env, **env}, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def claude(site: Site, path: str, tool: str = "Edit") -> dict[str, Any]:
    return {
        "session_id": "x", "cwd": str(site.clone.path), "hook_event_name": "PreToolUse", "tool_name": tool,
        "tool_input": {"file_path": path, "old_string": "1", "new_string": "2"},
    }  # fmt: skip


def test_allowed_says_nothing(site: MakeSite) -> None:
    made = site(claim="own")
    done = ask(made, claude(made, str(made.clone.path / "src/a.py")))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    # An answer of "allow" would also skip what the agent itself asks its user.


def test_denied_with_the_reason_and_the_next_command(site: MakeSite) -> None:
    made = site(claim="other")
    done = ask(made, claude(made, str(made.clone.path / "src/a.py"), "Write"))
    assert (done.returncode, done.stdout) == (2, "")
    for text in ("src/a.py", "bob holds", f"{made.todo}@1", "read ", f"next: git loopx todo show {made.todo}"):
        assert text in done.stderr
    assert len(done.stderr.splitlines()) < 12


@pytest.mark.parametrize(
    ("call", "paths"),
    [
        ({"tool_name": "Edit", "tool_input": {"file_path": "/r/a"}}, ["/r/a"]),
        ({"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "n.ipynb"}}, ["/w/n.ipynb"]),
        ({"tool_name": "MultiEdit", "tool_input": {"file_path": "a", "edits": [{"old_string": "x"}]}}, ["/w/a"]),
        ({"tool_name": "apply_patch", "tool_input": {"command": PATCH}}, PATCHED),
        ({"tool_name": "apply_patch", "tool_input": PATCH}, PATCHED),
        ({"tool_name": "Bash", "tool_input": {"command": ["apply_patch", PATCH]}},
         PATCHED),
        ({"tool_name": "Bash", "tool_input": {"command": "rm -rf x"}}, []),
        ({"tool_name": "Read", "tool_input": {"file_path": "a"}}, []),
        ({"tool_name": "mcp__fs__read_file", "tool_input": {"path": "a"}}, []),
        ({"tool_name": "mcp__fs__write_file", "tool_input": {"path": "../w/a"}}, ["/w/a"]),
        ({"tool_name": "StrReplace", "tool_input": {"path": "a"}}, ["/w/a"]),
        ({"tool_name": "Write", "tool_input": {"file_path": "--upload-pack=x"}}, ["/w/--upload-pack=x"]),
    ],
)  # fmt: skip
def test_the_paths_of_a_tool_call(call: dict[str, Any], paths: list[str]) -> None:
    assert edited_paths({"cwd": "/w", **call}) == paths


@pytest.mark.parametrize(
    "call",
    [
        {"tool_name": "Edit", "tool_input": {}}, {"tool_name": "Write", "tool_input": {"file_path": 3}},
        {"tool_name": "Write", "tool_input": {"file_path": "a\0b"}}, {"tool_name": "Write", "tool_input": [1]},
        {"cwd": 7, "tool_name": "Write", "tool_input": {"file_path": "a"}},
    ],
)  # fmt: skip
def test_a_call_that_is_not_understood_is_denied(call: dict[str, Any]) -> None:
    with pytest.raises(UnreadablePayload):
        edited_paths(call)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"tool_name": "Edit"}', b"null"])
def test_input_that_is_none_is_exit_2(site: MakeSite, data: bytes) -> None:
    made = site(claim="own")
    done = ask(made, data)
    assert done.returncode == 2
    assert "cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


def test_codex_and_cursor(site: MakeSite) -> None:
    made = site(claim="own")
    call = {"cwd": str(made.clone.path), "hook_event_name": "PreToolUse", "tool_name": "apply_patch",
            "tool_input": {"command": PATCH}}  # fmt: skip
    done = ask(made, call, "--format=codex")
    assert done.returncode == 2
    assert "docs/new.md" in done.stderr
    cursor = {"cursor_version": "2", "workspace_roots": [str(made.clone.path)], "tool_name": "Write",
              "tool_input": {"path": "docs/d.md"}}  # fmt: skip
    done = ask(made, cursor, folder=made.world.root)
    assert done.returncode == 2
    answer = json.loads(done.stdout)
    assert answer["permission"] == "deny"
    assert "docs/d.md" in answer["agent_message"]
    cursor["tool_input"] = {"path": "src/a.py"}
    done = ask(made, cursor)
    assert (done.returncode, done.stdout) == (0, "")


def test_our_own_crash_denies(site: MakeSite) -> None:
    made = site(claim="own")
    call = claude(made, "src/a.py")
    assert ask(made, call).returncode == 0
    (made.clone.home / "deadlines.json").write_text("[")
    assert ask(made, call).returncode == 0
    config = made.clone.path / ".loopx/config.toml"
    text = config.read_text()
    config.write_text("[guard]\nmoode = 1\n")
    done = ask(made, call)
    assert done.returncode == 2
    assert "next: mend .loopx/config.toml" in done.stderr
    config.write_text(text)
    path = made.clone.git_dir / "loopx" / cached.NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), "policy": {}}))
    done = ask(made, call)
    assert done.returncode == 2
    assert "it failed itself" in done.stderr


def test_warn_off_and_a_person(site: MakeSite) -> None:
    made = site(claim="other")
    call = claude(made, "src/a.py")
    made.policy("mode = 'warn'")
    done = ask(made, call)
    assert done.returncode == 0
    assert "bob holds" in json.loads(done.stdout)["systemMessage"]
    config = made.clone.path / ".loopx/config.toml"
    config.write_text(config.read_text().replace("'warn'", "'off'"))
    done = ask(made, call)
    assert (done.returncode, done.stderr) == (0, "")
    config.write_text(config.read_text().replace("'off'", "'block'"))
    assert ask(made, call).returncode == 2
    assert ask(made, call, LOOPX_AGENT="bob", LOOPX_SESSION="another").returncode == 2
    made.clone.config("--unset", "loopx.agent")
    done = ask(made, call)
    assert done.returncode == 0
    assert "warning" in done.stderr


def test_the_answer_follows_every_change(site: MakeSite) -> None:
    made = site(claim="other")
    call = claude(made, "src/a.py")
    assert ask(made, call).returncode == 2
    Client(made.clone.path, made.clone.env, {"agent": "bob"}).todo.release(made.todo)
    assert ask(made, call).returncode == 2
    made.client().todo.claim(made.todo)
    assert ask(made, call).returncode == 0
    assert ask(made, call, LOOPX_NOW="+3h").returncode == 0
    (made.clone.home / "deadlines.json").unlink()
    done = ask(made, call, LOOPX_NOW="+3h")
    assert done.returncode == 2
    assert "task-lease renew" in done.stderr


@pytest.mark.parametrize("place", ["linked", "submodule"])
def test_other_places(site: MakeSite, place: str) -> None:
    made = site(place=place, claim="own")
    assert ask(made, claude(made, str(made.clone.path / "src/a.py")), folder=made.world.root).returncode == 0
    assert ask(made, claude(made, str(made.clone.path / "docs/d.md")), folder=made.world.root).returncode == 2


def test_a_link_is_judged_by_its_name_and_by_what_it_leads_to(site: MakeSite) -> None:
    made = site(claim="own")
    top = made.clone.path
    (top / "src/link.md").symlink_to("../docs/d.md")
    (top / "docs/link.py").symlink_to("../src/a.py")
    (top / "way").symlink_to("src")
    assert ask(made, claude(made, "src/link.md")).returncode == 2
    assert ask(made, claude(made, "docs/link.py")).returncode == 2
    assert ask(made, claude(made, "way/a.py")).returncode == 0
    assert ask(made, claude(made, ".git/hooks/pre-commit")).returncode == 2


def test_a_repository_without_loopx_and_no_repository_at_all(site: MakeSite, ledger: World, tmp_path: Path) -> None:
    made = site(claim="none")
    other = ledger.repository("other")
    assert ask(made, claude(made, str(other.path / "a"))).returncode == 0
    assert ask(made, claude(made, str(tmp_path / "a"))).returncode == 0
    # A clone that has the file and has fetched nothing yet is no such repository.
    fresh = ledger.clone("fresh")
    fresh.config("loopx.agent", "alice")
    done = ask(made, claude(made, str(fresh.path / "a")))
    assert done.returncode == 2
    assert "next: git loopx sync" in done.stderr


def test_it_imports_the_standard_library_alone_and_little_of_it(site: MakeSite) -> None:
    made = site(claim="own")
    call = json.dumps(claude(made, "src/a.py")).encode()
    assert ask(made, call).returncode == 0

    def imported(env: dict[str, str]) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "loopx_git", "agent-hook"], cwd=made.clone.path, input=call,
            env={**made.clone.env, **env}, capture_output=True, text=False, check=True,
        )  # fmt: skip
        return {line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines()}

    loaded = imported({})
    heavy = {"click", "pygit2", "yaml", "frontmatter", "pathspec", "dataclasses", "typing", "subprocess", "tomllib"}
    assert loaded & heavy == set()
    others = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    # What an installation's own start-up brings along is not ours.
    assert others <= {"imported package", "loopx_git", "_distutils_hack", "sitecustomize", "usercustomize"}
    # The sentinel: the slower way does import them.
    assert {"pathspec", "dataclasses"} & imported({"LOOPX_NOW": "+1s"})


def test_what_could_steer_a_terminal_is_spelt_out() -> None:
    assert plain("a\x1b]52;c;x\x07b\u202e") == "a\\x1b]52;c;x\\x07b\\u202e"
    assert plain("src/\udce9") == "src/\\udce9"


# -- settings


@pytest.fixture
def clone(ledger: World) -> Clone:
    return ledger.clone("work")


FILES = {
    "claude": ".claude/settings.local.json", "codex": ".codex/hooks.json", "cursor": ".cursor/hooks.json",
    "gemini": ".gemini/settings.json", "copilot": ".github/hooks/loopx.json",
    "vscode": ".github/hooks/loopx-vscode.json", "windsurf": ".windsurf/hooks.json",
    "opencode": ".opencode/plugins/loopx.js",
}  # fmt: skip


def test_the_table_has_every_agent_that_is_installed() -> None:
    assert {name: row.local for name, row in AGENTS.items()} == FILES


@pytest.mark.parametrize("agent", [name for name in FILES if name != "opencode"])
def test_the_settings_are_merged_with_what_is_there(clone: Clone, agent: str) -> None:
    path = clone.path / FILES[agent]
    run = clone.run
    run("agent-hook", "install", "--for", agent, "--dry-run")
    assert not path.exists()
    run("agent-hook", "install", "--for", agent)
    first = path.read_text()
    assert f"git-loopx agent-hook --format={agent}; " in first
    assert run("agent-hook", "install", "--for", agent).json["what"] == "unchanged"
    assert path.read_text() == first
    run("agent-hook", "uninstall", "--for", agent)
    assert not path.exists()
    path.parent.mkdir(parents=True)
    event = next(iter(AGENTS[agent].events))
    theirs = {"model": "é", "hooks": {event: [{"matcher": "Bash", "hooks": [{"command": "x"}]}], "Stop": []}}
    path.write_text(json.dumps(theirs))
    run("agent-hook", "install", "--for", agent)
    merged = json.loads(path.read_text())
    assert merged["hooks"][event][0] == theirs["hooks"][event][0]  # type: ignore[index]
    assert len(merged["hooks"][event]) == 2
    assert merged["model"] == "é"
    run("agent-hook", "uninstall", "--for", agent)
    left = json.loads(path.read_text())
    left.pop("version", None)
    assert left == theirs


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"hooks": {"PreToolUse": {}}}'])
def test_settings_that_are_not_understood_are_left_alone(clone: Clone, text: str) -> None:
    path = clone.path / ".claude/settings.local.json"
    path.parent.mkdir()
    path.write_text(text)
    clone.run("agent-hook", "install", "--for", "claude", check=16)
    assert path.read_text() == text


def test_settings_behind_a_link_are_not_written(clone: Clone, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (clone.path / ".claude").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidState, match="symbolic link"):
        agent_settings.change(str(clone.path), "claude", shared=False, remove=False, dry_run=False)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_plugin_is_a_file_of_its_own(clone: Clone) -> None:
    path = clone.path / FILES["opencode"]
    run = clone.run
    assert run("agent-hook", "install", "--for", "opencode", "--dry-run").json["what"] == "written"
    assert not path.exists()
    run("agent-hook", "install", "--for", "opencode")
    first = path.read_text()
    assert "tool.execute.before" in first
    assert run("agent-hook", "install", "--for", "opencode").json["what"] == "unchanged"
    path.write_text(f"{first}// an older edition\n")
    run("agent-hook", "install", "--for", "opencode")
    assert path.read_text() == first
    run("agent-hook", "uninstall", "--for", "opencode")
    assert not path.exists()
    path.parent.mkdir(parents=True)
    path.write_text("// theirs\n")
    for action in ("install", "uninstall"):
        error = run("agent-hook", action, "--for", "opencode", check=16).error
        assert "is not a plugin of loopx" in error["message"]
    assert path.read_text() == "// theirs\n"


def test_the_command_in_the_settings_denies(site: MakeSite) -> None:
    """As an agent runs it: by a shell, in the folder where it works."""
    made = site(claim="none")
    made.clone.run("agent-hook", "install", "--for", "claude")
    settings = json.loads((made.clone.path / FILES["claude"]).read_text())
    command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    call = json.dumps(claude(made, "src/a.py"))

    def run(path: str) -> int:
        return subprocess.run(["sh", "-c", command], cwd=made.clone.path, input=call, text=True, capture_output=True,
                              env={**made.clone.env, "PATH": path}, check=False).returncode  # fmt: skip

    assert run(made.clone.env["PATH"]) == 2
    hold(made.clone, "own")
    assert run(made.clone.env["PATH"]) == 0
    # A program that is not there stops the edit, too: only exit 2 does.
    assert run("/usr/bin:/bin") == 2
