"""What is merged or edited on the coordination ref beside the operations: adopted as far as the rules allow."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from builders import ALICE, BOB, tid
from builders import World as Memory
from clones import COORD, Clone, World, populate

from loopx_git.client.client import Client
from loopx_git.core.commands import AddTodo
from loopx_git.core.table import Operation
from loopx_git.errors import InvalidState
from loopx_git.format import layout

NEW = "todo_eeee00000001"


@dataclass
class Forge:
    """A person with a checkout of the coordination branch, and agents that go on working."""

    world: World
    checkout: Clone
    agents: Client
    held: str
    free: str

    def path(self, todo: str, kind: str = "todos") -> Path:
        ending = "json" if kind == "leases" else "md"
        return self.checkout.path / f".loopx/goals/main/{kind}/{todo[5:7]}/{todo}.{ending}"

    def edit(self, todo: str, old: str, new: str, kind: str = "todos") -> None:
        path = self.path(todo, kind)
        text = path.read_text()
        assert old in text, text
        path.write_text(text.replace(old, new, 1))

    def add(self, todo: str = NEW, title: str = "new", **keys: str) -> None:
        path = self.path(todo)
        path.parent.mkdir(parents=True, exist_ok=True)
        known = {"id": todo, "goal": "main", "title": title, "status": "open",
                 "created_at": '"2026-01-02T03:04:05Z"', "created_by": "person@example.com", **keys}  # fmt: skip
        path.write_text("---\n" + "".join(f"{key}: {value}\n" for key, value in known.items()) + "---\n")

    def commit(self, message: str = "edit todos on the forge") -> str:
        self.checkout.git("add", "-A")
        self.checkout.git("commit", "-q", "-m", message)
        return self.checkout.git("rev-parse", "HEAD")

    def push(self) -> None:
        self.checkout.git("push", "-q", "origin", f"HEAD:{COORD}")

    def update(self) -> None:
        self.checkout.git("fetch", "-q", "origin", COORD)

    def verify(self) -> Sequence[dict[str, str]]:
        fresh = Client(self.checkout.path, self.checkout.env)
        return fresh.history.verify().findings


@pytest.fixture
def forge(ledger: World) -> Forge:
    clone = ledger.clone("agents")
    held, free = populate(clone, titles=["held", "free"])
    agents = Client(clone.path, clone.env, {"agent": "alice", "session": "one"})
    agents.todo.claim(held)
    checkout = ledger.clone("forge", "--branch=loopx/coord")
    return Forge(ledger, checkout, agents, held, free)


def claims_of(forge: Forge, todo: str) -> int:
    return sum(entry.get("op") == "claim" and entry.get("todo") == todo for entry in forge.world.log())


def test_a_safe_edit_is_adopted_by_the_next_command(forge: Forge) -> None:
    forge.add(title="from the forge", scope="[web/**]")
    forge.edit(forge.free, "title: free", "title: better words")
    forge.commit()
    forge.push()
    view = forge.agents.todo.claim(forge.free)
    assert view.todo.title == "better words"
    assert any("adopted 2 edits" in note for note in forge.agents.notes)
    assert forge.agents.todo.claim(NEW).todo.scope == ("web/**",)
    assert forge.verify() == []
    ops = [entry["op"] for entry in forge.agents.history.log()[0]]
    assert ops[:4] == ["claim", "claim", "adopt", "foreign"]
    # A clone that never saw it reads it all, and so does one whose knowledge ends before it.
    assert forge.world.clone("fresh").verified()["ok"] is True


def write(forge: Forge, path: str, text: str) -> None:
    (forge.checkout.path / path).write_text(text)


def link(forge: Forge) -> None:
    forge.path(forge.free).unlink()
    forge.path(forge.free).symlink_to("/etc/passwd")


UNSAFE: dict[str, tuple[Callable[[Forge], None], str]] = {
    "an epoch": (lambda f: f.edit(f.held, '"epoch": 1', '"epoch": 7', "leases"), "lease record"),
    "a holder": (lambda f: f.edit(f.held, "claimed_by: alice", "claimed_by: bob"), "claimed_by"),
    "a claim by hand": (lambda f: f.edit(f.free, "claimed_by:", "claimed_by: bob"), "cannot be set by hand"),
    "a deleted lease": (lambda f: f.path(f.held, "leases").unlink(), "lease record"),
    "a deleted todo": (lambda f: f.path(f.free).unlink(), "never deleted"),
    "a completed todo": (lambda f: f.edit(f.free, "status: open", "status: completed"), "todo complete"),
    "a policy": (lambda f: write(f, ".loopx/policy.toml", '[claims]\nttl = "9d"\n'), "policy set"),
    "the format": (lambda f: write(f, ".loopx/format", "2\n"), "format number"),
    "a peer": (lambda f: write(f, ".loopx/peers/mallory.md", "x"), "peer"),
    "a foreign file": (lambda f: write(f, "README.md", "x"), "not a path of this format"),
    "a link": (link, "not a plain file"),
    "a bad scope": (lambda f: f.edit(f.free, "scope: []", 'scope: ["!x"]'), "scope"),
    "a new todo that is claimed": (lambda f: f.add(claimed_by="bob"), "claimed_by"),
    "a new todo that is done": (lambda f: f.add(status="completed"), "status"),
    "a new todo with attempts": (lambda f: f.add(attempts="3"), "attempts"),
    "a new todo with a strange key": (lambda f: f.add(color="red"), "known keys"),
    "a dangling dependency": (lambda f: f.add(depends_on="[todo_00000000dead]"), "todo_00000000dead"),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_what_breaks_a_rule_waits_for_a_person_and_is_undone(forge: Forge, name: str) -> None:
    make, reason = UNSAFE[name]
    make(forge)
    bad = forge.commit()
    forge.push()
    before = forge.world.tip()
    with pytest.raises(InvalidState) as refused:
        forge.agents.todo.claim(forge.free)
    assert refused.value.about["commit"] == bad
    assert "git loopx adopt" in refused.value.hint
    assert forge.agents.setup.adopt(dry_run=True)["adopted"] is True
    assert forge.world.tip() == before
    done = forge.agents.setup.adopt()
    assert any(reason in item["reason"] for item in done["undone"]), done
    assert forge.verify() == []
    snapshot = forge.agents.snapshot(forge.agents.read_known())
    lease = snapshot.lease("main", forge.held)
    assert lease is not None
    assert (lease.epoch, lease.holder) == (1, "alice")
    assert forge.agents.todo.claim(forge.free).acquired
    assert claims_of(forge, forge.free) == 1


def test_an_edit_of_a_held_todo_waits_for_a_person_and_is_taken_over(forge: Forge) -> None:
    forge.edit(forge.held, "title: held", "title: other")
    forge.commit()
    forge.push()
    with pytest.raises(InvalidState):
        forge.agents.todo.claim(forge.free)
    done = forge.agents.setup.adopt()
    assert (len(done["admitted"]), done["undone"]) == (1, [])
    assert forge.agents.todo.show(forge.held)[0].todo.title == "other"
    assert forge.agents.todo.update(forge.held, note="still mine").lease.lease.epoch == 1
    assert forge.verify() == []


def test_a_clone_that_meets_the_ledger_at_a_foreign_tip(forge: Forge) -> None:
    forge.add()
    forge.commit()
    forge.push()
    fresh = forge.world.clone("fresh")
    assert fresh.run("todo", "claim", NEW, agent="bob").json["acquired"] is True
    assert fresh.verified()["ok"] is True
    # With another ledger pinned it adopts nothing, for it belongs elsewhere.
    other = forge.world.clone("other")
    forge.update()
    forge.checkout.git("checkout", "-q", "-B", "coord", "FETCH_HEAD")
    forge.edit(NEW, "title: new", "title: again")
    forge.commit()
    forge.push()
    config = other.path / ".loopx/config.toml"
    config.write_text(re.sub('ledger = ".*"', f'ledger = "{"a" * 40}"', config.read_text()))
    tip = forge.world.tip()
    assert "another ledger" in other.run("adopt", check=16).error["message"]
    assert forge.world.tip() == tip


def test_everything_can_be_discarded(forge: Forge) -> None:
    forge.add()
    forge.commit()
    forge.push()
    done = forge.agents.setup.adopt(discard=True)
    assert (done["admitted"], len(done["undone"])) == ([], 1)
    assert forge.verify() == []
    assert not forge.agents.snapshot(forge.agents.read_known()).goals_of(NEW)


def test_there_is_nothing_to_adopt_on_a_legal_tip(forge: Forge) -> None:
    before = forge.world.tip()
    assert forge.agents.setup.adopt()["adopted"] is False
    assert forge.world.tip() == before
    assert forge.agents.connection.repository is not None
    assert (
        Clone(Path(forge.agents.connection.repository.cwd), forge.checkout.env).run("adopt").json["adopted"] is False
    )


@pytest.mark.parametrize("how", ["merge", "squash", "rebase"])
def test_a_pull_request_merged_on_the_forge_while_agents_claim(forge: Forge, how: str) -> None:
    forge.checkout.git("checkout", "-q", "-b", "proposal")
    forge.add()
    forge.edit(forge.free, "title: free", "title: reworded")
    forge.commit("propose a todo")
    forge.agents.todo.update(forge.held, note="meanwhile")
    forge.update()
    forge.checkout.git("checkout", "-q", "-B", "merged", "FETCH_HEAD")
    if how == "merge":
        forge.checkout.git("merge", "-q", "--no-ff", "-m", "Merge pull request #1", "proposal")
    elif how == "squash":
        forge.checkout.git("merge", "-q", "--squash", "proposal")
        forge.commit("propose a todo (#1)")
    else:
        forge.checkout.git("cherry-pick", "proposal")
    forge.push()
    claim = forge.agents.todo.claim(forge.free)
    assert (claim.lease.lease.epoch, claim.todo.title) == (1, "reworded")
    assert [note.text for note in forge.agents.todo.show(forge.held)[0].todo.notes] == ["meanwhile"]
    assert forge.agents.todo.claim(NEW).acquired
    assert forge.verify() == []
    assert claims_of(forge, forge.held) == 1


def test_two_clones_adopt_at_once_and_one_adoption_lands(forge: Forge) -> None:
    other = forge.world.clone("other")
    Client(other.path, other.env).read(fresh=True)
    forge.add()
    forge.commit()
    forge.push()
    second = Client(other.path, other.env, {"agent": "bob"})
    assert forge.agents.setup.adopt()["adopted"] is True
    assert second.setup.adopt()["adopted"] is False
    assert second.todo.claim(NEW).acquired
    assert len([entry for entry in forge.world.log() if entry.get("op") == "adopt"]) == 1
    assert forge.verify() == []


def forged_adoption(memory: Memory, good: str, foreign: str, *, files: dict[str, bytes | None]) -> str:
    """An adoption that takes over what it must not."""
    text = (
        f"adopt by bob\n\nLoopx-Op: adopt\nLoopx-Agent: bob\nLoopx-Session: s\n"
        f"Loopx-Request: {secrets.token_hex(16)}\nLoopx-Nonce: {secrets.token_hex(16)}\nLoopx-Version: 0\n"
    )
    from loopx_git.ledger.commits import Draft, Signature

    bob = Signature("bob", "bob@agents.loopx.invalid")
    return memory.objects.build(foreign, Draft(files, text, bob, bob, memory.first.clock.wall(), good))


def test_an_adoption_cannot_take_over_what_the_rules_refuse() -> None:
    memory = Memory().begin(todos=1)
    memory.first.on(Operation.CLAIM, 0, ALICE)
    good = memory.tip
    path = layout.lease("main", tid(0))
    record = memory.objects.tree(good).files[path]
    foreign = memory.forge(good, files={path: record.replace(b'"epoch": 1', b'"epoch": 9')}, text="by hand\n",
                           parents=(good,))  # fmt: skip
    assert [fault.commit for fault in memory.faults(foreign)] == [foreign]
    honest = forged_adoption(memory, good, foreign, files={})
    assert memory.faults(honest) == []
    kept = forged_adoption(memory, good, foreign, files={path: record.replace(b'"epoch": 1', b'"epoch": 9')})
    assert [(fault.commit, fault.rule) for fault in memory.faults(kept)] == [(foreign, "format"), (kept, "extra")]
    alone = forged_adoption(memory, good, good, files={})
    assert [fault.commit for fault in memory.faults(alone)] == [alone]


def test_a_merge_cannot_put_operations_aside() -> None:
    """A forged line as the first parent and the ledger as the second: adopting that would undo what was granted."""
    memory = Memory().begin(todos=2)
    start = memory.tip
    memory.first.on(Operation.CLAIM, 0, ALICE)
    granted = memory.tip
    aside = memory.forge(start, text="by hand\n", parents=(start,))
    merge = memory.forge(aside, text="merge\n", parents=(aside, granted))
    adoption = forged_adoption(memory, start, merge, files={})
    assert adoption in [fault.commit for fault in memory.faults(adoption)]
    memory.first.submit(AddTodo(tid(7), "x"), by=BOB)


def test_a_clone_refuses_a_line_that_leaves_its_own(forge: Forge) -> None:
    """First parents that do not pass through what this clone saw, though the tip descends from it."""
    known = forge.agents.read(fresh=True).tip
    forge.checkout.git("fetch", "-q", "origin", COORD)
    forge.checkout.git("checkout", "-q", "--detach", f"{known}~1")
    forge.add()
    forge.commit()
    forge.checkout.git("merge", "-q", "--no-ff", "-m", "the other way round", known)
    forge.push()
    with pytest.raises(InvalidState, match="first parents"):
        forge.agents.todo.claim(forge.free)
    with pytest.raises(InvalidState, match="first parents"):
        forge.agents.setup.adopt()
