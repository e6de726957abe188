"""`git loopx init`."""

from __future__ import annotations

from loopx_git.cli.command_context import CommandContext, command, options


@command("init", example="git loopx init\ngit add .loopx/config.toml && git commit -m 'loopx: coordinate here'")
@options("dry_run")
def main(context: CommandContext, dry_run: bool) -> None:
    """Begin a ledger here, or join the one that is there.

    Creates the coordination ref (on the remote, if there is one) and writes .loopx/config.toml for you to commit.
    Touches nothing else. Safe to run twice, and from two clones at once.
    """
    done = context.client.setup.init(dry_run=dry_run)
    place = f"{done.ref} on the remote {done.remote}" if done.remote else f"{done.ref} in this repository (no remote)"
    lines = []
    if dry_run:
        lines.append(f"would begin a ledger: {place}" if done.created else f"a ledger is there already: {place}")
    else:
        lines.append(f"{'began' if done.created else 'joined'} the ledger {done.ledger[:12]}: {place}")
    lines += {
        "written": ["wrote .loopx/config.toml", "", "next:",
                    "  git add .loopx/config.toml && git commit -m 'loopx: coordinate here'"],
        "missing": ["would write .loopx/config.toml"],
        "kept": [".loopx/config.toml names it already", "", "next:"],
        "incomplete": [".loopx/config.toml is there and does not name this ledger; put this into it:",
                       *(f"  {line}" for line in done.config_text.splitlines()), "", "next:"],
        "none": ["no work tree here; commit this as .loopx/config.toml on your default branch:",
                 *(f"  {line}" for line in done.config_text.splitlines()), "", "next:"],
    }[done.config]  # fmt: skip
    if not dry_run:
        lines += ["  git loopx peer register NAME      (once for each agent)",
                  "  git config loopx.agent NAME       (in that agent's clone, or set LOOPX_AGENT)",
                  "  git loopx todo add 'what to do'"]  # fmt: skip
    for warning in done.warnings:
        context.output.warn(warning)
    payload = {"ledger": done.ledger or None, "ref": done.ref, "remote": done.remote, "created": done.created,
               "config": done.config, "dry_run": dry_run}  # fmt: skip
    context.emit("init", payload, lines)
