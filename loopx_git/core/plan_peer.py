"""Plans of peers: register, pause, resume, retire."""

from __future__ import annotations

from dataclasses import replace

from loopx_git.core import ids, resolve
from loopx_git.core.change import Actor, ChangeSet, Facts, Op, Write
from loopx_git.core.claim import held_by
from loopx_git.core.commands import RegisterPeer, SetPeerStatus
from loopx_git.core.lease import Clocks
from loopx_git.core.peer import Peer, PeerKind, PeerStatus
from loopx_git.core.plan_setup import subject
from loopx_git.core.snapshot import Snapshot
from loopx_git.errors import About, NotAllowed


def register(snapshot: Snapshot, command: RegisterPeer, actor: Actor, clocks: Clocks) -> ChangeSet:
    """A new peer, or a registered one with another kind or other capabilities.

    Raises NotAllowed when the name is taken (`new`, or a name that differs only in case) or retired, UsageError for a
    name or capability that is not valid.
    """
    ids.check("agent", command.agent)
    for capability in command.capabilities or ():
        ids.check("capability", capability)
    capabilities = tuple(dict.fromkeys(command.capabilities or ()))
    known = snapshot.peer(command.agent)
    text = subject(f"peer {command.agent} by {actor.name}")
    if known is None:
        peer = Peer(command.agent, clocks.now, actor.name, command.kind or PeerKind.AGENT, capabilities=capabilities)
        facts: Facts = {"agent": command.agent, "created": True}
        return ChangeSet(Op.PEER, actor, text, (peer,), facts=facts)
    about: About = {"agent": known.agent}
    if command.new or known.agent != command.agent:
        raise NotAllowed(
            f"the peer {known.agent} is registered already (names are unique ignoring case)",
            hint="choose another name, or use that one: git loopx peer list",
            about=about,
        )
    if known.status is PeerStatus.RETIRED:
        raise NotAllowed(
            f"the peer {known.agent} is retired; its name is not used again",
            hint="choose another name: git loopx peer register NAME",
            about=about,
        )
    after = replace(
        known,
        kind=command.kind or known.kind,
        capabilities=known.capabilities if command.capabilities is None else capabilities,
    )
    writes = () if after == known else (after,)
    return ChangeSet(Op.PEER, actor, text, writes, facts={"agent": known.agent, "created": False})


def set_status(snapshot: Snapshot, command: SetPeerStatus, actor: Actor, clocks: Clocks) -> ChangeSet:
    """Pause and resume change the peer alone; retiring also takes its soft claims out of every todo."""
    ids.check("agent", command.agent)
    known = resolve.peer(snapshot, command.agent)
    facts: Facts = {"agent": known.agent, "status": command.status.value, "former": known.status.value}
    text = subject(f"peer {known.agent} {command.status.value} by {actor.name}")
    if known.status is command.status:
        return ChangeSet(Op.PEER, actor, text, facts=facts)
    if known.status is PeerStatus.RETIRED:
        raise NotAllowed(
            f"the peer {known.agent} is retired; its name is not used again",
            hint="git loopx peer register NAME",
            about={"agent": known.agent},
        )
    writes: list[Write] = [replace(known, status=command.status)]
    if command.status is PeerStatus.RETIRED:
        _refuse_while_it_holds(snapshot, known, clocks)
        writes += _without_soft_claims(snapshot, known.agent)
    return ChangeSet(Op.PEER, actor, text, tuple(writes), facts=facts)


def _refuse_while_it_holds(snapshot: Snapshot, peer: Peer, clocks: Clocks) -> None:
    held = [lease.id for lease in held_by(peer.agent, snapshot, clocks)]
    if held:
        raise NotAllowed(
            f"{peer.agent} holds {', '.join(held[:5])}",
            hint=f"let it end, or have it released; look: git loopx todo show {held[0].split('@')[0]}",
            about={"agent": peer.agent, "live": held},
        )


def _without_soft_claims(snapshot: Snapshot, agent: str) -> list[Write]:
    return [
        replace(todo, soft_claims=tuple(name for name in todo.soft_claims if name != agent))
        for goal in snapshot.goal_ids()
        for todo in snapshot.todos(goal)
        if agent in todo.soft_claims
    ]
