"""The verdict is pure: claims, who, when -> the rule for each path."""

from __future__ import annotations

from typing import Any

import pytest

from loopx_git.client.claims_file import tests_of as compiled
from loopx_git.core import scope
from loopx_git.coverage.patterns import LONGEST, Index
from loopx_git.coverage.policy import KEYS, GuardPolicy, parse
from loopx_git.coverage.rules import RULES
from loopx_git.coverage.verdict import Who
from loopx_git.errors import InvalidState
from loopx_git.guard.answer import PATHS_SHOWN, examine
from loopx_git.guard.context import Context, Problem

NOW = 1_000_000.0
FREE = "todo_00000000000f"


def claim(number: int, holder: str, *patterns: str, session: str | None = "s", **more: Any) -> dict[str, Any]:
    return {
        "todo": f"todo_{number:012x}", "title": "the work", "epoch": 3, "holder": holder, "session": session,
        "ttl_s": 7200, "lapses_at": NOW + 60, "late_at": NOW + 30, "tests": compiled(patterns) if patterns else None,
        **more,
    }  # fmt: skip


def desk(
    *claims: dict[str, Any], agent: str | None = "alice", table: dict[str, Any] | None = None, **more: Any
) -> Context:
    who = Who(agent, None if agent is None else "s")
    return Context(parse(table or {}, "config.toml"), who, now=NOW, tip="0" * 40, claims=claims, **more)


def rules(found: Context, *paths: str) -> list[str]:
    return [examine(found, [path], "paths").groups[0].rule for path in paths]


MINE, THEIRS = claim(1, "alice", "/src/"), claim(2, "bob", "/docs/")


@pytest.mark.parametrize(
    ("claims", "path", "rule"),
    [
        ([MINE], "src/a.py", "covered"),
        ([MINE, THEIRS], "docs/a.md", "held"),
        ([MINE], "README.md", "unclaimed"),
        ([], "src/a.py", "unclaimed"),
        # Nobody else's live claim may cover it, whatever the own one says.
        ([MINE, claim(2, "bob", "src/a.py")], "src/a.py", "held"),
        ([MINE, claim(2, "bob", "src/a.py")], "src/b.py", "covered"),
        # No scope covers what no other live claim does.
        ([claim(1, "alice"), THEIRS], "anything/at/all", "covered"),
        ([claim(1, "alice"), THEIRS], "docs/a.md", "held"),
        ([claim(2, "bob")], "src/a.py", "unclaimed"),
        # Time: the own by its deadline, another's by its lapse.
        ([{**MINE, "late_at": NOW - 1}], "src/a.py", "late"),
        ([{**claim(1, "alice"), "late_at": NOW - 1}], "src/a.py", "late"),
        ([MINE, claim(2, "bob", "/src/", lapses_at=NOW - 1)], "src/a.py", "covered"),
        ([claim(2, "bob", "/src/", lapses_at=NOW - 1)], "src/a.py", "unclaimed"),
        ([MINE, claim(2, "bob", "/src/", lapses_at=None)], "src/a.py", "held"),
        # Sessions are holders; one that was handed over and not taken up is the agent's.
        ([claim(1, "alice", "/src/", session="other")], "src/a.py", "sibling"),
        ([claim(1, "alice", "/src/", session=None)], "src/a.py", "covered"),
        ([MINE], ".loopx/config.toml", "unguarded"),
        ([MINE], "src/na\udcffme", "covered"),
        ([MINE], "src/new\nline", "covered"),
        ([MINE], "SRC/a.py", "unclaimed"),
        ([claim(1, "alice", "src/*.py")], "src/" + "x" * 300 + ".py", "covered"),
        ([claim(1, "alice", "*a*b*c*d*e")], "xaxbxcxdxe", "covered"),
    ],
)
def test_the_rule(claims: list[dict[str, Any]], path: str, rule: str) -> None:
    assert rules(desk(*claims), path) == [rule]


def test_the_clock_of_the_clone_beats_the_wall_clock_for_the_own_claim() -> None:
    lease = "todo_000000000001@3"
    assert rules(desk({**MINE, "late_at": NOW - 1}, remaining={lease: 5.0}), "src/a") == ["covered"]
    assert rules(desk(MINE, remaining={lease: 0.0}), "src/a") == ["late"]


def test_a_lease_has_a_time_bound() -> None:
    unbounded = claim(1, "alice", "/src/", ttl_s=None, lapses_at=None, late_at=None)
    assert rules(desk(unbounded), "src/a") == ["covered"]
    assert rules(desk(unbounded, table={"require": "lease"}), "src/a") == ["unbounded"]
    assert rules(desk(MINE, table={"require": "lease"}), "src/a") == ["covered"]


