"""The frontmatter document: what is refused and where, canonical bytes, edits that leave the rest alone."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import frontmatter
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from loopx_git.errors import InvalidState
from loopx_git.format.document import MAX_BYTES, FieldKind, Value, dump, edit, load

# content, handler and self are names of parameters inside python-frontmatter.
SCHEMA: Mapping[str, FieldKind] = {
    "id": FieldKind.TEXT,
    "title": FieldKind.TEXT,
    "priority": FieldKind.NUMBER,
    "scope": FieldKind.LIST,
    "content": FieldKind.TEXT,
    "handler": FieldKind.LIST,
    "labels": FieldKind.LIST,
    "self": FieldKind.TEXT,
}
NAME = "todos/todo.md"


def read(text: str) -> Mapping[str, Value]:
    return load(text.encode(), SCHEMA, name=NAME).fields


def change(text: str, changes: Mapping[str, Value]) -> str:
    return edit(text.encode(), changes, SCHEMA, name=NAME).decode()


@pytest.fixture(params=["libyaml", "python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either of PyYAML's parsers: a machine without libyaml must judge a file alike."""
    if request.param == "python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    elif not hasattr(yaml, "CSafeLoader"):
        pytest.skip("PyYAML was built without libyaml")


# ---- refusals

REFUSED = {
    "empty file": ("", 1, "first line must be exactly '---'"),
    "no opening": ("title: x\n---\n", 1, "first line must be exactly '---'"),
    "blank behind opening": ("--- \ntitle: x\n---\n", 1, "first line must be exactly '---'"),
    "blank line first": ("\n---\ntitle: x\n---\n", 1, "first line must be exactly '---'"),
    "four dashes": ("----\ntitle: x\n----\n", 1, "first line must be exactly '---'"),
    "only the opening": ("---", 1, "first line must be exactly '---'"),
    "unterminated": ("---\ntitle: x\n", 1, "not closed"),
    "closed by dots": ("---\ntitle: x\n...\nbody\n", 3, "not closed"),
    "closed with a blank": ("---\ntitle: x\n--- \nbody\n", 3, "not closed"),
    "byte order mark": ("\ufeff---\ntitle: x\n---\n", 1, "byte order mark"),
    "document end": ("---\ntitle: x\n...\n---\n", 3, "'...'"),
    "two documents": ("---\ntitle: x\n--- # next\nid: y\n---\n", 3, "second document"),
    "directive": ("---\n%YAML 1.1\n---\n", 3, "document start"),
    "null document": ("---\n~\n---\n", 2, "not a mapping"),
    "list document": ("---\n# c\n- a\n---\n", 3, "not a mapping"),
    "text document": ("---\njust text\n---\n", 2, "not a mapping"),
    "twice a known key": ("---\ntitle: x\nid: y\ntitle: x\n---\n", 4, "'title' stands here a second time"),
    "twice an unknown key": ("---\nmore: 1\n'more': 1\n---\n", 3, "'more' stands here a second time"),
    "twice a deep key": ("---\nmore:\n  - a: {b: 1,\n     b: 2}\n---\n", 4, "'b' stands here a second"),
    "anchor": ("---\nid: a\ntitle: &x text\n---\n", 3, "an anchor ('&')"),
    "anchor on a key": ("---\n&x title: text\n---\n", 2, "an anchor ('&')"),
    "alias that has a name": ("---\nscope: [\n  *a]\n---\n", 3, "an alias ('*')"),
    "anchor on a list": ("---\nmore:\n- &x [a]\n---\n", 3, "an anchor ('&')"),
    "alias": ("---\nscope: [*.py]\n---\n", 2, "an alias ('*')"),
    "alias as a key": ("---\n*a : b\n---\n", 2, "an alias ('*')"),
    "tag": ("---\ntitle: !!str 1\n---\n", 2, "a tag ('!')"),
    "local tag": ("---\nmore: [a,\n  !x b]\n---\n", 3, "a tag ('!')"),
    "tag on the document": ("---\n!!map\ntitle: x\n---\n", 2, "a tag ('!')"),
    "tag without a name": ("---\ntitle: ! 'x'\n---\n", 2, "a tag ('!')"),
    "merge key": ("---\ntitle: x\n<<: {id: y}\n---\n", 3, "merge keys"),
    "deep merge key": ("---\nmore:\n  a: {<<: {b: c}}\n---\n", 3, "merge keys"),
    "key that is a list": ("---\n[a]: b\n---\n", 2, "not a list or a mapping"),
    "key that is a mapping": ("---\nmore: {{a: b}: c}\n---\n", 2, "not a list or a mapping"),
    "explicit key": ("---\n? title\n: b\n---\n", 2, "write 'key: value'"),
    "explicit block key": ("---\n? |\n  title\n: b\n---\n", 2, "write 'key: value'"),
    "empty key": ('---\n"": b\n---\n', 2, "write 'key: value'"),
    "list for a text": ("---\nid: x\ntitle: [a]\n---\n", 3, "'title' must be one text"),
    "mapping for a text": ("---\ntitle:\n  a: b\n---\n", 2, "'title' must be one text"),
    "list for a number": ("---\npriority: []\n---\n", 2, "'priority' must be one text"),
    "text for a list": ("---\nscope: src/**\n---\n", 2, "'scope' must be a list; write scope: [first"),
    "empty text for a list": ("---\nscope: ''\n---\n", 2, "'scope' must be a list"),
    "mapping for a list": ("---\nscope: {a: b}\n---\n", 2, "'scope' must be a list"),
    "list in a list": ("---\nscope:\n  - a\n  - [b]\n---\n", 4, "an item of 'scope' is not a text"),
    "mapping in a list": ("---\nscope:\n  - fix: it\n---\n", 3, "an item of 'scope' is not a text"),
    "null in a list": ("---\nscope:\n  - a\n  -\n---\n", 4, "an item of 'scope' is null"),
    "tilde in a list": ("---\nscope: [a, ~]\n---\n", 2, "an item of 'scope' is null"),
    "nine deep": ("---\nmore: [[[[[[[[[1]]]]]]]]]\n---\n", 2, "more than 8 deep"),
    "5,000 brackets": ("---\nmore: " + "[" * 5000 + "\n---\n", 2, "more than 8 deep"),
    "5,000 braces": ("---\nmore: " + "{a: " * 5000 + "\n---\n", 2, "more than 8 deep"),
    "5,000 dashes": ("---\nmore:\n " + "- " * 5000 + "x\n---\n", 3, "more than 8 deep"),
    "colon in a text": ("---\nid: x\ntitle: fix: the bug\n---\n", 3, 'like title: "fix: the bug"'),
    "at sign": ('---\ntitle: @all "now"\n---\n', 2, 'like title: "@all \\"now\\""'),
    "open quote": ('---\nid: x\ntitle: "x\nlabels: []\n---\n', 3, "a quote is opened here and not closed"),
    "line without a key": ("---\nid: x\ntitle\nlabels: []\n---\n", 3, "write 'key: value'"),
    "tab as indentation": ("---\nscope:\n\t- a\n---\n", 3, "cannot start any token"),
    "NUL": ("---\ntitle: a\0b\n---\n", 2, "U+0000 as it is; write it as \\x00"),
    "escape character": ("---\n# \x1b[31m\n---\n", 2, "U+001B"),
    "DEL": ("---\ntitle: \x7f\n---\n", 2, "U+007F"),
    "lone CR": ("---\r\nid: x\r\ntitle: a\rb\r\n---\r\n", 3, "a carriage return without a line feed"),
    "CR at the end": ("---\ntitle: a\n---\r", 3, "a carriage return without a line feed"),
    "next line": ("---\ntitle: a\x85b\n---\n", 2, "U+0085"),
    "line separator": ('---\ntitle: "a\u2028b"\n---\n', 2, "U+2028 as it is; write it as \\u2028"),
    "paragraph separator": ("---\n#\n# \u2029\n---\n", 3, "U+2029"),
    "inner byte order mark": ("---\ntitle: a\ufeff\n---\n", 2, "U+FEFF"),
    "escaped surrogate": ('---\ntitle: "\\ud83d\\ude00"\n---\n', 2, "escape"),
    "escape past Unicode": ('---\nmore: ["\\U00110000"]\n---\n', 2, "escape"),
    "escape of nothing": ('---\ntitle: "\\q"\n---\n', 2, "unknown escape"),
}


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_file_and_line(case: str) -> None:
    text, line, part = REFUSED[case]
    started = time.perf_counter()
    with pytest.raises(InvalidState) as caught:
        load(text.encode(), SCHEMA, name=NAME)
    assert caught.value.message.startswith(f"{NAME}:{line}: ")
    assert part in caught.value.message
    assert caught.value.about == {"file": NAME, "line": line}
    assert caught.value.code == 16
    assert time.perf_counter() - started < 5


