"""Every place of the program that says what to type next, found by walking its source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import loopx_git
from loopx_git.cli.next_command import commands

ROOT = Path(loopx_git.__file__).parent
#: Constructors and functions of ours whose argument at this place is a hint.
_POSITIONAL = {
    "Reason": 2,
    "Rule": 1,
    "Blocker": 2,
    "_refuse": 3,
    "Check": 3,
    "Finding": 4,
    "explained": 2,
}
_NAMED = frozenset({"hint", "way", "way_on", "command", "way_out"})
#: Words that stand for something of the reader's own: nobody can paste them as they are.
PLACEHOLDER = re.compile(r"\b(?:[A-Z]{2,}(?:_[A-Z]+)*|A\.\.B)\b|\.\.\.")


@dataclass(frozen=True, order=True)
class Site:
    """One text of a hint: where it stands, and what it says, with `{}` for what is filled in."""

    module: str
    text: str

    @property
    def commands(self) -> list[str]:
        return commands(self.text)


def sites() -> list[Site]:
    """Every hint of the program, sorted; the same text twice in a module is one."""
    found: set[Site] = set()
    for path in sorted(ROOT.rglob("*.py")):
        module = path.relative_to(ROOT).as_posix()
        found |= {Site(module, text) for text in _texts(ast.parse(path.read_text("utf-8")))}
    return sorted(found)


def _texts(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            place = _POSITIONAL.get(name)
            if place is not None and len(node.args) > place:
                yield from _of(node.args[place])
            for keyword in node.keywords:
                if keyword.arg in _NAMED and (keyword.arg != "command" or name in ("Check", "Finding")):
                    yield from _of(keyword.value)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                name = getattr(target, "id", getattr(target, "attr", ""))
                if name in ("hint", "way", "way_on", "WHO_ACTS", "_AGAIN"):
                    yield from _of(node.value)
        elif isinstance(node, ast.FunctionDef) and node.name in ("who_acts", "_scope_hint", "_others", "way"):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Return) and inner.value is not None:
                    yield from _of(inner.value)


def _of(node: ast.expr) -> Iterator[str]:
    """The texts that an expression can be; what is computed elsewhere is a site of its own there."""
    match node:
        case ast.Constant(value=str(text)):
            if text:
                yield re.sub(r"\{\w+\}", "{}", text)
        case ast.JoinedStr():
            yield "".join(
                part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "{}"
                for part in node.values
            )
        case ast.IfExp():
            yield from _of(node.body)
            yield from _of(node.orelse)
        case ast.BinOp(op=ast.Add()):
            for left in list(_of(node.left)) or ["{}"]:
                for right in list(_of(node.right)) or ["{}"]:
                    yield left + right
        case ast.BoolOp():
            for value in node.values:
                yield from _of(value)


def pattern(text: str) -> re.Pattern[str]:
    """What a hint that was made from this text looks like."""
    return re.compile(".*".join(re.escape(part) for part in text.split("{}")), re.DOTALL)
