"""Sixteen clones claim sixteen different todos at once, against one clone that claims them one after the other.

`python benchmarks/race.py [CLONES]`: ratios of one run, side by side, over a bare remote by path. Claims on one ref
are serialised by the server, so the crowd cannot be much faster than one; how much slower it is, is the price of
lost races.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from loopx_git.store.environment import scrubbed

PROGRAM = [sys.executable, "-m", "loopx_git"]


def run(folder: Path, *args: str) -> str:
    return subprocess.run([*PROGRAM, *args], cwd=folder, env=ENV, capture_output=True, text=True, check=True).stdout


def git(folder: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=folder, env=ENV, capture_output=True, check=True)


ENV = scrubbed({key: value for key, value in os.environ.items() if not key.startswith("LOOPX_")})
ENV |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def main(count: int) -> None:
    """Set up, claim one by one, claim all at once, print the ratios."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        git(root, "init", "-q", "--bare", "remote.git")
        clones = [root / f"clone-{number}" for number in range(count)]
        for clone in clones:
            git(root, "clone", "-q", "remote.git", str(clone))
        first = clones[0]
        run(first, "init")
        for number in range(count):
            run(first, "peer", "register", f"agent-{number}")
        todos = [json.loads(run(first, "todo", "add", f"t{n}", "--json"))["todo"]["id"] for n in range(2 * count)]
        for clone in clones:
            run(clone, "sync")

        began = time.perf_counter()
        for number in range(count):
            run(first, "todo", "claim", todos[number], "--agent", f"agent-{number}")
        one_by_one = time.perf_counter() - began

        began = time.perf_counter()
        running = [
            subprocess.Popen(
                [*PROGRAM, "todo", "claim", todos[count + number], "--agent", f"agent-{number}", "--json"],
                cwd=clone, env=ENV, stdout=subprocess.PIPE,
            )
            for number, clone in enumerate(clones)
        ]  # fmt: skip
        answers = [(json.loads(process.communicate()[0]), time.perf_counter() - began) for process in running]
        at_once = time.perf_counter() - began
        losses = sorted(answer.get("losses", 0) for answer, _ in answers)
        print(f"{count} claims at once / one after the other:  {at_once / one_by_one:.2f}")
        print(f"slowest claim at once / mean of one alone:  {max(t for _, t in answers) / (one_by_one / count):.1f}")
        print(f"lost races for each claim: median {losses[count // 2]}, most {losses[-1]}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 16)
