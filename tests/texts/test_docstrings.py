"""Every public module, class, function and method has a docstring; those that a program calls name their errors."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from python_page import NAMESPACES, methods

from loopx_git import LoopXClient, errors

ROOT = Path(__file__).parent.parent.parent
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Classes = dict[str, list[ast.ClassDef]]


def parsed(root: Path) -> dict[str, ast.Module]:
    """Module's path -> its tree."""
    return {str(path.relative_to(root)): ast.parse(path.read_text("utf-8")) for path in sorted(root.rglob("*.py"))}


def public(body: list[ast.stmt]) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node


def without(modules: dict[str, ast.Module]) -> list[str]:
    """Where a docstring is missing: `path:line name`. What is nested in a function is not public. A method needs
    none when a base class, or a Protocol that its class implements, documents the method of that name."""
    classes: Classes = {}
    for module in modules.values():
        for node in public(module.body):
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(node)
    missing = []
    for path, module in modules.items():
        if ast.get_docstring(module) is None:
            missing.append(f"{path}:1 the module")
        for node in public(module.body):
            if ast.get_docstring(node) is None:
                missing.append(f"{path}:{node.lineno} {node.name}")
            if isinstance(node, ast.ClassDef):
                excused = described_elsewhere(node, classes)
                missing += [
                    f"{path}:{method.lineno} {node.name}.{method.name}"
                    for method in public(node.body)
                    if ast.get_docstring(method) is None and method.name not in excused
                ]
    return missing


def documented(node: ast.ClassDef) -> set[str]:
    return {method.name for method in public(node.body) if ast.get_docstring(method) is not None}


def bases(node: ast.ClassDef, classes: Classes) -> Iterator[ast.ClassDef]:
    for base in node.bases:
        if isinstance(base, ast.Name):
            for parent in classes.get(base.id, []):
                yield parent
                yield from bases(parent, classes)


def is_protocol(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)


def described_elsewhere(node: ast.ClassDef, classes: Classes) -> set[str]:
    parents = list(bases(node, classes))
    own = {method.name for each in (node, *parents) for method in public(each.body)}
    own |= {
        inner.attr
        for each in (node, *parents)
        for inner in ast.walk(each)
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store)
    }
    protocols = [each for named in classes.values() for each in named if is_protocol(each)]
    implemented = [each for each in protocols if {method.name for method in public(each.body)} <= own]
    return set().union(*(documented(each) for each in (*parents, *implemented)))


def test_everything_public_has_a_docstring() -> None:
    assert without(parsed(ROOT / "loopx_git")) == []


SAMPLE = '''
class Shape(Protocol):
    """A shape."""
    def area(self) -> float:
        """In square metres."""
class Square:
    """It implements Shape."""
    def area(self) -> float: ...
    def side(self) -> float: ...
class Unit(Square):
    """It inherits."""
    def area(self) -> float: ...
    @property
    def name(self) -> str: ...
    def _hidden(self) -> None: ...
def outer() -> None:
    """It has a function inside."""
    def inner() -> None: ...
async def bare() -> None: ...
class Bare: ...
'''


def test_the_search_finds_what_is_missing() -> None:
    found = [line.partition(" ")[2] for line in without({"sample.py": ast.parse(SAMPLE)})]
    assert found == ["the module", "Square.side", "Unit.name", "bare", "Bare"]


CALLS = {f"{name}.{method}": function for name, kind in NAMESPACES.items() for method, function in methods(kind)}
CALLS |= {name: getattr(LoopXClient, name) for name in ("hold", "run", "land")}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_of_the_client_names_its_errors(name: str) -> None:
    said = " ".join((inspect.getdoc(CALLS[name]) or "").split())
    named = [kind.__name__ for kind in errors.BY_CODE.values() if kind.__name__ in said]
    assert re.search(r"\braises ", said, re.IGNORECASE) and (named or "`todo.claim`" in said), said


@pytest.mark.parametrize("code", sorted(errors.BY_CODE))
def test_an_error_names_its_exit_code(code: int) -> None:
    said = errors.BY_CODE[code].__doc__ or ""
    assert said.endswith(f"Exit {code}."), said


#: Turns of phrase that a reader has to read twice: "is no valid alias" is "is not a valid alias".
TWISTED = re.compile(r"(?<!there )\b(?:is|are) no (?!longer\b|more\b)\w|\bwhoever\b|\bgone on with\b|\bhas its say\b")


def twisted(module: ast.Module) -> list[tuple[int, str]]:
    texts = (node for node in ast.walk(module) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [(text.lineno, found[0]) for text in texts for found in TWISTED.finditer(" ".join(text.value.split()))]


def test_messages_and_docstrings_are_plain() -> None:
    found = [(path, *each) for path, module in parsed(ROOT / "loopx_git").items() for each in twisted(module)]
    assert found == []


def test_a_twisted_text_is_found() -> None:
    module = ast.parse(
        'x = f"{y!r} is no valid alias", "there is no todo", "it is no longer held"\nz = """whoever\nasks"""'
    )
    assert sorted(twisted(module)) == [(1, "is no v"), (2, "whoever")]
