"""The report: what it says about real histories, and that no text of a todo acts in a comment or on a page."""

from __future__ import annotations

import html as entities
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import html5lib
import pytest
from clones import World
from markdown_it import MarkdownIt
from review.coding import Coding

from loopx_git.review.check import ReviewFinding
from loopx_git.review.escape import code, html, label, plain
from loopx_git.review.github import workflow_commands
from loopx_git.review.markdown import TOTAL_MAX, markdown
from loopx_git.review.page import page
from loopx_git.review.report import Event, Graph, PathReport, Report, TodoReport, report

API, NEXT = "todo_aaaa00000001", "todo_bbbb00000002"

HOSTILE = [
    "```\n</details>\n# out of the fence\n```", "`` ` ``` ````", "~~~", "| a | b |\n|---|---|",
    "\\`x\\` \\| \\", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>",
    "<img src='https://evil.example/beacon.png'>", "![beacon](https://evil.example/b.png)",
    "[click](javascript:alert(1))", "<javascript:alert(1)>", "[x]: https://e.example", "@all", "@codex-1 look",
    "cc @org/team", "fixes #1", "closes org/repo#12", "GH-1 gh-22", "!1 $1 ~1 %1 &1", "https://evil.example/x",
    "www.evil.example", "WWW.evil.example", "a@evil.example", "http&#58;//evil.example", "&lt;script&gt;",
    "&#60;script&#62;", "&amp;lt;b&amp;gt;", "&#x40;all", "&commat;all", "<!-- loopx review report -->",
    "--> <b>", "<![CDATA[x]]>", "<?php ?>", "<b onclick=x", "\"><svg/onload=alert(1)>", "\u202eevil\u202c",
    "\u2066x\u2069", "zero\u200bwidth\u200d@all", "\u2028line\u2029", "\x1b[31mred\x07", "\x00nul", "\ud800",
    "*b* _i_ ~~s~~ **B**", "# h", "- [ ] task", "1. one", "> quote", ":tada: :+1:", "$$x$$ $`x`$",
    "%%{init: {}}%%", "end; click n0 \"javascript:alert(1)\"", "a\"]-->b[\"c", "graph LR; x-->y",
    "{{ secrets.X }} ${{ github.token }}", "::set-output name=x::y", "::error::z", "x" * 10_000, "@" * 10_000,
    "`" * 10_000, "<" * 10_000, "ünï 漢字 🎉", "a" * 199 + "&",
]  # fmt: skip
TAGS = {
    "html", "head", "body", "h1", "h2", "h3", "h4", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "pre",
    "br", "meta", "title", "style", "hr",
}  # fmt: skip


def hostile_report(text: str) -> Report:
    """A report in which every text is that one."""
    event = Event("2026-01-02T03:04:05Z", "claimed", text, 1, 2)
    todo = TodoReport(API, text, "open", text, 1, (f"{API}@1", text), (event,), 0, 0, text)
    graph = Graph(((API, text, "open", True), (NEXT, text, "open", False)), ((API, NEXT, "needs"),))
    finding = ReviewFinding("missing", "error", "c" * 40, text, text, text, API, 1, text)
    path = PathReport(text, ("c" * 40,), (f"{API}@1", text), (text,))
    return Report("b" * 40, "c" * 40, "d" * 40, 1, False, (todo,), (path,), (finding,), graph)


