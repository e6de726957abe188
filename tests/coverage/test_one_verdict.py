"""One verdict: the same commits through the commit hook, the push hook, the pull-request check and the server's gate.

The three that read commits must find the same, finding by finding. The commit hook sees no commit yet, and judges by
what its session holds: what it lets pass must be fine for the others, and what it denies is shown as its own answer.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from clones import World, git
from sites import OFF, Site, hold, make

from loopx_git.client.client import Client

Findings = set[tuple[str, str]]
Files = dict[str, tuple[str, str] | None]
LINK, TREE, PROGRAM, PLAIN = "120000", "160000", "100755", "100644"
ZERO = "0" * 40
NUMBERS = [f"{number}\n" for number in range(20)]
LINES = "".join(NUMBERS)


@dataclass(frozen=True)
class Code:
    """A repository with the guard at work, its gate, a commit to start from, and claims of every kind by name (as
    todo@epoch)."""

    site: Site
    base: str
    gate: Path
    claims: Mapping[str, str]

    def tree(self, start: str, files: Files) -> str:
        """The tree of a commit with these files changed: (mode, content, or for a gitlink the id); None removes."""
        clone = self.site.clone.having(GIT_INDEX_FILE=str(self.site.world.root / "index"))
        clone.git("read-tree", start)
        rows = b""
        for path, entry in files.items():
            if entry is None:
                row = f"0 {ZERO}\t{path}"
            else:
                mode, text = entry
                oid = text if mode == TREE else clone.git("hash-object", "-w", "--stdin", stdin=text.encode())
                row = f"{mode} {oid}\t{path}"
            rows += row.encode("utf-8", "surrogateescape") + b"\0"
        clone.git("update-index", "-z", "--index-info", stdin=rows)
        return clone.git("write-tree")

    def commit(self, tree: str, message: str, *parents: str) -> str:
        """A commit that no hook saw. The message's `{name}` are claims."""
        text = re.sub(r"\{(\w+)\}", lambda match: self.claims[match[1]], message)
        args = [word for parent in parents for word in ("-p", parent)]
        return self.site.clone.git("commit-tree", tree, *args, stdin=text.encode("utf-8", "surrogateescape"))

    @property
    def head(self) -> str:
        return self.site.clone.git("rev-parse", "HEAD")

    # -- the callers that read commits: the findings as (rule, path)

    def by_range(self, base: str, head: str) -> Findings:
        return self._guard("--range", f"{base}..{head}")

    def by_push(self, base: str, head: str) -> Findings:
        return self._guard("--push", stdin=f"refs/heads/x {head} refs/heads/x {base}\n")

    def _guard(self, *args: str, stdin: str = "") -> Findings:
        shown = self.site.clone.run("guard", "check", *args, stdin=stdin.encode(), check=(0, 19)).json
        return {(item["rule"], path) for item in shown["findings"] for path in item["paths"]}

    def by_review(self, base: str, head: str) -> Findings:
        shown = self.site.clone.run("review", "check", "--base", base, "--head", head, check=(0, 19)).json
        return {(item["rule"], item["file"]) for item in shown["findings"] if item["level"] == "error"}

    def by_gate(self, base: str, head: str) -> Findings:
        self.site.clone.git(*OFF, "push", "-q", "-f", str(self.gate), f"{head}:refs/heads/proposed")
        gate = self.site.clone.at(self.gate)
        done = gate.run("receive-check", "refs/heads/main", base, head, check=(0, 19), json=False)
        return set(re.findall(r"^loopx: refs/heads/main: commit [0-9a-f]{12} \(([a-z-]+)\) (.*?): ", done.err, re.M))

    def answers(self, base: str, head: str) -> dict[str, Findings]:
        return {
            "range": self.by_range(base, head),
            "push": self.by_push(base, head),
            "review": self.by_review(base, head),
            "gate": self.by_gate(base, head),
        }

    def by_commit(self, head: str) -> tuple[bool, str]:
        """The same commit made by hand, with the hooks at work: whether they let it pass, and what they said."""
        clone = self.site.clone
        parents = clone.git("log", "-1", "--format=%P", head).split()
        clone.git("checkout", "-q", "-f", "--detach", parents[0])
        if len(parents) > 1:
            clone.git(*OFF, "merge", "-q", "--no-commit", "--no-ff", "-s", "ours", *parents[1:])
        clone.git("read-tree", f"{head}^{{tree}}")
        message = clone.git("log", "-1", "--format=%B", head)
        (self.site.world.root / "message").write_text(message, errors="surrogateescape")
        done = self.site.sh("git commit -q --allow-empty -F ../message")
        clone.git("update-ref", "-d", "MERGE_HEAD") if len(parents) > 1 and done.returncode else None
        return done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory, ledger_template: Path) -> Code:
    world = World(tmp_path_factory.mktemp("one") / "world")
    shutil.copytree(ledger_template, world.remote)
    site = make(world, claim="own")
    clone = site.clone

    def by(agent: str) -> Client:
        return Client(clone.path, clone.env, {"agent": agent, "session": "one"})

    def claimed(title: str, agent: str, *scope: str) -> str:
        todo = by(agent).todo.add(title, scope=scope).id
        return by(agent).todo.claim(todo).lease.id

    names = {
        "own": f"{site.todo}@1",
        "bob": f"{hold(clone, 'other', ('/held/',))}@1",
        "given": claimed("given up", "carol", "/given/"),
        "done": claimed("done", "carol", "/done/"),
        "again": claimed("done, then opened again", "carol", "/again/"),
        "lost": claimed("given up, then held by another", "carol", "/lost/"),
        "over": claimed("taken over", "carol", "/over/"),
        "forced": claimed("ended by an operator", "carol", "/forced/"),
        "free": claimed("no scope", "carol"),
    }
    todo = {name: lease.partition("@")[0] for name, lease in names.items()}
    by("carol").todo.release(todo["given"])
    by("carol").todo.complete(todo["done"])
    by("carol").todo.complete(todo["again"])
    by("bob").todo.reopen(todo["again"])
    by("bob").todo.claim(todo["again"])
    by("carol").todo.release(todo["lost"], status="open")
    by("bob").todo.claim(todo["lost"])
    by("bob").todo.release(todo["forced"], force=True, reason="gone")
    Client(clone.path, clone.env, {"agent": "carol", "session": "two"}).todo.claim(todo["over"], resume=True)
    Client(clone.path, clone.env).read(fresh=True)
    gate = world.root / "gate.git"
    shutil.copytree(world.remote, gate)
    names["never"] = f"{todo['bob']}@7"
    names["nowhere"] = "todo_0123456789ab@1"
    start = Code(site, site.base, gate, names)
    files = {f"{folder}/{number}": (PLAIN, LINES) for folder in ("src", "docs", "held") for number in range(10)}
    return replace(start, base=start.commit(start.tree(site.base, files), "base", site.base))


