"""The user's repository, read only: where it is, its configuration, and its committer."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from loopx_git.errors import InvalidState, NotInitialised, UsageError
from loopx_git.store.environment import at, elsewhere
from loopx_git.store.process import SAFE, Finished, git

#: Time for a local git command, in seconds.
LOCAL_TIMEOUT = 30.0
#: Pinned for a repository of ours, each with its reason: gc only when we say so and hold the lock; fetches and pushes
#: exactly one ref; nothing is signed at the push, negotiated, or recursed into; no helper runs a command of a URL.
_PINNED = (
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "core.logAllRefUpdates=false",
    "-c", "push.gpgSign=false",
    "-c", "push.followTags=false",
    "-c", "push.recurseSubmodules=no",
    "-c", "push.negotiate=false",
    "-c", "push.default=nothing",
    "-c", "fetch.recurseSubmodules=false",
    "-c", "fetch.prune=false",
    "-c", "fetch.fsckObjects=true",
    "-c", "transfer.credentialsInUrl=allow",
    "-c", "protocol.ext.allow=never",
    "-c", "protocol.fd.allow=never",
)  # a list of words  # fmt: skip
#: How a ref is pushed: no hook of the user's has a say about coordination. The lease and the refs follow.
PUSH = ("push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags")
_REMOTE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}", re.ASCII)
_SCP = re.compile(r"(?:([^@/:\s]+)@)?([^/:\s]+|\[[0-9a-fA-F:.]+\]):(?!//)(.*)")
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://(?:[^/@]*@)?(\[[^\]]*\]|[^/:]*)(?::[0-9]*)?/+(.*)", re.IGNORECASE)


@dataclass(frozen=True)
class Repository:
    """Where the user's repository is. `top` is None in a bare one.

    `env` is the caller's environment: what a hook or `git -c` set belongs to this repository and is used to read it.
    """

    git_dir: str
    common_dir: str
    top: str | None
    cwd: str
    object_format: str
    env: Mapping[str, str] = field(repr=False)

    @property
    def home(self) -> str:
        """Our own folder: <git common dir>/loopx."""
        return os.path.join(self.common_dir, "loopx")

    @cached_property
    def config(self) -> list[tuple[str, str, str]]:
        """(scope, key, value) of the whole configuration, in git's order. Keys as git spells them: section
        and name in lower case."""
        return config_of(self.cwd, self.env)

    def git(
        self,
        args: Sequence[str],
        *,
        timeout: float = LOCAL_TIMEOUT,
        at_top: bool = False,
        stdin: bytes = b"",
        options: Sequence[str] = SAFE,
    ) -> Finished:
        """Run one git command where the caller stands, with the caller's environment; `at_top` runs it at the top of
        the work tree. `timeout` in seconds; `options` as for `process.git`."""
        folder = self.top if at_top and self.top is not None else self.cwd
        return git(args, cwd=folder, env=self.env, timeout=timeout, stdin=stdin, options=options)

    def seen_from(self, folder: str | None) -> Repository:
        """The same repository for git commands in its work tree at `folder`, or without any (None): what a hook set
        for its own work tree and index does not count."""
        env = elsewhere(self.env)
        if folder is None:
            return replace(self, env=at(self.git_dir, env))
        return replace(self, cwd=folder, env=env)

    @cached_property
    def git_version(self) -> str:
        """What git says of its version, such as `git version 2.45.1`."""
        return self.git(["version"]).text.strip()

    @property
    def git_release(self) -> tuple[int, int]:
        """The version of git as two numbers; (0, 0) when git does not tell it."""
        match = re.search(r"(\d+)\.(\d+)", self.git_version)
        return (int(match[1]), int(match[2])) if match else (0, 0)

    def hooks_folder(self) -> str:
        """The folder of the user's hooks, as git itself finds it, from wherever core.hooksPath was set."""
        # From the top: that is where git starts hooks, and what a relative core.hooksPath is relative to.
        args = ["rev-parse", "--path-format=absolute", "--git-path", "hooks"]
        done = self.git(args, at_top=True, options=("--no-pager",))
        if done.code:
            raise InvalidState(
                f"git cannot say where its hooks are: {done.complaint}", hint="git rev-parse --git-path hooks"
            )
        return done.text.rstrip("\n")

    def resolve(self, name: str) -> str | None:
        """The id of the commit of that name, or None when it is not here."""
        done = self.git(["rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"])
        return None if done.code else done.text.strip()

    def file_at(self, commit: str, path: str, limit: int = 262_144) -> bytes | None:
        """A plain file of a commit, or None where the commit has none. InvalidState when the commit cannot be read,
        or when the file has more than `limit` bytes."""
        listed = self.git(["ls-tree", "-z", "--full-tree", commit, "--", path])
        if listed.code:
            raise InvalidState(
                f"the commit {commit} cannot be read: {listed.complaint}", hint=f"git fetch origin {commit}"
            )
        entry = listed.text.split("\0")[0]
        if not entry.startswith("100"):
            return None
        oid = entry.split("\t")[0].split(" ")[2]
        sized = self.git(["cat-file", "-s", oid])
        if sized.code or not sized.text.strip().isdigit() or int(sized.text) > limit:
            raise InvalidState(
                f"{path} of {commit[:12]} cannot be read or is too large", hint=f"git show {commit[:12]}"
            )
        read = self.git(["cat-file", "blob", oid])
        if read.code:
            raise InvalidState(f"{path} of {commit[:12]} cannot be read: {read.complaint}", hint="git fsck")
        return read.out

    def values(self, key: str) -> list[str]:
        """Every value of a configuration key. The last one is in force."""
        return [value for _, name, value in self.config if name == key]

    def value(self, key: str) -> str | None:
        """The value in force, or None."""
        found = self.values(key)
        return found[-1] if found else None

    def remotes(self) -> list[str]:
        """The names of the configured remotes that have a URL."""
        names = [
            key[len("remote.") : -len(".url")]
            for _, key, _ in self.config
            if key.startswith("remote.") and key.endswith(".url")
        ]
        return list(dict.fromkeys(names))

    def urls(self, name: str) -> tuple[str, str | None]:
        """(fetch URL, push URL or None) of a remote, relative paths made absolute.

        Of several URLs the first counts. UsageError when there is no such remote, InvalidState for a URL that
        would run a command.
        """
        if not _REMOTE_NAME.fullmatch(name):
            raise UsageError(f"{name!r} is not a name of a remote", hint="git remote -v")
        fetch, push = self.values(f"remote.{name}.url"), self.values(f"remote.{name}.pushurl")
        if not fetch:
            # `git clone -o upstream` calls it otherwise; where there is one remote, that is mostly the one.
            known = self.remotes()
            shown = ", ".join(known) or "none"
            other = known[0] if len(known) == 1 else "NAME"
            raise UsageError(
                f"this repository has no remote called {name!r} (remotes: {shown})",
                hint=(f"git config loopx.remote {other}   or: " if known else "") + f"git remote add {name} URL",
                about={"remote": name},
            )
        return self._safe_url(name, fetch[0]), self._safe_url(name, push[0]) if push else None

    def _spellings(self, name: str, url: str) -> list[str]:
        """What git may make of a URL: itself, with a base of insteadOf or pushInsteadOf, with a remote helper."""
        rewrites = [
            key[len("url.") :].rpartition(".")[0]
            for _, key, value in self.config
            if key.startswith("url.") and key.endswith((".insteadof", ".pushinsteadof")) and url.startswith(value)
        ]
        return [url, *rewrites, *(f"{helper}::" for helper in self.values(f"remote.{name}.vcs"))]

    def _safe_url(self, name: str, url: str) -> str:
        for spelt in self._spellings(name, url):
            if re.match(r"[A-Za-z0-9-]+::", spelt):
                raise InvalidState(
                    f"the URL of the remote {name!r} names a remote helper ({spelt.split('::')[0]}::), "
                    "which can run any command; loopx does not use it",
                    hint=f"git remote set-url {name} URL",
                    about={"remote": name},
                )
        if url.startswith("-"):
            raise InvalidState(f"the URL of the remote {name!r} begins with '-'", hint="git remote -v")
        if not is_path(url) or os.path.isabs(url) or url.startswith("~"):
            return url
        # git resolves a relative path against the top of the work tree; coord.git lies elsewhere.
        for base in (self.top, os.path.dirname(self.common_dir), self.git_dir):
            if base is not None and os.path.isdir(os.path.join(base, url)):
                return os.path.normpath(os.path.join(base, url))
        return url

    @property
    def is_partial(self) -> bool:
        """Whether the clone lacks objects on purpose and would fetch them on demand."""
        return any(
            key == "extensions.partialclone" or (key.endswith(".promisor") and value == "true")
            for _, key, value in self.config
        )

    def committer(self) -> tuple[str, str]:
        """(name, e-mail) of the user's commits here; a neutral identity when none is set."""
        done = self.git(["var", "GIT_COMMITTER_IDENT"])
        match = re.match(r"(.*?) ?<([^<>\n]*)> [0-9]+ [+-][0-9]{4}$", done.text.strip()) if not done.code else None
        if match is None or not match[1].strip() or not match[2].strip():
            return "loopx", "loopx@localhost.invalid"
        return _printable(match[1]), _printable(match[2])


