"""Scope patterns against three independent readers: pathspec, git itself, and a small recursive reference."""

import fnmatch
import itertools
import os
import re
import subprocess
import time
from functools import cache
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from loopx_git.core import scope
from loopx_git.core.scope import check_pattern, compile_scope, matches, overlaps, witness
from loopx_git.core.scope_overlap import accepts

# -- readers to compare with ---------------------------------------------------------------------------------


@cache
def pathspec_of(pattern: str) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines([pattern])


def by_pathspec(pattern: str, path: str) -> bool:
    return pathspec_of(pattern).match_file(path, separators=())


def crosses_slash(pattern: str) -> bool:
    """Whether pathspec's expression for this pattern may take a slash for a character, as git never does."""
    return "[!" in pattern or "[^" in pattern


@cache
def name_expression(segment: str) -> re.Pattern[str]:
    """The name's pattern in the words of fnmatch, which knows no backslash and no `[^`."""

    def plain(found: re.Match[str]) -> str:
        char = found[1]
        return "[!" if char is None else f"[{char}]" if char in "*?[" else str(char)

    return re.compile(fnmatch.translate(re.sub(r"\\(.)|\[\^", plain, segment)))


def by_reference(pattern: str, path: str) -> bool:
    """What gitignore(5) says, word for word, for a file (not a directory) of this path."""
    segments = pattern.strip("/").split("/")
    if len(segments) == 1 and not pattern.startswith("/"):
        segments.insert(0, "**")
    names = path.split("/")

    def match(s: int, n: int, end: int) -> bool:
        if s == len(segments):
            return n == end
        if segments[s] == "**":
            if s == len(segments) - 1:
                return n < end
            return any(match(s + 1, later, end) for later in range(n, end + 1))
        return n < end and bool(name_expression(segments[s]).match(names[n])) and match(s + 1, n + 1, end)

    # The file itself, unless only a directory can match, or one of the directories above it.
    last = len(names) - 1 if pattern.endswith("/") else len(names)
    return any(match(0, 0, end) for end in range(1, last + 1))


def by_automaton(pattern: str, path: str) -> bool:
    return accepts(scope._parsed(pattern).tokens, path)


def every_path(alphabet: str, longest: int) -> list[str]:
    texts = ("".join(t) for n in range(1, longest + 1) for t in itertools.product(alphabet + "/", repeat=n))
    return [text for text in texts if not set(text.split("/")) & {"", ".", ".."}]


def accepted(pattern: str) -> bool:
    try:
        check_pattern(pattern)
    except ValueError:
        return False
    return True


def all_patterns() -> list[str]:
    """Every accepted pattern of up to three segments from a set that makes collisions frequent."""
    inner = ["a", "b", "*", "**", "?", "a*", "*b", "[ab]", "[!a]", ".*", "a?b", "*a*b*"]
    bodies = [
        "/".join(body)
        for body in itertools.chain(
            itertools.product([*inner, "a\\*", "\\[b\\]", "[^.]?", "..?", "[a-]"]),
            itertools.product(inner, repeat=2),
            itertools.product(["a", "*", "**", "[!a]", "?b"], repeat=3),
        )
    ]
    shapes = [before + body + after for body in bodies for before in ("", "/") for after in ("", "/")]
    return [shape for shape in shapes if accepted(shape)]


PATTERNS = all_patterns()
PATHS = every_path("ab.", 5)


