"""The demo's setting: the remote, the clones, the processes, and the kill of one of them."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from loopx_git.errors import InternalError, LoopXError, NotYourClaim
from loopx_git.sdk import LoopXClient
from loopx_git.store.environment import scrubbed
from loopx_git.store.itself import absolute, itself
from loopx_git.store.process import git

AGENTS = 8
#: Title, and the titles that it waits for: two dozen todos in four layers.
PLAN: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("sketch the command line", ()), ("write the lexer", ()), ("write the parser", (1,)),
    ("fix: the off-by-one in the lexer", (1,)), ("name the error codes", ()), ("draw the logo", ()),
    ("document the grammar", (2,)), ("pretty-print the tree", (2,)), ("type-check expressions", (2, 4)),
    ("type-check statements", (8,)), ("fold constants", (8,)), ("emit bytecode", (9,)),
    ("run bytecode", (11,)), ("collect garbage", (12,)), ("profile the interpreter", (12,)),
    ("speed up the inner loop", (14,)), ("write the tutorial", (0, 12)), ("answer 'what is new?'", (5,)),
    ("package for two systems", (0,)), ("set up the mailing list", ()), ("translate the messages", (4,)),
    ("fuzz the parser", (2,)), ("check licences", ()), ("announce it", (16, 17, 18)),
)  # fmt: skip


@dataclass
class Stage:
    """The demo's files below `folder`. `events` collects what the agents report, in order of arrival."""

    folder: str
    say: Callable[[str], None]
    env: dict[str, str] = field(default_factory=dict)
    todos: dict[str, str] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    @property
    def remote(self) -> str:
        """The folder of the bare remote."""
        return os.path.join(self.folder, "remote.git")

    def clone(self, name: str) -> str:
        """The folder of an agent's clone."""
        return os.path.join(self.folder, name)

    def client(self, name: str, **settings: Any) -> LoopXClient:
        """A client in an agent's clone."""
        return LoopXClient(self.clone(name), env=self.env, **settings)

    # -- setting up

    def set_up(self) -> None:
        """A bare remote with a ledger of two dozen todos, and a clone for each agent."""
        # Nothing of the repository that the demo is called in, and one format for what is made.
        self.env = scrubbed({key: value for key, value in os.environ.items() if not key.startswith("LOOPX_")})
        self.env |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        self._git("init", "--quiet", "--bare", "--template=", "--object-format=sha1", self.remote)
        names = ["operator", *(f"agent-{number}" for number in range(1, AGENTS + 1))]
        for name in names:
            self._git("clone", "--quiet", self.remote, self.clone(name))
        operator = self.client("operator")
        operator.setup.init()
        for name in names[1:]:
            operator.peer.register(name)
        ids: list[str] = []
        for number, (title, needs) in enumerate(PLAN):
            view = operator.todo.add(title, priority=min(4, number // 6), depends_on=[ids[need] for need in needs])
            ids.append(view.id)
            self.todos[view.id] = title
        self.say(f"{AGENTS} clones of one bare remote, {len(ids)} todos, {sum(len(n) for _, n in PLAN)} dependencies")

    def _git(self, *args: str) -> None:
        done = git(args, cwd=self.folder, env=self.env, timeout=60)
        if done.code:
            raise InternalError(f"git {args[0]} failed: {done.complaint}")

    # -- running

    def run(self, budget: float) -> None:
        """Start the agents, kill one while it works, let the others finish.

        Raises InternalError past `budget` seconds.
        """
        arrived: queue.Queue[tuple[str, dict[str, Any] | None]] = queue.Queue()
        for number in range(1, AGENTS + 1):
            self._start(f"agent-{number}", number, arrived)
        alive, deadline = AGENTS, time.monotonic() + budget
        try:
            while alive:
                try:
                    name, event = arrived.get(timeout=max(0.01, deadline - time.monotonic()))
                except queue.Empty:
                    raise InternalError(f"the agents did not end within {budget:.0f} s") from None
                if event is None:
                    alive -= 1
                    continue
                self.events.append({**event, "agent": name})
                self.say(self._words(name, event))
                if event["event"] == "stuck":
                    self._kill_and_release(name, event)
        finally:
            self.end()

    def _start(self, name: str, seed: int, arrived: queue.Queue[tuple[str, dict[str, Any] | None]]) -> None:
        mark = os.path.join(self.folder, "victim")
        args = itself(self.clone(name), name, str(seed), mark, module="loopx_git.cli.demo.agent")
        process = subprocess.Popen(args, env=absolute(self.env), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.processes[name] = process

        def pump() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                arrived.put((name, json.loads(line)))
            process.stdout.close()
            arrived.put((name, None))

        threading.Thread(target=pump, daemon=True).start()

    def _kill_and_release(self, name: str, event: dict[str, Any]) -> None:
        """SIGKILL in mid-work; then an operator frees the todo, which goes into the history with its reason."""
        self.processes[name].send_signal(signal.SIGKILL)
        self.processes[name].wait()
        self.say(self._line(f"{name} is killed (SIGKILL) while it works on {event['todo']}"))
        self.client("operator").todo.release(event["todo"], force=True, reason=f"{name} was killed")
        self.say(self._line(f"an operator frees {event['todo']}: forced, audited, epoch fenced off"))

    def late_write(self) -> LoopXError | None:
        """The killed agent's last write arrives late: its session completes the todo under the old epoch."""
        stuck = self.stuck()
        dead = stuck["agent"]
        try:
            self.client(dead, agent=dead).todo.complete(stuck["todo"], epoch=stuck["epoch"])
        except NotYourClaim as refusal:
            return refusal
        return None

    def stuck(self) -> dict[str, Any]:
        """Who was killed, at what."""
        return next(event for event in self.events if event["event"] == "stuck")

    def end(self) -> None:
        """Leave no process behind."""
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()

    # -- telling

    def _line(self, text: str) -> str:
        return f"{time.monotonic() - self.started:5.1f} s  {text}"

    def _words(self, name: str, event: dict[str, Any]) -> str:
        todo = event.get("todo")
        title = self.todos.get(todo, "") if isinstance(todo, str) else ""
        text = {
            "claimed": f"{name} claims    {todo} epoch {event.get('epoch')}  {title}",
            "completed": f"{name} completes {todo} epoch {event.get('epoch')}",
            "lost": f"{name} loses     {todo} to {event.get('holder')} (epoch {event.get('epoch')})",
            "refused": f"{name} is refused: {event.get('why')}",
            "fenced": f"{name} is fenced off {todo}",
            "stuck": f"{name} works on  {todo} epoch {event.get('epoch')} ...",
            "done": f"{name} has nothing left to do",
        }[event["event"]]
        return self._line(text)


def acknowledged(events: list[dict[str, Any]], kind: str) -> Iterator[tuple[str, int, str]]:
    """(todo, epoch, agent) of every operation that the agents were told had succeeded."""
    for event in events:
        if event["event"] == kind:
            yield event["todo"], event["epoch"], event["agent"]
