"""The demo's proof: what the agents were told, compared with history."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from loopx_git.cli.demo.stage import Stage, acknowledged


@dataclass(frozen=True, slots=True)
class Grant:
    """One statement of the proof: whether it holds, and the figures."""

    holds: bool
    text: str


def prove(stage: Stage, tip_before: str, refusal: Any) -> tuple[list[Grant], dict[str, Any]]:
    """Every statement, and the figures: who did what, lost races, the result of verify."""
    client = stage.client("operator")
    verdict = client.history.verify()
    entries, _ = client.history.log(limit=None, fresh=True)
    granted = Counter((entry["todo"], entry["epoch"]) for entry in entries if entry["op"] == "claim")
    in_history = Counter(
        (entry["todo"], entry["epoch"], entry["agent"]) for entry in entries if entry["op"] == "claim"
    )
    completions = Counter(entry["todo"] for entry in entries if entry["op"] == "complete")
    told = list(acknowledged(stage.events, "claimed"))
    stuck = stage.stuck()
    dead = stuck["agent"]
    successor = next((agent for todo, epoch, agent in told if todo == stuck["todo"] and epoch > stuck["epoch"]), None)
    statements = [
        Grant(verdict.ok, f"verify: {verdict.commits} operations replayed, {len(verdict.findings)} break a rule"),
        Grant(
            all(count == 1 for count in granted.values()),
            f"no epoch was granted twice: {len(granted)} grants, {sum(granted.values())} claims in history",
        ),
        Grant(
            len(told) == sum(in_history.values()) and all(in_history[item] == 1 for item in told),
            f"every acknowledged claim is in history exactly once: {len(told)}",
        ),
        Grant(
            completions == Counter(dict.fromkeys(stage.todos, 1)),
            f"every todo was completed exactly once: {sum(completions.values())} of {len(stage.todos)}",
        ),
        Grant(
            successor not in (None, dead),
            f"{stuck['todo']} of the killed {dead} (epoch {stuck['epoch']}) was finished by {successor}",
        ),
        Grant(
            refusal is not None and refusal.code == 12 and verdict.tip == tip_before,
            f"the late write of {dead} was refused (exit {getattr(refusal, 'code', 0)}) and changed nothing",
        ),
    ]
    lost = Counter(event["agent"] for event in stage.events if event["event"] == "lost")
    retries = sum(event.get("races", 0) for event in stage.events if event["event"] == "claimed")
    done = Counter(agent for _, _, agent in acknowledged(stage.events, "completed"))
    claimed = Counter(agent for _, _, agent in told)
    figures = {
        "agents": {
            name: {"claimed": claimed[name], "completed": done[name], "lost": lost[name]}
            for name in sorted(stage.processes)
        },
        "races_lost": sum(lost.values()),
        "pushes_retried": retries,
        "operations": verdict.commits,
    }
    return statements, figures
