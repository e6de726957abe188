"""The first step of the program: hooks of git and of agents take a short path, because they run at every edit.

Everything else goes to `cli.main`. Nothing heavy is imported here.
"""

from __future__ import annotations

import os
import sys


def run() -> None:
    """The console script."""
    _leave_work_tree()
    from loopx_git.cli.streams import prepare, words

    prepare()
    argv = sys.argv[1:] = words(sys.argv[1:])
    if "agent-hook" in argv:
        from loopx_git.guard import agent_hook

        settings = agent_hook.settings_of(argv)
        if settings is not None:
            sys.exit(agent_hook.main(settings, os.environ))
    if argv[:2] == ["guard", "hook"] and len(argv) > 2 and not argv[2].startswith("-"):
        from loopx_git.cli.hook import main

        sys.exit(main(argv[2], argv[3:]))
    from loopx_git.cli.main import run as run_all

    run_all()


def _leave_work_tree() -> None:
    """Take the current folder off the places of modules: `python -m` puts it there, and so does an entry of
    PYTHONPATH that is not absolute. A module in the work tree is data. The folder that this program itself lies in
    stays."""
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    given = os.environ.get("PYTHONPATH")
    left = [] if given is None else [os.path.abspath(path) for path in given.split(os.pathsep) if path[:1] != os.sep]
    if not sys.flags.safe_path and sys.path[:1] in ([""], [os.getcwd()]):
        left.append(os.getcwd())
    if left:
        sys.path[:] = [
            path for path in sys.path if os.path.abspath(path) not in left or os.path.abspath(path) == home
        ]
