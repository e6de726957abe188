"""CONTRIBUTING.md and AGENTS.md are true: their paths exist; layers, folders and targets are those of the code."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from test_layers import BELOW_FACES, FACES, MEDIAN_LINES, MOST_LINES

ROOT = Path(__file__).parent.parent.parent
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
TEXTS = {"CONTRIBUTING.md": CONTRIBUTING, "AGENTS.md": (ROOT / "AGENTS.md").read_text("utf-8")}
WORKERS = {2: "two", 3: "three", 4: "four"}
PATH = re.compile(r"\.?\w[\w.-]*/[\w./-]*|\w+\.(?:py|md|toml)")
#: Paths of a repository that uses loopx-git; here the file exists only while this project coordinates itself. And
#: what is installed.
ELSEWHERE = (".loopx/", "loopx/coord", "src/", ".venv/")


def paths(text: str) -> list[str]:
    """What looks like a path among the code spans and in code blocks."""
    spans = re.findall(r"`([^`\n]+)`", text) + re.findall(r"^ {4}(.+)", text, re.MULTILINE)
    words = (word for span in spans for word in re.split(r'[\s"=]+', span))
    return [word for word in words if PATH.fullmatch(word) and not word.startswith(ELSEWHERE)]


def missing(text: str) -> list[str]:
    return sorted({path for path in paths(text) if not (ROOT / path).exists()})


def named(text: str) -> list[tuple[str, str]]:
    """`NAME` in `path.py`: (name, path)."""
    return re.findall(r"`(\w+)` in\s+`([\w./]+\.py)`", text)


def top_level(path: str) -> set[str]:
    """The names that a module defines."""
    found = set()
    for node in ast.parse((ROOT / path).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


@pytest.mark.parametrize("page", TEXTS)
def test_every_path_exists(page: str) -> None:
    assert len(paths(TEXTS[page])) > 15
    assert missing(TEXTS[page]) == []


def test_a_path_that_is_gone_is_found() -> None:
    assert missing("see `core/table.py`, `loopx_git/core/table.py` and `tests/gone/`") == [
        "core/table.py",
        "tests/gone/",
    ]
    assert missing("\n    make test ARGS=tests/test_gone.py\n") == ["tests/test_gone.py"]


def test_every_name_is_defined_where_it_is_said_to_be() -> None:
    found = named(CONTRIBUTING)
    assert len(found) > 5
    assert [(name, path) for name, path in found if name not in top_level(path)] == []


def test_each_answer_names_a_path() -> None:
    rows = re.findall(r"^\| ((?:Where|What|Who) .+\?) \| (.+) \|$", CONTRIBUTING, re.MULTILINE)
    assert len(rows) > 9
    assert [question for question, answer in rows if not paths(answer)] == []


def test_the_layers_are_those_that_the_test_keeps() -> None:
    layers = [layer for layer in BELOW_FACES if layer not in ("version", "errors")]
    for text in TEXTS.values():
        chain, faces = re.findall(r"(core +<- [^{\n]+?) +<- +\{ ([^}]+) \}", text)[0]
        assert re.split(r" +<- +", chain) == layers
        assert sorted(faces.split(", ")) == sorted(FACES)
    duties = re.findall(r"^\| (`[^|]+`) \|", CONTRIBUTING.partition("\n## Layers\n")[2], re.MULTILINE)
    assert set(BELOW_FACES) | set(FACES) <= set(re.findall(r"`(\w+)`", " ".join(duties)))


def test_the_numbers_are_those_of_the_program() -> None:
    workers = re.search(r"-n (\d)", (ROOT / "Makefile").read_text("utf-8"))
    assert workers
    for text in TEXTS.values():
        assert f"in {WORKERS[int(workers[1])]} worker processes" in text
    assert f"at most {MEDIAN_LINES} lines" in CONTRIBUTING
    assert f"more than {MOST_LINES}" in CONTRIBUTING


def test_every_folder_of_tests_is_named() -> None:
    folders = {f"tests/{path.parent.name}/" for path in (ROOT / "tests").glob("*/test_*.py")}
    assert len(folders) > 10
    assert folders <= set(paths(CONTRIBUTING))


def test_every_target_is_one_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for text in TEXTS.values():
        asked = set(re.findall(r"(?:`| {4})make ([a-z]+)", text))
        assert asked
        assert asked <= targets
