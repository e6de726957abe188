"""The paths that commits change, and the claims that their messages name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loopx_git.core.ids import LEASE
from loopx_git.errors import InvalidState, UsageError
from loopx_git.guard.staged import DIFF
from loopx_git.store.process import git

TIMEOUT = 120.0
CLAIM, GUARD = "Loopx-Claim", "Loopx-Guard"
_SEPARATOR = "\x1f"
_FORMAT = _SEPARATOR.join((
    "%H", f"%(trailers:key={CLAIM},valueonly=true,separator=%x20)",
    f"%(trailers:key={GUARD},valueonly=true,separator=%x20)", "%s",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: what it changed itself (of a merge only what differs from every parent), the claims (todo, epoch)
    that it names, and whether it says that no guard let it pass."""

    oid: str
    subject: str
    paths: tuple[str, ...]
    named: tuple[tuple[str, int], ...]
    unseen: bool


def resolve(spec: str, folder: str, env: Mapping[str, str]) -> list[str]:
    """`A..B` as arguments for `commits`; UsageError when git knows no such thing."""
    old, dots, new = spec.partition("..")
    if not dots or not new or new.startswith("."):
        raise UsageError(f"{spec[:80]!r} is no range", hint="git loopx guard check --range origin/main..HEAD")
    oids = []
    for name in (old, new):
        if not name:
            continue
        args = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
        found = git(args, cwd=folder, env=env, timeout=TIMEOUT)
        if found.code:
            raise UsageError(f"there is no commit {name[:80]!r} here", hint="git log --oneline")
        oids.append(found.text.strip())
    return [oids[-1], *(f"^{oid}" for oid in oids[:-1])]


def exists(oid: str, folder: str, env: Mapping[str, str]) -> bool:
    """Whether this commit is here."""
    return git(["cat-file", "-e", f"{oid}^{{commit}}"], cwd=folder, env=env, timeout=TIMEOUT).code == 0


def commits(wanted: Sequence[str], folder: str, env: Mapping[str, str]) -> list[Commit]:
    """The commits that `wanted` (oids, `^oid`, and options of rev-list) selects, oldest first."""
    args = ["rev-list", "--reverse", "--topo-order", f"--format={_FORMAT}", "--stdin"]
    revisions = "".join(f"{item}\n" for item in wanted if not item.startswith("--"))
    options = [item for item in wanted if item.startswith("--")]
    done = git([*args, *options], cwd=folder, env=env, timeout=TIMEOUT, stdin=revisions.encode())
    if done.code:
        raise InvalidState(f"git cannot list the commits: {done.complaint}", hint="git fsck")
    rows = [line.split(_SEPARATOR, 3) for line in done.text.split("\n") if _SEPARATOR in line]
    if not rows:
        return []
    changed = _paths([row[0] for row in rows], folder, env)
    return [
        Commit(oid, subject, changed.get(oid, ()), _named(claims), guard.strip() != "")
        for oid, claims, guard, subject in rows
    ]


def _named(text: str) -> tuple[tuple[str, int], ...]:
    found = [LEASE.fullmatch(word) for word in text.split()]
    return tuple(dict.fromkeys((match[1], int(match[2])) for match in found if match))


def _paths(oids: Sequence[str], folder: str, env: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Path by commit. A merge shows what differs from all its parents (`-c`), a root everything."""
    args = ["diff-tree", "--stdin", "--root", "-c", "--combined-all-paths", *DIFF]
    lines = "".join(f"{oid}\n" for oid in oids)
    done = git(args, cwd=folder, env=env, timeout=TIMEOUT, stdin=lines.encode())
    if done.code:
        raise InvalidState(f"git cannot compare the commits: {done.complaint}", hint="git fsck")
    found: dict[str, list[str]] = {}
    current: list[str] = []
    parts = iter(done.out.decode("utf-8", "surrogateescape").split("\0"))
    for part in parts:
        if not part.startswith(":"):
            current = found.setdefault(part, [])
            continue
        # As many names as there are parents, and the commit's own; without renames they are all one.
        colons = len(part) - len(part.lstrip(":"))
        names = [next(parts, "") for _ in range(1 if colons == 1 else colons + 1)]
        current.extend(dict.fromkeys(name for name in names if name))
    return {oid: tuple(names) for oid, names in found.items()}