@dataclass(frozen=True)
class Case:
    """A commit: its message, its files, what is found in it, and whether alice's commit hook lets it pass."""

    name: str
    message: str
    files: Files
    expected: Findings
    hook: bool = True


def at(path: str, text: str = "x\n", mode: str = PLAIN) -> Files:
    return {path: (mode, text)}


def spelt(name: str, message: str, rule: str | None = None) -> Case:
    """A message on a path that alice's claim covers."""
    return Case(name, message, at(f"src/{name}"), set() if rule is None else {(rule, f"src/{name}")})


OWN = "Loopx-Claim: {own}"

#: How the trailer is spelt: git's own grammar (`git interpret-trailers --parse`) says what is one, and its value is
#: one claim.
SPELLINGS = [
    spelt("as-it-should-be", f"work\n\n{OWN}\n"),
    spelt("absent", "work\n", "missing"),
    spelt("lower-case", "work\n\nloopx-claim: {own}\n"),
    spelt("upper-case", "work\n\nLOOPX-CLAIM: {own}\n"),
    spelt("indented", f"work\n\n  {OWN}\n", "missing"),
    spelt("indented-below-another", f"work\n\nCc: x\n  {OWN}\n", "missing"),
    spelt("space-before-the-colon", "work\n\nLoopx-Claim : {own}\n"),
    spelt("no-space-behind-the-colon", "work\n\nLoopx-Claim:{own}\n"),
    spelt("spaces-around", "work\n\nLoopx-Claim \t:\t  {own}  \n"),
    spelt("folded", "work\n\nLoopx-Claim:\n {own}\n"),
    spelt("folded-with-more", f"work\n\n{OWN}\n and more\n", "malformed"),
    spelt("repeated", f"work\n\n{OWN}\n{OWN}\n"),
    spelt("repeated-in-two-cases", f"work\n\n{OWN}\nloopx-claim: {{own}}\n"),
    spelt("not-in-the-last-paragraph", f"work\n\n{OWN}\n\nmore words\n", "missing"),
    spelt("above-another-trailer-paragraph", f"work\n\n{OWN}\n\nSigned-off-by: a <a@b>\n", "missing"),
    spelt("behind-a-cherry-pick", f"work\n\n(cherry picked from commit {ZERO})\n{OWN}\n"),
    spelt("before-a-cherry-pick", f"work\n\n{OWN}\n(cherry picked from commit {ZERO})\n"),
    spelt("several-in-one-line", "work\n\nLoopx-Claim: {own} {bob}\n", "malformed"),
    spelt("with-a-comma", "work\n\nLoopx-Claim: {own}, {bob}\n", "malformed"),
    spelt("no-epoch", "work\n\nLoopx-Claim: todo_0123456789ab\n", "malformed"),
    spelt("epoch-with-a-zero", "work\n\nLoopx-Claim: todo_0123456789ab@01\n", "malformed"),
    spelt("empty-value", "work\n\nLoopx-Claim:\n", "malformed"),
    spelt("good-and-malformed", f"work\n\n{OWN}\nLoopx-Claim: it\n", "malformed"),
    spelt("below-words", f"work\n\nsome words\n{OWN}\n", "missing"),
    spelt("below-words-and-a-sign-off", f"work\n\nsome words\nSigned-off-by: a <a@b>\n{OWN}\n"),
    spelt("in-the-subject", f"{OWN}\n", "missing"),
    spelt("in-the-subjects-paragraph", f"work\n{OWN}\n", "missing"),
    spelt("line-ends-of-windows", f"work\r\n\r\n{OWN}\r\n"),
    spelt("below-a-line-of-dashes", f"work\n\n---\n\n{OWN}\n"),
    spelt("above-a-comment", f"work\n\n{OWN}\n# a comment\n"),
    spelt("another-key", "work\n\nLoopx-Claims: {own}\n", "missing"),
    spelt("bytes-that-are-no-text", f"w\udcffrk\n\n{OWN}\n"),
]


