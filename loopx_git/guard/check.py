"""`guard check`: one engine, four sources of paths."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from loopx_git.client.client import Client
from loopx_git.errors import UsageError
from loopx_git.guard import push, refresh
from loopx_git.guard.answer import Answer, examine
from loopx_git.store.repository import Repository


def check_staged(client: Client) -> Answer:
    """What a commit of the index would change."""
    repository, context = client.connection.repository, refresh.context(client)
    code = push.code_of(repository)
    return examine(context, code.staged(repository.git_dir, code.other_parents(repository.git_dir)), "staged")


def check_range(client: Client, spec: str) -> Answer:
    """The commits `A..B`, each against the claims that it names, by what is known here."""
    context = refresh.context(client)
    selection = push.resolve(spec, context.policy.since, push.code_of(client.connection.repository))
    return push.judge_selection(client, context, selection, "range")


def check_push(client: Client, remote: str, lines: str) -> Answer:
    """Check the commits of a push to `remote` (a name or a URL) by the claims of that remote."""
    repository = client.connection.repository
    settings, policy = client.connection.settings, refresh.policy_of(repository)
    name = remote_name(repository, remote)
    selection: list[str] = []
    if policy.mode != "off":
        selection = push.wanted(lines, name, settings.ref, policy.since, push.code_of(repository))
    # A push that brings nothing new needs no look at the remote.
    context = refresh.context(client, fresh=bool(selection))
    return push.judge_selection(client, context, selection, "push")


def check_paths(client: Client, paths: Sequence[str], folder: str) -> Answer:
    """Paths as a person names them, relative to `folder`. They need not exist."""
    top = client.connection.repository.top
    if top is None:
        raise UsageError("a bare repository has no paths to edit", hint="git loopx guard check --range A..B")
    return examine(refresh.context(client), [inside(top, os.path.join(folder, path)) for path in paths], "paths")


def inside(top: str, path: str) -> str:
    """`path` relative to the top of the work tree. Its folder may be reached by a link; the name itself is taken as
    it is: an edit of a link is an edit of that path."""
    folder, name = os.path.split(os.path.abspath(path))
    relative = os.path.relpath(os.path.join(os.path.realpath(folder), name), os.path.realpath(top))
    if relative == "." or relative.split(os.sep)[0] == os.pardir:
        raise UsageError(f"{path} is not below {top}", hint="name a path of this repository")
    return relative.replace(os.sep, "/")


def remote_name(repository: Repository, given: str) -> str:
    """The remote's name, also when git was given its URL; "" when no remote has that URL."""
    remotes = repository.remotes()
    if given in remotes:
        return given
    return next((name for name in remotes if given in repository.values(f"remote.{name}.url")), "")


def framework_lines(env: Mapping[str, str]) -> tuple[str, str] | None:
    """(remote, lines of a pre-push hook) from what the pre-commit framework tells a hook; it hands over no standard
    input, and only the first pushed ref."""
    old, new = env.get("PRE_COMMIT_FROM_REF", ""), env.get("PRE_COMMIT_TO_REF", "")
    if not new:
        return None
    local = env.get("PRE_COMMIT_LOCAL_BRANCH") or "HEAD"
    there = env.get("PRE_COMMIT_REMOTE_BRANCH") or "refs/heads/unnamed"
    return env.get("PRE_COMMIT_REMOTE_NAME", ""), f"{local} {new} {there} {old or push.ZERO}\n"


def upstream_lines(repository: Repository) -> str:
    """The line that a push of HEAD would have, where nobody says what is pushed."""
    head = push.code_of(repository).resolve("HEAD")
    return "" if head is None else f"HEAD {head} HEAD {push.ZERO}\n"