@pytest.mark.parametrize(
    ("table", "agent", "effect"),
    [
        ({}, "alice", "denied"),
        ({"mode": "warn"}, "alice", "warned"),
        ({"mode": "off"}, "alice", "allowed"),
        ({}, None, "warned"),
        ({"unidentified": "block"}, None, "denied"),
        ({"unidentified": "allow"}, None, "allowed"),
        ({"mode": "warn", "unidentified": "block"}, None, "warned"),
    ],
)
def test_the_mode(table: dict[str, Any], agent: str | None, effect: str) -> None:
    assert examine(desk(THEIRS, table=table, agent=agent), ["docs/a"], "paths").effect == effect


def test_knowledge_that_is_too_old_decides_nothing_and_says_what_to_do() -> None:
    report = examine(desk(MINE, age=90_000.0), ["src/a"], "staged")
    assert (report.effect, report.command) == ("denied", "git loopx sync")
    assert examine(desk(MINE, age=90_000.0, table={"stale_after": "none"}), ["src/a"], "staged").effect == "allowed"
    # What is not guarded needs no knowledge.
    assert examine(desk(MINE, age=90_000.0), [".loopx/config.toml"], "staged").effect == "allowed"


def test_without_state_it_blocks_with_the_next_command() -> None:
    problem = Problem("no-state", "nothing is known", "git loopx sync")
    report = examine(desk(problem=problem), ["src/a"], "staged")
    assert (report.effect, report.command, report.count) == ("denied", "git loopx sync", 1)
    assert report.as_json()["problem"]["rule"] == "no-state"


def test_the_message_fits_a_screen_and_the_json_has_every_path() -> None:
    paths = [f"src/{number}.py" for number in range(5000)]
    claims = [claim(number, "bob", f"/src/{number}*") for number in range(2, 10)]
    report = examine(desk(*claims), paths, "staged")
    lines = report.lines()
    assert len(lines) <= 40
    assert any("todo_000000000002@3" in line and "bob" in line and "lapses in" in line for line in lines)
    assert any("pull-request check fails" in line for line in lines)
    assert any("read 0 s ago" in line for line in lines)
    shown = report.as_json()
    assert sum(len(item["paths"]) for item in shown["findings"]) == 5000 == shown["refused"]
    assert {"rule", "holder", "epoch", "next", "todo_id"} <= set(shown["findings"][0])
    assert shown["next"] == report.command
    assert PATHS_SHOWN < 5000


def test_the_trailers_are_the_claims_that_cover_a_path() -> None:
    other = claim(4, "alice", "src/b.py")
    unused = claim(5, "alice", "/docs/")
    report = examine(desk(MINE, other, unused), ["src/a.py", "src/b.py"], "staged")
    assert report.trailers == ["todo_000000000001@3", "todo_000000000004@3"]


@pytest.mark.parametrize(
    ("key", "value"),
    [("mode", "strict"), ("require", "lock"), ("unidentified", "no"), ("offline_push", "off"), ("since", "main"),
     ("stale_after", "soon"), ("paths", ["!src"]), ("paths", ["a/../b"]), ("exempt", ["[[:alpha:]]"]), ("paths", [1]),
     ("branches", [""])],
)  # fmt: skip
def test_a_policy_that_is_not_understood_is_refused(key: str, value: Any) -> None:
    with pytest.raises(InvalidState, match=f"guard.{key}"):
        parse({key: value}, "config.toml")


def test_a_policy_survives_being_kept() -> None:
    policy = parse({"paths": ["src/**", "*.md"], "exempt": ["src/gen/"], "mode": "warn", "stale_after": "none"}, "x")
    again = GuardPolicy(policy.as_json())
    for path in ("src/a", "src/gen/b", "docs/x.md", "x.py"):
        assert policy.is_guarded(path) == again.is_guarded(path)
    assert [policy.is_guarded(path) for path in ("src/a", "src/gen/b", "docs/x.md", "x.py")] == [
        True,
        False,
        True,
        False,
    ]
    assert set(policy.as_json()) == set(KEYS)


def test_the_index_says_what_the_scope_says() -> None:
    assert LONGEST == scope.MAX_SEARCHED
    patterns = ("src", "src/", "/src", "/src/", "src/**", "**", "*.py", "a/*/c", "a/**/c", "**/x", "[ab]?", "src/app")
    paths = ("src", "src/a", "x/src", "x/src/b", "a/b/c", "a/c", "a/b/b/c", "x", "b/x", "ab", "q/b1", "src/app",
             "s.py", "src/app/z", "src/a\nb.py")  # fmt: skip
    for pattern in patterns:
        index = Index([(True, compiled((pattern,)))])
        for path in paths:
            assert bool(index.find(path)) == scope.matches((pattern,), path), (pattern, path)


def test_every_rule_has_its_next_command() -> None:
    for name, rule in RULES.items():
        assert rule.allowed == (rule.command == ""), name
        assert not any(word in rule.way_out for word in ("--force", "--no-verify", "reset", "clean", "rm ")), name