def named(name: str, claim: str, path: str, rule: str | None = None, *, hook: bool = False) -> Case:
    """A commit under a claim of one kind."""
    message = f"work\n\nLoopx-Claim: {{{claim}}}\n"
    return Case(name, message, at(path), set() if rule is None else {(rule, path)}, hook)


#: What is claimed.
CLAIMED = [
    named("anothers-claim", "bob", "held/1"),
    named("anothers-path", "own", "held/2", "held"),
    named("a-path-of-nobody", "own", "given/1", "outside"),
    named("a-claim-that-was-given-up", "given", "given/2", "ended"),
    named("a-claim-ended-by-an-operator", "forced", "forced/1", "ended"),
    named("a-claim-that-was-completed", "done", "done/1", "completed"),
    named("completed-opened-and-held-again", "again", "again/1", "completed"),
    named("given-up-and-held-again", "lost", "lost/1", "ended"),
    named("taken-over", "over", "over/1", "taken-over"),
    named("an-epoch-that-never-was", "never", "held/3", "forged"),
    named("a-todo-that-never-was", "nowhere", "src/nowhere", "unknown", hook=True),
    named("a-claim-without-a-scope", "free", "anything/1"),
    named("a-claim-without-a-scope-on-anothers-path", "free", "held/4", "held"),
    named("nothing-guarded", "nowhere", ".loopx/notes", hook=True),
    Case("good-and-forged", f"work\n\n{OWN}\nLoopx-Claim: {{never}}\n", at("src/forged"), {("forged", "src/forged")}),
    Case("two-claims", f"work\n\n{OWN}\nLoopx-Claim: {{bob}}\n", {**at("src/two"), **at("held/two")}, set(),
         hook=False),
]  # fmt: skip


