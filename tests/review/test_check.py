"""`review check` around the matrix: whose policy counts, shallow checkouts, the command itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from clones import Clone, World, differences, footprint
from review.coding import Coding, found

from loopx_git.errors import InvalidState, NotFound
from loopx_git.review.check import ReviewFinding
from loopx_git.review.github import workflow_commands

API = "todo_aaaa00000001"


@pytest.fixture
def coding(ledger: World) -> Coding:
    coding = Coding(ledger, ledger.clone("dev"))
    coding.todo(API, "the api", scope=("api/**",))
    return coding


def test_the_policy_is_the_bases_and_its_change_is_shown(coding: Coding) -> None:
    text = (coding.clone.path / ".loopx/config.toml").read_text()
    coding.branch("work")
    coding.commit({".loopx/config.toml": text + '\n[guard]\nmode = "off"\nexempt = ["**"]\n', "x.py": "1"})
    verdict = coding.check()
    assert found(verdict) == [("missing", "x.py", None), ("config", ".loopx/config.toml", None)]
    (change,) = [item for item in verdict.findings if item.rule == "config"]
    assert "guard.mode: unset -> off" in change.message


def test_a_change_that_makes_the_policy_unreadable_is_an_error_whoever_makes_it(coding: Coding) -> None:
    coding.policy('\n[guard]\nrule_changes = "anyone"\n')
    coding.branch("work")
    coding.commit({".loopx/config.toml": "no toml ["})
    verdict = coding.check()
    assert [(item.rule, item.level) for item in verdict.findings] == [("config", "notice"), ("config", "error")]
    assert "is not TOML" in verdict.findings[-1].message


@pytest.mark.parametrize(("mode", "level"), [("block", "error"), ("warn", "warning"), ("off", None)])
def test_the_mode_says_whether_a_finding_blocks(coding: Coding, mode: str, level: str | None) -> None:
    coding.policy(f'\n[guard]\nmode = "{mode}"\nexempt = [".loopx/**", "docs/"]\n')
    coding.branch("work")
    coding.commit({"api/x.py": "1", "docs/x.md": "1"})
    verdict = coding.check()
    assert [(item.rule, item.level, item.file) for item in verdict.findings] == (
        [("missing", level, "api/x.py")] if level else []
    )
    assert verdict.ok is (mode != "block")
    assert coding.check(strict=True).ok is (mode == "off")


def test_what_lies_before_the_cut_off_is_not_judged(coding: Coding) -> None:
    coding.branch("work")
    before = coding.commit({"old.py": "1"})
    coding.commit({"new.py": "1"})
    tip = coding.head()
    coding.policy(f'\n[guard]\nsince = "{before}"\n')
    verdict = coding.check(head=tip)
    assert found(verdict) == [("missing", "new.py", None)]
    assert verdict.judged == 1


def test_a_base_from_before_loopx_has_nothing_to_judge_by(world: World) -> None:
    clone = world.clone("dev")
    clone.run("init")
    coding = Coding(world, clone)
    coding.branch("work")
    coding.commit({"x.py": "1"})
    verdict = coding.check()
    assert verdict.ok
    assert [item.rule for item in verdict.findings] == ["unguarded"]
    assert not coding.check(strict=True).ok


def test_a_base_that_pins_another_ledger_judges_nothing(coding: Coding) -> None:
    coding.branch("policy")
    text = (coding.clone.path / ".loopx/config.toml").read_text()
    root = next(line for line in text.split("\n") if line.startswith("ledger"))
    coding.commit({".loopx/config.toml": text.replace(root, f'ledger = "{"a" * 40}"')})
    coding.merge()
    fresh = Coding(coding.world, coding.world.clone("fresh"))
    fresh.branch("work")
    fresh.commit({"x.py": "1"})
    with pytest.raises(InvalidState, match="ledger"):
        fresh.check()


def test_a_shallow_checkout_is_deepened_and_no_ref_moves(coding: Coding) -> None:
    claim = coding.claim(API, "alice")
    coding.branch("work")
    for number in range(5):
        coding.commit({f"api/{number}.py": "1"}, [claim])
    coding.commit({"web.py": "1"}, [claim])
    coding.clone.git("push", "-q", "origin", "HEAD:refs/heads/work")
    base = coding.head("origin/main")
    url = f"file://{coding.world.remote}"
    shallow = Coding(coding.world, coding.world.clone("ci", "--depth=1", "--branch=work", url=url))
    before = footprint(shallow.clone)
    verdict = shallow.check(base=base)
    assert found(verdict) == [("outside", "web.py", API)]
    assert len(verdict.changes) == 6
    changed = differences(before, footprint(shallow.clone))
    assert all(name.startswith(("git: objects/", "git: shallow")) for name in changed), changed


def test_a_shallow_checkout_without_a_remote_says_what_to_fetch(coding: Coding) -> None:
    coding.branch("work")
    coding.commit({"api/x.py": "1"})
    coding.clone.git("push", "-q", "origin", "HEAD:refs/heads/work")
    clone = coding.world.clone("ci", "--depth=1", "--branch=work", url=f"file://{coding.world.remote}")
    clone.git("fetch", "-q", "--depth=1", "origin", "main")
    clone.git("remote", "remove", "origin")
    with pytest.raises(InvalidState) as refused:
        Coding(coding.world, clone).check(base="FETCH_HEAD")
    assert "git fetch --unshallow" in refused.value.hint


def test_an_unknown_name_is_exit_17(coding: Coding) -> None:
    for name in ("nowhere", "--upload-pack=x", "a" * 40):
        with pytest.raises(NotFound):
            coding.check(base=name)


def test_a_path_that_looks_like_a_commit_confuses_nobody(coding: Coding) -> None:
    coding.branch("work")
    name = coding.head()
    coding.commit({name: "1", "new\nline": "2", "ünï": "3"}, [coding.claim(API, "alice")])
    assert {item[1] for item in found(coding.check())} == {name, "new\nline", "ünï"}


def test_a_name_that_is_no_utf8_is_shown(coding: Coding) -> None:
    coding.branch("work")
    coding.commit({"\udcff.py": "1"})
    verdict = coding.check()
    assert json.loads(json.dumps(verdict.as_json()))["findings"][0]["file"] == "\\xff.py"


def test_the_command_prints_json_annotations_and_a_summary(coding: Coding, tmp_path: Path) -> None:
    coding.branch("work")
    coding.commit({"api/x.py": "1", "a,b:c.py": "2"})
    summary = tmp_path / "summary.md"
    clone: Clone = coding.clone.having(GITHUB_STEP_SUMMARY=str(summary))
    args = ["review", "check", "--base", "origin/main"]
    shown = clone.run(*args, check=19).out
    assert json.loads(shown)["kind"] == "review"
    assert len(json.loads(shown)["findings"]) == 2
    text = clone.run(*args, "--github", check=19, json=False).out
    assert "::error file=api/x.py,title=loopx%3A missing in" in text
    assert "::error file=a%2Cb%3Ac.py," in text
    assert "| error | missing |" in summary.read_text()
    coding.branch("empty")
    assert coding.clone.run(*args).json["ok"] is True


def test_an_annotation_is_one_line_whatever_it_holds() -> None:
    nasty = ReviewFinding("x", "error", "c" * 40, "a\n::error::b\r%0A", "way\nout", "f\n::set-env::")
    (line,) = workflow_commands([nasty])
    assert "\n" not in line
    assert "\r" not in line
    assert line.count("::error") == 1 + line.count("%0A::error")


def test_a_merge_queue_sees_forge_made_merges_as_empty(coding: Coding) -> None:
    claim = coding.claim(API, "alice")
    coding.branch("work")
    coding.commit({"api/a.py": "1"}, [claim])
    coding.branch("queue")
    coding.clone.git("merge", "-q", "--no-ff", "-m", "Merge pull request #1", "work")
    verdict = coding.check()
    assert verdict.ok
    assert [change.is_merge for change in verdict.changes] == [False, True]
    assert verdict.changes[1].paths == ()
