"""Fixtures that tests of the whole program share."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from clones import AGENTS, Clone, World, populate
from hypothesis import HealthCheck, settings
from real_tools import node_tools, python_tools
from sites import Site, make

__all__ = ["node_tools", "python_tools"]

# A script that starts the tests in its background has them ignore interrupts, and with them all that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes, and how many are filtered out before one fits, says nothing about what is tested.
settings.register_profile(
    "loopx", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
settings.load_profile("loopx")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A bare remote with one commit of code and no ledger."""
    return World(tmp_path / "world").start()


@pytest.fixture(scope="session")
def ledger_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare remote with a ledger: the goal main, the peers alice, bob, carol and agent-00 to agent-15, no
    todos; main has .loopx/config.toml."""
    world = World(tmp_path_factory.mktemp("template") / "world").start()
    clone = world.clone("first")
    clone.run("init")
    populate(clone, peers=["alice", "bob", "carol", *AGENTS])
    clone.commit(".loopx/config.toml", (clone.path / ".loopx/config.toml").read_text(), "loopx: coordinate here")
    clone.git("push", "-q", "origin", "main")
    return world.remote


@pytest.fixture
def ledger(tmp_path: Path, ledger_template: Path) -> World:
    """A copy of the bare remote with a ledger."""
    world = World(tmp_path / "world")
    shutil.copytree(ledger_template, world.remote)
    return world


@pytest.fixture
def alice(ledger: World) -> Clone:
    """A clone of that remote."""
    return ledger.clone("alice")


@pytest.fixture
def bob(ledger: World) -> Clone:
    """Another clone of it."""
    return ledger.clone("bob")


@pytest.fixture
def site(ledger: World) -> Callable[..., Site]:
    """Makes a repository with the guard at work: `site(claim="other")`."""

    def build(place: str = "main", hooking: str = "plain", claim: str = "own") -> Site:
        return make(ledger, place, hooking, claim)

    return build