# -- patterns ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        "src", "src/", "/src", "src/app/main.py", "*.md", "**", "**/x", "x/**", "a/**/b", "**/a/**", "/**",
        "*", "*/", "a/**/**/b", "[a-z]", "[!a]", "[^a-c0-9_]", "[-a]", "[a-]", "a]", "\\!a", "\\#a", "\\*",
        "a\\\\b", "a\\ b", "a b", "é/ü.md", "日本*", "~/x", "-a", "...", "..a", ".git", "@scope/pkg", "a[ ]",
        "app/\\[id\\]/page.tsx", "a" * 512, "/".join("a" * 64), "c:b",
    ],
)  # fmt: skip
def test_accepts(pattern: str) -> None:
    assert check_pattern(pattern) == pattern
    assert witness(pattern, "**") is not None


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "is empty"),
        (" ", "space"),
        (" a", "space"),
        ("a ", "space"),
        ("a\\ ", "space"),
        ("a\u00a0", "space"),
        ("!a", "cannot exclude"),
        ("#a", "begins with #"),
        ("/", "names no path"),
        ("//", "empty segment"),
        ("a//b", "empty segment"),
        ("//a", "empty segment"),
        ("a//", "empty segment"),
        (".", "segment ."),
        ("./a", "segment ."),
        ("a/./b", "segment ."),
        ("..", "segment .."),
        ("../a", "segment .."),
        ("a/../b", "segment .."),
        ("a/..", "segment .."),
        ("[.]", "no file name"),
        ("a/[.][.]/b", "no file name"),
        ("C:/a", "drive"),
        ("C:\\a", "drive"),
        ("c:", "drive"),
        ("a\nb", "U+000A"),
        ("a\\\nb", "U+000A"),
        ("a\r", "U+000D"),
        ("\0", "U+0000"),
        ("a\x7f", "U+007F"),
        ("a\x85", "U+0085"),
        ("\ufeffa", "U+FEFF"),
        ("a\u202eb", "U+202E"),
        ("a\u2028b", "U+2028"),
        ("a\udcffb", "U+DCFF"),
        ("a\\", "backslash"),
        ("a\\/b", "backslash"),
        ("src\\app", "backslash"),
        ("a" * 513, "limit"),
        ("/".join("a" * 65), "limit"),
        ("[a", "without its ]"),
        ("a/[b/c]", "without its ]"),
        ("[]", "empty class"),
        ("[!]", "empty class"),
        ("[]a]", "empty class"),
        ("[[:alpha:]]", "class"),
        ("[a\\]", "class"),
        ("[é]", "class"),
        ("[z-a]", "range"),
        ("[A-z]", "range"),
        ("[+-9]", "range"),
        ("[a-c-e]", "middle"),
        ("[aa]", "twice"),
        ("[--]", "twice"),
        ("[...slug]", "twice"),
        ("**/", "two ways"),
        ("a/**/", "two ways"),
        ("***", "whole segment"),
        ("a/***/b", "whole segment"),
        ("**.py", "whole segment"),
        ("a**/b", "whole segment"),
    ],
)
def test_refuses_with_a_sentence(pattern: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)) as caught:
        check_pattern(pattern)
    sentence = str(caught.value)
    assert sentence.startswith("scope pattern ")
    assert sentence.isprintable()
    assert len(sentence) < 250
    for call in (lambda: matches([pattern], "a"), lambda: overlaps(["a"], [pattern])):
        with pytest.raises(ValueError, match=re.escape(why)):
            call()


def test_refused_because_git_and_pathspec_disagree(tmp_path: Path) -> None:
    """Each is refused for a reason that can be shown; one that they agree on again may be accepted."""
    shown = {"a/**/": "a/b", "a/***/b": "a/x/y/b", "[[:alpha:]]": "a", "[\\]]": "]"}
    git = by_git(tmp_path, [*shown, "a[!b]c"], [*shown.values(), "a/c"])
    for pattern, path in shown.items():
        try:
            other = by_pathspec(pattern, path)
        except (ValueError, re.error, FutureWarning):
            continue
        assert other != (path in git[pattern]), pattern
    # Accepted although pathspec differs, because here the rule is git's.
    assert by_pathspec("a[!b]c", "a/c")
    assert "a/c" not in git["a[!b]c"]
    assert not matches(["a[!b]c"], "a/c")