def changed(name: str, files: Files, *outside: str) -> Case:
    """A change under alice's claim on src, and which of its paths that claim does not cover."""
    return Case(name, f"work\n\n{OWN}\n", files, {("outside", path) for path in outside}, hook=not outside)


#: What is changed.
CHANGES = [
    changed("deletion", {"src/0": None}),
    changed("deletion-outside", {"docs/0": None}, "docs/0"),
    changed("rename-within", {"src/1": None, **at("src/renamed", LINES)}),
    changed("rename-out", {"src/2": None, **at("docs/renamed", LINES)}, "docs/renamed"),
    changed("rename-in", {"docs/1": None, **at("src/from-docs", LINES)}, "docs/1"),
    changed("mode-alone", at("docs/2", LINES, PROGRAM), "docs/2"),
    changed("symbolic-link", at("docs/link", "../src/a.py", LINK), "docs/link"),
    changed("file-to-link", at("src/3", "../docs/d.md", LINK)),
    changed("submodule", at("docs/m", "1" * 40, TREE), "docs/m"),
    changed("submodule-within", at("src/m", "1" * 40, TREE)),
    changed("quotes", at("do\"cs'/\\x"), "do\"cs'/\\x"),
    changed("leading-dash", at("--output=x"), "--output=x"),
    changed("colon-magic", at(":(top)x"), ":(top)x"),
    changed("like-a-commit", at("1" * 40), "1" * 40),
    changed("composed-and-decomposed", {**at("\u00e9"), **at("e\u0301")}, "\u00e9", "e\u0301"),
    changed("another-case", at("SRC/a.py"), "SRC/a.py"),
    changed("odd-names-within", {**at("src/new\nline"), **at("src/\udcff"), **at("src/ "), **at("src/-rf")}),
]
CASES = {case.name: case for case in (*SPELLINGS, *CLAIMED, *CHANGES)}
GROUPS = {"spellings": SPELLINGS, "claims": CLAIMED, "changes": CHANGES}
CALLERS = ("range", "push", "review", "gate")


def one_answer(code: Code, base: str, head: str, expected: Findings) -> None:
    assert code.answers(base, head) == dict.fromkeys(CALLERS, expected)


@pytest.mark.parametrize("group", GROUPS)
def test_a_commit_gets_one_answer(code: Code, group: str) -> None:
    head = code.base
    for case in GROUPS[group]:
        head = code.commit(code.tree(head, case.files), case.message, head)
    one_answer(code, code.base, head, {finding for case in GROUPS[group] for finding in case.expected})


#: Of the spellings those in which the hook finds something to mend.
BY_HAND = ("as-it-should-be", "absent", "upper-case", "indented-below-another", "folded-with-more", "with-a-comma",
           "in-the-subject", "above-another-trailer-paragraph", "anothers-path", "a-claim-that-was-completed",
           "nothing-guarded", "rename-within", "rename-out", "mode-alone", "odd-names-within")  # fmt: skip


def test_what_the_commit_hook_lets_pass_is_fine_for_the_others(code: Code) -> None:
    code.site.clone.git("checkout", "-q", "-f", "--detach", code.base)
    for name in BY_HAND:
        case, before = CASES[name], code.head
        made = code.commit(code.tree(before, case.files), case.message, before)
        passed, said = code.by_commit(made)
        assert passed is case.hook, f"{name}: {said}"
        assert passed or "loopx guard: denied" in said
    one_answer(code, code.base, code.head, set())


# -- more than one commit

MAKERS: dict[str, tuple[Callable[[Code], tuple[str, str]], Findings, bool]] = {}


