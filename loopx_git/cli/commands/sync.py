"""`git loopx sync`."""

from __future__ import annotations

from loopx_git.cli.face import Face, command


@command("sync", example="git loopx sync")
def main(face: Face) -> None:
    """Fetch the coordination ref and check what is new."""
    done = face.client.setup.sync()
    for warning in done["warnings"]:
        face.output.warn(warning)
    place = f"{done['ref']} on {done['remote']}" if done["remote"] else f"{done['ref']} in this repository"
    fetched = f"{done['fetched']} new operations" if done["fetched"] != 1 else "1 new operation"
    face.emit("sync", done, [f"{place} is at {done['tip'][:12]}: {fetched}"])
