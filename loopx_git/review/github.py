"""What a forge's check shows: annotations as workflow commands, and a step summary."""

from __future__ import annotations

from collections.abc import Sequence

from loopx_git.review.check import ReviewFinding

#: The forge shows so many annotations of a step and drops the rest.
ANNOTATIONS_MAX = 50


def workflow_commands(findings: Sequence[ReviewFinding]) -> list[str]:
    """One workflow command a finding. Whatever stands in it, the runner reads one command of one line."""
    lines = []
    for finding in findings[:ANNOTATIONS_MAX]:
        place = "" if finding.file is None else f"file={_property(finding.file)},"
        title = _property(f"loopx: {finding.rule} in {finding.commit[:10]}")
        text = finding.message + (f"\n{finding.way_out}" if finding.way_out else "")
        lines.append(f"::{finding.level} {place}title={title}::{_value(text)}")
    return lines


def _value(text: str) -> str:
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _value(text).replace(":", "%3A").replace(",", "%2C")
