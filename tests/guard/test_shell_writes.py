"""What a shell command plainly writes, and what is left alone because it cannot be known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from loopx_git.guard.shell_writes import written

PLAIN = {
    "echo x > a": ["a"], "echo x>>'a b'": ["a b"], 'echo x >"a"b': ["ab"], "echo x 2> err": ["err"],
    "cmd &> all": ["all"], "cmd &>> all": ["all"], "cmd >| a": ["a"], "> a": ["a"], "cmd >a 2>&1": ["a"],
    "cmd >a >b": ["a", "b"], "cat <<EOF > b\n> c\nEOF\necho y>d": ["b", "d"], "cat <<-'E' >> b\n\tx > y\n\tE": ["b"],
    "cmd | tee -a x y": ["x", "y"], "touch -d now a": ["a"], "truncate -s 0 a": ["a"], "dd if=q of=a": ["a"],
    "sed -i s/a/b/ f g": ["f", "g"], "sed -i.bak -e s/a/b/ f": ["f"], "sed -n -i 's/x/y/' f": ["f"],
    "sed -E -i -e p -e q f": ["f"], "sed --in-place=.o s/a/b/ f": ["f"], "perl -pi -e 's/a/b/' f": ["f"],
    "perl -i -pe 's/a/b/' f": ["f"], "mv a b": ["a", "b"], "cp a b c/": ["c/a", "c/b"], "cp -t d a": ["d"],
    "ln -s a b": ["b"], "install -m 644 a b": ["b"], "git mv a b": ["a", "b"], "rm gone": [], "rm there": ["there"],
    "rm -r folder": ["folder/x", "folder/y/z"], "git rm --cached there": [], "mv folder new": ["folder/x",
    "folder/y/z", "new"], "cp there folder": ["folder/there"], "cp -r folder there/": ["there/folder/x",
    "there/folder/y/z"], "cd s && touch a": ["s/a"], "cd s; cd ..; touch a": ["s/../a"],
    "(cd s; echo > a); echo > b": ["s/a", "b"], "cd s | echo > a": ["a"], "bash -lc 'cd q && echo > z'": ["q/z"],
    "sudo -u x tee f": ["f"], "A=1 B=2 touch f": ["f"], "env A=1 touch f": ["f"], "if true; then echo > k; fi": ["k"],
    "case x in a) echo > f;; esac": ["f"], "echo {a,b} > c": ["c"], "echo $X > a": ["a"], "diff <(a) <(b) > o": ["o"],
    "(( a > 2 )); echo > g": ["g"], "echo a \\\n > q": ["q"], "echo x |\n tee y": ["y"],
    "a=1; b() { touch f; }": ["f"],    "echo x > /etc/q": ["/etc/q"], "touch -- -f": ["-f"],
}  # fmt: skip
#: Nothing is written, or it cannot be read from the command where.
LEFT = [
    "", "#> a", "echo '> a'", 'echo "> a"', "echo \\> a", "echo a 2>&1", "echo a >&2", "echo a >&-", "cat < a",
    "cat <<< a", "sed s/a/b/ f", "sed -n 's/i/j/p' f", "perl -ne 'print if /i/' f", "[[ a > b ]]",
    "echo $((1 > 2))",
    "git commit -m 'a > b'", "grep -r '>' .", "echo x > $F", 'echo x > "$F"', "echo x > `f`", "echo x > $(f)",
    "echo x > *.md", "echo x > a?", "echo x > {a,b}", "cd $X && touch a", "cd - && touch a", "popd; touch a",
    "x=$(echo > n)", "eval 'echo > a'", "xargs rm", "find . -delete", "python3 -c 'open(1)'", "make > ",
    "bash script.sh", "for f in a; do echo > $f; done", "echo 'unfinished > a", "tee", "mv a",
    "awk '{print > \"f\"}' x",
    "sh -c \"echo > $X\"", "$CMD a > $B",
]  # fmt: skip


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "folder/y").mkdir(parents=True)
    for name in ("there", "folder/x", "folder/y/z"):
        (tmp_path / name).touch()
    return tmp_path


def named(command: str | Sequence[str], here: Path) -> list[str]:
    return [path.removeprefix(f"{here}/") for path in written(command, str(here))]


def test_what_is_plainly_written(here: Path) -> None:
    assert {command: named(command, here) for command in PLAIN} == PLAIN


def test_what_cannot_be_known_is_left_alone(here: Path) -> None:
    assert {command: named(command, here) for command in LEFT if named(command, here)} == {}


def test_a_command_as_words_is_no_script(here: Path) -> None:
    assert named(["touch", "a;b", "> c"], here) == ["a;b", "> c"]
    assert named(["bash", "-lc", "echo > x"], here) == ["x"]
    assert named(["echo", ">", "x"], here) == []


def test_where_a_patch_is_applied(here: Path) -> None:
    folders: list[str | None] = []
    written("cd a && apply_patch <<E\n*** x\nE\ncd $X; apply_patch y", str(here), 0, folders)
    assert folders == [f"{here}/a", None]


def test_no_command_is_too_odd_to_be_read(here: Path) -> None:
    """Every beginning of every command, and every part of it."""
    for command in (*PLAIN, *LEFT):
        for cut in range(len(command)):
            assert isinstance(written(command[:cut], str(here)), list)
            assert isinstance(written(command[cut:], str(here)), list)
    assert written("echo > a;" * 100_000, str(here)) == []
    assert written("sh -c " * 50 + "x", str(here)) == []