@dataclass(frozen=True, slots=True)
class OwnRepository:
    """A bare repository of ours at `path`. git is told its name: it never searches upwards into the user's.

    `env` is the complete environment, scrubbed.
    """

    path: str
    env: Mapping[str, str] = field(repr=False)

    def make(self) -> Finished:
        """Create it, empty."""
        args = ["init", "--quiet", "--bare", "--template=", "--object-format=sha1", "--initial-branch=unused"]
        return git([*args, self.path], cwd=os.path.dirname(self.path), env=self.env, timeout=LOCAL_TIMEOUT)

    def git(self, args: Sequence[str], timeout: float, *, stdin: bytes = b"", **variables: str) -> Finished:
        """Run one git command in it, with these `variables`. `timeout` in seconds."""
        # Beside it: a damaged one may be no folder.
        folder, env = os.path.dirname(self.path), {**at(self.path, self.env), **variables}
        return git([*_PINNED, *args], cwd=folder, env=env, timeout=timeout, stdin=stdin)


def config_of(cwd: str, env: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """(scope, key, value) of the whole configuration that git reads in a place."""
    done = git(["config", "--list", "-z", "--show-scope"], cwd=cwd, env=env, timeout=LOCAL_TIMEOUT)
    if done.code:
        raise InvalidState(
            f"git cannot read its configuration: {done.complaint}", hint="git config --list --show-origin"
        )
    parts = done.text.split("\0")[:-1]
    entries = []
    for scope, entry in zip(parts[::2], parts[1::2], strict=True):
        key, given, value = entry.partition("\n")
        # A key without "=" is true; passed on with an empty value it would be false.
        entries.append((scope, key, value if given else "true"))
    return entries


def _printable(text: str) -> str:
    """An identity as it can stand in a commit; bytes that are not UTF-8 become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8").strip()


def is_path(url: str) -> bool:
    """True for a local path (not a URL, not host:path)."""
    return "://" not in url and _SCP.fullmatch(url) is None


def host_path(url: str) -> str | None:
    """`host/owner/repo` of a network URL, equal for every spelling (ssh, https, git, scp-like).

    None for a path or a file:// URL.
    """
    match = _URL.fullmatch(url)
    if match is not None:
        if match[1].lower() == "file":
            return None
        host, path = match[2], match[3]
    else:
        scp = _SCP.fullmatch(url)
        if scp is None:
            return None
        host, path = scp[2], scp[3]
    path = path.strip("/").removesuffix(".git")
    return f"{host.lower()}/{path}" if host and path else None


def open_repository(folder: str, env: Mapping[str, str]) -> Repository:
    """The repository that contains `folder`. Raises NotInitialised, with the next command, when there is none."""
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder {folder!r}", hint="-C DIR takes an existing folder")
    wanted = ("--git-dir", "--git-common-dir", "--show-object-format", "--is-inside-work-tree", "--show-toplevel")
    args = ["rev-parse", "--path-format=absolute", *wanted]
    done = git(args, cwd=folder, env=env, timeout=LOCAL_TIMEOUT)
    lines = done.text.split("\n")
    if len(lines) < 5 or lines[3] not in ("true", "false"):
        if done.code == 127:
            raise NotInitialised(f"git is not there: {done.complaint}", hint="install git 2.31 or newer")
        if b"dubious ownership" in done.err:
            raise InvalidState(
                f"git does not trust this repository: {done.complaint}",
                hint="git config --global --add safe.directory DIR",
            )
        raise NotInitialised(f"{folder} is not inside a git repository", hint="cd into your repository, or: git init")
    inside = lines[3] == "true" and done.code == 0
    return Repository(
        git_dir=lines[0],
        common_dir=lines[1],
        top=lines[4] if inside else None,
        cwd=folder,
        object_format=lines[2],
        env=env,
    )
