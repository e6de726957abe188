"""Every kind of commit that a pull request may hold, on real repositories, with the findings that it must get."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from clones import World
from review.coding import Coding, found

from loopx_git.client.client import Client
from loopx_git.client.connect import Overrides
from loopx_git.store.clock import SystemClock

API, WEB, ANY, SOON = "todo_aaaa00000001", "todo_bbbb00000002", "todo_cccc00000003", "todo_dddd00000004"
FOREIGN_LEDGER = "todo_ffff00000009"
Findings = list[tuple[str, str | None, str | None]]


@pytest.fixture
def coding(ledger: World) -> Coding:
    coding = Coding(ledger, ledger.clone("dev"))
    coding.todo(API, "the api", scope=("api/**",))
    coding.todo(WEB, "the web", scope=("web/**",))
    coding.todo(ANY, "anything")
    coding.todo(SOON, "soon", scope=("soon/**",))
    return coding


@dataclass(frozen=True)
class Case:
    """What is done on a branch off main, and what the check must say."""

    name: str
    make: Callable[[Coding], object]
    expected: Findings


CASES: list[Case] = []


def case(*expected: tuple[str, str | None, str | None]) -> Callable[[Callable[[Coding], object]], object]:
    def add(make: Callable[[Coding], object]) -> object:
        CASES.append(Case(make.__name__, make, list(expected)))
        return make

    return add


@case()
def covered(c: Coding) -> None:
    c.commit({"api/a.py": "1", "api/deep/b.py": "2"}, [c.claim(API, "alice")])


@case()
def covered_by_two_claims(c: Coding) -> None:
    c.commit({"api/a.py": "1", "web/b.js": "2"}, [c.claim(API, "alice"), c.claim(WEB, "alice")])


@case(("outside", "web/b.js", API))
def uncovered(c: Coding) -> None:
    c.commit({"api/a.py": "1", "web/b.js": "2"}, [c.claim(API, "alice")])


@case(("missing", "api/a.py", None))
def without_a_claim(c: Coding) -> None:
    c.commit({"api/a.py": "1"})


@case(("held", "web/b.js", WEB))
def foreign(c: Coding) -> None:
    c.claim(WEB, "bob")
    c.commit({"web/b.js": "2"}, [c.claim(API, "alice")])


@case()
def no_scope_covers_what_nobody_claims(c: Coding) -> None:
    c.claim(WEB, "bob")
    c.commit({"docs/x.md": "1"}, [c.claim(ANY, "alice")])


@case(("held", "web/x.js", WEB))
def no_scope_does_not_cover_what_another_claims(c: Coding) -> None:
    c.claim(WEB, "bob")
    c.commit({"docs/x.md": "1", "web/x.js": "1"}, [c.claim(ANY, "alice")])


@case()
def lapsed_but_completed(c: Coding) -> None:
    """No date decides: the claim's time was long over when its holder came back, renewed and completed it."""
    view = c.client.todo.claim(API, agent_id="alice", session="one", ttl=60)
    c.commit({"api/a.py": "1"}, [view.lease.id])
    later = Client(c.clone.path, c.clone.env, overrides=Overrides(clock=SystemClock(offset=86400.0)))
    later.task_lease.renew(view.lease.id, agent_id="alice", session="one")
    later.todo.complete(API, agent_id="alice", session="one")


@case()
def lapsed_and_nobody_came(c: Coding) -> None:
    with_old_clock = Client(c.clone.path, c.clone.env, overrides=Overrides(clock=SystemClock(offset=-86400.0)))
    view = with_old_clock.todo.claim(API, agent_id="alice", session="one", ttl=60)
    c.commit({"api/a.py": "1"}, [view.lease.id])


@case()
def completed_and_reopened(c: Coding) -> None:
    claim = c.claim(API, "alice")
    c.commit({"api/a.py": "1"}, [claim])
    c.client.todo.complete(API, agent_id="alice", session="one")
    c.client.todo.reopen(API, agent_id="bob")
    c.claim(API, "bob")


@case(("completed", "api/a.py", API))
def committed_after_the_completion(c: Coding) -> None:
    claim = c.claim(API, "alice")
    c.client.todo.complete(API, agent_id="alice", session="one")
    c.commit({"api/a.py": "1"}, [claim])


