"""The result of a `git push --porcelain`: by flag and exit status; the wording only sorts refusals.

It also classifies failed fetches. "Nothing was sent" is read from git's own lines about the first contact; what the
other side says follows `remote: `.
"""

from __future__ import annotations

import re
import signal

from loopx_git.store.base import Fetched, Pushed, PushKind
from loopx_git.store.process import Finished, without_credentials

_THROTTLED = re.compile(r"returned error: (429|5[0-9][0-9])|too many requests|rate limit", re.I)
_FORBIDDEN = re.compile(
    r"returned error: (401|403)|permission (to|denied)|access denied|authentication failed|could not read username|"
    r"not authorized|write access|service not enabled",
    re.I,
)
#: The first contact failed: git had not begun to send.
_UNSENT = re.compile(
    r"^(fatal: unable to access '|fatal: repository '.*' not found|fatal: .* not valid: is this a git repository\?|"
    r"fatal: unable to update url base from redirection|fatal: unable to (connect to|look up) |"
    r"fatal: Could not read from remote repository|fatal: the remote end hung up upon initial contact|"
    r"fatal: .* does not appear to be a git repository|fatal: strange (hostname|pathname|port) |"
    r"fatal: transport '.*' not allowed|git: 'remote-.*' is not a git command|fatal: unable to find remote helper|"
    r"ssh: (connect to host|Could not resolve)|Host key verification failed)",
    re.MULTILINE,
)
#: Of these, what may be otherwise in a moment.
_PASSING = re.compile(
    r"reset by peer|connection (was )?closed|closed by |empty reply|timed? ?out|too slow|hung up|temporary failure|"
    r"returned error: 408",
    re.I,
)
#: A request with the commit in it was answered: by what refused it unread, except for a time-out.
_ANSWERED_RPC = re.compile(r"^error: RPC failed; HTTP ([0-9]{3})", re.MULTILINE)
_REFUSED_UNREAD = re.compile(r"4(?!08)[0-9]{2}")
_RETRY_AFTER = re.compile(r"retry[- ]after:? *([0-9]{1,4})", re.I)
#: Rejections by their reason in the porcelain line; everything else with a flag '!' is REJECTED.
_LOST = re.compile(r"\((fetch first|non-fast-forward|stale info|needs force)\)")
_DECLINED = re.compile(
    r"\((pre-receive hook declined|hook declined|.*protected branch.*|deny updating a hidden ref|"
    r".*declined.*|.*prohibited.*|branch is currently checked out|deletion prohibited|shallow update not allowed)\)"
)
_BROKEN = re.compile(r"\((unpacker error|missing necessary objects|.*unpack.*|shallow.*)\)")
_ANSWERED = re.compile(r"^remote: ", re.MULTILINE)


def classify(done: Finished, ref: str) -> Pushed:
    """Read one finished push of `ref`.

    A line with the flag ' ', '*' or '+' and exit 0 landed; '=' says that the ref stands at our commit already,
    which is ours alone because of its nonce. No line, a signal or a time-out is UNKNOWN: the ref must be read.
    """
    err = without_credentials(done.err.decode("utf-8", "replace"))
    line = _line(done.text, ref)
    said = "\n".join(row for row in err.splitlines() if row.startswith("remote:"))
    if line is None or done.timed_out or done.code < 0:
        connected = line is not None or _ANSWERED.search(err) is not None
        # A missing remote helper can end git by a broken pipe; the error text still tells the result.
        if line is None and not done.timed_out and (done.code > 0 or done.code == -signal.SIGPIPE):
            return _without_line(done.code, err, connected)
        return Pushed(PushKind.UNKNOWN, connected, _last(err) or f"git push ended with {done.code}")
    flag, summary = line
    if flag != "!" and done.code == 0:
        return Pushed(PushKind.LANDED, True, summary)
    if flag != "!":
        return Pushed(PushKind.UNKNOWN, True, f"{summary}; git push ended with {done.code}")
    text = f"{summary}; {said}" if said else summary
    if _LOST.search(summary):
        return Pushed(PushKind.LOST, True, text)
    if _DECLINED.search(summary):
        return Pushed(PushKind.DECLINED, True, text)
    if _BROKEN.search(summary):
        return Pushed(PushKind.BROKEN, True, text)
    if "(remote failure)" in summary or "(remote failed to report status)" in summary:
        return Pushed(PushKind.UNKNOWN, True, text)
    return Pushed(PushKind.REJECTED, True, text)


def _without_line(code: int, err: str, connected: bool) -> Pushed:
    """A push that ended by itself and said nothing of the ref."""
    said = _last(err) or f"git push ended with {code}"
    sent = not _nothing_sent(err)
    if _THROTTLED.search(err):
        return Pushed(PushKind.THROTTLED, True, said, _seconds(err), sent)
    if _FORBIDDEN.search(err):
        return Pushed(PushKind.DECLINED, connected, said)
    if sent or _passing(err):
        return Pushed(PushKind.UNKNOWN, connected, said, sent=sent)
    return Pushed(PushKind.UNREACHABLE, connected, said, sent=False)


def _nothing_sent(err: str) -> bool:
    answered = _ANSWERED_RPC.search(err)
    if answered is not None:
        return _REFUSED_UNREAD.fullmatch(answered[1]) is not None
    return "error: RPC failed" not in err and _UNSENT.search(err) is not None


def _passing(err: str) -> bool:
    # After a refused request git also says that the connection was closed.
    return _ANSWERED_RPC.search(err) is None and _PASSING.search(err) is not None


def unreadable(done: Finished) -> Fetched:
    """A failed fetch, and what another try would bring."""
    err = without_credentials(done.err.decode("utf-8", "replace"))
    said = done.complaint or f"git fetch ended with {done.code}"
    if done.timed_out or (done.code < 0 and done.code != -signal.SIGPIPE):
        return Fetched(error=said)
    if _THROTTLED.search(err):
        return Fetched(error=said, throttled=True, retry_after=_seconds(err))
    hopeless = _nothing_sent(err) and not _passing(err)
    return Fetched(error=said, lasting=done.code == 127 or _FORBIDDEN.search(err) is not None or hopeless)


def refs_in(listed: Finished) -> dict[str, str]:
    """The refs that `git ls-remote` lists: name -> id."""
    rows = (row.partition("\t") for row in listed.text.splitlines())
    return {name: oid for oid, _, name in rows if name}


def _seconds(err: str) -> float | None:
    wait = _RETRY_AFTER.search(err)
    return float(wait[1]) if wait else None


def _line(out: str, ref: str) -> tuple[str, str] | None:
    """(flag, summary) of the porcelain line `<flag>\\t<from>:<to>\\t<summary>` for our ref."""
    for row in out.split("\n"):
        parts = row.split("\t", 2)
        if len(parts) == 3 and len(parts[0]) == 1 and parts[1].partition(":")[2] == ref:
            return parts[0], parts[2]
    return None


def _last(err: str) -> str:
    lines = [row.strip() for row in err.splitlines() if row.strip()]
    return "; ".join(lines[-4:])[:800]