def test_not_utf8() -> None:
    with pytest.raises(InvalidState, match=r"^f:3: the byte 0xFF is not UTF-8"):
        load(b"---\ntitle: x\nid: \xff\n---\n", SCHEMA, name="f")


def test_size_limit_is_exact() -> None:
    head = b"---\ntitle: x\n---\n"
    assert load(head + b"x" * (MAX_BYTES - len(head)), SCHEMA, name="f").fields == {"title": "x"}
    with pytest.raises(InvalidState, match=r"^f:1: the file has 262145 bytes; 262144 are allowed"):
        load(head + b"x" * (MAX_BYTES - len(head) + 1), SCHEMA, name="f")


def test_refusal_is_no_value_error() -> None:
    """python-frontmatter takes a ValueError in splitting for "no frontmatter"."""
    assert not issubclass(InvalidState, ValueError)


# ---- what is read


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("010", "010"),
        ("no", "no"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("2026-01-01", "2026-01-01"),
        ("0x1F", "0x1F"),
        (".inf", ".inf"),
        ("'null'", "null"),
        ('""', ""),
        ("", None),
        ("~", None),
        ("Null", None),
        ("a # comment", "a"),
        ("a#b", "a#b"),
        ("two\n  lines", "two lines"),
        ("|\n  two\n  lines", "two\nlines\n"),
        (">-\n  two\n  lines", "two lines"),
        ("'it''s'", "it's"),
        ('"\\u2028\\x00\\U0001F600"', "\u2028\0\U0001f600"),
        ("שלום 🎉", "שלום 🎉"),
    ],
)
def test_text_stays_as_written(source: str, value: str | None) -> None:
    assert read(f"---\ntitle: {source}\n---\n") == {"title": value}


