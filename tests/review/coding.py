"""A code repository with a ledger, and commits made as its agents would make them, for the tests of review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clones import Clone, World

from loopx_git.client.client import Client
from loopx_git.core.commands import AddTodo, Command
from loopx_git.review.verdict import Review, Reviewed


@dataclass
class Coding:
    """One clone with a ledger beside it. `main` is pushed; work is done on branches of the clone."""

    world: World
    clone: Clone
    client: Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = Client(self.clone.path, self.clone.env)

    def todo(self, todo: str, title: str = "work", **fields: Any) -> str:
        """Add a todo under this id, in this process."""
        commands: list[Command] = [AddTodo(todo, title, **fields)]
        self.client.submit(commands, self.client.connection.actor())
        return todo

    def claim(self, todo: str, agent: str, session: str = "one") -> str:
        """Claim it; the claim as todo@epoch."""
        return self.client.todo.claim(todo, agent_id=agent, session=session).lease.id

    def branch(self, name: str, start: str = "origin/main") -> None:
        self.clone.git("checkout", "-q", "-B", name, start)

    def commit(
        self, files: dict[str, str | None], claims: Sequence[str] = (), subject: str = "work", **more: str
    ) -> str:
        """One commit on the current branch; None removes a file."""
        for name, text in files.items():
            path = self.clone.path / name
            if text is None:
                self.clone.git("rm", "-q", "--", name)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            self.clone.git("add", "--", name)
        body = more.get("body", "\n".join(f"Loopx-Claim: {claim}" for claim in claims))
        message = subject + (f"\n\n{body}\n" if body else "\n")
        author = [f"--author={more['author']}"] if "author" in more else []
        self.clone.git(
            "commit", "-q", "--allow-empty", "--cleanup=verbatim", *author, "-F", "-", stdin=message.encode()
        )
        return self.head()

    def head(self, name: str = "HEAD") -> str:
        return self.clone.git("rev-parse", name)

    def policy(self, text: str) -> str:
        """Put guard policy into main's config.toml, and push it."""
        self.branch("policy")
        path = self.clone.path / ".loopx/config.toml"
        self.commit({".loopx/config.toml": path.read_text() + text}, subject="policy")
        return self.merge()

    def merge(self) -> str:
        """Put the current branch on the remote's main."""
        self.clone.git("push", "-q", "origin", "HEAD:main")
        self.clone.git("fetch", "-q", "origin")
        return self.head()

    def check(
        self, base: str = "origin/main", head: str = "HEAD", *, strict: bool = False, rule_changes: str | None = None
    ) -> Reviewed:
        return self.review(base, head).check(strict=strict, rule_changes=rule_changes)

    def review(self, base: str = "origin/main", head: str = "HEAD", path: Path | None = None) -> Review:
        from loopx_git.client.connect import Overrides

        return Review(str(path or self.clone.path), self.clone.env, base, head, {}, Overrides())


def found(verdict: Reviewed) -> list[tuple[str, str | None, str | None]]:
    """(rule, file, todo) of every error."""
    return [(item.rule, item.file, item.todo) for item in verdict.findings if item.level == "error"]
