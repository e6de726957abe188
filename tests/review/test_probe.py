"""`doctor --probe` against six kinds of remote: the right answer, and nothing left behind that could be removed."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from clones import Clone, World, differences, footprint, plant
from servers import git_daemon

PREFIX = "refs/heads/loopx/probe-"
GOOD = {"latency": "ok", "create": "ok", "fast-forward": "ok", "compare-and-swap": "ok", "atomic": "ok"}


def plain(world: World) -> None:
    pass


def strict(world: World) -> None:
    world.git("config", "receive.denyNonFastForwards", "true", folder=world.remote)
    world.git("config", "receive.denyDeletes", "true", folder=world.remote)


def hidden(world: World) -> None:
    world.git("config", "receive.hideRefs", "refs/heads/loopx", folder=world.remote)


def hiding_custom_refs(world: World) -> None:
    world.git("config", "transfer.hideRefs", "refs/loopx", folder=world.remote)


def declining(world: World) -> None:
    plant(world.remote / "hooks/pre-receive", "#!/bin/sh\necho 'ask the administrator' >&2\nexit 1\n")


def gone(world: World) -> None:
    shutil.rmtree(world.remote)


CASES: list[tuple[Callable[[World], None], dict[str, str], int, list[str]]] = [
    (plain, {**GOOD, "force": "warn", "delete": "warn", "custom ref": "ok"}, 0, []),
    (strict, {**GOOD, "force": "ok", "delete": "ok", "custom ref": "ok", "clean-up": "warn"}, 0, [PREFIX]),
    (hidden, {"latency": "ok", "create": "fail"}, 19, []),
    (hiding_custom_refs, {**GOOD, "force": "warn", "delete": "warn", "custom ref": "warn"}, 0, []),
    (declining, {"latency": "ok", "create": "fail"}, 19, []),
    (gone, {"reach": "fail"}, 19, []),
]  # fmt: skip


def probe(clone: Clone, code: int) -> dict[str, dict[str, str]]:
    shown = clone.run("doctor", "--probe", check=code).out
    return {check["name"]: check for check in json.loads(shown)["checks"]}


@pytest.mark.parametrize(("make", "expected", "code", "left"), CASES, ids=[case[0].__name__ for case in CASES])
def test_the_answer_is_right(
    world: World, make: Callable[[World], None], expected: dict[str, str], code: int, left: list[str]
) -> None:
    clone = world.clone("clone")
    make(world)
    refs = world.git("for-each-ref", folder=world.remote, check=False) if world.remote.exists() else ""
    before = footprint(clone)
    checks = probe(clone, code)
    assert {name: check["level"] for name, check in checks.items()} == expected, checks
    assert all(check["command"] for check in checks.values() if check["level"] == "fail")
    assert differences(before, footprint(clone)) == {}
    if world.remote.exists():
        now = world.git("for-each-ref", folder=world.remote).splitlines()
        stayed = [line for line in now if line not in refs.splitlines()]
        assert len(stayed) == len(left), stayed
        assert all(name in line for name, line in zip(left, stayed, strict=True))
    if make is declining:
        assert "ask the administrator" in checks["create"]["text"]


@contextlib.contextmanager
def read_only(world: World) -> Iterator[str]:
    with git_daemon(world.root, writable=False) as url:
        yield url + "remote.git"


def test_a_read_only_remote(world: World) -> None:
    with read_only(world) as url:
        clone = world.clone("clone", url=url)
        checks = probe(clone, 19)
        assert {name: check["level"] for name, check in checks.items()} == {"latency": "ok", "create": "fail"}


def test_without_a_remote_there_is_nothing_to_probe(world: World) -> None:
    clone = world.repository("alone")
    clone.commit("a.py")
    assert "no remote" in clone.run("doctor", "--probe", check=2).error["message"]
    assert not Path(clone.path / "probe").exists()