def parsed(text: str) -> Any:
    """The document as a strict parser reads it: a mistake in the markup is an error."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)


def check_inert(document: Any) -> None:
    """Only our own markup, no address, no handler; and in its text nothing that a forge would link."""
    for element in document.iter():
        if not isinstance(element.tag, str):
            assert element.text is not None
            assert "loopx review report" in element.text
            continue
        assert element.tag in TAGS, element.tag
        allowed = {"class", "lang", "charset", "http-equiv", "content", "name", "style"}
        assert set(element.attrib) <= allowed, element.attrib
        assert not str(element.attrib.get("style", "")).replace("text-align:left", ""), element.attrib
        inside = element.tag in ("code", "pre", "style", "title")
        for text in ("" if inside else element.text or "", element.tail or ""):
            check_text(text)


_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b-\u200f\u2028\u2029]")


def check_text(text: str) -> None:
    assert not re.search(r"@[A-Za-z0-9]", text), text[:200]
    assert not re.search(r"[#!$~%&][0-9]", text), text[:200]
    assert not re.search(r"\b(?:GH|gh)-[0-9]", text), text[:200]
    assert not re.search(r"(?:https?|ftp|javascript):[^\u2060]", text, re.IGNORECASE), text[:200]
    assert not re.search(r"www\.[A-Za-z0-9]", text, re.IGNORECASE), text[:200]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b-\u200f\u2028\u2029]", text), (
        text[:200]
    )


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("with_html", [True, False])
def test_no_text_acts_in_a_comment(text: str, with_html: bool) -> None:
    source = markdown(hostile_report(text))
    assert len(source) <= TOTAL_MAX + 200
    renderer = MarkdownIt("commonmark", {"html": with_html}).enable(["table", "strikethrough"])
    rendered = renderer.render(source.encode("utf-8", "replace").decode())
    check_inert(parsed(f"<!DOCTYPE html><html><head><title>x</title></head><body>{rendered}</body></html>"))
    # Nothing left the table or the fence that it stood in.
    assert rendered.count("<table>") == 3
    assert rendered.count("<pre>") == 1
    assert rendered.count("<h4>") == 4


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_acts_on_a_page(text: str) -> None:
    source = page(hostile_report(text)).encode("utf-8", "strict").decode()
    document = parsed(source)
    check_inert(document)
    assert len(document.findall(".//table")) == 3


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_acts_in_an_annotation(text: str) -> None:
    for line in workflow_commands(hostile_report(text).findings):
        assert "\n" not in line
        assert line.startswith("::error file=")


def test_escaped_text_reads_as_it_was() -> None:
    assert entities.unescape(html("a <b> & 'c' #1 @d")).replace("\u2060", "") == "a <b> & 'c' #1 @d"
    assert plain("x" * 300).endswith("…")
    assert len(plain("x" * 300)) == 200
    assert code("src/a_b.py") == "`src/a_b.py`"
    assert "`" not in code("a`b")
    assert label('"] --> x["<b>') == "·· ··· x···b·"


@pytest.fixture
def coding(ledger: World) -> Coding:
    coding = Coding(ledger, ledger.clone("dev"))
    coding.todo(NEXT, "what it needs")
    coding.todo(API, "the api", scope=("api/**",), depends_on=())
    return coding


def test_it_says_what_happened(coding: Coding) -> None:
    client = coding.client
    coding.claim(API, "alice", "one")
    client.task_lease.renew(f"{API}@1", agent_id="alice", session="one")
    client.task_lease.renew(f"{API}@1", agent_id="alice", session="one")
    client.todo.transfer(API, to="bob", agent_id="alice", session="one")
    client.todo.update(API, agent_id="bob", session="two", note="mine now", depends_on=(NEXT,))
    coding.branch("work")
    coding.commit({"api/a.py": "1", "web/b.js": "1"}, [f"{API}@2"])
    coding.commit({"api/a.py": "2"}, [f"{API}@2"])
    found = report(coding.review())
    (todo,) = found.todos
    assert [(event.what, event.agent, event.count) for event in todo.events] == [
        ("added", "tester@example.com", 1), ("claimed", "alice", 1), ("renewed", "alice", 2),
        ("handed over", "alice", 1), ("updated", "bob", 1),
    ]  # fmt: skip
    assert (todo.title, todo.holder, todo.epoch, todo.status) == ("the api", "bob", 2, "open")
    assert [(item.path, len(item.commits), item.claims, item.wrong) for item in found.paths] == [
        ("api/a.py", 2, [f"{API}@2"], ()), ("web/b.js", 1, [], ["outside"]),
    ]  # fmt: skip
    assert found.graph.edges == [(API, NEXT, "needs")]
    assert json.loads(json.dumps(found.as_json()))["ok"] is False
    text = markdown(found)
    assert "held by bob (epoch 2)" in text
    assert 'n0(["aaaa the api open"])' in text
    assert "| `web/b.js` | 1 | - | outside |" in text


def test_it_says_how_long_it_took_and_who_took_over(coding: Coding) -> None:
    coding.claim(API, "alice", "one")
    coding.client.todo.claim(API, agent_id="alice", session="two", resume=True)
    coding.branch("work")
    coding.commit({"api/a.py": "1"}, [f"{API}@2"])
    coding.client.todo.complete(API, agent_id="alice", session="two")
    (todo,) = report(coding.review()).todos
    assert [event.what for event in todo.events] == ["added", "claimed", "resumed", "completed"]
    assert todo.took is not None
    assert (todo.holder, todo.status) == (None, "completed")


def test_the_command_has_three_formats(coding: Coding) -> None:
    coding.branch("work")
    coding.commit({"api/a.py": "1"}, [coding.claim(API, "alice")])
    args = ["review", "report", "--base", "origin/main"]
    assert "### loopx: every change is covered" in coding.clone.run(*args, json=False).out
    assert coding.clone.run(*args, "--format", "html", json=False).out.startswith("<!DOCTYPE html>")
    assert json.loads(coding.clone.run(*args, "--format", "json", json=False).out)["ok"] is True


def test_a_large_report_stays_within_a_comment() -> None:
    one = hostile_report("<" * 10_000)
    many = replace(one, todos=one.todos * 30, paths=one.paths * 500, findings=list(one.findings) * 500)
    text = markdown(many)
    assert len(text) <= TOTAL_MAX + 200
    assert text.count("```") % 2 == 0
    assert "left out" in text


@pytest.mark.browser
def test_nothing_leaves_the_page_in_a_browser(tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium on this machine")
    for number, text in enumerate(HOSTILE):
        file = tmp_path / f"{number}.html"
        file.write_text(page(hostile_report(text)), encoding="utf-8")
        log = tmp_path / f"{number}.json"
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
             f"--log-net-log={log}", "--dump-dom", file.as_uri()],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        assert "<script" not in done.stdout
        assert "<img" not in done.stdout
        assert "evil.example" not in log.read_text()
