"""The flags of `agent-hook`, in every spelling, before its name and after it; the quick way and the slower one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from real_tools import system_tool
from sites import Site

from loopx_git.guard.agent_hook import settings_of
from loopx_git.guard.agents import AGENTS, command
from loopx_git.guard.opencode_plugin import text

MakeSite = Callable[..., Site]
FLAGS = {"--agent": "agent", "--agent-id": "agent", "--claimed-by": "agent", "--session": "session", "--for": "for",
         "--format": "for", "-C": "folder", "--remote": "remote", "--ref": "ref", "--timeout": "timeout"}  # fmt: skip


def spellings(flag: str, value: str) -> list[list[str]]:
    return [[flag, value], [f"{flag}{value}"] if flag == "-C" else [f"{flag}={value}"]]


def test_every_spelling_is_read_on_the_quick_way() -> None:
    for flag, setting in FLAGS.items():
        value = "gemini" if setting == "for" else "x"
        for words in spellings(flag, value):
            assert settings_of([*words, "agent-hook"]) == {setting: value}
            assert settings_of(["agent-hook", *words]) == {setting: value}
    assert settings_of(["agent-hook"]) == {}
    assert settings_of(["--agent", "a", "agent-hook", "--session=s", "-Cd", "--agent-id=a"]) == {
        "agent": "a", "session": "s", "folder": "d"}  # fmt: skip
    assert settings_of(["--agent", "agent-hook", "agent-hook"]) == {"agent": "agent-hook"}


@pytest.mark.parametrize(
    "words",
    [
        ["agent-hook", "install"], ["agent-hook", "--agent"], ["agent-hook", "--agent", "a", "--agent", "b"],
        ["agent-hook", "--agent="], ["agent-hook", "--for", "emacs"], ["agent-hook", "-h"], ["agent-hook", "--json"],
        ["--agent", "agent-hook", "log"], ["todo", "add", "agent-hook"], ["run", "--", "agent-hook"],
        ["agent-hook", "-C=d"],
        ["agent-hook", "agent-hook"], ["agent-hook", "--agent", "--session"], [],
    ],
)  # fmt: skip
def test_everything_else_takes_the_slower_way(words: list[str]) -> None:
    assert settings_of(words) is None


def run(site: Site, call: object, *words: str, folder: Path | None = None) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "loopx_git", *words], cwd=folder or site.clone.path, input=json.dumps(call), text=True,
        env=site.clone.env, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("slower", [False, True])
def test_the_agent_and_its_session_count(site: MakeSite, slower: bool) -> None:
    made = site(claim="other")
    call = {"tool_name": "Edit", "tool_input": {"file_path": "src/a.py"}}
    more = ["--color=never"] if slower else []
    assert run(made, call, "agent-hook", *more)[0] == 2
    for words in spellings("--agent", "bob"):
        assert run(made, call, "agent-hook", *words, *more) == (0, "", "")
    assert run(made, call, "--claimed-by=bob", "agent-hook", *more) == (0, "", "")
    code, _, said = run(made, call, "agent-hook", "--agent=bob", "--session", "another", *more)
    assert code == 2
    assert "--resume" in said


@pytest.mark.parametrize("slower", [False, True])
def test_the_folder_counts(site: MakeSite, slower: bool) -> None:
    made = site(claim="own")
    more = ["--color=never"] if slower else []
    top, outside = str(made.clone.path), made.world.root
    for cwd in ({}, {"cwd": "."}, {"cwd": None}, {"cwd": "src"}):
        inside = "docs/d.md" if cwd.get("cwd") != "src" else "../docs/d.md"
        call = {**cwd, "tool_name": "Write", "tool_input": {"file_path": inside}}
        assert run(made, call, "agent-hook", *more, folder=outside)[0] == 0
        for words in spellings("-C", top):
            code, _, said = run(made, call, *words, "agent-hook", *more, folder=outside)
            assert code == 2
            assert "docs/d.md" in said
    code, _, said = run(made, {}, "agent-hook", "-C", f"{top}/nowhere", *more)
    assert code == 2
    assert "nowhere" in said


@pytest.mark.parametrize("slower", [False, True])
def test_for_whom_the_answer_is(site: MakeSite, slower: bool) -> None:
    """A call without a mark of its agent is answered in the form that was asked for."""
    made = site(claim="own")
    more = ["--color=never"] if slower else []
    call = {"cwd": str(made.clone.path), "tool_name": "Write", "tool_input": {"file_path": "docs/d.md"}}
    answers = {}
    for flag, agent in product(("--for", "--format"), ("copilot", "gemini")):
        code, out, said = run(made, call, "agent-hook", flag, agent, *more)
        assert "docs/d.md" in said
        answers[flag, agent] = code, json.loads(out).keys() & {"permissionDecision", "decision"}
    assert answers == {
        (flag, agent): (AGENTS[agent].code, set(list(AGENTS[agent].denial)[:1]))
        for flag, agent in product(("--for", "--format"), ("copilot", "gemini"))
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--for", "claude", "--format", "codex"], "two agents"), (["--dry-run"], "--dry-run goes with install"),
        (["--shared"], "--shared goes with install"), (["--for", "emacs"], "emacs"),
        (["--agent", "no name"], "no name"),
    ],
)  # fmt: skip
def test_words_that_say_nothing_are_refused_and_that_denies(site: MakeSite, words: list[str], said: str) -> None:
    made = site(claim="own")
    call = {"tool_name": "Edit", "tool_input": {"file_path": "src/a.py"}}
    code, _, told = run(made, call, "agent-hook", *words)
    assert code == 2
    assert said in told


# -- what is installed, as the agents run it


READS = {
    "claude": {"tool_name": "Read"}, "codex": {"tool_name": "Bash"}, "cursor": {"tool_name": "Grep"},
    "gemini": {"tool_name": "read_file"}, "copilot": {"toolName": "view"}, "vscode": {"tool_name": "read_file"},
    "windsurf": {"agent_action_name": "pre_run_command"},
}  # fmt: skip


@pytest.mark.parametrize("agent", sorted(READS))
def test_a_missing_program_stops_the_edits_alone(agent: str, tmp_path: Path) -> None:
    row = AGENTS[agent]
    key = next(iter(READS[agent]))

    def hook(call: object) -> tuple[int, str, str]:
        done = subprocess.run(["sh", "-c", command(row)], input=json.dumps(call, indent=1), text=True, cwd=tmp_path,
                              env={"PATH": "/usr/bin:/bin"}, capture_output=True, check=False)  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    # A text that looks like a key is no key.
    for call in (READS[agent], {**READS[agent], "x": '"tool_name": "Edit", "toolName": "edit"'}, {"prompt": "x"}):
        assert hook(call)[:2] == (0, "")
    for tool in row.edits:
        code, out, said = hook({key: tool, "tool_input": {"file_path": "a"}})
        assert code == row.code
        if row.code == 0:
            assert json.loads(out)["permissionDecision"] == "deny"
        else:
            assert f"agent-hook uninstall --for {agent}" in said


def test_what_vs_code_runs_of_claudes_settings_blocks_no_other_tool(site: MakeSite) -> None:
    made = site(claim="own")
    run_it = command(AGENTS["claude"])
    base = {"hookEventName": "PreToolUse", "sessionId": "s", "cwd": str(made.clone.path), "timestamp": "t"}
    names = ("read_file", "semantic_search", "runSubagent", "vscode_askQuestions", "get_errors")
    asked = {"query": "x", "filePath": "docs/d.md"}
    others = [{**base, "tool_name": name, "tool_input": asked} for name in names]
    edit = {**base, "tool_name": "create_file", "tool_input": {"filePath": "docs/d.md"}}
    for path, call in product((made.clone.env["PATH"], "/usr/bin:/bin"), [*others, edit]):
        done = subprocess.run(["sh", "-c", run_it], input=json.dumps(call), text=True, cwd=made.clone.path,
                              env={**made.clone.env, "PATH": path}, capture_output=True, check=False)  # fmt: skip
        assert done.returncode == (2 if call is edit else 0), (path, call)


CALLS = """\
import { LoopxGuard } from "./loopx.mjs"
const hooks = await LoopxGuard({ directory: process.argv[2] })
for (const [tool, args] of JSON.parse(process.argv[3])) {
  try {
    await hooks["tool.execute.before"]({ tool, sessionID: "s", callID: "c" }, { args })
    console.log("passed")
  } catch (error) {
    console.log(error.message.split("\\n")[0])
  }
}
"""


def test_the_plugin_of_opencode(site: MakeSite, tmp_path: Path) -> None:
    """By node: opencode's own runtime reads the same language."""
    made = site(claim="own")
    (tmp_path / "loopx.mjs").write_text(text())
    (tmp_path / "calls.mjs").write_text(CALLS)
    calls = [
        ["edit", {"filePath": "src/a.py"}], ["write", {"filePath": f"{made.clone.path}/docs/d.md"}],
        ["read", {"filePath": "docs/d.md"}], ["bash", {"command": "echo x > docs/d.md"}], ["bash", {"command": "ls"}],
    ]  # fmt: skip

    def ask(path: str) -> list[str]:
        done = subprocess.run(
            [system_tool("node"), str(tmp_path / "calls.mjs"), str(made.clone.path), json.dumps(calls)], text=True,
            env={**made.clone.env, "PATH": path}, capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    answers = ask(made.clone.env["PATH"])
    assert [answer[:20] for answer in answers] == ["passed", "loopx guard: denied:", "passed", "loopx guard: denied:",
                                                   "passed"]  # fmt: skip
    answers = ask(str(tmp_path))
    missing = "git-loopx does not r"
    assert [answer[:20] for answer in answers] == [missing, missing, "passed", "passed", "passed"]
