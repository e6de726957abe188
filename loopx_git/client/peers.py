"""`client.peer` and `client.policy`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from loopx_git.client.arguments import checked
from loopx_git.client.base import Namespace
from loopx_git.client.parameters import Asked
from loopx_git.client.views import Reading
from loopx_git.core import ids, resolve
from loopx_git.core.commands import RegisterPeer, SetPeerStatus, SetPolicy
from loopx_git.core.peer import Peer, PeerKind, PeerStatus
from loopx_git.core.policy import KEYS, get
from loopx_git.errors import UsageError


@checked()
class Peers(Namespace):
    """Registered agents, humans and loops."""

    def register(
        self,
        agent: str,
        *,
        kind: str | None = None,
        capabilities: Sequence[str] | None = None,
        new: bool = False,
        **how: Unpack[Asked],
    ) -> tuple[Peer | None, bool]:
        """Register a peer, or change one (None leaves kind or capabilities as they are).

        Returns (the peer, whether it is new); the peer is None in a dry run of a new one. Raises UsageError for a
        value that is not valid, NotAllowed when the name is taken or retired.
        """
        if kind is not None and kind not in set(PeerKind):
            raise UsageError(f"{kind!r} is not a kind of peer", hint="--kind agent, human or loop")
        command = RegisterPeer(
            agent,
            None if kind is None else PeerKind(kind),
            None if capabilities is None else tuple(capabilities),
            new,
        )
        facts, snapshot = self._publish(command, f"peer register {agent}", **how)
        return snapshot.peer(agent), facts.get("created", False)

    def set_status(self, agent: str, status: PeerStatus | str, **how: Unpack[Asked]) -> tuple[Peer, str]:
        """Pause, resume (active) or retire a peer: (the peer, its former status).

        Raises NotFound when there is no such peer, NotAllowed when it is retired or still holds claims.
        """
        if status not in set(PeerStatus):
            raise UsageError(f"status={status!r} is not a status of a peer", hint="one of " + ", ".join(PeerStatus))
        status = PeerStatus(status)
        facts, snapshot = self._publish(SetPeerStatus(agent, status), f"peer {status.value} {agent}", **how)
        peer = snapshot.peer(agent)
        assert peer is not None
        return peer, str(facts["former"])

    def list(self, *, fresh: bool = False, offline: bool = False) -> tuple[list[Peer], Reading]:
        """Every peer, by name. Raises NotInitialised."""
        snapshot, reading = self._state(fresh=fresh, offline=offline)
        return list(snapshot.peers()), reading

    def show(self, agent: str, *, fresh: bool = False, offline: bool = False) -> tuple[Peer, Reading]:
        """One peer. Raises NotFound when there is none."""
        ids.check("agent", agent)
        snapshot, reading = self._state(fresh=fresh, offline=offline)
        return resolve.peer(snapshot, agent), reading


@checked()
class PolicyKeys(Namespace):
    """The ledger's policy, key by key."""

    def show(self, *, fresh: bool = False, offline: bool = False) -> tuple[dict[str, str], Reading]:
        """Every key with its current value, in the form that `set` takes. Raises NotInitialised."""
        snapshot, reading = self._state(fresh=fresh, offline=offline)
        return {name: get(snapshot.policy, name) for name in KEYS}, reading

    def set(self, key: str, value: str, **how: Unpack[Asked]) -> dict[str, Any]:
        """Set one key of the policy: {key, value, former}. Raises UsageError for a key or value that is not valid."""
        facts, _ = self._publish(SetPolicy(key, value), f"policy set {key} {value}", **how)
        return {name: facts[name] for name in ("key", "value", "former")}
