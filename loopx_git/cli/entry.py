"""The first step of the program: the hooks of git and of agents start at every edit, and go a short way.

Everything else goes on to `cli.main`. Nothing heavy is imported here.
"""

from __future__ import annotations

import os
import sys


def run() -> None:
    """The console script."""
    argv = sys.argv[1:]
    if argv[:1] == ["agent-hook"] and all(word.startswith("--format") for word in argv[1:]):
        from loopx_git.guard import agent_hook

        sys.exit(agent_hook.main(argv[1:], os.environ))
    if argv[:2] == ["guard", "hook"] and len(argv) > 2 and not argv[2].startswith("-"):
        from loopx_git.cli.hook import main

        sys.exit(main(argv[2], argv[3:]))
    from loopx_git.cli.main import run as run_all

    run_all()
