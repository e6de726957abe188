"""The folder and the expression of a pattern say together what the pattern says."""

from __future__ import annotations

import re

import pytest

from loopx_git.core.scope import MAX_SEARCHED, expression, folder, matches

PATTERNS = (
    "src",
    "src/",
    "/src",
    "/src/",
    "src/**",
    "src/app",
    "src/app/",
    "/src/app/**",
    "**",
    "*",
    "/*",
    "*.py",
    "src/*.py",
    "a/*/c",
    "a/**/c",
    "**/x",
    "**/x/",
    "[ab]?",
    "src/[!a]*",
    "app/\\[id\\]/page",
    "a*b*c*d*e",
    "*/",
    "/**/b",
)
PATHS = (
    "src",
    "src/a",
    "src/app",
    "src/app/z",
    "src/app/z/y",
    "x/src",
    "x/src/b",
    "a",
    "a/c",
    "a/b/c",
    "a/b/b/c",
    "x",
    "b/x",
    "b/x/y",
    "ab",
    "q/b1",
    "s.py",
    "src/s.py",
    "app/[id]/page",
    "app/i/page",
    "axbxcxdxe",
    "b",
    "a/b",
    "src/a\nb.py",
    "SRC/a",
    "src/na\udcff",
)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_they_agree_with_matches(pattern: str) -> None:
    place, source = folder(pattern), expression(pattern)
    for path in PATHS:
        inside = not place or path.startswith(place + "/")
        if matches((pattern,), path):
            assert inside, path
        if source is not None and inside:
            assert len(path) <= MAX_SEARCHED
            assert bool(re.search(source, path.replace("\n", "\0"))) == matches((pattern,), path), path


def test_the_folder_is_as_deep_as_it_can_be() -> None:
    wanted = {
        "src/app/**": "src/app", "/src/": "src", "src/app": "src", "*.py": "", "src": "", "a/*/c": "a",
        "src/[ab]/x": "src",
    }  # fmt: skip
    assert {pattern: folder(pattern) for pattern in wanted} == wanted


def test_everything_in_a_folder_needs_no_expression() -> None:
    assert {expression(pattern) for pattern in ("**", "src/**", "/src/", "src/app/")} == {""}
    assert expression("a*b*c*d*e") is None


def test_a_pattern_that_is_none_is_refused() -> None:
    for ask in (folder, expression):
        with pytest.raises(ValueError, match="scope pattern"):
            ask("a/../b")