@case()
def superseded_by_its_holder(c: Coding) -> None:
    claim = c.claim(API, "alice")
    c.client.todo.supersede(API, by=SOON, agent_id="alice", session="one")
    c.commit({"api/a.py": "1"}, [claim])


@case(("ended", "api/a.py", API))
def released(c: Coding) -> None:
    claim = c.claim(API, "alice")
    c.client.todo.release(API, agent_id="alice", session="one")
    c.commit({"api/a.py": "1"}, [claim])


@case(("taken-over", "api/a.py", API))
def taken_over(c: Coding) -> None:
    claim = c.claim(API, "alice", "one")
    c.client.todo.claim(API, agent_id="alice", session="two", resume=True)
    c.commit({"api/a.py": "1"}, [claim])


@case(("ended", "api/a.py", API))
def superseded_by_an_operator(c: Coding) -> None:
    claim = c.claim(API, "alice")
    c.client.todo.supersede(API, by=SOON, agent_id="bob", session="x", force=True, reason="gone")
    c.commit({"api/a.py": "1"}, [claim])


@case(("forged", "api/a.py", API))
def forged_trailer(c: Coding) -> None:
    c.claim(API, "alice")
    c.commit({"api/a.py": "1"}, [f"{API}@7"])


@case(("forged", "api/a.py", SOON))
def never_claimed(c: Coding) -> None:
    c.commit({"api/a.py": "1"}, [f"{SOON}@1"])


@case(("forged", "api/a.py", API))
def forged_beside_a_good_one(c: Coding) -> None:
    c.commit({"api/a.py": "1"}, [c.claim(API, "alice"), f"{API}@9"])


@case(("malformed", "api/a.py", None))
def malformed(c: Coding) -> None:
    c.commit({"api/a.py": "1"}, [f"{API}@01"])


@case(("missing", "api/a.py", API))
def not_in_the_last_paragraph(c: Coding) -> None:
    claim = c.claim(API, "alice")
    c.commit({"api/a.py": "1"}, body=f"Loopx-Claim: {claim}\n\nSigned-off-by: A <a@example.com>")


@case(("missing", "api/a.py", API))
def in_the_subject(c: Coding) -> None:
    c.commit({"api/a.py": "1"}, subject=f"Loopx-Claim: {c.claim(API, 'alice')}")


@case(("unknown", "api/a.py", FOREIGN_LEDGER))
def wrong_ledger(c: Coding) -> None:
    c.commit({"api/a.py": "1"}, [f"{FOREIGN_LEDGER}@1"])


@case()
def merge_from_main(c: Coding) -> None:
    """Main has gone on, and what it brings along is not the branch's."""
    claim = c.claim(API, "alice")
    c.branch("elsewhere")
    c.commit({"web/on-main.js": "1"}, subject="unclaimed, but on main already")
    c.clone.git("push", "-q", "origin", "HEAD:main")
    c.branch("work", "origin/main~1")
    c.commit({"api/a.py": "1"}, [claim])
    c.clone.git("fetch", "-q", "origin")
    c.clone.git("merge", "-q", "--no-edit", "origin/main")


def conflict(c: Coding, text: str, claims: list[str]) -> None:
    claim = c.claim(API, "alice")
    c.branch("elsewhere")
    c.commit({"api/a.py": "theirs\n"}, [claim])
    c.clone.git("push", "-q", "origin", "HEAD:main")
    c.branch("work", "origin/main~1")
    c.commit({"api/a.py": "ours\n"}, [claim])
    c.clone.git("fetch", "-q", "origin")
    c.clone.git("merge", "-q", "--no-edit", "origin/main", check=False)
    c.commit({"api/a.py": text}, [claim] if claims else [], subject="merge")


@case(("missing", "api/a.py", API))
def merge_that_changes_something_itself(c: Coding) -> None:
    conflict(c, "neither\n", [])


@case()
def merge_that_changes_something_under_a_claim(c: Coding) -> None:
    conflict(c, "neither\n", ["it"])


@case()
def merge_that_takes_one_side(c: Coding) -> None:
    conflict(c, "theirs\n", [])


