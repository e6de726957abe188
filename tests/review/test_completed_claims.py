"""A completed claim covers what was committed by then, at the check and at the gate alike, and nothing that came
later."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from clones import World
from review.coding import Coding, found

from loopx_git.client.client import Client
from loopx_git.client.completed_at import commits_of
from loopx_git.core.commands import OnTodo
from loopx_git.core.table import Operation

API, ANY, NEXT = "todo_aaaa00000001", "todo_aaaa00000002", "todo_aaaa00000003"


@pytest.fixture
def coding(ledger: World) -> Coding:
    coding = Coding(ledger, ledger.clone("dev"))
    coding.todo(API, "the api", scope=("api/**",))
    coding.todo(ANY, "anything")
    coding.todo(NEXT, "what comes next", scope=("api/**",))
    coding.branch("work")
    return coding


def complete(coding: Coding, todo: str = API) -> None:
    coding.client.todo.complete(todo, agent_id="alice", session="one")


def as_an_older_program(coding: Coding, todo: str) -> None:
    """Complete without a word about the code."""
    actor = coding.client.connection.actor("alice", "one")
    coding.client.submit([OnTodo(Operation.COMPLETE, todo)], actor)


def verdicts(coding: Coding) -> list[tuple[str, str]]:
    """(rule, path) of what is wrong with main..HEAD; check and gate say the same."""
    base, head = coding.head("refs/remotes/origin/main"), coding.head()
    coding.clone.git("push", "-q", "-f", "origin", f"{head}:refs/pull/1/head")
    checked = [(rule, path or "") for rule, path, _ in found(coding.check(base=base, head=head))]
    gate = coding.clone.at(coding.world.remote).run("receive-check", "refs/heads/main", base, head, check=None)
    refused = re.findall(r"^loopx: refs/heads/main: commit \w+ \(([\w-]+)\) (\S+): ", gate.err, re.MULTILINE)
    assert refused == checked, gate.err
    assert (gate.code == 19) is bool(checked), gate.err
    return checked


def pushed(coding: Coding) -> None:
    """The work is on the server, as that of a pull request is: what stayed in one clone cannot be compared with."""
    coding.clone.git("push", "-q", "origin", "HEAD:refs/pull/9/head")


def moved_main(coding: Coding) -> None:
    """Somebody else's work comes to main."""
    here = coding.clone.git("symbolic-ref", "--short", "HEAD")
    coding.branch("theirs")
    coding.commit({".loopx/notes": "1"})
    coding.merge()
    coding.clone.git("checkout", "-q", here)


Story = Callable[[Coding, str], None]
STORIES: dict[str, tuple[Story, list[tuple[str, str]]]] = {}


def story(*expected: tuple[str, str]) -> Callable[[Story], Story]:
    """What the verdict on main..HEAD is, after alice claimed the api as the second argument says."""

    def keep(tell: Story) -> Story:
        STORIES[tell.__name__] = (tell, list(expected))
        return tell

    return keep


@story()
def committed_before(c: Coding, claim: str) -> None:
    c.commit({"api/a": "1"}, [claim])
    complete(c)


@story(("completed", "api/b"))
def committed_after(c: Coding, claim: str) -> None:
    c.commit({"api/a": "1"}, [claim])
    complete(c)
    c.commit({"api/b": "1"}, [claim])


@story(("completed", "api/b"))
def committed_after_without_any_work(c: Coding, claim: str) -> None:
    complete(c)
    c.commit({"api/b": "1"}, [claim])


@story(("completed", "api/a"))
def changed_once_more(c: Coding, claim: str) -> None:
    c.commit({"api/a": "1"}, [claim])
    complete(c)
    c.commit({"api/a": "2"}, [claim])


@story(("completed", "api/b"))
def beside_the_work(c: Coding, claim: str) -> None:
    c.commit({"api/a": "1"}, [claim])
    pushed(c)
    complete(c)
    c.branch("side")
    c.commit({"api/b": "1"}, [claim])


