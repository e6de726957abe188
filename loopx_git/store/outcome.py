"""What a `git push --porcelain` came to: by flag and exit status first, by wording only to sort refusals."""

from __future__ import annotations

import re

from loopx_git.store.base import Pushed, PushKind
from loopx_git.store.process import Finished, without_credentials

_THROTTLED = re.compile(r"returned error: (429|5[0-9][0-9])|too many requests|rate limit", re.I)
_FORBIDDEN = re.compile(
    r"returned error: (401|403)|permission (to|denied)|access denied|authentication failed|could not read username|"
    r"not authorized|write access|service not enabled",
    re.I,
)
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
        wait = _RETRY_AFTER.search(err)
        seconds = float(wait[1]) if wait else None
        if not done.timed_out and done.code > 0 and _THROTTLED.search(err):
            return Pushed(PushKind.THROTTLED, True, _last(err), seconds)
        if not done.timed_out and done.code > 0 and _FORBIDDEN.search(err):
            return Pushed(PushKind.DECLINED, connected, _last(err))
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
