"""The grammar of trailers: git's own, line by line, and what we write is what git reads."""

from __future__ import annotations

import itertools
import random
import subprocess
from pathlib import Path

import pytest
from clones import World

from loopx_git.coverage import trailers

API, WEB = "todo_aaaa00000001", "todo_bbbb00000002"
LINES = (
    f"Loopx-Claim: {API}@3", f"loopx-claim : {WEB}@1", f"  Loopx-Claim: {API}@4", f"Loopx-Claim:{API}@5",
    "Loopx-Claim:", "Signed-off-by: a <a@b>", "(cherry picked from commit 1234)", "words", " folded", "\tfolded", "",
    " ", "# comment", "---", "Key: value", "Two Words: x", ": x", "Conflicts:", "\r", "Key:\r", "\u00c4: x",
    "signed-off-by: x", "# ------------------------ >8 ------------------------",
)  # fmt: skip


def by_git(messages: list[str], world: World) -> list[list[str]]:
    """What git sees as trailers of ours in each message, as `git log` would show it."""
    repository = world.repository("reading")
    stream = b""
    for message in messages:
        data = message.encode()
        stream += (
            f"commit refs/heads/m\ncommitter A <a@b> 1000000000 +0000\ndata {len(data)}\n".encode() + data + b"\n"
        )
    repository.git("fast-import", "--quiet", stdin=stream)
    form = "--format=%x01%(trailers:key=Loopx-Claim,valueonly,unfold,separator=%x00)"
    shown = repository.git("rev-list", "--reverse", "--topo-order", form, "m")
    # Between an empty value and the next git writes no separator.
    return [list(filter(None, part.partition("\n")[0].split("\0"))) for part in shown.split("\x01")[1:]]


def ours(message: str) -> list[str]:
    lines = message.split("\n")
    return [value for key, value in trailers._trailers(lines, "#") if value and key.lower() == "loopx-claim"]


def test_it_is_the_grammar_of_git(tmp_path: Path) -> None:
    chosen = random.Random(7)
    bodies = [list(pair) for pair in itertools.product(LINES, repeat=2)]
    bodies += [[chosen.choice(LINES) for _ in range(chosen.randint(3, 7))] for _ in range(2500)]
    messages = ["subject\n\n" + "\n".join(body) + "\n" for body in bodies]
    messages += ["\n".join(body) + "\n" for body in bodies[:600] if any(body)]
    shown = by_git(messages, World(tmp_path / "world").start())
    wrong = [(message, theirs, ours(message)) for message, theirs in zip(messages, shown, strict=True)
             if theirs != ours(message)]  # fmt: skip
    assert not wrong, f"{len(wrong)}: {wrong[:3]}"


@pytest.mark.parametrize(
    ("message", "claims", "malformed", "stray"),
    [
        (f"s\n\nLoopx-Claim: {API}@3\n", [f"{API}@3"], 0, False),
        (f"s\n\nbody\n\nLoopx-Claim: {API}@3\nLoopx-Claim: {WEB}@1\nCc: x\n\n", [f"{API}@3", f"{WEB}@1"], 0, False),
        (f"s\n\nLoopx-Claim: {API}@3\nLoopx-Claim: {API}@3", [f"{API}@3"], 0, False),
        (f"s\r\n\r\nLoopx-Claim: {API}@3\r\n", [f"{API}@3"], 0, False),
        (f"Loopx-Claim: {API}@3", [], 0, True),
        (f"s\n\nLoopx-Claim: {API}@3\n\nlast", [], 0, True),
        (f"s\n\nloopx-claim: {API}@3", [f"{API}@3"], 0, False),
        (f"s\n\nLoopx-Claim:{API}@3\n Loopx-Claim: {API}@3", [], 1, True),
        (f"s\n\nLoopx-Claim: {API}@0\nLoopx-Claim: {API}@1 x\nLoopx-Claim: {API.upper()}@1", [], 3, False),
        (f"s\n\nLoopx-Claim: {API}@\u0663", [], 1, False),
        (f"s\n\nsee Loopx-Claim: {API}@3", [], 0, False),
        ("\n".join(["s", "", *(f"Loopx-Claim: {API}@{number}" for number in range(1, 60))]),
         [f"{API}@{number}" for number in range(1, 51)], 9, False),
        ("", [], 0, False),
        ("\n\n\n", [], 0, False),
    ],
)  # fmt: skip
def test_the_value_is_one_claim(message: str, claims: list[str], malformed: int, stray: bool) -> None:
    read = trailers.read(message)
    assert (list(read.claims), len(read.malformed), read.stray) == (claims, malformed, stray)


@pytest.mark.parametrize("message", ["work", "fix: a\n\nbody: x\n\nmore", "a\n\nSigned-off-by: b <c@d>\nX: z",
                                     f"Loopx-Claim: {API}@9", f"s\n\nLoopx-Claim: {API}@9\n more\nX: y"])  # fmt: skip
def test_git_reads_what_we_wrote(tmp_path: Path, message: str) -> None:
    world = World(tmp_path / "world").start()
    text = trailers.edited(message, [f"{API}@1", f"{WEB}@2"], unseen=False, comment=None)
    done = subprocess.run(["git", "interpret-trailers", "--parse"], input=text, env=dict(world.env), text=True,
                          capture_output=True, check=True)  # fmt: skip
    assert done.stdout.splitlines()[-2:] == [f"Loopx-Claim: {API}@1", f"Loopx-Claim: {WEB}@2"]
    assert trailers.read(text).claims == (f"{API}@1", f"{WEB}@2")
