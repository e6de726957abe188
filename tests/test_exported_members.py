"""What `loopx_git` hands out: `__all__` says exactly what is public, and importing it costs nothing."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from types import ModuleType

import pytest

import loopx_git
from loopx_git import errors

LOADED_ON_DEMAND = {"pygit2", "yaml", "frontmatter", "pathspec", "click", "git"}


def test_all_is_sorted() -> None:
    """By the order that the linter keeps: constants, classes, the rest."""

    def order(name: str) -> tuple[int, str]:
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    assert list(loopx_git.__all__) == sorted(loopx_git.__all__, key=order)
    assert len(set(loopx_git.__all__)) == len(loopx_git.__all__)


def test_all_is_what_is_public() -> None:
    assert set(loopx_git.__all__) <= set(dir(loopx_git))
    shown = {
        name
        for name in dir(loopx_git)
        if not name.startswith("_") and name != "annotations" and not isinstance(getattr(loopx_git, name), ModuleType)
    }
    assert shown == {name for name in loopx_git.__all__ if not name.startswith("_")}


def test_every_name_resolves() -> None:
    for name in loopx_git.__all__:
        assert getattr(loopx_git, name) is not None, name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = loopx_git.no_such_name


def test_the_client_is_exported() -> None:
    assert "LoopXClient" in loopx_git.__all__


def error_classes() -> list[type[errors.LoopXError]]:
    return [
        member for _, member in inspect.getmembers(errors, inspect.isclass) if issubclass(member, errors.LoopXError)
    ]


def test_every_error_is_exported() -> None:
    names = {error.__name__ for error in error_classes()}
    assert len(names) > 1
    assert names <= set(loopx_git.__all__)
    assert all(getattr(loopx_git, name) is getattr(errors, name) for name in names)


def test_the_drawn_error_tree_is_the_real_one() -> None:
    drawn = dict(re.findall(r"[├└]── (\w+) +(\d+)", inspect.getdoc(errors) or ""))
    real = {error.__name__: str(error.code) for error in error_classes() if error is not errors.LoopXError}
    assert drawn == real


def test_everything_exported_says_what_it_is_for() -> None:
    """A docstring of its own; a plain error class may leave it to the tree that its module draws."""
    silent = []
    for name in loopx_git.__all__:
        member = getattr(loopx_git, name)
        if not (inspect.isclass(member) or inspect.isroutine(member)):
            continue
        doc = vars(member).get("__doc__") if inspect.isclass(member) else member.__doc__
        is_error = inspect.isclass(member) and issubclass(member, errors.LoopXError)
        # A dataclass without a docstring is given its signature as one.
        if not is_error and (not doc or doc.startswith(f"{name}(")):
            silent.append(name)
    assert silent == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import sys, loopx_git; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert "loopx_git" in done.stdout.split()
    assert LOADED_ON_DEMAND.intersection(done.stdout.split()) == set()