# -- matches -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("src", ["src", "src/a", "x/src/a/b", "x/src"], ["srcs", "src.py", "a/xsrc"]),
        ("src/", ["src/a", "x/src/a/b"], ["src", "x/src"]),
        ("/src", ["src", "src/a"], ["x/src"]),
        ("src/app", ["src/app", "src/app/x"], ["x/src/app", "src/apps"]),
        ("*.md", ["a.md", "x/y/.md", "d.md/x"], ["a.mdx", "amd"]),
        ("docs/*.md", ["docs/a.md"], ["docs/x/a.md", "x/docs/a.md"]),
        ("**/x", ["x", "a/b/x", "a/x/b"], ["ax"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a/c"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b/z"], ["a", "x/a/b", "ab"]),
        ("**", ["a", "a/b", ".x"], []),
        ("*/", ["a/b"], ["a"]),
        ("a?c", ["abc", "aéc", "a\udcffc"], ["a/c", "ac"]),
        ("[!a]", ["b", "x/é", "b/a"], ["a", "bb"]),
        ("*", ["a\nb", "\udcff"], []),
        ("*.py", ["a\nb/x.py", "a\nb.py"], ["x.py\n", "x.py\nz"]),
        ("app/\\[id\\]", ["app/[id]/page.tsx"], ["app/i/page.tsx"]),
        ("a\\\\b", ["a\\b"], ["a/b", "ab"]),
        ("**", [], ["", "/", "/a", "a/", "a//b", "./a", "a/.", "..", "a/../b"]),
    ],
)
def test_matches(pattern: str, yes: list[str], no: list[str]) -> None:
    covers = compile_scope([pattern])
    assert [path for path in yes if not (matches([pattern], path) and covers(path))] == []
    assert [path for path in no if matches([pattern], path) or covers(path)] == []


def test_a_scope_is_the_union_of_its_patterns() -> None:
    some = ["docs/", "/src/**/*.py", "[!a]*a*a*"]
    assert [p for p in ("docs/x", "src/a.py", "banana", "src/a.c", "docs") if matches(some, p)] == [
        "docs/x", "src/a.py", "banana",
    ]  # fmt: skip
    assert not matches([], "a")
    assert compile_scope(some) is compile_scope(tuple(some))


def test_all_readers_agree_on_all_short_paths() -> None:
    for pattern in PATTERNS:
        covers = compile_scope([pattern])
        ours = [path for path in PATHS if covers(path)]
        assert ours == [path for path in PATHS if by_reference(pattern, path)], pattern
        if not crosses_slash(pattern):
            assert ours == [path for path in PATHS if by_pathspec(pattern, path)], pattern
    for pattern in PATTERNS[::7]:
        paths = PATHS[::5]
        assert [p for p in paths if matches([pattern], p)] == [p for p in paths if by_automaton(pattern, p)]


