"""What commits change, and the commit in the making: paths, and the claims that messages name.

Replacements of objects (`git replace`) are ignored: only their own clone sees them, and what is read here is what is
pushed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from loopx_git.core import ids
from loopx_git.coverage import trailers
from loopx_git.coverage.merges import Merges
from loopx_git.coverage.raw import DIFF, EMPTY_TREE, ask, contents, entries, told
from loopx_git.errors import InvalidState, UsageError
from loopx_git.store.environment import judging
from loopx_git.store.process import Finished

#: Where git looks for a short name of a ref.
_PLACES = ("refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
#: What may follow the name of a ref: steps to other commits.
_STEPS = re.compile(r"[~^:]|@\{")
_SHORT = re.compile("[0-9a-fA-F]{4,39}")


class CodeCommit(NamedTuple):
    """One commit of code: what it changed itself, and the claims that it names.

    Of a merge: the changes that git alone would not have made.
    """

    oid: str
    parents: tuple[str, ...]
    subject: str
    claims: trailers.CodeClaims
    paths: tuple[str, ...]

    @property
    def is_merge(self) -> bool:
        """True with more than one parent."""
        return len(self.parents) > 1


class Code:
    """One repository of code as git reads it: `cwd` is where git runs, `env` says which index and which objects."""

    def __init__(self, cwd: str, common_dir: str, env: Mapping[str, str]) -> None:
        self.cwd, self.common_dir = cwd, common_dir
        self.env = judging(env)

    def git(self, args: Sequence[str], stdin: bytes = b"") -> Finished:
        """Run git in the repository of code. The exit code is in the result."""
        return ask(args, self.cwd, self.env, stdin)

    def told(self, args: Sequence[str], stdin: bytes = b"") -> str:
        """What git answers; InvalidState where it does not."""
        return told(args, self.cwd, self.env, stdin)

    def resolve(self, name: str) -> str | None:
        """The commit of that name, if it is here. UsageError for a name that means more than one thing: an outsider
        who pushes a tag or a branch could choose what is judged."""
        args = ["rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}"]
        done = self.git(["-c", "core.warnAmbiguousRefs=true", *args])
        if done.code:
            return None
        ref = _STEPS.split(name, maxsplit=1)[0]
        if (b"is ambiguous" in done.err and not self._is_exact(ref)) or self._is_short(ref):
            known = self.git(["for-each-ref", "--format=%(refname)", *(form.format(ref) for form in _PLACES)])
            shown = known.text.split() or [f"refs/heads/{ref}"]
            raise UsageError(
                f"{name[:80]!r} is ambiguous here: {', '.join(shown)}",
                hint=f"write the whole name, such as {shown[-1]}",
            )
        return done.text.strip()

    def _is_exact(self, ref: str) -> bool:
        """True for an id and for the full name of a ref: git takes these at their word first."""
        if ref == "HEAD" or ids.OID.fullmatch(ref):
            return True
        return ref.startswith("refs/") and self.git(["show-ref", "--verify", ref]).code == 0

    def _is_short(self, ref: str) -> bool:
        """True for the beginning of an id that is the name of a ref, too: git takes the ref, and says nothing."""
        if _SHORT.fullmatch(ref) is None or not self.git(["rev-parse", f"--disambiguate={ref.lower()}"]).text:
            return False
        return bool(self.git(["for-each-ref", "--format=%(refname)", *(form.format(ref) for form in _PLACES)]).text)

    # -- the index

    def staged(self, git_dir: str, others: Sequence[str] = ()) -> list[str]:
        """The paths, sorted, that a commit of the index would change; `others` are the further parents of a merge."""
        head = self.resolve("HEAD")
        return self.in_index(git_dir, [*([head] if head is not None else []), *others])

    def in_index(self, git_dir: str, parents: Sequence[str]) -> list[str]:
        """The paths, sorted, that the index would change as a commit with these parents."""
        if len(parents) < 2:
            return sorted(self._index_against(parents[0] if parents else EMPTY_TREE))
        with Merges(self.cwd, self.common_dir, self.env) as merges:
            found = merges.of_index(git_dir, parents)
        if found is None:
            # Unsettled paths: what is as in one of the parents was merely carried over.
            found = list(set.intersection(*(self._index_against(parent) for parent in parents)))
        return sorted(found)

    def _index_against(self, parent: str) -> set[str]:
        done = self.git(["diff-index", "--cached", *DIFF, parent, "--"])
        if done.code:
            raise InvalidState(f"git cannot compare the index with {parent}: {done.complaint}", hint="git status")
        return {path for _, path in entries(done.text)}

    def other_parents(self, git_dir: str, *, merging: bool = False) -> list[str]:
        """The further parents of the merge that is going on here; [] when there is none.

        Before a clean merge is committed (`merging`) git has not written MERGE_HEAD yet; it names them in its
        environment.
        """
        from loopx_git.core.ids import OID
        from loopx_git.store.lock import read_file

        data = read_file(os.path.join(git_dir, "MERGE_HEAD"), 65536)
        if data is not None:
            named = data.decode("ascii", "replace").split()
        else:
            heads = [name.removeprefix("GITHEAD_") for name in self.env if name.startswith("GITHEAD_")]
            named = heads if merging else []
        return [oid for oid in named if OID.fullmatch(oid)]

    # -- commits

    def commits(
        self, wanted: Sequence[str], options: Sequence[str] = ("--reverse", "--topo-order")
    ) -> list[CodeCommit]:
        """The commits that `wanted` (oids, `^oid`, and options that select) chooses, parents first."""
        selecting = [item for item in wanted if item.startswith("--")]
        args = ["rev-list", "--stdin", "--encoding=UTF-8", "--format=%P%x00%B%x00", *options, *selecting]
        done = self.git(args, "".join(f"{item}\n" for item in wanted if item not in selecting).encode())
        if done.code:
            raise InvalidState(f"git cannot list the commits: {done.complaint}", hint="git fsck")
        parts = done.text.split("\0")
        rows: list[tuple[str, tuple[str, ...], str]] = []
        for head, message in zip(parts[::2], parts[1::2], strict=False):
            oid, _, parents = head.strip("\n").removeprefix("commit ").partition("\n")
            rows.append((oid, tuple(parents.split()), message))
        plain = self._plain([oid for oid, above, _ in rows if len(above) < 2])
        found = []
        with Merges(self.cwd, self.common_dir, self.env) as merges:
            for oid, above, message in rows:
                paths = merges.changes(oid, above) if len(above) > 1 else plain.get(oid, ())
                subject = message.lstrip("\n").partition("\n")[0][:200]
                found.append(CodeCommit(oid, above, subject, trailers.read(message), tuple(paths)))
        return found

    def _plain(self, oids: Sequence[str]) -> dict[str, list[str]]:
        """Commit -> the paths that differ from its parent (all of them, for a root)."""
        found: dict[str, list[str]] = {}
        for oid, path, _ in self.brought(oids):
            found.setdefault(oid, []).append(path)
        return found

    def brought(self, oids: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        """(commit, path, its content afterwards) of what ordinary commits changed; a merge changes nothing here."""
        if not oids:
            return iter(())
        done = self.git(["diff-tree", "--stdin", "--root", *DIFF], "".join(f"{oid}\n" for oid in oids).encode())
        if done.code:
            raise InvalidState(f"git cannot compare the commits: {done.complaint}", hint="git fsck")
        return contents(done.text)
