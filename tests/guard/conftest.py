"""A repository with the guard at work."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from clones import World
from sites import Site, make

MakeSite = Callable[..., Site]


@pytest.fixture
def site(ledger: World) -> MakeSite:
    """Makes a site in the world with a ledger: `site(claim="other")`."""

    def build(place: str = "main", hooking: str = "plain", claim: str = "own") -> Site:
        return make(ledger, place, hooking, claim)

    return build
