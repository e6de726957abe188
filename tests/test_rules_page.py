"""docs/rules.md is made from the table, and docs/exit-codes.md names every error."""

from __future__ import annotations

import re
from pathlib import Path

from loopx_git.cli.rules_page import page
from loopx_git.errors import BY_CODE

DOCS = Path(__file__).parent.parent / "docs"


def test_the_rules_page_is_made_from_the_table() -> None:
    assert (DOCS / "rules.md").read_text("utf-8") == page(), "python -m loopx_git.cli.rules_page > docs/rules.md"


def test_the_exit_codes_are_those_of_the_error_tree() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \|", (DOCS / "exit-codes.md").read_text("utf-8"), re.MULTILINE)
    assert {int(code): name for code, name in rows} == {code: cls.__name__ for code, cls in BY_CODE.items()}


def test_every_test_that_the_races_name_exists() -> None:
    named = set(re.findall(r"`(tests/[^`]+\.py)`", (DOCS / "concurrency.md").read_text("utf-8")))
    assert named
    assert [path for path in sorted(named) if not (DOCS.parent / path).exists()] == []
