"""The settings files of agents: what is not ours keeps its bytes, its mode and its place."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from clones import Clone, World

from loopx_git.guard import json_text
from loopx_git.guard.agents import AGENTS

#: Layouts that people and their editors write.
LAYOUTS = {
    "tabs": '{\n\t"model": "x",\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}\n',
    "four spaces": '{\n    "a": [1,2,  3],\n    "hooks": {\n        "PreToolUse": [\n            {"matcher": "Bash",'
    ' "hooks": [{"type": "command", "command": "x"}]}\n        ]\n    }\n}',
    "one line": '{"hooks": {"PreToolUse": [{"hooks": []}]}, "é": "\\u00e9"}',
    "tight": '{"a":1,"hooks":{}}\n\n',
    "crlf": '{\r\n  "permissions": {\r\n    "allow": [ "Bash(ls)" ]\r\n  }\r\n}\r\n',
    "mark": '\ufeff{\n  "a": {}\n}\n',
    "empty": "{}",
    "odd": '{ "hooks" :\n{ "PreToolUse" : [ ] , "x":[ ] }\n , "n": 1e400 }',
}


@pytest.fixture
def clone(ledger: World) -> Clone:
    return ledger.clone("work")


def settings(clone: Clone, text: str, name: str = ".claude/settings.local.json") -> Path:
    path = clone.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def install(clone: Clone, agent: str = "claude", *more: str) -> str:
    return clone.run("agent-hook", "install", "--for", agent, *more, json=False).out


def uninstall(clone: Clone, agent: str = "claude") -> str:
    return clone.run("agent-hook", "uninstall", "--for", agent, json=False).out


@pytest.mark.parametrize("layout", LAYOUTS)
def test_only_our_entry_is_added_and_taken_away(clone: Clone, layout: str) -> None:
    text = LAYOUTS[layout]
    path = settings(clone, text)
    path.chmod(0o600)
    install(clone)
    merged = path.read_bytes().decode()
    # Nothing between the beginning and the end of what was there has changed, and ours is in one piece.
    same = next(number for number in range(len(text)) if text[number] != merged[number])
    assert merged.endswith(text[same:])
    assert "\r\n" not in text or "\n" not in merged.replace("\r\n", "")
    found = json.loads(merged.removeprefix("\ufeff"))
    assert sum("agent-hook --format=claude" in json.dumps(one) for one in found["hooks"]["PreToolUse"]) == 1
    assert path.stat().st_mode & 0o777 == 0o600
    assert "unchanged" in install(clone)
    uninstall(clone)
    assert path.read_bytes().decode() == text
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_others_wrote_since_stays(clone: Clone, layout: str) -> None:
    text = LAYOUTS[layout]
    path = settings(clone, text)
    install(clone)
    path.write_bytes(path.read_bytes() + b"\n")
    uninstall(clone)
    assert path.read_bytes().decode() == f"{text}\n"


def test_without_a_note_of_what_was_there_ours_is_found_by_what_it_says(clone: Clone) -> None:
    text = LAYOUTS["four spaces"]
    path = settings(clone, text)
    install(clone)
    (clone.git_dir / "loopx/agent-settings.json").unlink()
    uninstall(clone)
    assert path.read_text() == text


def test_an_older_entry_and_one_that_is_shared_with_others(clone: Clone) -> None:
    old = '{"type": "command", "command": "git-loopx agent-hook --format=claude || exit 2"}'
    theirs = '{"type": "command", "command": "theirs"}'
    path = settings(clone, f'{{"hooks": {{"PreToolUse": [{{"matcher": "Edit", "hooks": [{old}, {theirs}]}}]}}}}')
    install(clone)
    assert path.read_text().count("agent-hook --format=") == 1
    uninstall(clone)
    assert path.read_text() == f'{{"hooks": {{"PreToolUse": [{{"matcher": "Edit", "hooks": [{theirs}]}}]}}}}'


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_folders_that_were_made_for_it_go_with_it(clone: Clone, agent: str) -> None:
    before = sorted(clone.path.rglob("*")), sorted((clone.git_dir / "loopx").glob("*"))
    install(clone, agent)
    uninstall(clone, agent)
    assert (sorted(clone.path.rglob("*")), sorted((clone.git_dir / "loopx").glob("*"))) == before
    (clone.path / AGENTS[agent].local).parent.mkdir(parents=True)
    install(clone, agent)
    uninstall(clone, agent)
    assert (clone.path / AGENTS[agent].local).parent.is_dir()


def test_a_dry_run_says_would(clone: Clone) -> None:
    assert install(clone, "claude", "--dry-run").startswith("would be written: ")
    install(clone)
    assert install(clone, "claude", "--dry-run").startswith("unchanged: ")
    said = clone.run("agent-hook", "uninstall", "--for", "claude", "--dry-run", json=False).out
    assert said.startswith("would be removed: ")
    assert (clone.path / ".claude/settings.local.json").exists()


def test_a_link_in_the_work_tree_stays_a_link(clone: Clone) -> None:
    target = settings(clone, LAYOUTS["tabs"], "dotfiles/claude.json")
    target.chmod(0o640)
    (clone.path / ".claude").mkdir()
    link = clone.path / ".claude/settings.local.json"
    link.symlink_to("../dotfiles/claude.json")
    install(clone)
    assert link.is_symlink()
    assert "agent-hook" in target.read_text()
    uninstall(clone)
    assert (target.read_text(), target.stat().st_mode & 0o777) == (LAYOUTS["tabs"], 0o640)


@pytest.mark.parametrize("where", ["../outside.json", "../.git/config"], ids=["outside", "git"])
def test_a_link_that_leads_elsewhere_is_not_followed(clone: Clone, where: str) -> None:
    (clone.path / ".claude").mkdir()
    target = clone.path.parent / "outside.json"
    target.write_text("{}")
    link = clone.path / ".claude/settings.local.json"
    link.symlink_to(os.path.join("..", where) if "outside" in where else where)
    error = clone.run("agent-hook", "install", "--for", "claude", check=16).error
    assert "symbolic link" in error["message"]
    assert target.read_text() == "{}"


def test_the_text_is_read_as_json_is() -> None:
    text = '{"a": 1, "b": [true, "x\\"]}", {"c": null}], "a": [2]}'
    root = json_text.parse(text)
    last = root.get("a")
    assert last is not None
    assert text[last.start : last.end] == "[2]", "of two members with one name the last one counts"
    assert json.loads(json_text.without(text, root, 1)) == {"a": [2]}
    assert json_text.with_item('{"a":[]}', json_text.parse('{"a":[]}'), [1, 2], "b") == '{"a":[], "b":[1,2]}'