def test_a_tab_is_up_to_yaml() -> None:
    assert read("---\ntitle: 'a\tb'\n---\n") == {"title": "a\tb"}


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("", ()),
        (" null", ()),
        (" []", ()),
        (" [no, 010, 'null', \"\"]", ("no", "010", "null", "")),
        (" [a,\n  b]", ("a", "b")),
        ("\n- a\n- b", ("a", "b")),
        ("\n  - a # why\n  # more\n  - |\n    b", ("a", "b\n")),
    ],
)
def test_list_of_texts(source: str, value: tuple[str, ...]) -> None:
    assert read(f"---\nscope:{source}\n---\n") == {"scope": value}


@pytest.mark.usefixtures("parser")
def test_unknown_keys_keep_their_source() -> None:
    loaded = load(
        b"---\n# about\nmore:   {a: [1, 2]} # why\n# next\ntitle: x\n"
        b"deep:\r\n  - a: 1\r\n    # inside\r\n    b:\r\n\n'on': |\n  text\n\n# end\n---\nbody\n",
        SCHEMA,
        name=NAME,
    )
    assert loaded.fields == {"title": "x"}
    assert loaded.extra == {
        "more": "more:   {a: [1, 2]} # why\n",
        "deep": "deep:\r\n  - a: 1\r\n    # inside\r\n    b:\r\n",
        "on": "'on': |\n  text\n",
    }


def test_kept_blank_lines_belong_to_a_block_scalar() -> None:
    loaded = load(b"---\na: |+ # +\n  x\n\n\nb: | # +\n  x\n\r\n\n---\n", SCHEMA, name=NAME)
    assert loaded.extra == {"a": "a: |+ # +\n  x\n\n\n", "b": "b: | # +\n  x\n"}