@story()
def rebased(c: Coding, claim: str) -> None:
    c.commit({"api/a": "1"}, [claim])
    c.commit({"api/a": "2", "api/b": "1"}, [claim])
    complete(c)
    moved_main(c)
    c.clone.git("rebase", "-q", "refs/remotes/origin/main")


@story()
def squashed(c: Coding, claim: str) -> None:
    c.commit({"api/a": "1"}, [claim])
    c.commit({"api/a": "2", "api/b": "1"}, [claim])
    complete(c)
    c.clone.git("reset", "-q", "--soft", "refs/remotes/origin/main")
    c.commit({}, [claim])


@story(("completed", "api/a"), ("completed", "api/late"))
def squashed_with_more(c: Coding, claim: str) -> None:
    c.commit({"api/a": "1"}, [claim])
    pushed(c)
    complete(c)
    c.clone.git("reset", "-q", "--soft", "refs/remotes/origin/main")
    c.commit({"api/late": "1"}, [claim])


@story()
def squashed_with_the_work_of_another_claim(c: Coding, claim: str) -> None:
    c.commit({"api/a": "1"}, [claim])
    complete(c)
    c.commit({"web/b": "1"}, [other := c.claim(ANY, "alice")])
    c.clone.git("reset", "-q", "--soft", "refs/remotes/origin/main")
    c.commit({}, [claim, other])


@story()
def reworded(c: Coding, claim: str) -> None:
    c.commit({"api/a": "1"}, [claim])
    complete(c)
    c.clone.git("commit", "-q", "--amend", "-m", f"better words\n\nLoopx-Claim: {claim}")


@story()
def on_two_branches(c: Coding, claim: str) -> None:
    c.commit({"api/a": "1"}, [claim])
    c.branch("side")
    c.commit({"api/b": "1"}, [claim])
    c.branch("elsewhere")
    complete(c)
    c.clone.git("checkout", "-q", "work")
    c.clone.git("merge", "-q", "--no-ff", "-m", "both", "side")


@story()
def before_somebody_else_took_what_comes_next(c: Coding, claim: str) -> None:
    c.commit({"api/a": "1"}, [claim])
    complete(c)
    c.claim(NEXT, "bob")


@story(("completed", "api/b"))
def after_the_todo_was_opened_again(c: Coding, claim: str) -> None:
    c.commit({"api/a": "1"}, [claim])
    complete(c)
    c.client.todo.reopen(API, agent_id="bob")
    c.claim(API, "bob")
    c.commit({"api/b": "1"}, [claim])


@story()
def by_a_program_that_says_nothing_of_the_code(c: Coding, claim: str) -> None:
    c.commit({"api/a": "1"}, [claim])
    as_an_older_program(c, API)


@story(("held", "api/a"))
def by_such_a_program_and_somebody_holds_it_now(c: Coding, claim: str) -> None:
    as_an_older_program(c, API)
    c.claim(NEXT, "bob")
    c.commit({"api/a": "1"}, [claim])


@story(("held", "api/a"))
def by_such_a_program_and_the_todo_itself_is_held(c: Coding, claim: str) -> None:
    as_an_older_program(c, API)
    c.client.todo.reopen(API, agent_id="bob")
    c.claim(API, "bob")
    c.commit({"api/a": "1"}, [claim])


@story(("completed", "x"))
def by_such_a_program_without_a_scope(c: Coding, claim: str) -> None:
    free = c.claim(ANY, "alice")
    as_an_older_program(c, ANY)
    c.commit({"x": "1"}, [free])


@story(("completed", "y"))
def without_a_scope(c: Coding, claim: str) -> None:
    free = c.claim(ANY, "alice")
    c.commit({"x": "1"}, [free])
    complete(c, ANY)
    c.commit({"y": "1"}, [free])