def history(expected: Findings, *, hook: bool) -> Callable[[Callable[[Code], tuple[str, str]]], None]:
    """A history by name: makes (base, head); what is found in it, and whether the hook lets its last commit pass."""

    def add(make: Callable[[Code], tuple[str, str]]) -> None:
        MAKERS[make.__name__] = (make, expected, hook)

    return add


def forked(code: Code, ours: Files, theirs: Files) -> list[str]:
    """Two commits on the base under good claims: what the branch has, and what the base has got meanwhile."""
    base = code.base
    message = f"work\n\n{OWN}\nLoopx-Claim: {{bob}}\n"
    return [code.commit(code.tree(base, files), message, base) for files in (ours, theirs)]


@history(set(), hook=True)
def empty(code: Code) -> tuple[str, str]:
    return code.base, code.commit(f"{code.base}^{{tree}}", "nothing\n", code.base)


@history({("missing", "src/a.py")}, hook=True)
def below_a_good_one(code: Code) -> tuple[str, str]:
    base = code.base
    first = code.commit(code.tree(base, at("src/a.py")), "unclaimed\n", base)
    return base, code.commit(code.tree(first, at("src/b.py")), f"work\n\n{OWN}\n", first)


@history(set(), hook=True)
def merge_that_carries(code: Code) -> tuple[str, str]:
    ours, theirs = forked(code, at("src/a.py"), at("held/x"))
    return theirs, code.commit(code.tree(ours, at("held/x")), "merge\n", ours, theirs)


@history(set(), hook=True)
def merge_of_both_sides_of_one_file(code: Code) -> tuple[str, str]:
    first, last = "".join(["one\n", *NUMBERS[1:]]), "".join([*NUMBERS[:-1], "last\n"])
    ours, theirs = forked(code, at("held/0", first), at("held/0", last))
    both = at("held/0", "".join(["one\n", *NUMBERS[1:-1], "last\n"]))
    # What the two sides did is judged where it was done: here, in the base already and before it.
    return theirs, code.commit(code.tree(ours, both), "merge\n", ours, theirs)


@history({("missing", "held/x")}, hook=False)
def merge_that_undoes_what_the_other_side_did(code: Code) -> tuple[str, str]:
    ours, theirs = forked(code, at("src/a.py"), at("held/x"))
    return theirs, code.commit(f"{ours}^{{tree}}", "merge\n", ours, theirs)


@history({("missing", "docs/new")}, hook=False)
def merge_with_a_file_of_its_own(code: Code) -> tuple[str, str]:
    ours, theirs = forked(code, at("src/a.py"), at("held/x"))
    return theirs, code.commit(code.tree(ours, {**at("held/x"), **at("docs/new")}), "merge\n", ours, theirs)


@history(set(), hook=True)
def merge_that_takes_one_side_of_a_conflict(code: Code) -> tuple[str, str]:
    ours, theirs = forked(code, at("src/a.py", "ours\n"), at("src/a.py", "theirs\n"))
    return theirs, code.commit(code.tree(ours, at("src/a.py", "theirs\n")), "merge\n", ours, theirs)


@history({("missing", "src/a.py")}, hook=True)
def merge_that_settles_a_conflict_anew(code: Code) -> tuple[str, str]:
    ours, theirs = forked(code, at("src/a.py", "ours\n"), at("src/a.py", "theirs\n"))
    return theirs, code.commit(code.tree(ours, at("src/a.py", "neither\n")), "merge\n", ours, theirs)


@history({("missing", "held/x")}, hook=False)
def merge_of_three_that_undoes(code: Code) -> tuple[str, str]:
    ours, theirs = forked(code, at("src/a.py"), at("held/x"))
    third = code.commit(code.tree(code.base, at("src/b.py")), f"work\n\n{OWN}\n", code.base)
    return theirs, code.commit(code.tree(ours, at("src/b.py")), "merge\n", ours, theirs, third)