@pytest.mark.parametrize("body", ["", "x", "\n\n x \r\n---\n...\r", "a\0\u2028\ufeff\n", "---\nid: 1\n---\n"])
def test_body_is_exact(body: str) -> None:
    for end in ("\n", "\r\n"):
        loaded = load(f"---{end}id: 1{end}---{end}{body}".encode(), SCHEMA, name=NAME)
        assert (loaded.body, loaded.newline) == (body, end)


def test_mapping_in_one_line_or_indented_is_read() -> None:
    assert read("---\n{title: x, more: [1],\n scope: [a]}\n---\n") == {"title": "x", "scope": ("a",)}
    assert read("---\n  title: x\n  scope: [a]\n---\n") == {"title": "x", "scope": ("a",)}
    assert read("---\n---") == read("---\n# nothing\n---\n") == read("---\n{}\n---\n") == {}


def test_eight_deep_is_allowed() -> None:
    assert load(b"---\nmore: [[[[[[[[1]]]]]]]]\n---\n", {}, name=NAME).extra


def test_mixed_line_ends() -> None:
    assert read("---\r\ntitle: a\nid: b\r\nscope:\n- c\r\n- d\n---\n") == {
        "title": "a",
        "id": "b",
        "scope": ("c", "d"),
    }


# ---- canonical bytes


def test_canonical_bytes() -> None:
    fields: dict[str, Value] = {
        "id": "2026-01-01T00:00:00Z",
        "title": "Fix: the bug",
        "priority": "2",
        "scope": ("src/**", "a b", "a, b", "3", "no", ""),
        "content": "a, (b) + c@d.e/f_g-h",
        "labels": (),
    }
    assert dump(fields, "\nbody\n", SCHEMA).decode() == (
        "---\n"
        'id: "2026-01-01T00:00:00Z"\n'
        'title: "Fix: the bug"\n'
        "priority: 2\n"
        'scope: [src/**, a b, "a, b", "3", "no", ""]\n'
        "content: a, (b) + c@d.e/f_g-h\n"
        "handler: []\n"
        "labels: []\n"
        "self:\n"
        "---\n"
        "\nbody\n"
    )


@pytest.mark.parametrize(
    "text",
    ["", " a", "a ", "y", "N", "Yes", "OFF", "True", "null", "~", "NaN", "1e3", "0", "-1", "1:30", "a: b",
     "a #b", "a:", "#a", "-", "---", "- a", "? a", "[a", "{a}", "*a", "&a", "!a", "%a", "@a", "`a", "'a'",
     '"a"', "a\n", "a\tb", "<<", "=", "|", ">", ".5", "é", "2026-01-01"],
)  # fmt: skip
def test_what_another_reader_could_misread_is_quoted(text: str) -> None:
    line = dump({"id": text}, "", {"id": FieldKind.TEXT}).decode().split("\n")[1]
    assert line.startswith('id: "') and line.endswith('"')


def test_escapes() -> None:
    text = '\0\x1f\x7f\x85\x9f\u2028\u2029\ufeff\u202e\u2066\uffff\n\r\t"\\ é שלום 🎉👩‍👩‍👧'
    assert dump({"id": text}, "", {"id": FieldKind.TEXT}).decode() == (
        '---\nid: "\\x00\\x1F\\x7F\\x85\\x9F\\u2028\\u2029\\uFEFF\\u202E\\u2066\\uFFFF'
        '\\n\\r\\t\\"\\\\ é שלום 🎉👩‍👩‍👧"\n---\n'
    )
    assert read(dump({"id": text}, "", {"id": FieldKind.TEXT}).decode()) == {"id": text}


def test_only_decimal_digits_are_plain_numbers() -> None:
    for text, line in [("0", "0"), ("10", "10"), ("010", '"010"'), ("-1", '"-1"'), ("١", '"١"')]:
        assert dump({"priority": text}, "", {"priority": FieldKind.NUMBER}).decode().split("\n")[1][10:] == line


