"""The push: every new commit of every pushed ref, by the claims as the remote has them; the old ones not."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable

import pytest
from clones import COORD, World
from sites import OFF, Site, hold

from loopx_git.client.client import Client

MakeSite = Callable[..., Site]


def work(site: Site, path: str = "src/a.py", message: str = "", branch: str | None = None) -> str:
    """A commit that no hook saw, as `am` would make it; below src it names the claim."""
    message = message or ("work" if path.startswith("docs") else f"work\n\nLoopx-Claim: {site.todo}@1")
    if branch is not None:
        site.quietly(f"git checkout -q -B {branch} {site.base}")
    site.quietly(f"mkdir -p $(dirname {path}); echo {len(message)} >> {path}; git add {path}")
    site.clone.git(*OFF, "commit", "-q", "-m", message)
    return site.clone.git("rev-parse", "HEAD")


def push(site: Site, *args: str) -> subprocess.CompletedProcess[str]:
    return site.sh("git push -q origin " + " ".join(args))


def refused(done: subprocess.CompletedProcess[str], *texts: str) -> None:
    assert done.returncode != 0, done.stderr
    assert "loopx guard: denied" in done.stderr
    for text in texts:
        assert text in done.stderr, done.stderr


def passed(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr


def test_every_new_commit_of_every_pushed_ref(site: MakeSite) -> None:
    made = site(claim="own")
    work(made, branch="a")
    passed(push(made, "a"))
    work(made, "docs/d.md", branch="b")
    work(made, branch="c")
    # The first ref is fine, and the second is looked at, too.
    refused(push(made, "c", "b"), "docs/d.md", "the commit names no claim")
    assert made.world.git("branch", "--list", "c", folder=made.world.remote) == ""
    passed(push(made, "c"))
    # The commit below the tip counts as well.
    work(made, branch="b2")
    work(made, "docs/d.md")
    work(made)
    refused(push(made, "b2"), "docs/d.md")


def test_a_new_branch_without_upstream_and_what_the_remote_has_already(site: MakeSite) -> None:
    made = site(claim="own")
    work(made, "docs/d.md", branch="old")
    made.quietly("g push -q origin old")
    made.quietly("git checkout -q -b new")
    work(made)
    passed(push(made, "new"))
    # Nothing new at all.
    passed(push(made, "old:again"))


def test_a_force_push_is_judged_by_what_is_new(site: MakeSite) -> None:
    made = site(claim="own")
    work(made, branch="main2")
    passed(push(made, "main2"))
    work(made, "src/b.py", message=f"rewritten\n\nLoopx-Claim: {made.todo}@1", branch="main2")
    passed(push(made, "+main2"))
    work(made, "docs/d.md", branch="main2")
    refused(push(made, "+main2"), "docs/d.md")


def test_tags_and_deletions(site: MakeSite) -> None:
    made = site(claim="own")
    work(made, branch="good")
    made.quietly("git tag -a -m one v1; git tag light; git tag -a -m blob blob HEAD:src/a.py")
    passed(push(made, "v1", "light", "blob"))
    work(made, "docs/d.md", branch="bad")
    made.quietly("git tag -a -m two v2")
    refused(push(made, "v2"), "docs/d.md")
    passed(push(made, ":v1"))
    passed(push(made, "--delete", "light"))


def test_the_coordination_ref_has_rules_of_its_own(site: MakeSite) -> None:
    made = site(claim="none")
    made.quietly(f"git fetch -q origin {COORD}:refs/heads/copy")
    passed(push(made, f"copy:{COORD}"))


def test_the_remote_decides_not_what_was_known_here(site: MakeSite) -> None:
    made = site(claim="own")
    done = made.sh("echo x >> src/a.py; git commit -q -a -m work")
    passed(done)
    # Meanwhile somebody else took it over, and this clone has not heard of it.
    other = Client(made.world.clone("operator").path, made.clone.env)
    other.todo.release(made.todo, force=True, reason="gone")
    Client(made.world.root / "operator", made.clone.env, {"agent": "bob"}).todo.claim(made.todo)
    assert made.sh("git loopx guard check").returncode == 0
    refused(
        push(made, "HEAD:work"), f"names {made.todo}@1", "bob@3 came after it", f"git loopx todo show {made.todo}"
    )


@pytest.mark.parametrize(
    ("ending", "word"),
    [("complete", ""), ("release", "ended without completing the todo (released)"), ("late", "past its deadline")],
)
def test_a_claim_that_ended_since(site: MakeSite, ending: str, word: str) -> None:
    made = site(claim="own")
    passed(made.sh("echo x >> src/a.py; git commit -q -a -m work"))
    client = made.client()
    if ending == "late":
        # The clone's own deadlines are gone, as after a reboot: the wall clock decides.
        (made.clone.home / "deadlines.json").unlink()
        done = made.sh("git push -q origin HEAD:work", LOOPX_NOW="+7185s")
        refused(done, word, "git loopx task-lease renew")
        return
    if ending == "complete":
        client.todo.complete(made.todo)
        passed(push(made, "HEAD:work"))
    else:
        client.todo.release(made.todo)
        refused(push(made, "HEAD:work"), word)


def test_a_commit_that_names_a_claim_that_is_not_or_does_not_cover(site: MakeSite) -> None:
    made = site(claim="own")
    work(made, "docs/d.md", message=f"one\n\nLoopx-Claim: {made.todo}@1", branch="a")
    refused(push(made, "a"), "whose scope does not cover")
    work(made, "docs/d.md", message="two\n\nLoopx-Claim: todo_0123456789ab@7", branch="b")
    refused(push(made, "b"), "is not a todo of this ledger")
    work(made, "src/a.py", message=f"three\n\nLoopx-Claim: {made.todo}@9", branch="c")
    refused(push(made, "c"))


def test_another_agents_commit_is_pushed_by_what_it_names(site: MakeSite) -> None:
    made = site(claim="other")
    work(made, message=f"bob made it\n\nLoopx-Claim: {made.todo}@1", branch="a")
    passed(push(made, "a"))


def test_a_stale_claim_is_refused_whoever_pushes(site: MakeSite) -> None:
    made = site(claim="other")
    client = Client(made.clone.path, made.clone.env)
    client.todo.release(made.todo, force=True, reason="gone")
    Client(made.clone.path, made.clone.env, {"agent": "carol"}).todo.claim(made.todo)
    work(made, message=f"bob made it\n\nLoopx-Claim: {made.todo}@1", branch="a")
    made.clone.config("--unset", "loopx.agent")
    # A person is warned of what nobody claimed; a claim that is named and stale is no matter of who pushes.
    refused(push(made, "a"), f"names {made.todo}@1, which is no longer current")
    Client(made.clone.path, made.clone.env, {"agent": "carol"}).todo.release(made.todo)
    refused(push(made, "a"), f"names {made.todo}@1, which is no longer current")


def test_a_person_is_warned(site: MakeSite) -> None:
    made = site(claim="none")
    made.clone.config("--unset", "loopx.agent")
    work(made, message="work", branch="a")
    done = push(made, "a")
    passed(done)
    assert "loopx guard: warning" in done.stderr


@pytest.mark.parametrize("way", ["warn", "block"])
def test_a_remote_that_cannot_be_read(site: MakeSite, ledger: World, way: str) -> None:
    made = site(claim="own")
    elsewhere = ledger.root / "code.git"
    shutil.copytree(ledger.remote, elsewhere)
    made.quietly(f"git remote add code {elsewhere}; git fetch -q code; git config loopx.remote origin")
    made.policy(f'offline_push = "{way}"')
    made.quietly("git add .loopx; g commit -q -m policy")
    work(made)
    shutil.move(ledger.remote, ledger.root / "gone.git")
    done = made.sh("git push -q code HEAD:work")
    if way == "warn":
        passed(done)
        assert "cannot be read, so what was fetched last decides" in done.stderr
        assert " s old" in done.stderr
    else:
        refused(done, "cannot be read", "next: git loopx sync")


def test_older_than_since_is_not_judged(site: MakeSite) -> None:
    made = site(claim="own")
    old = work(made, "docs/d.md", branch="a")
    work(made)
    refused(push(made, "a"))
    made.policy(f'since = "{old}"')
    passed(push(made, "a"))
    (made.clone.path / ".loopx/config.toml").write_text(f'[guard]\nsince = "{"1" * 40}"\n')
    work(made)
    done = push(made, "a")
    assert done.returncode != 0
    assert "guard.since" in done.stderr


def test_a_push_by_url_is_the_named_remotes(site: MakeSite, ledger: World) -> None:
    made = site(claim="own")
    work(made, "docs/d.md", branch="old")
    made.quietly("g push -q origin old; git checkout -q -b new")
    work(made)
    passed(made.sh(f"git push -q {ledger.remote} new"))


def test_a_range_is_judged_by_the_same_engine(site: MakeSite) -> None:
    made = site(claim="own")
    work(made, branch="a")
    run = made.clone.run
    assert run("guard", "check", "--range", f"{made.base}..HEAD").json["verdict"] == "allowed"
    work(made, "docs/d.md")
    shown = run("guard", "check", "--range", f"{made.base}..HEAD", check=19)
    assert shown.json["findings"][0]["paths"] == ["docs/d.md"]
    assert run("guard", "check", "--range", "HEAD~1..HEAD", check=19).json["refused"] == 1
    for span in ("HEAD", "nowhere..HEAD", "--output=x..HEAD", "..", "a...b"):
        run("guard", "check", f"--range={span}", check=2)


def test_the_push_check_by_hand(site: MakeSite) -> None:
    made = site(claim="own")
    head = work(made, "docs/d.md", branch="a")
    line = f"refs/heads/a {head} refs/heads/a {'0' * 40}\n".encode()
    assert made.clone.run("guard", "check", "--push", stdin=line, check=19).json["source"] == "push"
    found = made.clone.run("guard", "check", "--push", check=19).json["findings"][0]
    assert (found["paths"], len(found["commits"])) == (["docs/d.md"], 1)
    made.clone.run("guard", "check", "--push", stdin=b"--upload-pack=x y z w\n", check=2)


def test_two_claims_are_two_trailers(site: MakeSite) -> None:
    made = site(claim="own")
    second = hold(made.clone, "own", ("/docs/",))
    passed(made.sh("echo x >> src/a.py; echo x >> docs/d.md; git commit -q -a -m work"))
    named = made.clone.git("log", "-1", "--format=%(trailers:key=Loopx-Claim,valueonly)").split()
    assert named == sorted([f"{made.todo}@1", f"{second}@1"])
    passed(push(made, "HEAD:work"))