@history(set(), hook=True)
def merge_of_three(code: Code) -> tuple[str, str]:
    ours, theirs = forked(code, at("src/a.py"), at("held/x"))
    third = code.commit(code.tree(code.base, at("src/b.py")), f"work\n\n{OWN}\n", code.base)
    tree = code.tree(ours, {**at("src/b.py"), **at("held/x")})
    return theirs, code.commit(tree, "merge\n", ours, theirs, third)


@pytest.mark.parametrize("name", MAKERS)
def test_a_history_gets_one_answer(code: Code, name: str) -> None:
    make, expected, _ = MAKERS[name]
    base, head = make(code)
    one_answer(code, base, head, expected)


@pytest.mark.parametrize("name", MAKERS)
def test_the_commit_hook_agrees_about_the_last_commit(code: Code, name: str) -> None:
    make, _, passes = MAKERS[name]
    made = make(code)[1]
    base = code.site.clone.git("rev-parse", f"{made}~1")
    passed, said = code.by_commit(made)
    assert passed is passes, said
    if passed:
        # What it passed is fine for the others, too.
        one_answer(code, base, code.head, set())


def test_a_merge_that_is_not_settled_can_be_asked_about(code: Code) -> None:
    """Its index is no tree yet: what is as in one of the parents is carried, the rest is judged."""
    ours, theirs = forked(code, {**at("src/a.py", "ours\n"), **at("src/b.py")}, {**at("src/a.py"), **at("held/x")})
    clone = code.site.clone
    clone.git("checkout", "-q", "-f", "--detach", ours)
    clone.git(*OFF, "merge", "-q", theirs, check=False)
    assert clone.git("ls-files", "--unmerged")
    shown = clone.run("guard", "check", "--staged").json
    assert (shown["verdict"], shown["checked"]) == ("allowed", 1)
    clone.git("merge", "--abort")


def test_an_amended_commit_is_judged_by_all_that_it_has(code: Code) -> None:
    site, clone = code.site, code.site.clone
    clone.git("checkout", "-q", "-f", "--detach", code.base)
    site.quietly("echo x >> docs/d.md; g commit -q -a -m before; echo x >> src/a.py; git add src")
    done = site.sh("git commit -q --amend --no-edit")
    assert done.returncode == 0, done.stderr
    one_answer(code, code.base, code.head, {("outside", "docs/d.md")})


def test_what_a_replacement_shows_is_not_what_is_pushed(code: Code) -> None:
    """`git replace` shows another commit in its clone; the remote gets the true one."""
    base, clone = code.base, code.site.clone
    bad = code.commit(code.tree(base, at("held/x")), "work\n", base)
    good = code.commit(code.tree(base, at("src/a.py")), f"work\n\n{OWN}\n", base)
    clone.git("replace", bad, good)
    try:
        one_answer(code, base, bad, {("missing", "held/x")})
    finally:
        clone.git("replace", "-d", bad)


# -- the policy

REFUSED = {
    "mode": '"strict"',
    "require": '"lock"',
    "unidentified": '"no"',
    "offline_push": '"off"',
    "stale_after": '"soon"',
    "since": '"main"',
    "branches": '[""]',
    "paths": '["!src"]',
    "pushers": '["bot"]',
    "operators": "[1]",
    "surprise": "1",
}
MANY = "[" + ", ".join(f'"p{number}"' for number in range(1001)) + "]"


def with_policy(code: Code, text: str) -> str:
    """A commit on the base with this [guard]; it is the work tree's too, and that of the gate's default branch."""
    site, clone = code.site, code.site.clone
    clone.git("checkout", "-q", "-f", "--detach", code.base)
    path = clone.path / ".loopx/config.toml"
    path.write_text(f"{path.read_text()}\n[guard]\n{text}\n")
    site.quietly("git add .loopx; g commit -q -m policy")
    head = clone.git("rev-parse", "HEAD")
    clone.git(*OFF, "push", "-q", "-f", str(code.gate), f"{head}:refs/heads/policy")
    git(code.gate, "symbolic-ref", "HEAD", "refs/heads/policy", env=clone.env)
    return head