def test_what_cannot_be_stored_is_named() -> None:
    with pytest.raises(ValueError, match="'title': half a character"):
        dump({"title": "\ud800"}, "", SCHEMA)
    with pytest.raises(ValueError, match="'scope': half a character"):
        dump({"scope": ("a", "\udfff")}, "", SCHEMA)
    with pytest.raises(ValueError, match="'body': half a character"):
        dump({}, "\ud800", SCHEMA)
    with pytest.raises(ValueError, match="no place in the order for titel"):
        dump({"titel": "x"}, "", SCHEMA)
    with pytest.raises(ValueError, match="262144 are allowed"):
        dump({}, "x" * MAX_BYTES, SCHEMA)


texts = st.text(st.characters(exclude_categories=["Cs"]))
wordlike = st.one_of(
    texts,
    st.text("ab:#-,[]{}&*!|>'\"%@`? ~\n\t", max_size=8),
    st.sampled_from(["no", "Null", "1e3", "12:30", "0o7", ".inf", "...", "---", "<<", "=", "2026-01-01 10:00:00"]),
)
all_fields = st.fixed_dictionaries(
    {
        key: st.lists(wordlike, max_size=4).map(tuple) if kind is FieldKind.LIST else st.none() | wordlike
        for key, kind in SCHEMA.items()
    }
)


@settings(deadline=None)  # the first example imports the YAML parser
@given(all_fields, texts)
def test_what_is_dumped_loads_alike(fields: dict[str, Value], body: str) -> None:
    data = dump(fields, body, SCHEMA)
    loaded = load(data, SCHEMA, name=NAME)
    assert (loaded.fields, loaded.extra, loaded.body) == (fields, {}, body)
    assert dump(loaded.fields, loaded.body, SCHEMA) == data


@settings(deadline=None)  # the first example imports the YAML parser
@given(all_fields)
def test_other_readers_see_the_same_texts(fields: dict[str, Value]) -> None:
    """YAML 1.1 with its booleans, times and base-60 numbers, and python-frontmatter by itself."""
    for key, value in fields.items():
        data = dump({key: value}, "", {key: FieldKind.TEXT}).decode()
        seen, _ = frontmatter.parse(data)
        expected = list(value) if isinstance(value, tuple) else value
        assert seen == yaml.load(data.split("\n")[1], Loader=yaml.SafeLoader) == {key: expected}


# ---- edits

HAND = """---
# by hand
title: 'old'   # why
more: x
labels:
  - a
  - b

content: |
  two
  lines

# last
---
body
"""


