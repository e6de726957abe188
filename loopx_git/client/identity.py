"""Who acts: the agent and its session."""

from __future__ import annotations

import os
from collections.abc import Callable

from loopx_git.client.claims_file import place, session_at
from loopx_git.client.config import Settings
from loopx_git.core import ids
from loopx_git.core.change import Actor
from loopx_git.store.repository import Repository
from loopx_git.store.state_file import save


def actor(repository: Repository, settings: Settings, email: str, entropy: Callable[[int], bytes]) -> Actor:
    """The configured agent with its session, or the git identity when no agent is set."""
    if settings.agent is None:
        good = ids.EMAIL.fullmatch(email) is not None
        return Actor(email if good else "loopx@localhost.invalid")
    return Actor(settings.agent, settings.session or session_of(repository, settings.agent, entropy))


def session_of(repository: Repository, agent: str, entropy: Callable[[int], bytes]) -> str:
    """One session for each worktree and agent, kept in the worktree's git directory.

    The file names the folder that it was made for. A copied clone gets a new session; otherwise two holders would
    share one.
    """
    return _session_in(os.path.join(repository.git_dir, "loopx", "sessions"), repository.git_dir, agent, entropy)


def session_of_loop(repository: Repository, loop: str, entropy: Callable[[int], bytes]) -> str:
    """One session for each clone and loop. A tick may run in any worktree of the clone."""
    return _session_in(os.path.join(repository.home, "loops"), repository.common_dir, loop, entropy)


def _session_in(folder: str, place_of: str, agent: str, entropy: Callable[[int], bytes]) -> str:
    path = os.path.join(folder, f"{ids.check('agent', agent)}.json")
    known = _read(path, place_of)
    if known is not None:
        return known
    session = f"s-{entropy(8).hex()}"
    aside = f"{path}.{entropy(4).hex()}"
    save(aside, {"place": place(place_of), "session": session})
    try:
        # A link fails when another process of this agent was first: then its session is ours too.
        os.link(aside, path)
    except FileExistsError:
        other = _read(path, place_of)
        if other is not None:
            os.unlink(aside)
            return other
        os.replace(aside, path)
        return session
    os.unlink(aside)
    return session


def _read(path: str, place_of: str) -> str | None:
    """The session stored at `path` for this folder."""
    known = session_at(path, place_of)
    return known if known is not None and ids.is_valid("session", known) else None
