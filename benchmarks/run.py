"""Measure, side by side in one run, and print ratios.

A time in milliseconds says as much about the machine as about the code, so what counts is the ratio to a
baseline that ran on the same machine in the same minute. The cases of a benchmark take turns, round after
round: a machine that becomes busy slows all of them alike.

    python benchmarks/run.py [--rounds N] [NAME ...]

To add a benchmark, write a function that returns its cases and put it into BENCHMARKS below.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from guard import agent_hook, guarded_commit

ROOT = Path(__file__).resolve().parent.parent

# What to call one thing that is measured, and how to run it once. The first case of a list is the baseline.
Case = tuple[str, Callable[[], object]]

CLI = "loopx_git.cli.main"


def run_python(*arguments: str) -> str:
    """Run the interpreter of this benchmark in the root of the clone; its stderr, or CalledProcessError."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        # Without cached bytecode every start would compile the package: nobody's start does that.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


def startup() -> list[Case]:
    """What a user waits for before the program does anything."""
    load = f"import {CLI}"
    return [
        ("python -c pass", lambda: run_python("-c", "pass")),
        (f"python -X importtime -c '{load}'", lambda: run_python("-X", "importtime", "-c", load)),
        ("git-loopx --version", lambda: run_python("-m", "loopx_git", "--version")),
    ]


# The registry: add yours here. A longer one lives in a file of its own in this folder and is imported.
BENCHMARKS: list[Callable[[], Sequence[Case]]] = [
    startup,
    guarded_commit,
    agent_hook,
]


def measure(cases: Sequence[Case], rounds: int) -> dict[str, list[float] | str]:
    """Seconds of each round by case, or why the case cannot run.

    The first run of each case warms caches and is thrown away.
    """
    results: dict[str, list[float] | str] = {}
    for name, run in cases:
        try:
            run()
            results[name] = []
        except Exception as error:
            results[name] = reason(error)
    for _ in range(rounds):
        for name, run in cases:
            times = results[name]
            if isinstance(times, str):
                continue
            start = time.perf_counter()
            try:
                run()
            except Exception as error:
                results[name] = reason(error)
            else:
                times.append(time.perf_counter() - start)
    return results


def reason(error: Exception) -> str:
    """The last line that a failed run left: enough to know what is missing."""
    said = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
    lines = (said or "").strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def report(cases: Sequence[Case], rounds: int) -> None:
    """Print one line for each case: its ratio to the first, its median, and how far the rounds lie apart."""
    results = measure(cases, rounds)
    baseline = results[cases[0][0]]
    width = max(len(name) for name, _ in cases)
    for name, _ in cases:
        times = results[name]
        if isinstance(times, str):
            print(f"  {name:{width}}   cannot run: {times}")
            continue
        median = statistics.median(times)
        ratio = "-" if isinstance(baseline, str) else f"{median / statistics.median(baseline):.2f}"
        print(f"  {name:{width}} {ratio:>8} x {median * 1e3:9.1f} ms  (+-{spread(times) * 1e3:.1f})")


def spread(times: Sequence[float]) -> float:
    """Half of the distance between the first and the third quartile."""
    if len(times) < 2:
        return 0.0
    first, _, third = statistics.quantiles(times, n=4)
    return (third - first) / 2


def heavy_modules(limit: int = 10) -> None:
    """Print what the command line imports at start that costs most, its own imports included."""
    print(f"\nheaviest imports of {CLI} (cumulative)")
    try:
        trace = run_python("-X", "importtime", "-c", f"import {CLI}")
    except subprocess.CalledProcessError as error:
        print(f"  cannot run: {reason(error)}")
        return
    costs: list[tuple[int, str]] = []
    for line in trace.splitlines():
        cumulative, _, name = line.removeprefix("import time:").partition("|")[2].partition("|")
        if cumulative.strip().isdigit():
            costs.append((int(cumulative), name.strip()))
    for cost, name in sorted(costs, reverse=True)[:limit]:
        print(f"  {name:40} {cost / 1e3:8.1f} ms")


def main() -> None:
    names = [benchmark.__name__ for benchmark in BENCHMARKS]
    parser = argparse.ArgumentParser(description="Measure, side by side, and print ratios.")
    parser.add_argument("name", nargs="*", help=f"which benchmarks (default: all): {', '.join(names)}")
    parser.add_argument("--rounds", type=int, default=15, help="how often each case runs (default: 15)")
    asked = parser.parse_args()
    unknown = sorted(set(asked.name) - set(names))
    if unknown or asked.rounds < 1:
        parser.error(f"unknown benchmark: {', '.join(unknown)}" if unknown else "--rounds is at least 1")
    for benchmark in BENCHMARKS:
        if asked.name and benchmark.__name__ not in asked.name:
            continue
        print(f"{benchmark.__name__} ({asked.rounds} rounds; ratio to the first line, median)")
        report(benchmark(), asked.rounds)
    if not asked.name or "startup" in asked.name:
        heavy_modules()


if __name__ == "__main__":
    main()
