"""`git loopx guard status`."""

from __future__ import annotations

from dataclasses import asdict

from loopx_git.cli.command_context import ACTOR, CommandContext, command
from loopx_git.cli.output import safe
from loopx_git.errors import CheckFailed


@command("status", unused=ACTOR, example="git loopx guard status")
def main(context: CommandContext) -> None:
    """Prove that git runs the guard: each hook is followed to our part, which must refuse a commit that is not made.

    Nobody else's hook is run. Exit 0: every hook comes to the guard. Exit 19: one does not, or the policy is off or
    unreadable.
    """
    from loopx_git.guard.status import status

    connection = context.client.connection
    found = status(connection.repository, connection.overrides.entropy)
    lines = [f"hooks: {safe(found.folder)} ({found.kind}); mode: {found.mode}"]
    if found.error:
        lines.append(f"the policy cannot be read: {safe(found.error)}")
    for hook in found.hooks:
        missed = context.output.paint("SILENT ", "31") if hook.needed else "spared "
        mark = context.output.paint("runs   ", "32") if hook.runs else missed
        lines.append(f"{mark} {hook.name:18} by {hook.proof}: {safe(hook.text)}")
    context.emit("guard_status", {"ok": found.ok, **asdict(found)}, lines)
    if not found.ok:
        silent = [hook.name for hook in found.silent]
        why = f"git does not run the guard for {', '.join(silent)}" if silent else f"the guard's mode is {found.mode}"
        raise CheckFailed(why, hint="git loopx guard install" if silent else "mend .loopx/config.toml")