def by_git(folder: Path, patterns: list[str], paths: list[str]) -> dict[str, set[str]]:
    """The paths that git ignores for each pattern: one directory a pattern, with a .gitignore of one line."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    subprocess.run(["git", "init", "-q", str(folder)], env=env, check=True)
    for index, pattern in enumerate(patterns):
        place = folder / f"d{index}"
        place.mkdir()
        (place / ".gitignore").write_text(pattern + "\n", encoding="utf-8")
    asked = "".join(f"d{index}/{path}\0" for index in range(len(patterns)) for path in paths)
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin", "-z"],
        cwd=folder, env=env, input=os.fsencode(asked), capture_output=True,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, set[str]] = {pattern: set() for pattern in patterns}
    for answer in os.fsdecode(done.stdout).split("\0")[:-1]:
        place, path = answer.split("/", 1)
        found[patterns[int(place[1:])]].add(path)
    return found


def test_git_agrees(tmp_path: Path) -> None:
    odd = [
        "a*a*a*b", "a\\ b", "\\!a", "\\#a", "é*", "*é", "日本", "a]", "[-a]b", "a\\\\b", "[ ]a", "*\\?",
        "\\[b\\]", "[a-]", "a\\*", "a[!b]b", "a/**/**", "**/**",
    ]  # fmt: skip
    paths = [
        *every_path("ab.", 4), "a*", "[b]", "a/[b]/a", "a-", "-b", "abaab", "aabab/b", "a b", "!a", "#a",
        "éa", "aé", "x/日本/a", "a]", "a\\b", " a", "a?", "b\\?", "a\nb", "a/b\n", "\udcffa",
    ]  # fmt: skip
    patterns = [*PATTERNS[:: len(PATTERNS) // 250], *odd]
    patterns = list(dict.fromkeys(patterns))
    git = by_git(tmp_path, patterns, paths)
    for pattern in patterns:
        if "[!" in pattern or "[^" in pattern or "?" in pattern:
            # git takes one byte here, we take one character: the same for ASCII only.
            asked = [path for path in paths if path.isascii()]
        else:
            asked = paths
        assert [p for p in asked if matches([pattern], p)] == [p for p in asked if p in git[pattern]], pattern


# -- overlaps ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "q", "overlap"),
    [
        ("src/a.py", "src/b.py", False),
        ("src/", "src/b.py", True),
        ("src/", "/src", True),
        ("docs/", "src/", True),  # docs/src/a
        ("/docs/", "/src/", False),
        ("*.md", "*.py", True),  # a.md/a.py
        ("/*.md", "/*.py", False),
        ("docs/*.md", "src/", True),  # docs/a.md/src/a
        ("docs/*.md", "src/*.md", False),
        ("docs/*.md", "*.md", True),
        ("/a", "/a/b/c", True),
        ("/a/", "/a", True),
        ("a/*", "a/**/z", True),
        ("/[a-c]x", "/[d-f]x", False),
        ("/[a-d]x", "/[d-f]x", True),
        ("/[!a]", "/a", False),
        ("/[!a]", "/[a]", False),
        ("/[!a]", "/[!b]", True),
        ("/?", "/.?", False),  # `.` alone is not a name
        ("/.?", "/?.", False),  # nor is `..`
        ("/.??", "/?.?", True),
        ("/a*b", "/*c", False),
        ("/a*", "/*b", True),
        ("/\\*", "/a*", False),
        ("/\\*", "/*", True),
        ("/a", "**/**/**/a", True),
        ("/a/b", "/a/**/**/**/b", True),
        ("A", "/a", True),  # a/A
        ("/A", "/a", False),
    ],
)
def test_overlap(p: str, q: str, overlap: bool) -> None:
    assert overlaps([p], [q]) == ((p, q) if overlap else None)
    assert overlaps([q], [p]) == ((q, p) if overlap else None)


def test_overlap_names_the_first_pair() -> None:
    assert overlaps(["/a", "/b", "/c"], ["/x", "/c/d", "/b"]) == ("/b", "/b")
    assert overlaps([], ["**"]) is None
    assert overlaps(["**"], []) is None
    assert overlaps([], []) is None


def check_witness(p: str, q: str, path: str) -> None:
    assert not set(path.split("/")) & {"", ".", ".."}, (p, q, path)
    for pattern in (p, q):
        assert by_pathspec(pattern, path), (p, q, path)
        assert by_reference(pattern, path), (p, q, path)
        assert matches([pattern], path), (p, q, path)


def test_overlap_is_exact_on_all_short_paths() -> None:
    """Yes needs a witness that the other readers confirm; no needs that no short path matches both."""
    some = PATTERNS[:: len(PATTERNS) // 330]
    paths = every_path("ab.", 5)
    covered = {p: sum(1 << n for n, path in enumerate(paths) if by_reference(p, path)) for p in some}
    answers = {True: 0, False: 0}
    for p, q in itertools.combinations_with_replacement(some, 2):
        path = witness(p, q)
        answers[path is not None] += 1
        if path is None:
            assert not covered[p] & covered[q], (p, q, paths[(covered[p] & covered[q]).bit_length() - 1])
        elif by_reference(p, path) and by_reference(q, path):
            assert not set(path.split("/")) & {"", ".", ".."}
        else:
            raise AssertionError((p, q, path))
    assert min(answers.values()) > 1000


NAME = st.lists(
    st.sampled_from([*"aabb.-é**?", "[ab]", "[!a]", "[^b.]", "[a-c]", "[.]", "\\*", "\\[", "\\\\"]),
    min_size=1,
    max_size=6,
).map("".join)
SEGMENT = st.one_of(NAME, st.sampled_from(["**", "*", "a", "b", "**"]))
PATTERN = st.builds(
    lambda before, body, after: before + "/".join(body) + after,
    st.sampled_from(["", "", "/"]),
    st.lists(SEGMENT, min_size=1, max_size=5),
    st.sampled_from(["", "", "", "/", "/**"]),
).filter(accepted)
PATH = st.lists(
    st.text(st.sampled_from("aaabbb.-*[\\éx"), min_size=1, max_size=5).filter(lambda n: n not in (".", "..")),
    min_size=1,
    max_size=5,
).map("/".join)


@settings(max_examples=600, deadline=None)
@given(PATTERN, PATTERN)
@example("a[!b]c", "a/c")
@example("/.?", "/?*")
@example("**/a", "a/**")
def test_a_witness_is_matched_by_both(p: str, q: str) -> None:
    path = witness(p, q)
    assert (path is None) == (witness(q, p) is None)
    assert overlaps([p], [q]) == (None if path is None else (p, q))
    if path is not None:
        check_witness(p, q, path)


@st.composite
def derived_path(draw: st.DrawFn, pattern: str) -> str:
    """A path that the pattern quite likely matches: its wildcards filled in, perhaps extended."""
    names = []
    for segment in pattern.strip("/").split("/"):
        if segment == "**":
            names += draw(st.lists(st.sampled_from(["a", "b", "ab"]), max_size=2))
            continue
        parts = re.findall(r"\\.|\[[^\]]*\]|.", segment)
        fill = {"*": ["", "a", "b", "ab"], "?": ["a", "b", "."]}
        names.append("".join(draw(st.sampled_from(fill.get(p, [p[-1] if p[0] == "\\" else p[-2:-1] or p])))
                             for p in parts))  # fmt: skip
    extra = draw(st.lists(st.sampled_from(["a", "b"]), max_size=2))
    lead = draw(st.lists(st.sampled_from(["a", "b"]), max_size=1))
    return "/".join([*lead, *names, *extra])


@settings(max_examples=400, deadline=None)
@given(PATTERN, PATTERN, PATH, st.data())
def test_what_matches_both_is_an_overlap(p: str, q: str, path: str, data: st.DataObject) -> None:
    for candidate in (path, data.draw(derived_path(p)), data.draw(derived_path(q))):
        if set(candidate.split("/")) & {"", ".", ".."}:
            continue
        for pattern in (p, q):
            assert (
                matches([pattern], candidate) == by_reference(pattern, candidate) == by_automaton(pattern, candidate)
            ), (pattern, candidate)
            if not crosses_slash(pattern):
                assert matches([pattern], candidate) == by_pathspec(pattern, candidate), (pattern, candidate)
        if matches([p], candidate) and matches([q], candidate):
            assert overlaps([p], [q]) == (p, q), candidate


@settings(max_examples=400, deadline=None)
@given(st.text(st.sampled_from("ab/*?[]!^-\\.# \n1é"), max_size=12))
def test_every_accepted_text_matches_something_everywhere(text: str) -> None:
    """No text makes pathspec fail, warn, or mean nothing once it is accepted; all others are a ValueError."""
    assume(accepted(text))
    path = witness(text, text)
    assert path is not None
    check_witness(text, text, path)


HOSTILE = [
    ("*a*a*a*a*a*a*a*a*b", "*b*a*a*a*a*a*a*a*c"),
    ("/*a*a*b", "/*b*b*c"),
    ("/" + "*a" * 255, "/" + "*b*a" * 127 + "c"),
    ("/" + "a*" * 255, "/b" + "*?" * 250),
    ("/" + "[!a]*" * 100 + "b", "/" + "[!b]*" * 100 + "a"),
    ("/" + "**/*a*b*c/" * 31 + "x", "/" + "**/*c*b*a/" * 31 + "y/z"),
    ("/" + "**/a/" * 31 + "b", "/" + "**/*/a/" * 20 + "c"),
    ("/" + "?" * 511, "/" + "*?" * 250),
]


@pytest.mark.parametrize(("p", "q"), HOSTILE)
def test_hostile_patterns_are_decided_at_once(p: str, q: str) -> None:
    paths = ["a" * 3000, "a/" * 2000 + "a", "ab" * 90, "a/" * 90 + "d", "b" * 255 + "/" + "abc" * 20]
    started = time.process_time()
    path = witness(p, q)
    assert path is None or (by_automaton(p, path) and by_automaton(q, path))
    for pattern in (p, q):
        covers = compile_scope([pattern])
        for one in paths:
            covers(one)
    assert time.process_time() - started < 1.0


def test_two_hundred_scopes_are_compared_in_a_moment() -> None:
    live = [[f"src/part{n}/**/*.py", f"tests/part{n}/", f"docs/part{n}*.md"] for n in range(200)]
    started = time.process_time()
    assert [n for n, other in enumerate(live) if overlaps(["/src/part77/", "/docs/part19x.md"], other)] == [
        1, 19, 77,
    ]  # fmt: skip
    assert time.process_time() - started < 2.0
