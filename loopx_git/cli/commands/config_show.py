"""`git loopx config show`."""

from __future__ import annotations

from dataclasses import asdict

from loopx_git.cli.command_context import CommandContext, command
from loopx_git.cli.output import safe


@command("show", example="git loopx config show")
def main(context: CommandContext) -> None:
    """Show every setting with its origin: flag, LOOPX_* variable, git config, .loopx/config.toml, or default."""
    connection = context.client.connection
    settings, pin = connection.settings, connection.pin
    file = ".loopx/config.toml"
    rows = {
        "remote": (settings.remote, settings.origins["remote"]),
        "ref": (settings.ref, settings.origins["ref"]),
        "ledger": (settings.ledger, file if settings.ledger else "unset"),
        "home": (
            settings.home,
            "git config loopx.home" if settings.home_settled else file if settings.home else "unset",
        ),
        "agent": (settings.agent, settings.origins["agent"]),
        "session": (settings.session, settings.origins["session"]),
        "timeout": (f"{settings.timeout:g}s", settings.origins["timeout"]),
        "sync.max_age": (f"{settings.max_age:g}s", settings.origins["max_age"]),
        "sync.depth": (settings.depth, file if settings.depth else "default"),
        "run.on_exit": (settings.on_exit or None, settings.origins["on_exit"]),
        "sign": (settings.sign, "git config loopx.sign" if settings.sign else "default"),
        "validate.allow": (len(settings.allow), file if settings.allow else "default"),
    }
    lines = [
        f"{name:15} {safe(str('-' if value is None else value)):40} {origin}"
        for name, (value, origin) in rows.items()
    ]
    if pin is not None:
        lines.append(f"{'pinned':15} {pin.ref} at {safe(pin.home)}, ledger {pin.ledger[:12]}")
    payload = {
        "settings": {name: {"value": value, "origin": origin} for name, (value, origin) in rows.items()},
        "pin": None if pin is None else asdict(pin),
    }
    context.emit("config", payload, lines)
