"""The payloads of `payloads/`: calls in the form that each vendor documents, the verdict, and the answer."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sites import Site

from loopx_git.guard import agent_hook
from loopx_git.guard.agents import AGENTS

PAYLOADS = Path(__file__).parent / "payloads"
FILES = sorted(path.stem for path in PAYLOADS.glob("*.json"))
Answer = tuple[int, str, str]
Ask = Callable[..., Answer]


@pytest.fixture
def made(site: Callable[..., Site]) -> Site:
    """A repository whose agent holds src/ and nothing else."""
    return site(claim="own")


@pytest.fixture
def ask(made: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Ask the hook, in this process."""

    def run(call: Any, named: str | None, env: dict[str, str] | None = None, **settings: str) -> Answer:
        text = json.dumps(call).replace("TOP", str(made.clone.path))
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
        monkeypatch.chdir(made.clone.path)
        code = agent_hook.main({"for": named, **settings}, {**made.clone.env, **(env or {})})
        return code, *capsys.readouterr()

    return run


def filled(form: Any, text: str) -> Any:
    if isinstance(form, dict):
        return {key: filled(value, text) for key, value in form.items()}
    return {"TEXT": text, "SUMMARY": text.splitlines()[0]}.get(form, form)


def cases(name: str) -> tuple[dict[str, Any], Iterator[tuple[str, dict[str, Any]]]]:
    found = json.loads((PAYLOADS / f"{name}.json").read_text("utf-8"))
    return found, ((case["about"], case) for case in found["cases"])


def test_every_agent_of_the_table_has_payloads() -> None:
    assert {cases(name)[0]["agent"] for name in FILES} == set(AGENTS)


@pytest.mark.parametrize("name", FILES)
def test_the_verdict_and_the_answer(ask: Ask, name: str) -> None:
    """With the agent's name and without it: the call itself says whose it is."""
    found, all_of_them = cases(name)
    wrong = []
    for about, case in all_of_them:
        for named in (found["agent"], None):
            answer = ask(case["call"], named)
            # A call without any mark of its agent is answered as Claude Code's.
            form = found["denial"]
            if case["verdict"] == "allowed":
                good = answer == (0, "", "")
            else:
                code, out, err = answer
                unmarked = named is None and name == "opencode" and "hook_event_name" not in case["call"]
                wanted = None if unmarked else filled(form["stdout"], err)
                good = (code, json.loads(out) if out else None) == (form["code"], wanted)
                good = good and err.startswith("loopx guard: denied: ") and case["named"] in err and "next: " in err
            if not good:
                wrong.append((about, named, answer))
    assert wrong == []


def test_the_marks_of_a_call_outweigh_the_name(ask: Ask) -> None:
    """VS Code and Copilot run what stands in Claude's settings, and VS Code what stands in Copilot's."""
    for name, theirs in (("vscode", "claude"), ("vscode", "copilot"), ("copilot", "claude"), ("gemini", "claude")):
        found, all_of_them = cases(name)
        about, case = next(pair for pair in all_of_them if pair[1]["verdict"] == "denied")
        code, out, err = ask(case["call"], theirs)
        assert (code, json.loads(out)) == (found["denial"]["code"], filled(found["denial"]["stdout"], err)), about


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_input_that_cannot_be_read_is_denied_in_the_form_that_was_named(ask: Ask, agent: str) -> None:
    code, out, err = ask([1], agent)
    row = AGENTS[agent]
    assert code == row.code
    assert bool(out) == (row.denial is not None)
    assert "denied: the hook's input cannot be read: it is not a JSON object" in err


def test_a_warning_lets_the_edit_pass(made: Site, ask: Ask) -> None:
    made.policy("mode = 'warn'")
    made.quietly("git add -A && g commit -qm policy")
    for agent, row in AGENTS.items():
        _, all_of_them = cases(agent)
        _, case = next(pair for pair in all_of_them if pair[1].get("named") == "docs/d.md")
        code, out, err = ask(case["call"], agent)
        assert code == 0
        assert err.startswith("loopx guard: warning: ")
        assert "docs/d.md" in err
        assert (json.loads(out) if out else None) == (None if row.warning is None else {"systemMessage": err})


def test_a_command_may_write_what_git_ignores(made: Site, ask: Ask) -> None:
    top = made.clone.path
    (top / ".gitignore").write_text("/build/\n*.log\n/docs/d.md\n")
    (top / "build/inner").mkdir(parents=True)
    (top / "build/inner/a.o").touch()

    def bash(command: str, tool: str = "Bash") -> int:
        return ask({"cwd": str(top), "tool_name": tool, "tool_input": {"command": command}}, "claude")[0]

    assert bash("rm -rf build && make > docs/out.log 2>&1") == 0
    # It is tracked, whatever git would ignore otherwise.
    assert bash("rm -rf build; echo x > docs/d.md") == 2
    assert bash("rm -rf build; echo x > docs/new.md") == 2
    assert ask({"cwd": str(top), "tool_name": "Write", "tool_input": {"file_path": "a.log"}}, "claude")[0] == 2
