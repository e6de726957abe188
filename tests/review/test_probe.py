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

PREFIX = "refs/heads/loopx/coord-probe-"
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


#: Lets pass what a ref rule of a host would: pushes to refs with this beginning, and no others.
RULE = """#!/bin/sh
while read old new ref; do
    echo "$ref" >> pushed
    case $ref in {allowed}*) ;; *) echo "only {allowed} may be pushed" >&2; exit 1;; esac
done
"""


@pytest.mark.parametrize("ref", ["refs/heads/agents/ledger", "refs/agents/ledger", "refs/heads/top"])
def test_the_rules_of_the_configured_ref_are_met(world: World, ref: str) -> None:
    """A server that takes nothing but the configured ref's neighbourhood; the ref itself stays as it is."""
    clone = world.clone("clone")
    clone.config("loopx.ref", ref)
    plant(world.remote / "hooks/pre-receive", RULE.format(allowed=ref))
    clone.run("init")
    before = world.git("for-each-ref", folder=world.remote)
    checks = probe(clone, 0)
    wanted = {**GOOD, "force": "warn", "delete": "warn"}
    if ref.startswith("refs/heads/"):
        wanted["custom ref"] = "warn"
    assert {name: check["level"] for name, check in checks.items()} == wanted, checks
    assert ref + "-probe-" in checks["create"]["text"]
    assert world.git("for-each-ref", folder=world.remote) == before
    pushed = (world.remote / "pushed").read_text().split()
    # Once by init, never by the probe.
    assert pushed.count(ref) == 1
    # And the other way about: what is allowed elsewhere does not help.
    plant(world.remote / "hooks/pre-receive", RULE.format(allowed="refs/heads/loopx/"))
    checks = probe(clone, 19)
    assert ref + "-probe-" in checks["create"]["command"]
    assert "only refs/heads/loopx/ may be pushed" in checks["create"]["text"]
    assert world.git("for-each-ref", folder=world.remote) == before


def test_a_ref_that_is_taken_and_not_shown_is_told_and_removed(world: World) -> None:
    clone = world.clone("clone")
    clone.config("loopx.ref", "refs/agents/ledger")
    world.git("config", "uploadpack.hideRefs", "refs/agents", folder=world.remote)
    before = world.git("for-each-ref", folder=world.remote)
    checks = probe(clone, 19)
    assert "is not shown" in checks["create"]["text"]
    assert "clean-up" not in checks
    assert world.git("for-each-ref", folder=world.remote) == before


def test_a_remote_that_goes_away_in_between_is_told(world: World) -> None:
    """What cannot be read is not a verdict, and what may be left behind is named, never passed over in silence."""
    clone = world.clone("clone")
    script = "#!/bin/sh\ntest -e once || { : > once; exit 0; }\n"
    plant(world.remote / "hooks/post-receive", f"{script}mv {world.remote} {world.remote}.away\n")
    checks = probe(clone, 19)
    assert {name: check["level"] for name, check in checks.items()} == {
        "latency": "ok", "create": "ok", "reach": "fail", "clean-up": "warn",
    }  # fmt: skip
    assert PREFIX in checks["clean-up"]["text"]
    assert "git ls-remote origin" in checks["clean-up"]["command"]


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
