"""Files of the reviewed code branch: never of the work tree, never of the coordination ref."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopx_git.client.config import HERE

#: Which keys belong to which agents.
SIGNERS = ".loopx/allowed_signers"

if TYPE_CHECKING:
    from loopx_git.client.base import BaseClient


def reviewed(client: BaseClient, path: str) -> tuple[bytes | None, str]:
    """(a file of the remote's default branch as last fetched, the revision that was read).

    Without a remote it is the default branch here. None: the branch, or the file on it, does not exist.
    """
    repository, remote = client.connection.repository, client.connection.settings.remote
    names = ["refs/heads/main", "refs/heads/master", "HEAD"]
    if remote != HERE:
        names = [f"refs/remotes/{remote}/{name}" for name in ("HEAD", "main", "master")]
    for name in names:
        commit = repository.resolve(name)
        if commit is not None:
            return repository.file_at(commit, path), name
    return None, "no code branch"