@pytest.mark.usefixtures("parser")
def test_only_the_changed_lines_change() -> None:
    edited = change(HAND, {"title": "new: one", "labels": ("c",), "content": None, "priority": "3", "self": "me"})
    assert edited == (
        "---\n# by hand\n"
        'title: "new: one"   # why\n'
        "priority: 3\n"
        "more: x\n"
        "labels: [c]\n"
        "self: me\n"
        "\n"
        "content:\n"
        "\n# last\n---\nbody\n"
    )


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ("title: a", {"title": None}, "title:"),
        ("title: a # c", {"title": None}, "title: # c"),
        ("title: # c", {"title": "a"}, "title: a # c"),
        ("'title' : a", {"title": "b"}, "'title': b"),
        ('title: "a"#c', {"title": "b"}, "title: b #c"),
        ("title: 'a # b'  \t", {"title": "b"}, "title: b"),
        ("title: a\tb\t# c", {"title": "b"}, "title: b\t# c"),
        ("title:\n  # c\nid: x", {"title": "b"}, "title: b\n  # c\nid: x"),
        ("title:\n  a", {"title": "b"}, "title: b"),
        ("title: a\n  b", {"title": "b"}, "title: b"),
        ("title: ''", {"title": None}, "title:"),
        ("title:", {"title": ""}, 'title: ""'),
        ("scope: [a] # c", {"scope": ()}, "scope: [] # c"),
        ("scope: [a,\n  b]", {"scope": ("b",)}, "scope: [b]"),
        ("scope:\n- a\n- 'b # c'", {"scope": None}, "scope: []"),
        ("scope:", {"scope": ("a",)}, "scope: [a]"),
        ("title: |\n  # no comment\n\n\nid: x", {"title": "a"}, "title: a\n\n\nid: x"),
        ("title: |+\n  a\n\n\nid: x", {"title": "a"}, "title: a\nid: x"),
        ("# only", {"id": "a", "self": "b", "title": None, "scope": ()}, "# only\nid: a\nself: b"),
        ("self: a # c\n# d", {"title": ""}, 'self: a # c\n# d\ntitle: ""'),
        ("scope: [a]\nid: x", {"title": "t", "labels": ("l",)}, "scope: [a]\nlabels: [l]\nid: x\ntitle: t"),
        ("priority: 1", {"priority": "2"}, "priority: 2"),
        ("scope: []", {"title": "t", "labels": ("l",)}, "scope: []\nlabels: [l]\ntitle: t"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_edit(before: str, changes: Mapping[str, Value], after: str, end: str) -> None:
    text = f"---\n{before}\n---\n---\nx: \n".replace("\n", end)
    assert change(text, changes) == f"---\n{after}\n---\n---\nx: \n".replace("\n", end)


def test_equal_values_keep_their_bytes() -> None:
    text = "---\ntitle: 'a'\nscope:\n  # why\n  - a\nlabels: ~\n---\n"
    same: dict[str, Value] = {"title": "a", "scope": ("a",), "labels": (), "id": None, "handler": ()}
    data = text.encode()
    assert edit(data, same, SCHEMA, name=NAME) is data
    assert edit(data, {}, SCHEMA, name=NAME, body="") is data


def test_body_is_replaced_and_appended_to() -> None:
    data = b"---\r\nid: x\r\n---\r\nold"
    assert edit(data, {}, SCHEMA, name=NAME, append="\r\nnew") == data + b"\r\nnew"
    assert edit(data, {}, SCHEMA, name=NAME, body="new\n") == b"---\r\nid: x\r\n---\r\nnew\n"
    assert edit(data, {}, SCHEMA, name=NAME, body="", append="a") == b"---\r\nid: x\r\n---\r\na"
    assert edit(data, {}, SCHEMA, name=NAME, body="") == b"---\r\nid: x\r\n---\r\n"


def test_closing_line_without_an_end_gets_one_before_a_body() -> None:
    assert edit(b"---\r\nid: x\r\n---", {}, SCHEMA, name=NAME, append="a") == b"---\r\nid: x\r\n---\r\na"
    assert edit(b"---\nid: x\n---", {"id": "z"}, SCHEMA, name=NAME) == b"---\nid: z\n---"


@pytest.mark.parametrize(
    ("source", "key", "line"),
    [
        ("scope:\n  - a\n  # why\n  - b\n", "scope", 4),
        ("scope: # why\n  - a\n", "scope", 2),
        ("scope:\n  - a # why\n", "scope", 3),
        ("scope: [a, # why\n  b]\n", "scope", 2),
        ("title: | # why\n  a\n", "title", 2),
        ("title:\n  # why\n  a\n", "title", 3),
        ("title:\n  a # why\n", "title", 3),
    ],
)
def test_a_comment_inside_is_not_lost(source: str, key: str, line: int) -> None:
    with pytest.raises(InvalidState, match=rf"^{NAME}:{line}: .*'{key}' holds a comment.*by hand"):
        change(f"---\n{source}---\n", {key: None})


@pytest.mark.parametrize("block", ["{title: a}", "{\ntitle: a\n}", " title: a", "{}"])
def test_a_mapping_without_lines_of_its_own_is_not_edited(block: str) -> None:
    text = f"---\n{block}\n---\n"
    with pytest.raises(InvalidState, match=rf"^{NAME}:2: .*write lines of 'key: value'"):
        change(text, {"title": "b"})
    assert edit(text.encode(), {}, SCHEMA, name=NAME, append="x") == text.encode() + b"x"


def test_edit_refuses_wrong_calls() -> None:
    data = b"---\nid: x\n---\n"
    for changes, part in [
        ({"titel": "x"}, "'titel' is not a known key"),
        ({"scope": "x"}, "'scope' must be a list"),
        ({"title": ()}, "'title' must be a text"),
        ({"title": "\udc80"}, "'title': half a character"),
    ]:
        with pytest.raises(ValueError, match=part):
            edit(data, changes, SCHEMA, name=NAME)
    with pytest.raises(ValueError, match="'body'"):
        edit(data, {}, SCHEMA, name=NAME, append="\ud800")
    with pytest.raises(InvalidState, match="262144 are allowed"):
        edit(data, {}, SCHEMA, name=NAME, append="x" * MAX_BYTES)


def test_a_result_that_reads_back_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopx_git.format.document.write_scalar", lambda text, **_: text)
    with pytest.raises(InvalidState, match="edit the file by hand"):
        change("---\nid: x\n---\n", {"id": "a # b"})
    with pytest.raises(InvalidState, match="edit the file by hand"):
        change("---\nid: x\n---\n", {"id": "a\nother: b"})


# A hand-edited file as pieces: comments, blank lines, unknown entries, known ones in the styles people use.


@dataclass(frozen=True)
class Piece:
    key: str | None
    lines: tuple[str, ...]


flat = st.text("abc xyz", min_size=1, max_size=6).map(lambda text: f"v{text}v")
UNKNOWN = [
    ("more: [1, {a: b}] # c",),
    ("more:", "  a: 1", "  # inside", "  b: [x]"),
    ("more: |", "  # text", "  title: no"),
    (
        "more: 'quoted",
        "  twice'",
    ),
    ('"more" : no',),
]
fillers = st.sampled_from(["# note", "", " # indented", "#", "# title: no"]).map(lambda line: Piece(None, (line,)))
comments = st.sampled_from(["", " # c", "\t#  d", "  "])


@st.composite
def known_entry(draw: st.DrawFn, key: str) -> Piece:
    texts = draw(st.lists(flat, min_size=1, max_size=3))
    first, comment = texts[0], draw(comments)
    if SCHEMA[key] is FieldKind.LIST:
        styles = [
            (f"{key}: [{', '.join(texts)}]{comment}",),
            (f"{key}:{comment}",),
            (f"{key}:", *(f"  - '{text}'" for text in texts)),
            (f"{key}:", *(f"- {text}" for text in texts)),
            (f"{key}: [{first},", f"  {first}]"),
        ]
    else:
        styles = [
            (f"{key}: {first}{comment}",),
            (f"{key}: '{first}'{comment}",),
            (f'"{key}": "{first}\\n"{comment}',),
            (f"{key}:{comment}",),
            (f"{key}: |", f"  {first} # text"),
            (f"{key}: >-", f"  {first}", f"  {first}"),
            (f"{key}: {first}", f"  {first}"),
        ]
    return Piece(key, draw(st.sampled_from(styles)))


@st.composite
def hand_edited(draw: st.DrawFn) -> list[Piece]:
    keys = draw(st.lists(st.sampled_from(list(SCHEMA)), unique=True))
    entries = [draw(known_entry(key)) for key in keys]
    for number in range(draw(st.integers(0, 2))):
        first, *rest = draw(st.sampled_from(UNKNOWN))
        lines = (first.replace("more", f"more{number}"), *rest)
        entries.insert(draw(st.integers(0, len(entries))), Piece(f"more{number}", lines))
    pieces: list[Piece] = []
    for entry in entries:
        pieces += [*draw(st.lists(fillers, max_size=2)), entry]
    return pieces + draw(st.lists(fillers, max_size=2))


changes_made = st.dictionaries(st.sampled_from(list(SCHEMA)), st.none() | wordlike, max_size=4).map(
    lambda made: {
        key: (() if value is None else (value, "b")) if SCHEMA[key] is FieldKind.LIST else value
        for key, value in made.items()
    }
)


@settings(deadline=None)  # the first example imports the YAML parser
@given(hand_edited(), changes_made, st.data(), texts)
def test_edits_keep_every_other_line(
    pieces: list[Piece], changes: dict[str, Value], data: st.DataObject, body: str
) -> None:
    ends = data.draw(st.sampled_from([("\n",), ("\r\n",), ("\n", "\r\n")]))

    def lines_of(piece: Piece) -> list[str]:
        return [line + data.draw(st.sampled_from(ends)) for line in piece.lines]

    opening = "---" + data.draw(st.sampled_from(ends))
    blocks = [(piece.key, lines_of(piece)) for piece in pieces]
    tail = "---\n" + body
    source = (opening + "".join(line for _, lines in blocks for line in lines) + tail).encode()
    before = load(source, SCHEMA, name=NAME)

    result = edit(source, changes, SCHEMA, name=NAME)
    after = load(result, SCHEMA, name=NAME)
    present = {key for key, _ in blocks}
    wanted = {key: value for key, value in changes.items() if key in present or value not in (None, ())}
    assert after.fields == {**before.fields, **wanted}
    assert (after.extra, after.body) == (before.extra, body)
    assert edit(result, changes, SCHEMA, name=NAME) == result

    # Line by line: walk the pieces, and let only changed and new entries differ.
    text = [line + "\n" for line in result.decode().removesuffix(tail).split("\n")[:-1]]
    assert text.pop(0) == opening
    fresh = {key for key in wanted if key not in present}

    def take_new() -> None:
        while text and (key := text[0].split(":")[0]) in fresh:
            assert text.pop(0).endswith(opening[3:])
            fresh.discard(key)

    for key, lines in blocks:
        if key in changes and changes[key] != before.fields[key]:
            line = text.pop(0)
            assert line.startswith((f"{key}:", f'"{key}":')) and line.endswith(opening[3:])
            if "# c" in lines[0] and len(lines) == 1:
                assert line.endswith(" # c" + opening[3:])
        else:
            assert text[: len(lines)] == lines
            del text[: len(lines)]
        if key in SCHEMA:
            take_new()
    take_new()
    assert not text and not fresh

    # A new key stands right behind the one before it in the schema, else behind all that were there.
    placed, order = list(after.fields), [key for key in SCHEMA if key in after.fields]
    for key in wanted.keys() - present:
        at, rank = placed.index(key), order.index(key)
        if rank:
            assert placed[at - 1] == order[rank - 1]
        else:
            assert not present & set(placed[at:])


# ---- arbitrary bytes

VALID = [
    HAND.encode(),
    HAND.replace("\n", "\r\n").encode(),
    dump({"title": "Fix: \u2028", "scope": ("a", "b: c"), "priority": "1"}, "\n## Notes\n", SCHEMA),
    b"---\n{title: x, more: [1, {a: b}]}\n---\n",
    b'---\nmore:\n  ? a\n  : b\n  ? c\nid: "\\x41\\u2028"\nself: >+\n  a\n\n# c\n---\n',
]
PARTS = [bytes([code]) for code in b"\n\r\t\0#[]{}!'\"\\|>%~\xff"] + [
    text.encode() for text in (": ", "- ", "  ", "? ", "&a ", "*a", "---", "...", "<<: ", "\u2028", "\\U00110000")
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    data = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        cut = draw(st.integers(0, 3))
        part = draw(st.sampled_from(PARTS) | st.binary(max_size=2))
        data = data[:start] + part + data[start + cut :]
    return data


@settings(deadline=None)  # the first example imports the YAML parser
@given(st.one_of(st.binary(), st.binary().map(lambda data: b"---\n" + data + b"\n---\n"), mutated()))
def test_only_invalid_state_is_ever_raised(data: bytes) -> None:
    for _ in parsers():
        try:
            loaded = load(data, SCHEMA, name=NAME)
        except InvalidState as error:
            assert error.message.startswith(f"{NAME}:{error.about['line']}: ")
            assert 1 <= error.about["line"] <= data.count(b"\n") + 1
            continue
        wanted: dict[str, Value] = {"title": "a: b", "scope": ("x",), "self": None}
        try:
            result = edit(data, wanted, SCHEMA, name=NAME)
        except InvalidState:
            continue
        after = load(result, SCHEMA, name=NAME)
        assert (after.extra, after.body) == (loaded.extra, loaded.body)
        assert (after.fields["title"], after.fields["scope"]) == ("a: b", ("x",))


def parsers() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        yield
        patch.delattr(yaml, "CSafeLoader", raising=False)
        yield
