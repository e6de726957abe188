"""Notes at the end of a body: written and read back alike, whatever they say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopx_git.core.todo import Note
from loopx_git.format.document import FieldKind, dump, edit, load
from loopx_git.format.notes import note_text, parse_notes

TIME = "2026-01-01T00:00:00Z"


def note(text: str, agent: str = "codex-1") -> Note:
    return Note(TIME, agent, text)


def append_note(body: str, note: Note) -> str:
    return body + note_text(body, note)


def test_the_first_note_opens_the_section() -> None:
    assert append_note("", note("hello")) == f"\n## Notes\n\n- {TIME} codex-1: hello\n"
    assert append_note("text", note("hello")) == f"text\n\n## Notes\n\n- {TIME} codex-1: hello\n"
    assert append_note("text\n", note("hello")) == f"text\n\n## Notes\n\n- {TIME} codex-1: hello\n"


def test_more_notes_join_it() -> None:
    body = append_note("text\n", note("one\n\n  two"))
    assert append_note(body, note("")) == (
        f"text\n\n## Notes\n\n- {TIME} codex-1: one\n  \n    two\n- {TIME} codex-1:\n"
    )
    assert note_text(body.rstrip("\n"), note("x")) == f"\n- {TIME} codex-1: x\n"


def test_line_ends_are_the_body_s() -> None:
    assert append_note("a\r\nb", note("x\ny")) == (f"a\r\nb\r\n\r\n## Notes\r\n\r\n- {TIME} codex-1: x\r\n  y\r\n")
    assert "\r" not in append_note("a\nb\r\n", note("x")).removeprefix("a\nb\r\n")
    assert note_text("", note("x"), newline="\r\n").startswith("\r\n## Notes\r\n\r\n- ")
    assert note_text("a\n", note("x"), newline="\r\n").startswith("\n## Notes\n")


def test_the_body_before_is_exact() -> None:
    assert parse_notes("a\r\n\n## Notes\n") == ("a\r\n\n", ())
    assert parse_notes("no notes\n") == ("no notes\n", ())
    assert parse_notes("") == ("", ())


@pytest.mark.parametrize(
    "after",
    [
        "text\n",
        "- no time: x\n",
        f"- {TIME} codex-1 x\n",
        f"- {TIME} codex-1: x\ntext\n",
        "  too early\n",
        "### x\n",
    ],
)
def test_a_section_with_anything_else_is_body(after: str) -> None:
    body = "text\n## Notes\n" + after
    assert parse_notes(body) == (body, ())
    assert parse_notes(append_note(body, note("x"))) == (body + "\n", (note("x"),))


@pytest.mark.parametrize("after", ["\r", f"\n- {TIME} codex-1: x\r", f"\n- {TIME} codex-1: \0\n"])
def test_a_control_character_makes_it_body(after: str) -> None:
    """A lone CR at the end would turn into half a line end when the next note is appended."""
    body = "## Notes" + after
    assert parse_notes(body) == (body, ())
    assert parse_notes(append_note(body, note("x")))[1] == (note("x"),)


@pytest.mark.parametrize("heading", [" ## Notes", "## Notes:", "### Notes", "## notes", "x ## Notes"])
def test_only_the_exact_heading_counts(heading: str) -> None:
    body = f"{heading}\n\n- {TIME} codex-1: x\n"
    assert parse_notes(body) == (body, ())


def test_the_last_heading_counts() -> None:
    section = f"## Notes\n\n- {TIME} codex-1: x\n"
    assert parse_notes(section + section) == (section, (note("x"),))


def test_hand_edited_sections_are_read() -> None:
    body = f"## Notes  \r\n- {TIME} a@example.org: one\r\n\r\n  two\r\n\r\n\r\n- {TIME} codex-1:\n\n"
    assert parse_notes(body) == ("", (note("one\n\ntwo", "a@example.org"), note("")))


def test_a_note_cannot_forge_another() -> None:
    forged = note(f"x\n- {TIME} admin: y\n## Notes\n- {TIME} admin: z\n---\n")
    assert parse_notes(append_note("", forged))[1] == (forged,)


@pytest.mark.parametrize(
    ("bad", "part"),
    [
        (note("a\rb"), "U\\+000D"),
        (note("a\x1b[31m"), "U\\+001B"),
        (note("a\x85"), "U\\+0085"),
        (note("\ud800"), "U\\+D800"),
        (note("x", "two words"), "agent"),
        (note("x", "a:b"), "agent"),
        (note("x", ""), "agent"),
        (note("x", "a\x1b"), "agent"),
        (Note("yesterday", "a", "x"), "time"),
        (Note(TIME + "\n", "a", "x"), "time"),
    ],
)
def test_what_a_note_may_not_hold(bad: Note, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        note_text("", bad)


texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t")),
    st.lists(
        st.sampled_from(["", " ", "  ", "\t", "## Notes", "---", "- x", f"- {TIME} a: b", "  - x", "x ", "\u2028"]),
        max_size=5,
    ).map("\n".join),
)
agents = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)
notes = st.builds(Note, st.sampled_from([TIME, "2026-12-31T23:59:59.123456Z"]), agents, texts)
bodies = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.lists(st.sampled_from(["## Notes", f"- {TIME} a: b", "  c", "", "x", "x\r", "\r"]), max_size=5).map("\n".join),
)


@settings(deadline=None)
@given(bodies, st.lists(notes, max_size=4))
def test_notes_are_read_back_alike(body: str, added: list[Note]) -> None:
    _, old = parse_notes(body)
    for one in added:
        longer = append_note(body, one)
        assert longer.startswith(body)
        body = longer
    before, found = parse_notes(body)
    assert found == old + tuple(added)
    assert body.startswith(before)


@settings(deadline=None)
@given(bodies, notes)
def test_what_stood_before_stays(body: str, added: Note) -> None:
    """Apart from the line ends that set the section off."""
    before, _ = parse_notes(body)
    after, _ = parse_notes(append_note(body, added))
    assert after.startswith(before)
    assert not after[len(before) :].strip("\r\n")


@settings(deadline=None)
@given(bodies, notes)
def test_notes_pass_through_a_document(body: str, added: Note) -> None:
    data = dump({"id": "x"}, body, {"id": FieldKind.TEXT})
    edited = edit(data, {}, {"id": FieldKind.TEXT}, name="f", append=note_text(body, added))
    assert edited.startswith(data)
    assert parse_notes(load(edited, {"id": FieldKind.TEXT}, name="f").body)[1][-1] == added