@pytest.fixture
def policy(code: Code) -> Iterator[Callable[[str], str]]:
    yield lambda text: with_policy(code, text)
    code.site.clone.git("checkout", "-q", "-f", "--detach", code.base)
    git(code.gate, "symbolic-ref", "HEAD", "refs/heads/main", env=code.site.clone.env)


@pytest.mark.parametrize(
    ("key", "value"), [*REFUSED.items(), ("exempt", MANY)], ids=[*REFUSED, "too-many"],
)  # fmt: skip
def test_a_policy_is_refused_by_all_or_by_none(
    code: Code, policy: Callable[[str], str], key: str, value: str
) -> None:
    base = policy(f"{key} = {value}")
    clone = code.site.clone
    head = code.commit(code.tree(base, at("src/a.py")), f"work\n\n{OWN}\n", base)
    clone.git(*OFF, "push", "-q", "-f", str(code.gate), f"{head}:refs/heads/proposed")
    asked = {
        "range": clone.run("guard", "check", "--range", f"{base}..{head}", check=None),
        "push": clone.run("guard", "check", "--push", stdin=f"x {head} refs/heads/x {base}\n".encode(), check=None),
        "review": clone.run("review", "check", "--base", base, "--head", head, check=None),
        "gate": clone.at(code.gate).run("receive-check", "refs/heads/policy", base, head, check=None),
    }
    # The gate has one answer to whatever may not pass: a refusal of the ref, in a line.
    assert {name: done.code for name, done in asked.items()} == {**dict.fromkeys(CALLERS, 16), "gate": 19}
    assert f"guard.{key}" in asked.pop("gate").err
    assert all(f"guard.{key}" in done.error["message"] for done in asked.values())
    done = code.site.sh("echo x >> src/a.py; git commit -q -a -m work")
    assert done.returncode != 0
    assert f"guard.{key}" in done.stderr


def test_a_thousand_patterns_are_taken_by_all(code: Code, policy: Callable[[str], str]) -> None:
    base = policy("paths = [" + ", ".join(f'"/held/{number}"' for number in range(1000)) + "]")
    head = code.commit(code.tree(base, {**at("held/7"), **at("src/a.py")}), "work\n", base)
    one_answer_on(code, base, head, {("missing", "held/7")})


def one_answer_on(code: Code, base: str, head: str, expected: Findings) -> None:
    """The same for a base with a policy of its own, whose branch is the gate's default."""
    clone = code.site.clone
    clone.git(*OFF, "push", "-q", "-f", str(code.gate), f"{head}:refs/heads/proposed")
    done = clone.at(code.gate).run("receive-check", "refs/heads/policy", base, head, check=(0, 19), json=False)
    gate = set(re.findall(r"commit [0-9a-f]{12} \(([a-z-]+)\) (.*?): ", done.err))
    answers = {"range": code.by_range(base, head), "push": code.by_push(base, head),
               "review": code.by_review(base, head), "gate": gate}  # fmt: skip
    assert answers == dict.fromkeys(CALLERS, expected)


def test_a_lease_is_required_of_all(code: Code, policy: Callable[[str], str]) -> None:
    base = policy('require = "lease"')
    carol = Client(code.site.clone.path, code.site.clone.env, {"agent": "carol", "session": "one"})
    todo = carol.todo.add("without end", scope=("/endless/",)).id
    carol.todo.claim(todo, ttl="none")
    shutil.rmtree(code.gate)
    shutil.copytree(code.site.world.remote, code.gate)
    base = policy('require = "lease"')
    files = at("endless/x")
    head = code.commit(code.tree(base, files), f"work\n\nLoopx-Claim: {todo}@1\n", base)
    one_answer_on(code, base, head, {("unbounded", "endless/x")})
    # A todo that was completed without ever having a lease had none.
    carol.todo.complete(todo)
    shutil.rmtree(code.gate)
    shutil.copytree(code.site.world.remote, code.gate)
    policy('require = "lease"')
    one_answer_on(code, base, head, {("unbounded", "endless/x")})
    bounded = code.commit(code.tree(base, at("src/a.py")), f"work\n\n{OWN}\n", base)
    one_answer_on(code, base, bounded, set())
