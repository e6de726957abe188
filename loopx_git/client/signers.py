"""Which keys belong to which agents, as the reviewed code branch says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopx_git.client.config import HERE
from loopx_git.store.process import git

if TYPE_CHECKING:
    from loopx_git.client.client import Client

FILE = ".loopx/allowed_signers"
_SIZE_MAX = 262_144


def reviewed_signers(client: Client) -> bytes | None:
    """.loopx/allowed_signers of the remote's default branch as it was fetched last (without a remote: of the default
    branch here), never of the work tree nor of the coordination ref; None where there is none."""
    repository, remote = client.connection.repository, client.connection.settings.remote
    names = ["refs/heads/main", "refs/heads/master", "HEAD"]
    if remote != HERE:
        names = [f"refs/remotes/{remote}/{name}" for name in ("HEAD", "main", "master")]
    for name in names:
        done = git(["rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"], cwd=repository.cwd,
                   env=repository.env, timeout=30)  # fmt: skip
        if done.code:
            continue
        shown = git(["cat-file", "blob", f"{done.text.strip()}:{FILE}"], cwd=repository.cwd, env=repository.env,
                    timeout=30)  # fmt: skip
        return shown.out if shown.code == 0 and len(shown.out) <= _SIZE_MAX else None
    return None
