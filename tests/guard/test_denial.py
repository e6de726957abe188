"""The trailers of a code commit: where git reads them, once, and never where nobody wrote a message."""

from __future__ import annotations

import pytest

from loopx_git.coverage.trailers import edited

ONE = ["todo_00000000000a@1"]
TRAILER = "Loopx-Claim: todo_00000000000a@1"
HELP = "\n# Please enter the commit message for your changes.\n#\n# On branch main\n"
SCISSORS = (
    "# ------------------------ >8 ------------------------\n# Do not modify\ndiff --git a/x b/x\n+Loopx-Claim: no\n"
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("work\n", f"work\n\n{TRAILER}\n"),
        ("work", f"work\n\n{TRAILER}\n"),
        ("fix: work\n", f"fix: work\n\n{TRAILER}\n"),
        ("work\n\nA body.\n", f"work\n\nA body.\n\n{TRAILER}\n"),
        ("work\n\nSigned-off-by: a <a@b>\n", f"work\n\nSigned-off-by: a <a@b>\n{TRAILER}\n"),
        (f"work\n\n{TRAILER}\n", f"work\n\n{TRAILER}\n"),
        ("work\n\nLoopx-Claim: todo_00000000000a@9\nX: y\n", f"work\n\nX: y\n{TRAILER}\n"),
        ("work\n\nLoopx-Guard: unseen\n", f"work\n\n{TRAILER}\n"),
        (f"work\n{HELP}", f"work\n\n{TRAILER}\n{HELP}"),
        (f"work\n\n{SCISSORS}", f"work\n\n{TRAILER}\n\n{SCISSORS}"),
        ("fixup! work\n", f"fixup! work\n\n{TRAILER}\n"),
        ("Merge branch 'x'\n\n# Conflicts:\n#\ta\n", f"Merge branch 'x'\n\n{TRAILER}\n\n# Conflicts:\n#\ta\n"),
        # Squashed: the trailers of each part are gone, and ours stands once.
        (f"one\n\n{TRAILER}\n\ntwo\n\n{TRAILER}\n", f"one\n\n\ntwo\n\n{TRAILER}\n"),
        # Nobody wrote a message: git must see that.
        (HELP, HELP),
        ("", ""),
        ("\n\n", "\n\n"),
    ],
)
def test_the_trailer_stands_where_git_reads_it(before: str, after: str) -> None:
    assert edited(before, ONE, unseen=False, comment="#") == after
    assert edited(after, ONE, unseen=False, comment="#") == after


def test_without_an_editor_a_number_sign_is_text() -> None:
    assert edited("work\n\n#12\n", ONE, unseen=False, comment=None) == f"work\n\n#12\n\n{TRAILER}\n"


def test_a_commit_that_no_guard_let_pass_says_so_unless_it_names_its_claims() -> None:
    assert edited("work\n", [], unseen=True, comment=None, former=[]) == "work\n\nLoopx-Guard: unseen\n"
    assert edited(f"work\n\n{TRAILER}\n", [], unseen=True, comment=None, former=[]) == f"work\n\n{TRAILER}\n"
    assert edited("work\n", [], unseen=False, comment=None) == "work\n"
    # Half of it covered: it names the claim, and says that it was not stopped.
    assert edited("work\n", ONE, unseen=True, comment=None, former=[]) == f"work\n\n{TRAILER}\nLoopx-Guard: unseen\n"
