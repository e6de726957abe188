"""The environment of git: which variables are removed and set, and which settings of the user are passed on."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

#: `git rev-parse --local-env-vars`, and what belongs to a hook's or server's own repository. Kept, they would
#: point our git at the user's repository, its index, or a quarantine.
LOCAL = frozenset({
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REFERENCE_BACKEND", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
})  # a list of words  # fmt: skip
#: What changes how git reads our paths and writes what we parse. A person sets them for the commands that they type;
#: no git that we start gets them.
BENDING = frozenset({
    "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS", "GIT_ATTR_SOURCE",
})  # a list of words  # fmt: skip
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
#: Keys of the user's configuration that say how to reach a host. Those from local, worktree and command scope are
#: passed on: git reads the global and system files itself, but for what they include on a condition.
_TRANSPORT = re.compile(
    r"(http|credential|url|ssh|protocol)\..+|core\.(sshcommand|gitproxy|askpass)|gpg\..+|user\.signingkey",
    re.IGNORECASE,
)
#: Keys that say how to sign. Of several values the last one counts, so that all can be passed on, wherever set.
_SIGNING = re.compile(r"gpg\..+|user\.signingkey", re.IGNORECASE)
#: Keys of which every value counts; an empty one (not of the other two kinds) drops those before it.
_GATHERED = re.compile(
    r"credential(?:\..+)?\.(helper)|http(?:\..+)?\.(extraheader|curloptresolve)"
    r"|url\..+\.((?:push)?insteadof)|core\.(gitproxy)",
    re.IGNORECASE,
)
_RESET = ("helper", "extraheader", "curloptresolve")
#: Of `remote.<name>.*`; never fetch, push, mirror, prune or tagOpt, which would change what we push.
REMOTE_KEYS = ("proxy", "proxyauthmethod", "uploadpack", "receivepack", "vcs")
#: The name under which coord.git knows the remote, whatever the user calls it.
REMOTE = "coord"


def scrubbed(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without variables that point at another repository, and with the fixed ones."""
    kept = {key: value for key, value in env.items() if key not in LOCAL and not _NUMBERED.fullmatch(key)}
    if "LC_ALL" in kept:
        # LC_ALL beats LC_MESSAGES; the character type that it chose is kept.
        kept["LC_CTYPE"] = kept.pop("LC_ALL")
    return kept | PINNED


#: What makes git read other objects, parents or edges of the history than the repository has.
_SWAPPING = frozenset({"GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE"})


def judging(env: Mapping[str, str]) -> dict[str, str]:
    """The environment for every git whose answer decides a verdict.

    The repository, index and quarantine that a hook names stay. Replacements and grafts exist in one clone alone:
    what is judged is what is pushed.
    """
    kept = {key: value for key, value in env.items() if key not in _SWAPPING}
    if "LC_ALL" in kept:
        kept["LC_CTYPE"] = kept.pop("LC_ALL")
    fixed = ("GIT_TERMINAL_PROMPT", "GIT_NO_REPLACE_OBJECTS", "LC_MESSAGES", "LANGUAGE")
    return {**kept, "GIT_GRAFT_FILE": os.devnull, **{key: PINNED[key] for key in fixed}}


def elsewhere(env: Mapping[str, str]) -> dict[str, str]:
    """The user's own environment for git in another work tree of theirs: configuration that the caller gave stays,
    what points at one repository or index (a hook's, say) goes."""
    goes = LOCAL - {"GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"}
    return {key: value for key, value in env.items() if key not in goes} | {"GIT_TERMINAL_PROMPT": "0"}


def at(git_dir: str, env: Mapping[str, str]) -> dict[str, str]:
    """The environment for git in a repository of ours, which is named explicitly.

    Without the name, git would search upwards from a damaged repository into the user's, and a user may have
    forbidden bare repositories that are not named.
    """
    return {**env, "GIT_DIR": git_dir}


