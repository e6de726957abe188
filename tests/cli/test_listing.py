"""Lists: short, aligned, with fields and budgets; a thousand todos within 15,000 tokens."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from clones import Clone

from loopx_git.cli.output import Output, relative, safe, wants_color
from loopx_git.cli.render.listing import BUDGET, COLUMNS, as_lines, as_objects, fields_of, tokens
from loopx_git.client.views import TodoView, lease_view
from loopx_git.core.lease import Clocks, Lease
from loopx_git.core.todo import Status, Todo
from loopx_git.errors import UsageError

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OUTPUT = Output(as_json=False, color=False, out=StringIO(), err=StringIO())
WORDS = ("fix", "the", "login", "page", "for", "users", "with", "two", "accounts", "and", "one", "session")


def view(number: int, title: str | None = None) -> TodoView:
    todo = Todo(
        id=f"todo_{number * 7919:012x}",
        goal="main",
        title=title or " ".join(WORDS[(number + step) % len(WORDS)] for step in range(8)) + f" {number}",
        status=(Status.OPEN, Status.IN_PROGRESS, Status.BLOCKED)[number % 3],
        created_at=NOW - timedelta(minutes=number),
        created_by="codex-1",
        priority=number % 5,
    )
    lease = Lease(todo.id, 1, f"codex-{number % 40}", "s", 0, 7200, NOW, NOW) if number % 3 == 1 else None
    return TodoView(todo, lease_view(lease, todo.id, Clocks(NOW), 60))


def test_a_thousand_todos_are_listed_within_the_budget() -> None:
    views = [view(number) for number in range(1000)]
    lines, cut = as_lines(OUTPUT, views, (), NOW, 5, BUDGET)
    text = "\n".join(lines)
    assert tokens(text) <= 15_000
    assert len(text) / 4 <= 15_000
    assert len(lines) + cut == 1000
    assert len(lines) >= 700
    small, rest = as_lines(OUTPUT, views, ("id", "title"), NOW, 5, 500)
    assert small
    assert len(small) + rest == 1000
    assert tokens("\n".join(small)) <= 500


def test_columns_are_aligned_and_titles_cut() -> None:
    lines, _ = as_lines(OUTPUT, [view(1), view(2, "x" * 90), view(31)], (), NOW, 4, BUDGET)
    starts = {
        re.search(r"(fix|the|login|page|for|users|with|two|accounts|and|one|session|x)", line[20:]) for line in lines
    }
    assert None not in starts
    assert len({line.index(line.split(maxsplit=4)[4]) for line in lines}) == 1
    assert max(map(len, lines)) < 90


def test_a_budget_for_json_cuts_whole_todos_and_counts_them() -> None:
    views = [view(number) for number in range(50)]
    objects, cut = as_objects(views, ("id", "title"), 600)
    assert objects
    assert (len(objects) + cut, set(objects[0])) == (50, {"id", "title"})
    assert tokens(json.dumps(objects)) <= 660
    assert as_objects(views, (), None)[1] == 0


@pytest.mark.parametrize("name", sorted(COLUMNS))
def test_every_column_has_one_line_of_text(name: str) -> None:
    lines, _ = as_lines(OUTPUT, [view(1), view(2)], (name,), NOW, 4, BUDGET)
    assert len(lines) == 2
    assert all(line.strip() and "\n" not in line for line in lines)


def test_unknown_fields_are_refused_with_the_known_ones() -> None:
    for as_json in (False, True):
        with pytest.raises(UsageError) as refusal:
            fields_of("id,colour", as_json=as_json)
        assert "colour" in refusal.value.message
        assert "title" in refusal.value.hint
    with pytest.raises(UsageError):
        fields_of(" , ", as_json=True)


def test_titles_cannot_steer_a_terminal() -> None:
    hostile = "\x1b]8;;http://x\x07click\x1b[2J\u202egnp.exe\u2028\x9b31m"
    assert safe(hostile).isprintable()
    lines, _ = as_lines(OUTPUT, [replace(view(1), todo=replace(view(1).todo, title=hostile))], (), NOW, 4, BUDGET)
    assert lines[0].isprintable()


def test_colour_follows_the_rules() -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    tty, pipe = Terminal(), StringIO()
    assert wants_color(None, {}, tty)
    assert not wants_color(None, {}, pipe)
    assert not wants_color(None, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, tty)
    assert wants_color(None, {"FORCE_COLOR": "1"}, pipe)
    assert wants_color("always", {"NO_COLOR": "1"}, pipe)
    assert not wants_color("never", {"FORCE_COLOR": "1"}, tty)
    assert not wants_color(None, {"TERM": "dumb"}, tty)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "just now"), (5, "in 5 s"), (-59, "59 s ago"), (-60, "1 min ago"), (7199, "in 119 min"), (7200, "in 2 h"),
     (-2 * 86400, "2 d ago")],
)  # fmt: skip
def test_relative_times(seconds: int, words: str) -> None:
    assert relative(NOW + timedelta(seconds=seconds), NOW) == words


def test_a_list_over_the_command_line(alice: Clone, bob: Clone) -> None:
    todos = [alice.add(f"todo {number}", "--label", "even" if number % 2 == 0 else "odd") for number in range(6)]
    bob.run("todo", "claim", todos[0], agent="bob")
    lines = alice.run("todo", "list", "--fresh", json=False).out.splitlines()
    assert len(lines) == 6
    assert lines[0].split()[:4] == [todos[0][5:9], "2", "open", "bob"]
    assert alice.run("todo", "show", lines[3].split()[0]).json["todo"]["id"] == todos[3]
    assert len(alice.run("todo", "list", "--ready").json["todos"]) == 5
    assert [item["id"] for item in bob.run("todo", "list", "--mine", agent="bob").json["todos"]] == [todos[0]]
    cut = alice.run("todo", "list", "--limit", "2").json
    assert (len(cut["todos"]), cut["left_out"]) == (2, 4)
    assert len(alice.run("todo", "list", "--label", "odd").json["todos"]) == 3
    assert alice.run("todo", "list", "--fields", "id,title").json["todos"][0] == {"id": todos[0], "title": "todo 0"}
    assert "... and 4 more" in alice.run("todo", "list", "--limit", "2", json=False).out


def test_completion_knows_ids_and_aliases(alice: Clone) -> None:
    todo = alice.add("one", "--alias", "fix-login")
    asked = {"_GIT_LOOPX_COMPLETE": "bash_complete", "COMP_WORDS": "git-loopx todo claim fix", "COMP_CWORD": "3"}
    assert "fix-login" in alice.run(json=False, env=asked).out
    asked["COMP_WORDS"] = "git-loopx todo show todo_"
    assert todo in alice.run(json=False, env=asked).out
    for shell in ("bash", "zsh", "fish"):
        assert "_GIT_LOOPX_COMPLETE" in alice.run("completion", shell, json=False).out
