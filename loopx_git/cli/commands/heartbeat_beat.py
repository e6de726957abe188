"""`git loopx heartbeat beat`."""

from __future__ import annotations

from loopx_git.cli.face import Face, command
from loopx_git.core.times import format_time


@command("beat", writes=True, example="git loopx heartbeat beat --agent codex-1")
def main(face: Face) -> None:
    """Say that the agent is alive, and renew what its session holds."""
    seen = face.client.heartbeat.beat()
    face.emit("beat", {"last_seen": format_time(seen)}, [f"seen {format_time(seen)}"])
