"""Signatures of coordination commits, made by the program that git would use."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping

from loopx_git.errors import RemoteFailure
from loopx_git.store.repository import OwnRepository, Repository

#: A signer that asks a person (a passphrase, a touch) is given so many seconds.
TIMEOUT = 10.0


def signer(repository: Repository, env: Mapping[str, str]) -> Callable[[bytes], str]:
    """A function that signs a commit's content with the user's gpg.format and user.signingKey.

    git signs a copy of the commit (`git commit-tree -S`), and the signature is taken from it: every format of git
    works. Raises RemoteFailure (14) when the signer fails or does not answer; nothing has been written then.
    """

    def sign(content: bytes) -> str:
        with tempfile.TemporaryDirectory(prefix="loopx-sign-") as folder:
            return _signature(content, folder, repository, env)

    return sign


def _signature(content: bytes, folder: str, repository: Repository, env: Mapping[str, str]) -> str:
    headers, _, text = content.decode("utf-8").partition("\n\n")
    fields = [line.partition(" ")[::2] for line in headers.split("\n")]
    tree = next(value for key, value in fields if key == "tree")
    parents = [word for key, value in fields if key == "parent" for word in ("-p", value)]
    people = {key: value for key, value in fields if key in ("author", "committer")}
    aside = OwnRepository(os.path.join(folder, "signed.git"), env)
    named = {**_person("AUTHOR", people["author"]), **_person("COMMITTER", people["committer"])}
    named["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = ":".join(
        os.path.join(place, "objects")
        for place in (os.path.join(repository.home, "coord.git"), repository.common_dir)
    )
    done = aside.make()
    if done.code == 0:
        args = ["commit-tree", "-S", "-F", "-", *parents, tree]
        done = aside.git(args, TIMEOUT, stdin=text.encode("utf-8"), **named)
    read = done
    if done.code == 0:
        read = aside.git(["cat-file", "commit", done.text.strip()], 30)
    lines = read.text.split("\n\n")[0].split("\n") if read.code == 0 else []
    found: list[str] = []
    for line in lines:
        if line.startswith("gpgsig "):
            found.append(line.removeprefix("gpgsig "))
        elif found and line.startswith(" "):
            found.append(line[1:])
        elif found:
            break
    if not found:
        slow = " (no answer in 10 s)" if done.timed_out else ""
        raise RemoteFailure(
            f"the commit could not be signed{slow}: {read.complaint}",
            hint="check user.signingKey and gpg.format, or: git config loopx.sign false",
        )
    return "\n".join(found)


def _person(role: str, line: str) -> dict[str, str]:
    who, _, when = line.rpartition("> ")
    name, _, email = who.partition(" <")
    return {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": email, f"GIT_{role}_DATE": f"@{when}"}
