"""Every page of docs/adr/ has the parts of the template, in its order, and the tests that it names exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "docs/adr"
TEMPLATE = FOLDER / "0000-template.md"
PAGES = sorted(path.name for path in FOLDER.glob("[0-9]*.md") if path != TEMPLATE)
PARTS = re.findall(r"^## (.+)$", TEMPLATE.read_text("utf-8"), re.MULTILINE)
HEAD = re.compile(
    r"# (?P<number>\d{4})\. (?P<title>[A-Z].*[^.])\n\n"
    r"Status: (?:proposed|accepted|replaced by (?P<by>\d{4}))\n"
    r"Date: \d{4}-\d\d-\d\d\n\n"
    r"(?=## )"
)


def shape(name: str, text: str) -> list[str]:
    """What is wrong with the parts of a page."""
    head = HEAD.match(text)
    if head is None:
        return ["it does not begin with title, Status and Date"]
    found = [] if head["number"] == name[:4] else [f"its number is {head['number']}"]
    if head["by"] and not any(other.startswith(head["by"]) for other in PAGES):
        found.append(f"{head['by']} does not exist")
    parts = re.split(r"^## (.+)\n", text[head.end() :], flags=re.MULTILINE)[1:]
    if parts[::2] != PARTS:
        found.append(f"its parts are {parts[::2]}")
    bodies = dict(zip(parts[::2], parts[1::2], strict=True))
    found += [f"{part} is empty" for part, body in bodies.items() if not body.strip()]
    if not bodies.get("Alternatives", "").lstrip().startswith("- "):
        found.append("Alternatives is not a list")
    return found


def definitions(path: str) -> set[str]:
    """The functions of a test file; {} for a file that does not exist."""
    file = ROOT / path
    if not file.is_file():
        return set()
    return {node.name for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)}


def unknown_tests(text: str) -> list[str]:
    """The tests among the consequences that do not exist.

    A test is `path.py`, `path.py::name`, or a bare `name` in code beside a path.
    """
    consequences = text.rpartition("\n## Consequences\n")[2]
    files = set(re.findall(r"`(tests/[\w/]+\.py)(?:::\w+)?`", consequences))
    if not files:
        return ["no test at all"]
    known = {file: definitions(file) for file in files}
    full = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", consequences)
    bare = re.findall(r"`((?:test|merge)_\w+)`", consequences)
    return [
        *(file for file in sorted(files) if not known[file]),
        *(f"{file}::{name}" for file, name in full if name not in known[file]),
        *(name for name in bare if not any(name in names for names in known.values())),
    ]


def test_numbers_are_given_once() -> None:
    numbers = [name[:4] for name in PAGES]
    assert len(PAGES) > 10
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_the_parts_of_the_template(name: str) -> None:
    assert shape(name, (FOLDER / name).read_text("utf-8")) == []


@pytest.mark.parametrize("name", PAGES)
def test_the_tests_that_a_page_names_exist(name: str) -> None:
    assert unknown_tests((FOLDER / name).read_text("utf-8")) == []


GOOD = (
    "# 0001. We do it\n\nStatus: accepted\nDate: 2026-01-01\n\n## Context\n\nx\n\n## Decision\n\nx\n\n"
    "## Alternatives\n\n- x\n\n## Consequences\n\n`tests/texts/test_decisions.py::test_numbers_are_given_once`\n"
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0001", "1"),
        ("0001", "0002"),
        ("accepted", "done"),
        ("accepted", "replaced by 9999"),
        ("Date: 2026-01-01\n", ""),
        ("## Context\n\nx\n\n## Decision", "## Decision\n\nx\n\n## Context"),
        ("## Decision\n\nx", "## Decision\n"),
        ("- x", "x"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_page_is_found(old: str, new: str) -> None:
    assert shape("0001-x.md", GOOD) == []
    assert shape("0001-x.md", GOOD.replace(old, new, 1)) != []


@pytest.mark.parametrize("test", ["", "`tests/texts/test_gone.py`", "`tests/texts/test_decisions.py::test_gone`"])
def test_a_test_that_does_not_exist_is_found(test: str) -> None:
    assert unknown_tests(GOOD) == []
    assert unknown_tests(GOOD.partition("`")[0] + test) != []
