"""What a push came to: on what real git says in each case, and on what hosts say that cannot be asked here."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from servers import clean_env

from loopx_git.store.base import Pushed, PushKind
from loopx_git.store.process import Finished, git
from loopx_git.store.push_result import classify, unreadable

REF = "refs/heads/loopx/coord"


class Place:
    """A repository that pushes and a bare one that is pushed to; commits 1, 2, 3 build on each other."""

    def __init__(self, folder: Path, words: str = "") -> None:
        self.work, self.remote = folder / "work", folder / "remote.git"
        self.env = {**clean_env(), "GIT_AUTHOR_NAME": "T", "GIT_AUTHOR_EMAIL": "t@example.org",
                    "GIT_COMMITTER_NAME": "T", "GIT_COMMITTER_EMAIL": "t@example.org"}  # fmt: skip
        folder.mkdir(exist_ok=True)
        for path, options in ((self.work, []), (self.remote, ["--bare"])):
            self.run("init", "-q", "-b", "main", *options, str(path), cwd=folder)
        tree = self.run("mktree", cwd=self.work)
        self.commits: list[str] = []
        for message in ("one", "two", "three"):
            parents = [word for oid in self.commits[-1:] for word in ("-p", oid)]
            self.commits.append(self.run("commit-tree", tree, "-m", message + words, *parents, cwd=self.work))
        self.other = self.run("commit-tree", tree, "-m", "another root", cwd=self.work)

    def run(self, *args: str, cwd: Path) -> str:
        done = git(args, cwd=str(cwd), env=self.env, timeout=60)
        assert done.code == 0, done.complaint
        return done.text.strip()

    def push(
        self,
        oid: str,
        *options: str,
        ref: str = REF,
        url: str | None = None,
        timeout: float = 60,
        program: str = "git",
    ) -> Finished:
        args = ["push", "--porcelain", *options, url or str(self.remote), f"{oid}:{ref}"]
        return git(args, cwd=str(self.work), env=self.env, timeout=timeout, program=program)

    def hook(self, name: str, text: str) -> None:
        path = self.remote / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def tip(self, ref: str = REF) -> str:
        return self.run("for-each-ref", "--format=%(objectname)", ref, cwd=self.remote)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "place")


def kind(done: Finished, ref: str = REF) -> PushKind:
    return classify(done, ref).kind


# -- what git says, here and now


def test_a_new_ref_and_a_fast_forward_landed(place: Place) -> None:
    for number, lease in ((0, f"--force-with-lease={REF}:"), (1, f"--force-with-lease={REF}:{place.commits[0]}")):
        done = place.push(place.commits[number], lease)
        assert done.out.startswith(b"To ") and (b"*\t" if number == 0 else b" \t") in done.out
        assert classify(done, REF) == Pushed(PushKind.LANDED, True, classify(done, REF).said)
        assert place.tip() == place.commits[number]


def test_up_to_date_landed(place: Place) -> None:
    """Also with a lease that does not hold: git looks at the object first."""
    place.push(place.commits[0])
    done = place.push(place.commits[0], f"--force-with-lease={REF}:{'1' * 40}")
    assert b"=\t" in done.out and kind(done) is PushKind.LANDED


@pytest.mark.parametrize("lease", ["", "1" * 40])
def test_stale_info_is_lost(place: Place, lease: str) -> None:
    place.push(place.commits[0])
    done = place.push(place.commits[1], f"--force-with-lease={REF}:{lease}")
    assert b"(stale info)" in done.out and done.code == 1
    assert kind(done) is PushKind.LOST
    assert place.tip() == place.commits[0]


def test_non_fast_forward_is_lost(place: Place) -> None:
    place.push(place.commits[1])
    done = place.push(place.commits[0])
    assert b"(non-fast-forward)" in done.out and kind(done) is PushKind.LOST
    place.run("config", "receive.denyNonFastForwards", "true", cwd=place.remote)
    done = place.push(place.commits[0], "--force")
    assert b"[remote rejected] (non-fast-forward)" in done.out and kind(done) is PushKind.LOST


def test_fetch_first_is_lost(place: Place, tmp_path: Path) -> None:
    place.push(place.commits[1])
    elsewhere = Place(tmp_path / "elsewhere", "of somebody else")
    done = elsewhere.push(elsewhere.other, url=str(place.remote))
    assert b"(fetch first)" in done.out and kind(done) is PushKind.LOST


@pytest.mark.parametrize(
    ("hook", "words"), [("pre-receive", "(pre-receive hook declined)"), ("update", "(hook declined)")]
)
def test_a_hook_that_declines(place: Place, hook: str, words: str) -> None:
    place.hook(hook, "echo 'not on a Friday' >&2\nexit 1")
    done = place.push(place.commits[0])
    said = classify(done, REF)
    assert words.encode() in done.out
    assert said.kind is PushKind.DECLINED and "remote: not on a Friday" in said.said


def test_a_hidden_ref_is_declined(place: Place) -> None:
    place.run("config", "transfer.hideRefs", "refs/heads/loopx", cwd=place.remote)
    done = place.push(place.commits[0])
    assert b"(deny updating a hidden ref)" in done.out and kind(done) is PushKind.DECLINED


def test_a_branch_that_is_checked_out_is_declined(place: Place, tmp_path: Path) -> None:
    place.run("init", "-q", "-b", "main", str(tmp_path / "checked-out"), cwd=tmp_path)
    done = place.push(place.commits[0], ref="refs/heads/main", url=str(tmp_path / "checked-out"))
    assert b"(branch is currently checked out)" in done.out
    assert kind(done, "refs/heads/main") is PushKind.DECLINED


def test_a_shallow_push_that_is_not_allowed(place: Place, tmp_path: Path) -> None:
    place.push(place.commits[2])
    shallow = tmp_path / "shallow"
    place.run("clone", "-q", "--depth=1", "-b", "loopx/coord", f"file://{place.remote}", str(shallow), cwd=tmp_path)
    place.run("init", "-q", "--bare", str(tmp_path / "empty.git"), cwd=tmp_path)
    args = ["push", "--porcelain", str(tmp_path / "empty.git"), f"HEAD:{REF}"]
    done = git(args, cwd=str(shallow), env=place.env, timeout=60)
    assert b"(shallow update not allowed)" in done.out and kind(done) is PushKind.DECLINED


def test_a_lock_that_was_left_on_the_server_may_be_a_lost_race(place: Place) -> None:
    place.push(place.commits[0])
    lock = place.remote / f"{REF}.lock"
    lock.touch()
    done = place.push(place.commits[1], f"--force-with-lease={REF}:{place.commits[0]}")
    said = classify(done, REF)
    assert b"[remote rejected] (failed to update ref)" in done.out
    assert said.kind is PushKind.REJECTED and "cannot lock ref" in said.said and ".lock" in said.said


def test_a_clash_of_names_is_rejected(place: Place) -> None:
    place.push(place.commits[0], ref="refs/heads/loopx")
    assert kind(place.push(place.commits[0])) is PushKind.REJECTED


def test_a_server_that_cannot_unpack(place: Place) -> None:
    place.run("config", "receive.maxInputSize", "1", cwd=place.remote)
    done = place.push(place.commits[0])
    assert b"(unpacker error)" in done.out and kind(done) is PushKind.BROKEN


@pytest.mark.parametrize(
    "url",
    ["nowhere", "file:///nowhere/x.git", "http://127.0.0.1:1/x.git", "git://127.0.0.1:1/x.git",
     "ssh://127.0.0.1:1/x.git", "http://nowhere.invalid/x.git", "git://nowhere.invalid/x.git", "nosuch://x/y",
     "ssh://-oProxyCommand=x/y"],
)  # fmt: skip
def test_a_remote_that_is_not_there_was_sent_nothing(place: Place, url: str) -> None:
    said = classify(place.push(place.commits[0], url=url), REF)
    assert (said.kind, said.connected, said.sent) == (PushKind.UNREACHABLE, False, False), said
    assert said.said


def test_an_object_that_is_missing_here(place: Place) -> None:
    done = place.push("1" * 40)
    assert b"(unpacker error)" in done.out and kind(done) is PushKind.BROKEN


def test_no_answer_in_time_is_unknown(place: Place) -> None:
    place.hook("pre-receive", "exec sleep 60 >&- 2>&-")
    done = place.push(place.commits[0], timeout=0.5)
    assert done.timed_out and kind(done) is PushKind.UNKNOWN and not place.tip()


def test_a_push_that_is_killed_may_have_landed(place: Place, tmp_path: Path) -> None:
    """The ref has moved, the server has not answered yet, and the client dies."""
    landed, end = tmp_path / "landed", tmp_path / "end"
    place.hook("post-receive", f"touch {landed}\nwhile [ ! -e {end} ]; do sleep 0.02; done")
    script = tmp_path / "killed"
    script.write_text(
        f'#!/bin/sh\ngit "$@" >/dev/null 2>&1 </dev/null &\n'
        f"while [ ! -e {landed} ]; do sleep 0.02; done\nkill -9 $$\n"
    )
    script.chmod(0o755)
    done = place.push(place.commits[0], program=str(script))
    end.touch()
    assert done.code == -9 and kind(done) is PushKind.UNKNOWN
    assert place.tip() == place.commits[0]


def test_a_receiver_that_dies_is_unknown(place: Place) -> None:
    place.hook("pre-receive", "kill -9 $PPID")
    done = place.push(place.commits[0])
    assert done.code != 0 and kind(done) is PushKind.UNKNOWN


def test_a_push_that_is_killed_is_unknown(place: Place, tmp_path: Path) -> None:
    script = tmp_path / "killed"
    script.write_text(f"#!/bin/sh\nprintf '*\\tx:{REF}\\t[new reference]\\n'\nkill -9 $$\n")
    script.chmod(0o755)
    done = place.push(place.commits[0], program=str(script))
    assert done.code == -9
    assert classify(done, REF).kind is PushKind.UNKNOWN and classify(done, REF).connected


def test_a_git_that_is_not_there(place: Place) -> None:
    done = place.push(place.commits[0], program="/nowhere/git")
    assert done.code == 127 and kind(done) is PushKind.UNKNOWN


# -- what hosts say


def finished(line: str = "", err: str = "", code: int = 1, timed_out: bool = False) -> Finished:
    out = f"To https://example.org/x.git\n{line}\nDone\n" if line else ""
    return Finished(code, out.encode(), err.encode(), timed_out)


def refused(summary: str, err: str = "") -> Finished:
    return finished(f"!\t{'a' * 40}:{REF}\t{summary}", err)


def died(*err: str, code: int = 128, timed_out: bool = False) -> Finished:
    """A push that ended without a line about the ref."""
    return finished(err="\n".join(err) + "\n", code=code, timed_out=timed_out)


ACCESS = "fatal: unable to access 'https://bot:s3cret@example.org/x.git/': The requested URL returned error: "
RPC = "error: RPC failed; HTTP {0} curl 22 The requested URL returned error: {0}\nfatal: the remote end hung up"
NO_USER = "fatal: could not read Username for 'https://example.org': terminal prompts disabled"
NOT_EXPORTED = "fatal: remote error: access denied or repository not exported: /x"
GH006 = "remote: error: GH006: Protected branch update failed\n"
K = PushKind


@pytest.mark.parametrize(
    ("done", "expected", "connected"),
    [
        # smart HTTP
        (died(ACCESS + "403"), K.DECLINED, False),
        (died("remote: Permission to x/y.git denied to bot.", ACCESS + "403"), K.DECLINED, True),
        (died(ACCESS + "401"), K.DECLINED, False),
        (died("fatal: Authentication failed for 'https://example.org/x.git/'"), K.DECLINED, False),
        (died(NO_USER), K.DECLINED, False),
        (died(ACCESS + "429"), K.THROTTLED, True),
        (died(ACCESS + "500"), K.THROTTLED, True),
        (died(ACCESS + "503"), K.THROTTLED, True),
        (died(RPC.format(503), code=1), K.THROTTLED, True),
        (died(RPC.format(403), code=1), K.DECLINED, False),
        (died(ACCESS + "404"), K.UNREACHABLE, False),
        (died("fatal: repository 'https://example.org/x.git/' not found"), K.UNREACHABLE, False),
        (died(ACCESS + "413"), K.UNREACHABLE, False),
        (died(RPC.format(413), code=1), K.UNREACHABLE, False),
        (died(RPC.format(404), code=1), K.UNREACHABLE, False),
        (died(RPC.format(408), code=1), K.UNKNOWN, False),
        (died("error: RPC failed; curl 52 Empty reply from server", code=1), K.UNKNOWN, False),
        # ssh
        (died("git@example.org: Permission denied (publickey).", "fatal: Could not read"), K.DECLINED, False),
        (died("ssh: connect to host example.org port 22: Connection refused"), K.UNREACHABLE, False),
        (died("ssh: Could not resolve hostname example.org"), K.UNREACHABLE, False),
        (died("remote: Compressing", "Connection to example.org closed by remote host."), K.UNKNOWN, True),
        # git://
        (died(NOT_EXPORTED), K.DECLINED, False),
        # the ref
        (refused("[remote rejected] (protected branch hook declined)", GH006), K.DECLINED, True),
        (refused("[remote rejected] (push declined due to repository rule violations)"), K.DECLINED, True),
        (refused("[remote rejected] (You are not allowed to push to protected branch x)"), K.DECLINED, True),
        (refused("[remote rejected] (deletion prohibited)"), K.DECLINED, True),
        (refused("[remote rejected] (cannot lock ref 'x': is at a but expected b)"), K.REJECTED, True),
        (refused("[remote rejected] (incorrect old value provided)"), K.REJECTED, True),
        (refused("[remote rejected] (reference already exists)"), K.REJECTED, True),
        (refused("[remote rejected] (failed to update ref)"), K.REJECTED, True),
        (refused("[remote rejected] (something that nobody thought of)"), K.REJECTED, True),
        (refused("[rejected] (atomic push failed)"), K.REJECTED, True),
        (refused("[rejected] (stale info)"), K.LOST, True),
        (refused("[rejected] (needs force)"), K.LOST, True),
        (refused("[remote rejected] (missing necessary objects)"), K.BROKEN, True),
        (refused("[remote failure] (remote failed to report status)"), K.UNKNOWN, True),
        # no line, and lines that are not ours
        (finished(code=1), K.UNKNOWN, False),
        (finished(code=0), K.UNKNOWN, False),
        (finished("*\tx:refs/heads/another\t[new branch]", code=0), K.UNKNOWN, False),
        (finished(f"*\tx:{REF}-2\t[new branch]", code=0), K.UNKNOWN, False),
        (finished(f"*\tx:{REF}\t[new branch]", code=1), K.UNKNOWN, True),
        (finished(f"*\tx:{REF}\t[new branch]", code=0), K.LANDED, True),
        (finished(f"=\tx:{REF}\t[up to date]", code=0), K.LANDED, True),
        (finished(f"+\tx:{REF}\ta...b (forced update)", code=0), K.LANDED, True),
        (finished(f"*\tx:{REF}\t[new branch]", code=124, timed_out=True), K.UNKNOWN, True),
        (finished(f"!\tx:{REF}\t[rejected] (stale info)", code=124, timed_out=True), K.UNKNOWN, True),
        (died(ACCESS + "403", code=124, timed_out=True), K.UNKNOWN, False),
    ],
)
def test_what_hosts_say(done: Finished, expected: PushKind, connected: bool) -> None:
    said = classify(done, REF)
    assert (said.kind, said.connected) == (expected, connected)
    assert "s3cret" not in said.said
    assert len(said.said) < 2000


@pytest.mark.parametrize(
    ("words", "seconds"),
    [("Retry-After: 30", 30.0), ("retry after 5 seconds", 5.0), ("retry-after:12", 12.0), ("", None)],
)
def test_a_host_says_how_long_to_wait(words: str, seconds: float | None) -> None:
    said = classify(finished(err=f"remote: {words}\n{ACCESS}429\n", code=128), REF)
    assert (said.kind, said.retry_after) == (PushKind.THROTTLED, seconds)


@pytest.mark.parametrize(
    ("err", "kind", "sent"),
    [
        ((ACCESS + "503",), K.THROTTLED, False),
        ((RPC.format(503),), K.THROTTLED, True),
        ((RPC.format(429),), K.THROTTLED, False),
        ((ACCESS + "408",), K.UNKNOWN, False),
        (("fatal: unable to access 'https://x/': Recv failure: Connection reset by peer",), K.UNKNOWN, False),
        (("fatal: unable to access 'https://x/': Failed to connect: Connection timed out",), K.UNKNOWN, False),
        (("fatal: unable to access 'https://x/': SSL certificate problem: self signed",), K.UNREACHABLE, False),
        (("fatal: https://x/info/refs not valid: is this a git repository?",), K.UNREACHABLE, False),
        (("fatal: unable to update url base from redirection:", "  asked for: x"), K.UNREACHABLE, False),
        (("Host key verification failed.", "fatal: Could not read from remote repository."), K.UNREACHABLE, False),
        (("kex_exchange_identification: Connection closed by remote host",
          "fatal: Could not read from remote repository."), K.UNKNOWN, False),
        # what the other side says is none of git's words about the first contact
        (("remote: ssh: connect to host mirror port 22: Connection refused",), K.UNKNOWN, True),
        (("remote: fatal: unable to access 'https://mirror/': no",), K.UNKNOWN, True),
        (("error: RPC failed; curl 56", "fatal: unable to access 'https://x/': no"), K.UNKNOWN, True),
        (("fatal: the remote end hung up unexpectedly",), K.UNKNOWN, True),
        (("fatal: read error: Connection reset by peer",), K.UNKNOWN, True),
    ],
)  # fmt: skip
def test_what_may_have_been_sent(err: tuple[str, ...], kind: PushKind, sent: bool) -> None:
    said = classify(died(*err), REF)
    assert (said.kind, said.sent) == (kind, sent)
    assert classify(died(*err, code=124, timed_out=True), REF).sent
    assert classify(died(*err, code=-9), REF).sent


@pytest.mark.parametrize(
    ("err", "throttled", "lasting"),
    [
        (ACCESS + "429", True, False),
        (ACCESS + "502", True, False),
        (ACCESS + "404", False, True),
        (ACCESS + "403", False, True),
        ("ssh: connect to host x port 22: Connection refused", False, True),
        ("fatal: unable to access 'https://x/': Recv failure: Connection reset by peer", False, False),
        ("fatal: early EOF", False, False),
        ("fatal: couldn't find remote ref refs/heads/x", False, False),
    ],
)
def test_a_look_that_failed(err: str, throttled: bool, lasting: bool) -> None:
    look = unreadable(died(err))
    assert (look.throttled, look.lasting) == (throttled, lasting)
    assert look.error and "s3cret" not in look.error
    assert not unreadable(died(err, code=124, timed_out=True)).lasting


def test_what_is_no_utf8_is_no_trouble() -> None:
    done = Finished(128, b"\xff\t\xfe:x\t\xff\n", b"remote: \xff\xfe\nfatal: \x80\n")
    assert classify(done, REF).kind is PushKind.UNKNOWN


def test_a_title_of_somebody_elses_is_not_read_as_a_line() -> None:
    """Only standard output counts as the answer, and there only a whole line for our ref."""
    forged = f"*\tx:{REF}\t[new branch]\n"
    assert classify(Finished(1, b"", forged.encode()), REF).kind is PushKind.UNKNOWN
    assert classify(Finished(0, b"To x\nremote: " + forged.encode(), b""), REF).kind is PushKind.UNKNOWN


def test_a_broken_pipe_takes_nothing_from_what_git_said() -> None:
    words = b"git: 'remote-nosuch' is not a git command. See 'git --help'.\n"
    said = classify(Finished(-signal.SIGPIPE, b"", words), REF)
    assert (said.kind, said.sent) == (PushKind.UNREACHABLE, False)
    assert classify(Finished(-signal.SIGPIPE, b"", b""), REF).kind is PushKind.UNKNOWN
