"""The environment git runs in: what is scrubbed, what is pinned, which of the user's settings are passed on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

#: `git rev-parse --local-env-vars`, and what belongs to a hook's or server's own repository. Kept, they would
#: point our git at the user's repository, its index, or a quarantine.
LOCAL = frozenset({
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REFERENCE_BACKEND", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
})  # fmt: skip
#: What changes how git reads our paths and writes what we parse. They are a person's wishes for what they type
#: themselves; no git that we run is to know of them.
BENDING = frozenset({
    "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS", "GIT_ATTR_SOURCE",
})  # fmt: skip
_NUMBERED = re.compile(r"GIT_CONFIG_(KEY|VALUE)_[0-9]+")
#: Pinned for every call: no prompts (an agent has no terminal), no replace refs (what is stored is what
#: is read), no lazy fetches, messages in one language, and the formats of a repository that is made (an older git
#: does not know the second name and has that format alone).
PINNED = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_DEFAULT_HASH": "sha1",
    "GIT_DEFAULT_REF_FORMAT": "files",
    "LC_MESSAGES": "C",
    "LANGUAGE": "C",
}
#: Keys of the user's configuration that say how to reach a host. Only those from local, worktree and command
#: scope are passed on: git reads the global and system files itself.
_TRANSPORT = re.compile(
    r"(http|credential|url|ssh|protocol)\..+|core\.(sshcommand|gitproxy|askpass)|gpg\..+|user\.signingkey",
    re.IGNORECASE,
)
#: Of `remote.<name>.*`; never fetch, push, mirror, prune or tagOpt, which would change what we push.
REMOTE_KEYS = ("proxy", "proxyauthmethod", "uploadpack", "receivepack", "vcs")
#: The name under which coord.git knows the remote, whatever the user calls it.
REMOTE = "coord"


def scrubbed(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without everything that belongs to another repository, and with what is pinned."""
    kept = {key: value for key, value in env.items() if key not in LOCAL and not _NUMBERED.fullmatch(key)}
    if "LC_ALL" in kept:
        # LC_ALL beats LC_MESSAGES; the character type that it chose is kept.
        kept["LC_CTYPE"] = kept.pop("LC_ALL")
    return kept | PINNED


def elsewhere(env: Mapping[str, str]) -> dict[str, str]:
    """The user's own environment for git in another work tree of theirs: configuration that the caller gave stays,
    what points at one repository or index (a hook's, say) goes."""
    goes = LOCAL - {"GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"}
    return {key: value for key, value in env.items() if key not in goes} | {"GIT_TERMINAL_PROMPT": "0"}


def at(git_dir: str, env: Mapping[str, str]) -> dict[str, str]:
    """The environment for git in a repository of ours, which is named: git that has to look for it would walk up
    from a damaged one into the user's, and a user may have forbidden bare repositories that are not named."""
    return {**env, "GIT_DIR": git_dir}


def unbent(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would change the meaning of a command's arguments or the form of its answer."""
    return {key: value for key, value in env.items() if key not in BENDING}


def with_config(env: Mapping[str, str], settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The environment with configuration added at command scope."""
    pairs = list(settings)
    added = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (key, value) in enumerate(pairs):
        added[f"GIT_CONFIG_KEY_{number}"] = key
        added[f"GIT_CONFIG_VALUE_{number}"] = value
    return {**env, **added}


def transport_settings(
    config: Iterable[tuple[str, str, str]], name: str, fetch_url: str, push_url: str | None
) -> list[tuple[str, str]]:
    """The settings for coord.git from the user's configuration entries (scope, key, value).

    `name` is the user's remote. Exactly one URL and at most one push URL are set: a remote with two would be
    pushed to twice, and a compare-and-swap has one place.
    """
    chosen = [(f"remote.{REMOTE}.url", fetch_url)]
    if push_url is not None:
        chosen.append((f"remote.{REMOTE}.pushurl", push_url))
    prefix = f"remote.{name}."
    for scope, key, value in config:
        if key.startswith(prefix) and key[len(prefix) :].lower() in REMOTE_KEYS:
            chosen.append((f"remote.{REMOTE}.{key[len(prefix) :]}", value))
        elif scope in ("local", "worktree", "command") and _TRANSPORT.fullmatch(key):
            chosen.append((key, value))
    return chosen
