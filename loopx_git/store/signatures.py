"""Whether an operation is signed by a key that belongs to its agent."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime

from loopx_git.errors import InvalidState
from loopx_git.format import message
from loopx_git.store.base import Objects
from loopx_git.store.environment import scrubbed
from loopx_git.store.process import run

#: The namespace in which git signs commits.
_NAMESPACE = "git"
TIMEOUT = 10.0


class Verifier:
    """Verifies signatures against the lines of an allowed_signers file, as ssh-keygen reads one: the principal is the
    agent's id, or the e-mail address of a person.

    A key must be valid at the commit's own time, or at `now` where that is given: a commit's time is what its writer
    says.
    """

    def __init__(
        self, objects: Objects, env: Mapping[str, str], signers: bytes | None, *, now: datetime | None = None
    ) -> None:
        self.objects, self.signers, self.now = objects, signers, now
        # Times without a zone, in the file and as the time asked for, are UTC everywhere.
        self.env = {**scrubbed(env), "TZ": "UTC"}

    def why_not(self, oid: str) -> str:
        """Why the operation `oid` is not proven to be its agent's, or "" when it is. A commit that is no operation
        proves nothing and needs no proof: the adoption that follows it does."""
        commit = self.objects.commit(oid)
        try:
            agent = message.load(commit.message).agent
        except InvalidState:
            return ""
        if self.signers is None:
            return "the code branch has no .loopx/allowed_signers"
        found = self.objects.signature(oid)
        if found is None:
            return f"it is not signed, and says that {agent} made it"
        signature, content = found
        if not signature.lstrip().startswith(b"-----BEGIN SSH SIGNATURE-----"):
            return "it is not signed with an ssh key, and only those are bound to agents: git config gpg.format ssh"
        at = self.now or commit.time
        with tempfile.TemporaryDirectory(prefix="loopx-verify-") as folder:
            paths = [os.path.join(folder, name) for name in ("allowed_signers", "signature")]
            for path, text in zip(paths, (self.signers, signature), strict=True):
                with open(path, "wb") as file:
                    file.write(text)
            argv = ["ssh-keygen", "-Y", "verify", "-f", paths[0], "-I", agent, "-n", _NAMESPACE, "-s", paths[1],
                    f"-Overify-time={at.astimezone(UTC):%Y%m%d%H%M%S}"]  # fmt: skip
            done = run(argv, cwd=folder, env=self.env, timeout=TIMEOUT, stdin=content)
        if done.code == 0:
            return ""
        if done.code == 127:
            return f"it cannot be verified: {done.complaint}"
        return f"no key that is valid for {agent} signed it"
