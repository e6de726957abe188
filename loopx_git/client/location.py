"""Pins: where a clone found coordination at its first success, and what to do when that differs later.

A clone that silently coordinated in another place would grant claims that are already granted. So the first success
stores remote, ref, ledger and home. A different result later is an error with its way out.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

from loopx_git.client.config import HERE, Settings
from loopx_git.core import ids
from loopx_git.errors import About, InvalidState
from loopx_git.store.process import without_credentials
from loopx_git.store.repository import Repository, host_path
from loopx_git.store.state_file import parsed, save


@dataclass(frozen=True, slots=True)
class Location:
    """remote (a name, or '.'), ref, ledger (root commit), and home: `host/owner/repo` of a network URL, the
    path of any other, or '.' for this repository alone."""

    remote: str
    ref: str
    ledger: str
    home: str


def _path(repository: Repository) -> str:
    return os.path.join(repository.home, "location")


def load(repository: Repository) -> Location | None:
    """The pin of this clone, or None before its first success."""
    return parsed(_path(repository), 65536, _location)


def _location(said: Any) -> Location:
    if not isinstance(said, dict) or set(said) != {"remote", "ref", "ledger", "home"}:
        raise ValueError("it must have remote, ref, ledger and home")
    location = Location(**said)
    if not ids.OID.fullmatch(location.ledger) or not location.ref.startswith("refs/"):
        raise ValueError("a value is malformed")
    return location


def store(repository: Repository, location: Location) -> None:
    """Write the pin of this clone."""
    save(_path(repository), asdict(location), indent=1, sort_keys=True)


def rewritten(repository: Repository, url: str) -> str:
    """The URL after the user's url.<base>.insteadOf (the longest match wins, as in git)."""
    best, result = "", url
    for _, key, value in repository.config:
        if key.startswith("url.") and key.endswith(".insteadof") and url.startswith(value) and len(value) > len(best):
            best, result = value, key[len("url.") : -len(".insteadof")] + url[len(value) :]
    return result


def home_of(repository: Repository, remote: str) -> str:
    """The home of a remote as the pin spells it."""
    if remote == HERE:
        return HERE
    url = rewritten(repository, repository.urls(remote)[0])
    network = host_path(url)
    if network is not None:
        return network
    path = url.removeprefix("file://")
    return os.path.realpath(path) if os.path.isabs(path) else path


def network_home_of(repository: Repository, remote: str) -> str | None:
    """The home of a remote that is reached over a network; None for a path and for this repository."""
    home = home_of(repository, remote)
    return home if home != HERE and "/" in home and not os.path.isabs(home) else None


def check(repository: Repository, settings: Settings) -> Location | None:
    """The pin, if it agrees with the settings. Raises InvalidState with both places and the way out."""
    pin, home = load(repository), home_of(repository, settings.remote)
    expected, network = settings.home, network_home_of(repository, settings.remote)
    if expected is not None and network is not None and home.lower() != expected.lower():
        raise _elsewhere(
            repository,
            f"the remote {settings.remote!r} is {home}, and coordination lives at {expected}",
            expected,
        )
    if pin is None:
        return None
    about: About = {
        "pinned": asdict(pin),
        "resolved": {"remote": settings.remote, "ref": settings.ref, "home": home},
    }
    if settings.ledger is not None and settings.ledger != pin.ledger:
        raise InvalidState(
            f".loopx/config.toml names the ledger {settings.ledger}, this clone belongs to {pin.ledger}",
            hint="check out the branch whose .loopx/config.toml is right, or clone anew",
            about=about,
        )
    if pin.ref != settings.ref:
        raise InvalidState(
            f"this clone coordinates on {pin.ref}, and now {settings.ref} is asked for ({settings.origins['ref']})",
            hint=f"git config loopx.ref {pin.ref}",
            about=about,
        )
    settled = settings.home_settled and settings.home == home
    if pin.home != home and not settled:
        raise _moved(repository, pin, settings, home, about)
    return pin


def copied(repository: Repository, settings: Settings, pin: Location | None) -> str | None:
    """A warning when the remote moved to another path and the former one still exists: one is a copy of the other.

    It is given once, because the next success pins the new path.
    """
    if pin is None:
        return None
    home = home_of(repository, settings.remote)
    if not _both_there(pin.home, home):
        return None
    return (
        f"{home} is a copy of {pin.home}, which is still there: agents that coordinate through one of them see no "
        "claim of the other"
    )


def _both_there(one: str, two: str) -> bool:
    """Whether two homes are paths of two folders (not of one that is mounted twice)."""
    if not (os.path.isabs(one) and os.path.isabs(two) and os.path.isdir(one) and os.path.isdir(two)):
        return False
    return not os.path.samefile(one, two)


def _moved(repository: Repository, pin: Location, settings: Settings, home: str, about: About) -> InvalidState:
    if pin.home == HERE:
        return InvalidState(
            f"this clone's ledger lives in this repository alone, and now the remote {settings.remote!r} is used "
            f"({settings.origins['remote']})",
            hint="to stay: git config loopx.remote .   to move the ledger there: git loopx sync --publish",
            about=about,
        )
    shown = without_credentials(pin.home)
    if settings.remote == HERE:
        return InvalidState(
            f"this clone coordinates through {shown}, and now no remote is configured",
            hint=f"git remote add {pin.remote} {shown}",
            about=about,
        )
    return _elsewhere(
        repository,
        f"this clone coordinates through {shown}, and the remote {settings.remote!r} is now {home}"
        + ("; both are there, so one is a copy of the other" if _both_there(pin.home, home) else ""),
        pin.home,
        moved_to=home,
    )


def _elsewhere(repository: Repository, message: str, home: str, moved_to: str | None = None) -> InvalidState:
    """A fork as origin, a renamed or moved remote: name the remote that is right, or how to get one."""
    fitting = [name for name in repository.remotes() if home_of(repository, name).lower() == home.lower()]
    if fitting:
        hint = f"git config loopx.remote {fitting[0]}"
    else:
        url = home if os.path.isabs(home) else f"https://{home}.git"
        hint = f"git remote add upstream {url}   then: git config loopx.remote upstream"
    if moved_to is not None:
        hint += f"   if it has moved: git config loopx.home {moved_to}"
    return InvalidState(message, hint=hint, about={"home": home})
