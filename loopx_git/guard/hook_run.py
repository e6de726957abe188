"""One run of a hook: where git started it, with what, and what is asked of the repository there."""

from __future__ import annotations

import os

from loopx_git.guard import cached

# What is not imported here is imported where it is needed: some of the hooks run at every commit.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from loopx_git.client.client import Client
    from loopx_git.client.connect import Overrides
    from loopx_git.coverage.changes import Code
    from loopx_git.guard.context import Context


class HookRun:
    """One run of a hook: `folder` is where git started it, `env` what git gave it."""

    def __init__(self, folder: str, env: Mapping[str, str], overrides: Overrides | None = None) -> None:
        self.folder, self.env, self.overrides = folder, dict(env), overrides
        self._client: Client | None = None
        where = cached.places(folder)
        given = env.get("GIT_DIR")
        if (
            where is not None
            and given
            and os.path.realpath(os.path.join(folder, given)) != os.path.realpath(where.git_dir)
        ):
            where = None
        self.where = where

    @property
    def client(self) -> Client:
        """The client, opened at the first use."""
        if self._client is None:
            from loopx_git.guard.refresh import open_client

            self._client = open_client(self.folder, self.env, overrides=self.overrides)
        return self._client

    @property
    def git_dir(self) -> str:
        """The git folder of the worktree."""
        return self.where.git_dir if self.where is not None else self.client.connection.repository.git_dir

    @property
    def code(self) -> Code:
        """The repository of code, with the environment that git gave to the hook."""
        from loopx_git.coverage.changes import Code

        common = self.where.common_dir if self.where is not None else self.client.connection.repository.common_dir
        return Code(self.folder, common, self.env)

    def context(self, *, fresh: bool = False) -> Context:
        """The context, the quick way where that will do."""
        found = cached.context(self.where, self.env) if self.where is not None and not fresh else None
        if found is not None:
            return found
        from loopx_git.guard.refresh import context

        return context(self.client, fresh=fresh)
