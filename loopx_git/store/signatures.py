"""Whether an operation is signed by a key that belongs to its agent."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime

from loopx_git.errors import InvalidState
from loopx_git.format import message
from loopx_git.ledger.commits import Objects
from loopx_git.store.environment import scrubbed
from loopx_git.store.process import run

#: The namespace in which git signs commits.
_NAMESPACE = "git"
TIMEOUT = 10.0


class Verifier:
    """Verifies signatures against the lines of an allowed_signers file, as ssh-keygen reads it.

    The principal is the agent's id, or the e-mail address of a person. A key must be valid at the commit's time. With
    `now` it must be valid at that time instead, because the writer chooses a commit's time.
    """

    def __init__(
        self, objects: Objects, env: Mapping[str, str], signers: bytes | None, *, now: datetime | None = None
    ) -> None:
        self.objects, self.signers, self.now = objects, signers, now
        # Times without a zone, in the file and as the time asked for, are UTC everywhere.
        self.env = {**scrubbed(env), "TZ": "UTC"}

    def why_not(self, oid: str) -> str:
        """Why the signature of `oid` does not prove that its agent wrote it; "" when it does.

        A commit that is not an operation needs no proof: the adoption that follows it needs one.
        """
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
            return self._why_not_openpgp(agent, signature, content)
        at = self.now or commit.time
        with tempfile.TemporaryDirectory(prefix="loopx-verify-") as folder:
            paths = [os.path.join(folder, name) for name in ("allowed_signers", "signature")]
            for path, text in zip(paths, (self.signers, signature), strict=True):
                with open(path, "wb") as file:
                    file.write(text)
            argv = ["ssh-keygen", "-Y", "verify", "-f", paths[0], "-I", agent, "-n", _NAMESPACE, "-s", paths[1]]
            argv.append(f"-Overify-time={at.astimezone(UTC):%Y%m%d%H%M%S}")
            done = run(argv, cwd=folder, env=self.env, timeout=TIMEOUT, stdin=content)
        if done.code == 0:
            return ""
        if done.code == 127:
            return f"it cannot be verified: {done.complaint}"
        return f"no key that is valid for {agent} signed it"

    def _why_not_openpgp(self, agent: str, signature: bytes, content: bytes) -> str:
        """OpenPGP: the key's fingerprint must be in a comment `# openpgp AGENT FINGERPRINT` of allowed_signers.

        The public key must be in the keyring of the user who verifies.
        """
        pattern = (
            rb"^#[ \t]*openpgp[ \t]+" + re.escape(agent.encode()) + rb"[ \t]+([0-9A-Fa-f]{40}|[0-9A-Fa-f]{64})[ \t]*$"
        )
        bound = {match.upper().decode() for match in re.findall(pattern, self.signers or b"", re.MULTILINE)}
        if not bound:
            return f"it is signed with OpenPGP, and no key of that kind is bound to {agent}"
        with tempfile.TemporaryDirectory(prefix="loopx-verify-") as folder:
            path = os.path.join(folder, "signature")
            with open(path, "wb") as file:
                file.write(signature)
            argv = ["gpg", "--batch", "--no-tty", "--status-fd=1", "--verify", "--", path, "-"]
            done = run(argv, cwd=folder, env=self.env, timeout=TIMEOUT, stdin=content)
        if done.code == 127:
            return f"it cannot be verified: {done.complaint}"
        told = [line.split(" ")[1:] for line in done.text.splitlines() if line.startswith("[GNUPG:] ")]
        # GOODSIG is said of a key neither expired nor revoked; VALIDSIG has its fingerprint and the primary's.
        if done.code or not any(words[0] == "GOODSIG" for words in told):
            return f"no key that is valid for {agent} signed it"
        valid = next((words for words in told if words[0] == "VALIDSIG"), ["", ""])
        return "" if bound & {valid[1], valid[-1]} else f"the key that signed it is not bound to {agent}"
