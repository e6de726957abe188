"""`todo next` shows one todo, or a list of the best that fit; what it passed over has a name."""

from __future__ import annotations

import pytest
from clones import Clone

from loopx_git.client.client import Client
from loopx_git.core.peer import PeerStatus
from loopx_git.errors import UsageError


def _some(clone: Clone) -> list[str]:
    """Three todos that fit, the best first, and two that do not."""
    found = [clone.add(f"job {priority}", "--priority", str(priority)) for priority in (0, 1, 3)]
    clone.add("later", "--alias", "later", "--depends-on", found[2], "--priority", "0")
    clone.add("trains", "--alias", "gpu-work", "--requires", "gpu", "--priority", "1")
    return found


def test_the_best_that_fit_are_listed(alice: Clone) -> None:
    found = _some(alice)
    shown = alice.run("todo", "next", "--limit", "2", "--fields", "id,title", agent="alice").json
    assert shown["kind"] == "todos"
    assert shown["todos"] == [{"id": todo, "title": f"job {at}"} for at, todo in enumerate(found[:2])]
    assert shown["left_out"] == 1 and len(shown["skipped"]) == 2
    lines = alice.run("todo", "next", "--limit", "2", agent="alice", json=False).out.splitlines()
    assert [line.split()[0] for line in lines[:2]] == [todo[5:9] for todo in found[:2]]
    assert "... and 1 more fit" in lines[2]
    assert len(alice.run("todo", "next", "--fields", "id", agent="alice").json["todos"]) == 3
    few = alice.run("todo", "next", "--budget", "400", agent="alice").json
    assert few["todos"] and len(few["todos"]) + few["left_out"] == 3
    # Without these options it is one todo, as ever.
    assert alice.run("todo", "next", agent="alice").json["todo"]["id"] == found[0]


def test_a_status_narrows_the_choice(alice: Clone) -> None:
    first, second, _ = _some(alice)
    alice.run("todo", "update", second, "--status", "in_progress", "--force", "--reason", "test")
    for more in ([], ["--claim"]):
        taken = alice.run("todo", "next", "--status", "in_progress", *more, agent="alice").json
        assert taken["todo"]["id"] == second
    assert alice.run("todo", "next", "--status", "open", agent="alice").json["todo"]["id"] == first


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--claim", "--limit", "2"], "--limit"), (["--claim", "--fields", "id"], "--fields"),
     (["--claim", "--budget", "99"], "--budget"), (["--status", "completed"], "completed"),
     (["--fields", "colour"], "colour")],
    ids=["limit", "fields", "budget", "status", "field"],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(alice: Clone, words: list[str], said: str) -> None:
    error = alice.run("todo", "next", *words, agent="alice", check=2).error
    assert said in error["message"] and error["hint"]


def test_what_does_not_fit_is_named_by_alias_and_title(alice: Clone) -> None:
    found = _some(alice)
    alice.run("todo", "claim", *found, agent="alice")
    nothing = alice.run("todo", "next", agent="bob", check=17).error["message"]
    assert f"later (later) waits for {found[2]} (job 3), which is open" in nothing
    listed = alice.run("todo", "list", "--ready", "--fresh", agent="bob", json=False).out
    assert "gpu-work (trains) requires gpu" in listed
    alice.run("todo", "release", found[0], agent="alice")
    text = alice.run("todo", "next", agent="bob", json=False).out
    assert f"passed over: later (later) waits for {found[2]} (job 3), which is open" in text
    waiting = alice.run("todo", "claim", "later", agent="bob", check=15).error
    assert waiting["message"].endswith(f"waits for {found[2]} (job 3), which is open")
    assert waiting["depends_on"] == found[2]


def test_a_peer_takes_its_status_as_text(alice: Clone) -> None:
    peer = Client(alice.path, alice.env, {"agent": "alice"}).peer
    text: str = "paused"
    assert peer.set_status("bob", text)[0].status is PeerStatus.PAUSED
    for wrong in ("gone", "", 1):
        with pytest.raises(UsageError, match="status"):
            peer.set_status("bob", wrong)  # type: ignore[arg-type]
