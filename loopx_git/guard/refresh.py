"""The context from the ledger itself, and what it leaves behind for the quick way.

Nothing here uses the network unless `fresh` asks for it: a commit is judged by what is known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from loopx_git.client import claims_file, claims_writer
from loopx_git.client.client import Client
from loopx_git.client.config import FILE, HERE, load_file
from loopx_git.client.connect import Overrides
from loopx_git.client.location import check
from loopx_git.coverage.policy import GuardPolicy, parse
from loopx_git.coverage.verdict import Who
from loopx_git.errors import InvalidState, LoopXError, NotInitialised, RemoteFailure
from loopx_git.guard import cached
from loopx_git.guard.answer import age_words
from loopx_git.guard.context import Context, Problem
from loopx_git.guard.free import Finder
from loopx_git.store.lock import make_folder, write_file
from loopx_git.store.repository import Repository
from loopx_git.store.state_file import read_plain


def open_client(
    folder: str, env: Mapping[str, str], flags: Mapping[str, Any] | None = None, overrides: Overrides | None = None
) -> Client:
    """The client for the repository that a hook runs in: the hook's own GIT_DIR is respected."""
    return Client(folder, env, flags, overrides)


def policy_of(repository: Repository) -> GuardPolicy:
    """The policy of the work tree; InvalidState when it cannot be read."""
    path = os.path.join(repository.top or repository.git_dir, FILE)
    tables = load_file(path) if repository.top is not None else {}
    return parse(tables.get("guard", {}), path)


def context(client: Client, *, fresh: bool = False) -> Context:
    """The context. Errors of the policy are raised; errors of the state become its problem. With `fresh` the remote
    is asked first; when it cannot be reached, policy offline_push says whether that is a problem."""
    connection = client.connection
    policy = policy_of(connection.repository)
    settings = connection.settings
    actor = connection.actor() if settings.agent is not None else None
    who = Who(settings.agent, None if actor is None else actor.session)
    clock = connection.overrides.clock
    notes: list[str] = []
    problem: Problem | None = None
    known: dict[str, Any] = {"tip": None, "claims": [], "unreadable": [], "here": True}
    try:
        check(connection.repository, settings)
        if fresh:
            problem = _ask(client, policy, notes)
        known = _known(client)
    except NotInitialised:
        problem = Problem("no-state", "nothing is known of the claims here yet", "git loopx sync")
    except LoopXError as error:
        problem = Problem("unreadable", error.message, error.hint.partition("   ")[0] or "git loopx doctor")
    if problem is None or problem.rule == "offline":
        _remember(client, policy)
    found = cached.of_claims(
        known, policy, who, connection.repository.common_dir, clock.wall().timestamp(),
        clock.counting(), clock.boot(), problem=problem, free=Finder(lambda: client, known["tip"]),
    )  # fmt: skip
    found.notes[:0] = [f"{note}; it is {age_words(found.age)} old" for note in notes]
    return found


def _ask(client: Client, policy: GuardPolicy, notes: list[str]) -> Problem | None:
    try:
        client.read(fresh=True)
    except RemoteFailure as error:
        if policy.offline_push == "block":
            return Problem("offline", f"the remote's claims cannot be read: {error.message}", "git loopx sync")
        notes.append(f"the remote's claims cannot be read, so what was fetched last decides ({error.message})")
    return None


def _known(client: Client) -> dict[str, Any]:
    """What claims.json says, written anew when it is not of the known tip."""
    connection = client.connection
    repository, settings = connection.repository, connection.settings
    here = settings.remote == HERE
    tip = claims_file.known_tip(repository.common_dir, settings.ref, here=here)
    found = claims_file.read(repository.home)
    fits = found is not None and (found["here"], found["ref"], found["tip"]) == (here, settings.ref, tip)
    if found is None or tip is None or not fits:
        # In a repository of its own the branch itself is the remote: reading it needs no network.
        reading = client.read(fresh=True) if here else client.read(offline=True)
        found = claims_writer.write(client.connection, reading.tip)
    return found


def _remember(client: Client, policy: GuardPolicy) -> None:
    """Write guard.json for the quick way, when it is not as it should be already."""
    connection = client.connection
    repository, settings = connection.repository, connection.settings
    if repository.top is None or any(connection.flags.get(name) for name in ("remote", "ref", "agent")):
        return
    where = cached.RepositoryPaths(repository.top, repository.git_dir, repository.common_dir)
    files = _config_files(repository)
    # As it is without a variable: that is looked at every time.
    agent = repository.value("loopx.agent")
    known = {
        "version": cached.VERSION, "surroundings": cached.surroundings(files, where, repository.env), "files": files,
        "policy": policy.as_json(), "agent": agent or None, "here": settings.remote == HERE, "ref": settings.ref,
    }  # fmt: skip
    path = os.path.join(repository.git_dir, "loopx", cached.NAME)
    text = json.dumps(known)
    if read_plain(path) != text:
        make_folder(os.path.dirname(path))
        write_file(path, text.encode("ascii"))


def _config_files(repository: Repository) -> list[str]:
    """Every file that git's configuration was read from or could be, and our own pin."""
    done = repository.git(["config", "--list", "-z", "--show-origin", "--name-only"])
    if done.code:
        raise InvalidState(
            f"git cannot read its configuration: {done.complaint}", hint="git config --list --show-origin"
        )
    parts = done.text.split("\0")
    origins = {part.removeprefix("file:") for part in parts[::2] if part.startswith("file:")}
    home = repository.env.get("HOME", "")
    xdg = repository.env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    origins |= {
        "/etc/gitconfig",
        os.path.join(home, ".gitconfig"),
        os.path.join(xdg, "git", "config"),
        os.path.join(repository.common_dir, "config"),
        os.path.join(repository.git_dir, "config.worktree"),
        os.path.join(repository.home, "location"),
    }
    if any(key.startswith("includeif.") and "onbranch" in key for _, key, _ in repository.config):
        origins.add(os.path.join(repository.git_dir, "HEAD"))
    return sorted(os.path.normpath(os.path.join(repository.cwd, path)) for path in origins)
