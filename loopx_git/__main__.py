"""`python -m loopx_git`: the command line."""

from loopx_git.cli.entry import run

if __name__ == "__main__":
    run()
