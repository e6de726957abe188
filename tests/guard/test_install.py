"""Install, uninstall, status: every manager's way, every foreign hook kept, every byte given back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from clones import Clone, World, differences, fired, footprint, plant, sentinel
from sites import BIN, HUSKY, LEFTHOOK, LEFTHOOK_STUB, OFF, hold

from loopx_git.client.client import Client
from loopx_git.errors import InvalidState, NotAllowed
from loopx_git.guard import install as installing
from loopx_git.guard import shims
from loopx_git.guard.hook import NAMES
from loopx_git.guard.hook_managers.folder import ManagerKind
from loopx_git.guard.hook_managers.found import find
from loopx_git.guard.install import Installed, install, uninstall
from loopx_git.guard.status import GuardStatus, status
from loopx_git.store.repository import Repository

Prepare = Callable[[World, Clone], None]


@pytest.fixture
def clone(ledger: World) -> Clone:
    made = ledger.clone("work")
    env = {**made.env, "PATH": f"{ledger.home / 'bin'}:{BIN}:{made.env['PATH']}"}
    return Clone(made.path, env)


def repository(clone: Clone) -> Repository:
    return Client(clone.path, clone.env).connection.repository


def ours(clone: Clone) -> dict[str, bytes]:
    """Every file of ours in the git directory, by its path."""
    return {
        str(path): path.read_bytes() for path in clone.home.rglob("*") if path.is_file() and ".git/" not in path.name
    }


def changes(before: dict[str, object], clone: Clone) -> dict[str, object]:
    """What is otherwise now; the pre-commit framework keeps a store in the home, and touches it at every run."""
    after = footprint(clone)
    return {key: values for key, values in differences(before, after).items() if key != "home"}


def prove(clone: Clone) -> GuardStatus:
    found = Client(clone.path, clone.env)
    return status(found.connection.repository, os.urandom)


def nothing(world: World, clone: Clone) -> None:
    pass


def no_hooks_folder(world: World, clone: Clone) -> None:
    for path in (clone.common_dir / "hooks").iterdir():
        path.unlink()
    (clone.common_dir / "hooks").rmdir()


def foreign(world: World, clone: Clone) -> None:
    for name in ("pre-commit", "prepare-commit-msg", "pre-push"):
        sentinel(clone.common_dir / "hooks" / name, then="cat > /dev/null; exit 0")
    plant(clone.common_dir / "hooks/post-commit", "#!/bin/sh\nexit 1\n", 0o644)
    plant(clone.common_dir / "hooks/pre-commit.before-loopx", "somebody else's\n", 0o600)


def linked_hook(world: World, clone: Clone) -> None:
    plant(clone.common_dir / "hooks/real", "#!/bin/sh\nexit 0\n", 0o700)
    (clone.common_dir / "hooks/pre-commit").symlink_to("real")


def ignored_folder(world: World, clone: Clone) -> None:
    (clone.path / ".git/info/exclude").write_text(".githooks\n")
    sentinel(clone.path / ".githooks/pre-commit", then="exit 0")
    clone.config("core.hooksPath", ".githooks")


def framework(world: World, clone: Clone) -> None:
    pytest.importorskip("pre_commit")
    plant(clone.common_dir / "hooks/pre-push", "#!/bin/sh\nexit 0\n")
    clone.commit(".pre-commit-config.yaml", "repos: []\n")
    command = [sys.executable, "-m", "pre_commit", "install", "-t", "pre-commit", "-t", "pre-push"]
    subprocess.run(command, cwd=clone.path, env=dict(clone.env), check=True, capture_output=True)


def lefthook(world: World, clone: Clone) -> None:
    clone.commit("lefthook.yml", "pre-commit:\n  commands:\n    lint:\n      run: 'true'\n")
    for name in NAMES:
        plant(clone.common_dir / "hooks" / name, LEFTHOOK_STUB.format(name=name))
    plant(world.home / "bin/lefthook", LEFTHOOK)


def husky(world: World, clone: Clone) -> None:
    plant(clone.path / ".husky/_/h", HUSKY)
    (clone.path / ".husky/_/.gitignore").write_text("*")
    for name in NAMES:
        plant(clone.path / f".husky/_/{name}", '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
    clone.commit(".husky/pre-commit", "true")
    clone.commit(".husky/pre-push", '#!/bin/sh\nwhile read -r line; do echo "$line" >> ../pushed; done\n')
    clone.config("core.hooksPath", ".husky/_")


def shared_folder(world: World, clone: Clone) -> None:
    (world.root / "hooks").mkdir()
    world.configure(f'[core]\n\thooksPath = "{world.root / "hooks"}"\n', more=True)


def tracked_folder(world: World, clone: Clone) -> None:
    clone.commit("hooks/pre-commit", "#!/bin/sh\nexit 0\n")
    os.chmod(clone.path / "hooks/pre-commit", 0o755)
    clone.config("core.fileMode", "false")
    clone.config("core.hooksPath", "hooks")


CASES: dict[str, tuple[Prepare, ManagerKind, bool]] = {
    prepare.__name__: (prepare, kind, force)
    for prepare, kind, force in (
        (nothing, ManagerKind.PLAIN, False), (no_hooks_folder, ManagerKind.PLAIN, False),
        (foreign, ManagerKind.PLAIN, False), (linked_hook, ManagerKind.PLAIN, False),
        (ignored_folder, ManagerKind.PLAIN, False), (framework, ManagerKind.FRAMEWORK, False),
        (lefthook, ManagerKind.LEFTHOOK, False), (husky, ManagerKind.HUSKY, True),
        (shared_folder, ManagerKind.PLAIN, True),
        (tracked_folder, ManagerKind.PLAIN, True),
    )
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_runs_and_leaves_the_repository_byte_for_byte(ledger: World, clone: Clone, name: str) -> None:
    prepare, kind, force = CASES[name]
    hold(clone, "other")
    prepare(ledger, clone)
    clone.git("status")
    before, mine = footprint(clone), ours(clone)
    if prepare is not foreign and prepare is not ignored_folder:
        # Theirs run in a dry commit as in any other, and those two would leave a trace.
        assert not any(hook.runs for hook in prove(clone).hooks)
    assert changes(before, clone) == {}
    if force:
        with pytest.raises(NotAllowed):
            install(repository(clone))
        assert changes(before, clone) == {}
    done = install(repository(clone), force=force)
    assert done.kind == kind
    between = footprint(clone)
    found = prove(clone)
    assert [hook for hook in found.hooks if not hook.runs] == []
    assert (found.ok, found.installed, found.kind) == (True, True, kind)
    assert changes(between, clone) == {}
    # A second install renews the first, and still knows what was there at the beginning.
    install(repository(clone), force=force)
    removed = uninstall(repository(clone))
    assert removed.left == ()
    assert changes(before, clone) == {}
    assert ours(clone) == mine


def test_a_foreign_hook_runs_first_and_can_still_refuse(ledger: World, clone: Clone) -> None:
    hold(clone, "own")
    clone.config("loopx.agent", "alice")
    (clone.path / "src").mkdir()
    (clone.path / "src/a").write_text("x")
    clone.git("add", "src")
    theirs = sentinel(clone.common_dir / "hooks/pre-commit", then="exit 1")
    install(repository(clone))
    assert "loopx" not in clone.git("commit", "-q", "-m", "work", check=False)
    assert fired(theirs)
    assert clone.git("log", "-1", "--format=%s") != "work"
    plant(clone.common_dir / "hooks/pre-commit.before-loopx", "#!/bin/sh\nexit 0\n")
    clone.git("commit", "-q", "-m", "work")
    assert clone.git("log", "-1", "--format=%s") == "work"


def test_both_read_what_is_pushed(ledger: World, clone: Clone) -> None:
    heard = ledger.root / "heard"
    plant(clone.common_dir / "hooks/pre-push", f'#!/bin/sh\ncat > "{heard}"\n')
    hold(clone, "other")
    clone.config("loopx.agent", "alice")
    install(repository(clone))
    clone.commit("src/a", "x")
    done = subprocess.run(["git", "push", "-q", "origin", "HEAD:work"], cwd=clone.path, env=dict(clone.env),
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode != 0
    assert "bob holds" in done.stderr
    assert heard.read_text().startswith("HEAD ")


def test_husky_hands_on_what_is_pushed(ledger: World, clone: Clone) -> None:
    husky(ledger, clone)
    todo = hold(clone, "own", ("/src/", "/.husky/"))
    clone.config("loopx.agent", "alice")
    clone.git(*OFF, "push", "-q", "origin", "HEAD:before")
    install(repository(clone), force=True)
    clone.git("add", "-A")
    clone.git(*OFF, "commit", "-q", "-m", f"hooks\n\nLoopx-Claim: {todo}@1")
    clone.git("push", "-q", "origin", "HEAD:work")
    assert (ledger.root / "pushed").read_text().startswith("HEAD ")


def test_what_somebody_changed_since_is_left_alone(clone: Clone) -> None:
    install(repository(clone))
    changed = clone.common_dir / "hooks/pre-commit"
    changed.write_text("#!/bin/sh\nexit 0\n")
    assert uninstall(repository(clone)).left == (str(changed),)
    assert changed.read_text() == "#!/bin/sh\nexit 0\n"


def test_an_interrupted_install_is_taken_away_like_a_whole_one(
    ledger: World, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign(ledger, clone)
    clone.git("status")
    before = footprint(clone)
    write, count = installing.write_file, []

    def dying(path: str, data: bytes) -> None:
        count.append(path)
        if len(count) == 3:
            raise KeyboardInterrupt
        write(path, data)

    monkeypatch.setattr(installing, "write_file", dying)
    with pytest.raises(KeyboardInterrupt):
        install(repository(clone))
    monkeypatch.undo()
    uninstall(repository(clone))
    assert differences(before, footprint(clone)) == {}


def test_the_framework_installed_over_ours_is_noticed(clone: Clone) -> None:
    pytest.importorskip("pre_commit")
    clone.commit(".pre-commit-config.yaml", "repos: []\n")
    install(repository(clone))
    subprocess.run([sys.executable, "-m", "pre_commit", "install"], cwd=clone.path, env=dict(clone.env), check=True,
                   capture_output=True)  # fmt: skip
    assert prove(clone).ok
    theirs = (clone.common_dir / "hooks/pre-commit").read_bytes()
    uninstall(repository(clone))
    assert not (clone.common_dir / "hooks/pre-commit.legacy").exists()
    assert (clone.common_dir / "hooks/pre-commit").read_bytes() == theirs


def test_hooks_in_gits_configuration(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """For git 2.54 and newer: what is written, and that it is taken away again; an older git runs nothing of it."""
    clone.config("hook.theirs.event", "pre-commit")
    clone.config("hook.theirs.command", "true")
    assert find(repository(clone)).kind is ManagerKind.PLAIN
    monkeypatch.setattr(Repository, "git_release", (2, 54))
    before = footprint(clone)
    done: Installed = install(repository(clone))
    assert done.kind == ManagerKind.CONFIGURED
    assert clone.git("config", "hook.loopx-pre-push.event") == "pre-push"
    assert clone.git("config", "hook.loopx-pre-push.command").endswith("guard hook pre-push")
    uninstall(repository(clone))
    changed = differences(before, footprint(clone))
    assert [key for key, (was, now) in changed.items() if was[0] != now[0]] == []  # type: ignore[index]


def test_a_place_that_is_not_ours_alone_is_refused_with_the_lines_to_add(ledger: World, clone: Clone) -> None:
    husky(ledger, clone)
    with pytest.raises(NotAllowed, match=r'\.husky/pre-push: git-loopx guard hook pre-push "\$@"'):
        install(repository(clone))
    clone.config("--unset", "core.hooksPath")
    lefthook(ledger, clone)
    (clone.path / "lefthook-local.yml").write_text("{}\n")
    with pytest.raises(NotAllowed, match="use_stdin"):
        install(repository(clone), force=True)


def test_hooks_that_are_switched_off_are_named(clone: Clone) -> None:
    clone.config("core.hooksPath", "/dev/null")
    with pytest.raises(InvalidState, match="runs no hooks here"):
        install(repository(clone), force=True)


def test_a_folder_that_cannot_be_written_leaves_everything_as_it_was(
    ledger: World, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign(ledger, clone)
    clone.git("status")
    before = footprint(clone)
    write = installing.write_file

    def full(path: str, data: bytes) -> None:
        if path.endswith("pre-push"):
            raise OSError(28, "No space left on device", path)
        write(path, data)

    monkeypatch.setattr(installing, "write_file", full)
    with pytest.raises(InvalidState, match="No space left"):
        install(repository(clone))
    assert differences(before, footprint(clone)) == {}
    assert installing.record_of(repository(clone)) is None


def test_a_record_that_cannot_be_read_stops_both(clone: Clone) -> None:
    install(repository(clone))
    (clone.home / installing.RECORD).write_text("{")
    for change in (install, uninstall):
        with pytest.raises(InvalidState, match="guard-install"):
            change(repository(clone))


def test_the_program_is_found_or_the_commit_is_refused(clone: Clone) -> None:
    hold(clone, "own")
    install(repository(clone))
    shim = clone.common_dir / "hooks/pre-commit"
    shim.write_text(shim.read_text().replace(shims.program(), "/nowhere/git-loopx"))
    bare = {**clone.env, "PATH": "/usr/bin:/bin"}
    done = subprocess.run([shim], cwd=clone.path, env=bare, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install loopx-git" in done.stderr


def test_a_gate_that_stopped_is_noticed(clone: Clone) -> None:
    hold(clone, "own")
    install(repository(clone))
    assert clone.run("guard", "status").json["ok"] is True
    os.chmod(clone.common_dir / "hooks/pre-commit", 0o644)
    shown = clone.run("guard", "status", check=19)
    silent = [hook["name"] for hook in json.loads(shown.out)["hooks"] if not hook["runs"]]
    assert silent == ["pre-commit"]
    clone.config("core.hooksPath", "/dev/null")
    shown = clone.run("guard", "status", check=19)
    assert len([hook for hook in shown.json["hooks"] if not hook["runs"]]) == len(NAMES)
    clone.config("--unset", "core.hooksPath")
    clone.run("guard", "install")
    (clone.path / ".loopx/config.toml").write_text('[guard]\nmode = "off"\n')
    assert clone.run("guard", "status", check=19).json["mode"] == "off"


def test_in_the_middle_of_a_merge_the_status_still_proves_it(clone: Clone) -> None:
    hold(clone, "own")
    clone.commit("a", "1\n")
    clone.git("checkout", "-q", "-b", "side")
    clone.commit("a", "2\n")
    clone.git("checkout", "-q", "-")
    clone.commit("a", "3\n")
    install(repository(clone))
    clone.git("merge", "-q", "side", check=False)
    before = footprint(clone)
    assert all(hook.runs for hook in prove(clone).hooks)
    assert differences(before, footprint(clone)) == {}