def unbent(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without variables that change the meaning of arguments or the form of the output."""
    return {key: value for key, value in env.items() if key not in BENDING}


def with_config(env: Mapping[str, str], settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The environment with configuration added at command scope."""
    pairs = list(settings)
    added = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (key, value) in enumerate(pairs):
        added[f"GIT_CONFIG_KEY_{number}"] = key
        added[f"GIT_CONFIG_VALUE_{number}"] = value
    return {**env, **added}


#: One entry of a configuration: scope, key (section and name in lower case), value.
Entry = tuple[str, str, str]


def transport_settings(
    config: Sequence[Entry], name: str, fetch_url: str, push_url: str | None, seen: Iterable[Entry] | None = None
) -> list[tuple[str, str]]:
    """The settings for coord.git from the user's configuration entries.

    `name` is the user's remote. Exactly one URL and at most one push URL are set: a remote with two would be
    pushed to twice, and a compare-and-swap has one place. `seen` is what git reads in coord.git by itself, where
    that may differ from what it reads of the same files in the user's repository.
    """
    chosen = [(f"remote.{REMOTE}.url", fetch_url)]
    if push_url is not None:
        chosen.append((f"remote.{REMOTE}.pushurl", push_url))
    prefix = f"remote.{name}."
    more = set() if seen is None else _conditional(config, seen)
    for number, (scope, key, value) in enumerate(config):
        if key.startswith(prefix) and key[len(prefix) :].lower() in REMOTE_KEYS:
            chosen.append((f"remote.{REMOTE}.{key[len(prefix) :]}", value))
        elif _TRANSPORT.fullmatch(key) and (_own(scope) or number in more or _SIGNING.fullmatch(key)):
            chosen.append((key, value))
    return chosen


def signing_settings(config: Sequence[Entry]) -> list[tuple[str, str]]:
    """What the user's configuration says about signing, for a git that runs elsewhere."""
    return [(key, value) for _, key, value in config if _SIGNING.fullmatch(key)]


def has_conditions(config: Iterable[Entry]) -> bool:
    """True when a file that every repository reads includes others on a condition (folder, branch, URL)."""
    return any(key.startswith("includeif.") and not _own(scope) for scope, key, _ in config)


def _own(scope: str) -> bool:
    return scope in ("local", "worktree", "command")


def _conditional(config: Sequence[Entry], seen: Iterable[Entry]) -> set[int]:
    """The entries of `config` (their numbers) from global and system files that have to be passed on, because git in
    coord.git does not see them. What git sees there by itself is not passed on a second time."""
    known = Counter((key, value) for scope, key, value in seen if not _own(scope))
    unseen = set()
    for number, (scope, key, value) in enumerate(config):
        if not _own(scope):
            if known[key, value]:
                known[key, value] -= 1
            else:
                unseen.add(number)
    chosen = set()
    families: dict[str, list[int]] = {}
    for number, (_, key, _) in enumerate(config):
        families.setdefault(_family(key), []).append(number)
    for family, numbers in families.items():
        if unseen.isdisjoint(numbers):
            continue
        # Of a key with one value the last one counts: the whole sequence, so that it is the same one as at home.
        start = 0
        if family.startswith(_GATHERED_MARK):
            resets = [number for number in numbers if not config[number][2]] if family[1:] in _RESET else []
            start = max(resets, default=-1)
            if start < 0:
                chosen |= unseen.intersection(numbers)
                continue
            if max(unseen.intersection(numbers)) < start:
                # All of it is dropped again by what git sees there, too.
                continue
        chosen |= {number for number in numbers if number >= start}
    return chosen


#: Begins the name of a family of keys; no key begins so.
_GATHERED_MARK = "*"


def _family(key: str) -> str:
    """What an empty value drops the earlier values of: all helpers, all headers. Else the key itself."""
    match = _GATHERED.fullmatch(key)
    return key if match is None else _GATHERED_MARK + str(match[match.lastindex or 0]).lower()