@case(("missing", "web/on-main.js", None))
def merge_that_undoes_what_main_has(c: Coding) -> None:
    claim = c.claim(API, "alice")
    c.branch("elsewhere")
    c.commit({"web/on-main.js": "1"}, subject="on main")
    c.clone.git("push", "-q", "origin", "HEAD:main")
    c.branch("work", "origin/main~1")
    c.commit({"api/a.py": "1"}, [claim])
    c.clone.git("fetch", "-q", "origin")
    c.clone.git("merge", "-q", "--no-edit", "-s", "ours", "origin/main")


@case(("missing", "web/on-main.js", None))
def merge_that_undoes_in_a_history_with_two_bases(c: Coding) -> None:
    """Criss-cross merges have no single base to compare with; each merge is made again and compared."""
    claim = c.claim(API, "alice")
    c.branch("elsewhere")
    c.commit({"web/on-main.js": "1"}, subject="on main")
    c.merge()
    c.branch("work", "origin/main~1")
    c.commit({"api/a.py": "1"}, [claim])
    first = c.head()
    c.clone.git("merge", "-q", "--no-edit", "-s", "ours", "origin/main")
    c.branch("elsewhere", "origin/main")
    c.clone.git("merge", "-q", "--no-edit", first)
    c.merge()
    c.branch("work", "work")


@case(("missing", "web/extra.js", None))
def clean_merge_with_a_file_of_its_own(c: Coding) -> None:
    claim = c.claim(API, "alice")
    c.branch("elsewhere")
    c.commit({"web/on-main.js": "1"}, subject="on main")
    c.merge()
    c.branch("work", "origin/main~1")
    c.commit({"api/a.py": "1"}, [claim])
    c.clone.git("merge", "-q", "--no-edit", "--no-commit", "origin/main")
    c.commit({"web/extra.js": "1"}, subject="merge")


@case()
def clean_merge_of_both_sides_of_one_file(c: Coding) -> None:
    claim = c.claim(API, "alice")
    lines = [f"{number}\n" for number in range(30)]
    c.branch("elsewhere")
    c.commit({"api/a.py": "".join(lines)}, [claim])
    c.merge()
    c.commit({"api/a.py": "".join(["main\n", *lines[1:]])}, [claim])
    c.merge()
    c.branch("work", "origin/main~1")
    c.commit({"api/a.py": "".join([*lines[:-1], "work\n"])}, [claim])
    c.clone.git("merge", "-q", "--no-edit", "origin/main")


@case(("missing", "api/a.py", API))
def revert(c: Coding) -> None:
    c.commit({"api/a.py": "1"}, [c.claim(API, "alice")])
    c.clone.git("revert", "--no-edit", "HEAD")


@case(("outside", "web/new.py", API))
def rename_out_of_the_scope(c: Coding) -> None:
    claim = c.claim(API, "alice")
    c.commit({"api/old.py": "same text\n" * 20}, [claim])
    c.clone.git("mv", "api/old.py", "api/new.py")
    (c.clone.path / "web").mkdir()
    c.clone.git("mv", "api/new.py", "web/new.py")
    c.commit({}, [claim])


@case()
def empty_commit(c: Coding) -> None:
    c.commit({}, subject="nothing")


@case(("missing", "api/a.py", None))
def bot_commit(c: Coding) -> None:
    c.commit({"api/a.py": "1"}, author="dependabot[bot] <bot@example.com>")


@case()
def exempt_path(c: Coding) -> None:
    c.commit({".loopx/notes.md": "1"})


@case(("missing", "a.py", None))
def one_of_two_roots(c: Coding) -> None:
    """A history of its own, merged in."""
    c.clone.git("checkout", "-q", "--orphan", "other")
    c.clone.git("rm", "-rfq", ".")
    c.commit({"a.py": "1"})
    c.branch("work")
    c.clone.git("merge", "-q", "--no-edit", "--allow-unrelated-histories", "other")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_findings_are_those(coding: Coding, case: Case) -> None:
    coding.branch("work")
    case.make(coding)
    verdict = coding.check()
    assert found(verdict) == case.expected, verdict.findings
    assert verdict.ok is not bool(case.expected)
    assert all(item.way_out and item.message for item in verdict.findings)
