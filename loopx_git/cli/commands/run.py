"""`git loopx run`."""

from __future__ import annotations

import click

from loopx_git.cli.command_context import CommandContext, command, duration
from loopx_git.cli.output import safe
from loopx_git.cli.supervising import STOPS, end_with, listening, pause, seconds
from loopx_git.client.worktree import NonePrepared, UnusableWorktree, none_prepared
from loopx_git.errors import NotFound, UsageError


@command("run", writes=True, example="git loopx run --next --agent codex-1 --ttl 30m -- ./agent.sh\n"
         "git loopx run --todo-id fix-login --worktree --on-exit 'other=needs_human' -- make fix")  # fmt: skip
@click.option("--next", "pick", is_flag=True, help="Pick the next todo that fits.")
@click.option("--todo-id", "todo", metavar="TODO", help="Work on this todo.")
@click.option("--goal-id", metavar="GOAL", help="Only from this goal; with --todo-id, to be checked.")
@click.option("--ttl", metavar="TIME", help="Time bound of the claim (default: the policy's); it is renewed.")
@click.option("--resume", is_flag=True, help="With --todo-id: take over from another session of the same agent.")
@click.option("--on-exit", metavar="RULES", help="How to settle by exit code, such as "
              "'0=completed 2-9=needs_human 75=released signal=released other=blocked'.")  # fmt: skip
@click.option("--branch", is_flag=True, help="Make a branch named after the todo and record it there.")
@click.option("--worktree", is_flag=True, help="Run in a worktree on that branch.")
@click.option("--keep-worktree", is_flag=True, help="Keep the worktree also when it is clean at the end.")
@click.option("--grace", default="10s", metavar="TIME", help="Between TERM and KILL (default 10s).")
@click.option("--repeat", is_flag=True, help="Go on with the next todo until none is ready.")
@click.option("--wait", metavar="TIME", help="With --repeat: when none is ready, look again about so often.")
@click.option("--max", "most", type=click.IntRange(1), metavar="N", help="With --repeat: at most N todos.")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
def main(
    context: CommandContext, pick: bool, todo: str | None, goal_id: str | None, ttl: str | None, resume: bool,
    on_exit: str | None, branch: bool, worktree: bool, keep_worktree: bool, grace: str, repeat: bool,
    wait: str | None, most: int | None, argv: tuple[str, ...],
) -> None:  # fmt: skip
    """Claim a todo, run a command under the claim, and settle the todo by how the command ended.

    The command finds LOOPX_TODO, LOOPX_GOAL, LOOPX_AGENT, LOOPX_SESSION, LOOPX_EPOCH, LOOPX_TODO_FILE (and
    LOOPX_BRANCH) in its environment. The claim is renewed while it works; if it is lost, the command gets TERM, then
    KILL. Its output passes through unchanged; what loopx says goes to standard error. If the agent's session
    holds the todo already, its claim is kept. Where the place (--branch, --worktree) cannot be prepared, nothing is
    claimed, and --next passes that todo over.

    Exit: the command's code, or 128 and its signal. 11, 15 or 17: nothing was claimed, nothing was run. 12: the claim
    was lost. With --repeat: the first code that is not 0, else 15 if todos were passed over, else 0.
    """
    if pick == (todo is not None):
        raise UsageError(
            "name one todo, or --next" if not pick else "--next and --todo-id exclude each other",
            hint="git loopx run --next -- COMMAND ARGUMENTS...",
        )
    if todo is not None and repeat:
        raise UsageError("--repeat goes with --next", hint="leave out --todo-id")
    if (wait is not None or most is not None) and not repeat:
        raise UsageError("--wait and --max go with --repeat", hint="add --repeat")
    if resume and todo is None:
        raise UsageError("--resume goes with --todo-id", hint="leave out --resume")
    every = None if wait is None else seconds(wait, "--wait")
    worst, done = 0, 0
    passed: dict[str, UnusableWorktree] = {}
    with listening() as inbox:
        while True:
            try:
                ran = context.client.run(
                    argv, todo_id=todo, goal_id=goal_id, ttl=duration(ttl, "--ttl"), resume=resume, on_exit=on_exit,
                    branch=branch, worktree=worktree, keep_worktree=keep_worktree, grace=seconds(grace, "--grace"),
                    inbox=inbox, passed=passed, say=context.say,
                )  # fmt: skip
            except (NotFound, NonePrepared):
                if not repeat or (every is None and done == 0):
                    raise
                if every is None or pause(inbox, every * (0.5 + context.client.connection.overrides.jitter())):
                    break
                continue
            done += 1
            worst = worst or ran.code
            payload = {**ran.view.as_json(), "outcome": ran.outcome.value, "exit": ran.code, "note": ran.note,
                       "branch": ran.place.branch, "folder": ran.place.folder}  # fmt: skip
            context.emit("run", payload, [])
            stopped = ran.told in STOPS or (ran.status < 0 and -ran.status in STOPS)
            if not repeat or done == most or stopped:
                break
    if repeat:
        context.say(safe(f"{done} todos worked on" + (f", {len(passed)} passed over" if passed else "")))
        if passed and not worst:
            raise none_prepared(passed, done=done)
    end_with(worst)
