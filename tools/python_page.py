"""docs/python.md from the SDK's own signatures, for `make pages`. A test compares them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from loopx_git.client.goals import Goals
from loopx_git.client.heartbeat import Heartbeat
from loopx_git.client.history import History
from loopx_git.client.hold import Hold
from loopx_git.client.loops import Loops
from loopx_git.client.peers import Peers, PolicyKeys
from loopx_git.client.propose import Proposals
from loopx_git.client.setup import Setup
from loopx_git.client.task_lease import TaskLease
from loopx_git.client.todos import Todos
from loopx_git.sdk import LoopXClient
from loopx_git.sdk.aio import Aio

#: Attribute of the client -> its class.
NAMESPACES: dict[str, type] = {
    "todo": Todos,
    "task_lease": TaskLease,
    "heartbeat": Heartbeat,
    "loop": Loops,
    "goal": Goals,
    "peer": Peers,
    "policy": PolicyKeys,
    "history": History,
    "propose": Proposals,
    "setup": Setup,
    "aio": Aio,
}
_HEAD = """# Python

`from loopx_git import LoopXClient`. What the command line does, it does through this client. This page is made
from the program: `make pages`.

Methods raise the errors of [exit codes](exit-codes.md) (`from loopx_git import HeldByAnother, NotYourClaim`), each
with `message`, `hint` and `code`. `about` has what the error is about, as in the JSON of the command line; of it
`todo_id`, `holder`, `epoch`, `expires_at`, `agent`, `reason`, `file` and `line` are attributes, too. A method that
raises has written nothing, except `OutcomeUnknown`: the same call again finds out. A client is not shared between
threads; make one for each.

`Ttl`, a lease's time bound, is seconds, a text such as `"45m"`, or None for no bound. Left out (`UNSET`, also spelled
`"unset"`), it is the policy's, and for a renewal the one that the lease has.
"""


def page() -> str:
    """The whole page as markdown."""
    parts = [_HEAD, f"\n## LoopXClient\n\n```python\nLoopXClient{_signature(LoopXClient.__init__)}\n```\n"]
    parts.append(f"\n{inspect.cleandoc(LoopXClient.__doc__ or '')}\n")
    parts.append(f"\n### hold\n\n```python\nclient.hold{_signature(LoopXClient.hold)}\n```\n")
    parts.append(f"\n{inspect.cleandoc(Hold.__doc__ or '')}\n")
    calls: dict[str, object] = {"run": LoopXClient.run, "land": LoopXClient.land}
    for name, function in calls.items():
        parts.append(f"\n### {name}\n\n```python\nclient.{name}{_signature(function)}\n```\n")
        parts.append(f"\n{inspect.cleandoc(function.__doc__ or '')}\n")
    for name, kind in NAMESPACES.items():
        parts.append(f"\n## client.{name}\n\n{inspect.cleandoc(kind.__doc__ or '')}\n")
        for method, function in methods(kind):
            parts.append(f"\n### {name}.{method}\n\n```python\nclient.{name}.{method}{_signature(function)}\n```\n")
            parts.append(f"\n{inspect.cleandoc(function.__doc__ or '')}\n")
    return "".join(parts)


def methods(kind: type) -> Iterator[tuple[str, object]]:
    """The public methods of a namespace, by name."""
    for name, function in sorted(inspect.getmembers(kind, inspect.isfunction)):
        if not name.startswith("_"):
            yield name, function


class _Bare:
    """An annotation shown as it is written, without quotes."""

    def __init__(self, text: object) -> None:
        self.text = str(text)

    def __repr__(self) -> str:
        return self.text


def _signature(function: object) -> str:
    """The signature without self, a parameter a line when it is long."""
    signature = inspect.signature(function)  # type: ignore[arg-type]
    parameters = [
        parameter.replace(annotation=_Bare(parameter.annotation))
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    whole = signature.replace(parameters=parameters, return_annotation=_Bare(signature.return_annotation))
    text = str(whole)
    if len(text) <= 80:
        return text
    names = [*(["*"] if any(one.kind is one.KEYWORD_ONLY for one in parameters) else [])]
    first = next((place for place, one in enumerate(parameters) if one.kind is one.KEYWORD_ONLY), len(parameters))
    lines = [*map(str, parameters[:first]), *names, *map(str, parameters[first:])]
    return "(\n" + "".join(f"    {line},\n" for line in lines) + f") -> {_Bare(signature.return_annotation)!r}"


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())
