"""The free todo that a denial names: the agent that was stopped can claim it and continue.

What is asked only after a denial may cost more than the verdict: the ledger itself is read, as it was at the tip that
the verdict was reached on, without the network.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from loopx_git.client.client import Client


class Free:
    """A todo that could be claimed; `covers` is how many of the paths its scope covers. `soft`: a plain
    claim of it is a soft claim, which covers no edit."""

    __slots__ = ("alias", "covers", "soft", "title", "todo")

    def __init__(self, todo: str, alias: str | None, title: str, covers: int, *, soft: bool) -> None:
        self.todo, self.alias, self.title, self.covers, self.soft = todo, alias, title, covers, soft

    @property
    def command(self) -> str:
        """What claims it."""
        return f"git loopx {'task-lease acquire' if self.soft else 'todo claim'} {self.alias or self.todo}"

    def says(self, paths: int) -> str:
        """The sentence of a denial of that many paths."""
        what = "this" if self.covers == paths else f"{self.covers} of these {paths}"
        return f"a free todo covers {what}: {self.title}: {self.command}"

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command line."""
        return {"todo_id": self.todo, "alias": self.alias, "title": self.title, "covers": self.covers}


class Finder:
    """Finds it: `client` is called for the first question, `tip` is the commit whose claims the verdict knows."""

    __slots__ = ("_client", "_tip")

    def __init__(self, client: Callable[[], Client], tip: str | None) -> None:
        self._client, self._tip = client, tip

    def find(self, paths: Sequence[str]) -> Free | None:
        """The todo whose scope covers most of the paths; None when there is none, or none can be read."""
        if self._tip is None:
            return None
        from loopx_git.client.next_todo import free_for
        from loopx_git.errors import LoopXError

        try:
            found = free_for(self._client(), self._tip, paths)
        except LoopXError:
            # The denial stands without a hint; the command that claims reports the same error.
            return None
        if found is None:
            return None
        todo, covers, soft = found
        return Free(todo.id, todo.alias, todo.title, covers, soft=soft)
