"""Real processes in real clones, all at the same instant: one wins, the others are told who won, and history holds
what was acknowledged once and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pytest
from clones import AGENTS, Clone, Result, World, populate, race
from servers import git_daemon, http_backend

TRANSPORTS = ("path", "file", "git", "http")
ROUNDS = [pytest.param(2, id="2-rounds"), pytest.param(15, id="15-rounds", marks=pytest.mark.soak)]


@contextmanager
def remote_url(world: World, transport: str) -> Iterator[str]:
    if transport == "path":
        yield str(world.remote)
    elif transport == "file":
        yield f"file://{world.remote}"
    else:
        with (git_daemon if transport == "git" else http_backend)(world.root) as url:
            yield f"{url}{world.remote.name}"


def clones_of(world: World, url: str, count: int = 16) -> list[Clone]:
    clones = world.clones(count)
    for clone in clones:
        clone.git("remote", "set-url", "origin", url)
    return clones


def claims(clones: Sequence[Clone], todos: Sequence[str], *options: str) -> list[Result]:
    """Clone n claims todo n as agent n."""
    return race(
        [
            (clone, ["--agent", agent, "todo", "claim", todo, *options])
            for clone, agent, todo in zip(clones, AGENTS, todos, strict=False)
        ]
    )


def told(results: Sequence[Result]) -> str:
    """What they ended with, each different answer once."""
    return "\n".join(sorted({f"{result.code} {'' if result.code == 0 else result.err}" for result in results}))


def one_winner(results: Sequence[Result], todo: str) -> str:
    """The one that acquired; all others know its name and epoch."""
    won = [result.json for result in results if result.code == 0]
    assert sorted(result.code for result in results) == [0] + [11] * (len(results) - 1), told(results)
    assert won[0]["acquired"] is True
    winner = str(won[0]["lease"]["holder"])
    for result in results:
        if result.code:
            error = result.error
            assert (error["todo_id"], error["holder"], error["epoch"]) == (todo, winner, 1), result
            assert error["expires_at"] == won[0]["lease"]["expires_at"]
            assert winner in error["message"]
            assert error["hint"]
    return winner


def nothing_pending(clones: Sequence[Clone]) -> None:
    """Every process had its answer: no record and no anchor is left."""
    for clone in clones:
        assert list((clone.home / "pending").glob("*")) == []
        coord = clone.home / "coord.git"
        if coord.exists():
            assert replace(clone, path=coord).git("for-each-ref", "refs/loopx/pending") == ""
        assert clone.git("for-each-ref", "refs/loopx") == ""


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_sixteen_clones_claim_one_todo(ledger: World, transport: str, rounds: int) -> None:
    with remote_url(ledger, transport) as url:
        clones = clones_of(ledger, url)
        todos = populate(clones[0], titles=[f"round {number}" for number in range(rounds)])
        for todo in todos:
            winner = one_winner(claims(clones, [todo] * 16), todo)
            [claim] = ledger.claims(todo)
            assert (claim["agent"], claim["epoch"]) == (winner, "1")
        assert clones[0].verified() | {"ok": True, "complete": True} == clones[-1].verified()
    nothing_pending(clones)
    assert len({entry["nonce"] for entry in ledger.log()}) == len(ledger.log())


@pytest.mark.parametrize("rounds", ROUNDS)
def test_sixteen_processes_in_four_worktrees_without_a_remote(world: World, rounds: int) -> None:
    main = world.repository("main")
    main.commit("code.py")
    main.run("init")
    todos = populate(main, peers=AGENTS, titles=[f"round {number}" for number in range(rounds)])
    trees = [main]
    for number in range(3):
        main.git("worktree", "add", "-q", f"../linked-{number}", "-b", f"linked-{number}")
        trees.append(replace(main, path=world.root / f"linked-{number}"))
    for todo in todos:
        winner = one_winner(claims(trees * 4, [todo] * 16), todo)
        [claim] = world.claims(todo, main.path)
        assert (claim["agent"], claim["epoch"]) == (winner, "1")
    assert trees[-1].verified()["ok"]
    nothing_pending(trees)


def test_a_repository_alone_and_clones_of_it(world: World) -> None:
    """One ref moved by two ways of compare-and-swap: pygit2's in the repository itself, git's from its clones."""
    alone = world.repository("alone")
    alone.commit("code.py")
    alone.run("init")
    alone.commit(".loopx/config.toml", (alone.path / ".loopx/config.toml").read_text())
    [todo] = populate(alone, peers=AGENTS, titles=["shared"])
    clones = world.clones(4, url=str(alone.path))
    winner = one_winner(claims([*[alone] * 4, *clones], [todo] * 8), todo)
    assert [claim["agent"] for claim in world.claims(todo, alone.path)] == [winner]
    assert alone.verified()["commits"] == clones[0].verified()["commits"]


@pytest.mark.parametrize("transport", ["path", pytest.param("http", marks=pytest.mark.soak)])
def test_sixteen_clones_claim_sixteen_todos(ledger: World, transport: str) -> None:
    """They move the same ref and want nothing of each other: all of them get through."""
    with remote_url(ledger, transport) as url:
        clones = clones_of(ledger, url)
        todos = populate(clones[0], titles=[f"todo {number}" for number in range(16)])
        results = claims(clones, todos, "--timeout", "120")
        assert [result.code for result in results] == [0] * 16, told(results)
        assert all(result.json["acquired"] and result.json["lease"]["epoch"] == 1 for result in results)
        assert sum(result.json.get("losses", 0) for result in results) > 0, "nobody lost a race: no race at all"
        for todo, agent in zip(todos, AGENTS, strict=True):
            assert [claim["agent"] for claim in ledger.claims(todo)] == [agent]
        assert clones[7].verified()["ok"]
    nothing_pending(clones)


@pytest.mark.parametrize("session", [None, "twins"])
def test_twins(ledger: World, session: str | None) -> None:
    """The same agent, identity, time and content in two clones: one commit each, and one of them lands."""
    frozen = {
        "GIT_AUTHOR_DATE": "@1790000000 +0000",
        "GIT_COMMITTER_DATE": "@1790000000 +0000",
        "LOOPX_NOW": "2027-01-02T03:04:05Z",
    }
    twins = [clone.having(**frozen) for clone in ledger.clones(2)]
    options = [] if session is None else ["--session", session]
    for todo in populate(twins[0], titles=[f"round {number}" for number in range(4)]):
        results = race([(clone, ["--agent", "alice", *options, "todo", "claim", todo]) for clone in twins])
        acquired = [result.json["acquired"] for result in results if result.code == 0]
        assert acquired.count(True) == 1, told(results)
        if session is None:
            one_winner(results, todo)
            assert "--resume" in next(result for result in results if result.code).error["hint"]
        else:
            # One session in two places is one claimant: the second learns that it holds the todo already.
            assert [result.code for result in results] == [0, 0]
        assert len(ledger.claims(todo)) == 1
    assert twins[0].verified()["ok"]
    nothing_pending(twins)


def test_one_clone_is_one_queue(ledger: World) -> None:
    """Eight processes of one clone and one session: one acquires, the others learn that it is theirs."""
    clone = ledger.clone("clone")
    [todo] = populate(clone, titles=["queue"])
    results = race([(clone, ["--agent", "alice", "todo", "claim", todo])] * 8)
    assert [result.code for result in results] == [0] * 8
    assert sorted(result.json["acquired"] for result in results) == [False] * 7 + [True]
    assert len({result.json["lease"]["session"] for result in results}) == 1
    assert len(ledger.claims(todo)) == 1


def test_a_release_races_with_claims(ledger: World) -> None:
    """Before the release the claims are refused under the old epoch, after it one of them has the next."""
    clones = ledger.clones(6)
    for todo in populate(clones[0], titles=["first", "second"]):
        clones[0].run("todo", "claim", todo, agent="alice")
        runs = [(clones[0], ["--agent", "alice", "todo", "release", todo])]
        runs += [
            (clone, ["--agent", agent, "todo", "claim", todo])
            for clone, agent in zip(clones[1:], AGENTS, strict=False)
        ]
        released, *claimed = race(runs)
        assert released.code == 0
        won = [result.json["lease"] for result in claimed if result.code == 0]
        assert len(won) <= 1
        for result in claimed:
            if result.code:
                assert result.code == 11
                named = (result.error["holder"], result.error["epoch"])
                assert named == ("alice", 1) or (won and named == (won[0]["holder"], 2))
        assert [lease["epoch"] for lease in won] == [2] * len(won)
        assert [claim["epoch"] for claim in ledger.claims(todo)] == ["1"] + ["2"] * len(won)
    assert clones[3].verified()["ok"]


def test_a_complete_races_with_a_forced_release(ledger: World) -> None:
    """Both change the same lease; whichever comes second sees the first and does not undo it."""
    holder, operator = ledger.clones(2)
    for todo in populate(holder, titles=["first", "second"]):
        holder.run("todo", "claim", todo, agent="alice")
        completed, released = race(
            [
                (holder, ["--agent", "alice", "todo", "complete", todo]),
                (operator, ["--agent", "bob", "todo", "release", todo, "--force", "--reason", "stuck"]),
            ]
        )
        lease = holder.show(todo)["lease"]
        ops = [entry["op"] for entry in ledger.log() if entry.get("todo") == todo]
        if completed.code == 0:
            assert (ops, lease["epoch"]) == (["add", "claim", "complete"], 1)
            assert released.code == 0
            assert released.json["unchanged"]
        else:
            assert (completed.code, completed.error["epoch"], completed.error["holder"]) == (12, 2, None)
            assert (ops, lease["epoch"]) == (["add", "claim", "release"], 2)
    assert holder.verified()["ok"]


def test_six_clones_begin_one_ledger(world: World) -> None:
    clones = world.clones(6)
    results = race([(clone, ["init"]) for clone in clones])
    assert [result.code for result in results] == [0] * 6, told(results)
    assert sorted(result.json["created"] for result in results) == [False] * 5 + [True]
    assert len({result.json["ledger"] for result in results}) == 1
    assert len({(clone.path / ".loopx/config.toml").read_bytes() for clone in clones}) == 1
    assert [entry["op"] for entry in world.log()] == ["init"]
    again = clones[0].run("init").json
    assert (again["created"], again["config"]) == (False, "kept")
    assert len(world.log()) == 1


def test_an_alias_is_given_once(ledger: World) -> None:
    clones = ledger.clones(6)
    results = race(
        [(clone, ["todo", "add", "x", "--alias", name]) for clone, name in zip(clones, "AaAaAa", strict=True)]
    )
    assert sorted(result.code for result in results) == [0] + [15] * 5, told(results)
    assert [entry["op"] for entry in ledger.log()].count("add") == 1