@pytest.mark.parametrize("name", STORIES)
def test_what_a_completed_claim_covers(coding: Coding, name: str) -> None:
    tell, expected = STORIES[name]
    tell(coding, coding.claim(API, "alice"))
    assert verdicts(coding) == expected


def test_work_that_never_came_here_is_covered_while_nobody_else_holds_it(coding: Coding) -> None:
    """The commit at which it was completed stayed in another clone; what is here was rebased."""
    claim = coding.claim(API, "alice")
    other = coding.world.clone("other")
    other.commit("mine", "1", f"work\n\nLoopx-Claim: {claim}")
    Client(other.path, other.env).todo.complete(API, agent_id="alice", session="one")
    coding.commit({"api/a": "1"}, [claim])
    assert verdicts(coding) == []
    coding.claim(NEXT, "bob")
    assert verdicts(coding) == [("held", "api/a")]


def test_the_check_asks_the_remote_for_the_commit(coding: Coding) -> None:
    claim = coding.claim(API, "alice")
    first = coding.commit({"api/a": "1"}, [claim])
    coding.clone.git("push", "-q", "origin", f"{first}:refs/pull/1/head")
    complete(coding)
    moved_main(coding)
    coding.clone.git("rebase", "-q", "refs/remotes/origin/main")
    rebased = coding.head()
    late = coding.commit({"api/late": "1"}, [claim])
    coding.clone.git("push", "-q", "origin", f"{late}:refs/pull/2/head")
    coding.claim(NEXT, "bob")
    fresh = coding.world.clone("fresh", url=f"file://{coding.world.remote}")
    assert not fresh.git("rev-parse", "--quiet", "--verify", f"{first}^{{commit}}", check=False)
    done = fresh.run("review", "check", "--base", "refs/remotes/origin/main", "--head", late, check=None)
    assert [(item["rule"], item["commit"]) for item in done.json["findings"]] == [("completed", late)]
    assert fresh.run("review", "check", "--base", "refs/remotes/origin/main", "--head", rebased).code == 0


def test_an_operators_completed_claim_changes_no_rules(coding: Coding) -> None:
    coding.policy('\n[guard]\noperators = ["alice"]\n')
    rules = coding.todo("todo_aaaa00000004", "the rules", scope=(".loopx/**",))
    coding.branch("work")
    claim = coding.claim(rules, "alice")
    text = (coding.clone.path / ".loopx/config.toml").read_text()
    coding.commit({".loopx/config.toml": text + 'mode = "warn"\n'}, [claim])
    complete(coding, rules)
    assert verdicts(coding) == []
    coding.commit({".loopx/config.toml": text + 'mode = "off"\n'}, [claim])
    assert verdicts(coding) == [("config", ".loopx/config.toml")]


def test_the_completion_names_where_the_work_stood(coding: Coding) -> None:
    claim = coding.claim(API, "alice")
    first = coding.commit({"api/a": "1"}, [claim])
    coding.branch("side")
    second = coding.commit({"api/b": "1"}, [claim])
    coding.branch("elsewhere")
    coding.commit({"web/x": "1"}, ["todo_0123456789ab@1"])
    complete(coding)
    entry = coding.world.log()[-1]
    assert set(commits_of(entry["code"])) == {first, second}
    assert coding.client.history.verify().ok
    with_none = coding.claim(ANY, "alice")
    complete(coding, ANY)
    entry = coding.world.log()[-1]
    assert entry["todo"] == with_none.partition("@")[0]
    assert commits_of(entry["code"]) == (coding.head(),)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (None, ()),
        (f"HEAD@{'1' * 40}", ("1" * 40,)),
        (f"refs/heads/a+b@{'1' * 40}", ("1" * 40,)),
        (f"HEAD+{'2' * 40}+{'3' * 40}@{'1' * 40}", ("1" * 40, "2" * 40, "3" * 40)),
    ],
)
def test_the_commits_that_a_completion_names(code: str | None, expected: tuple[str, ...]) -> None:
    assert commits_of(code) == expected
