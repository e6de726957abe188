"""The frontmatter document: bytes to plain values, canonical bytes back, and edits line by line.

A document is `---`, one YAML mapping, `---`, and a body that nobody interprets here. The reading is strict:
what two readers could understand differently is refused, with file and line, and never guessed. An edit
rewrites the lines of the keys that change; all other bytes are copied, and the result is read again before
it is handed out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from loopx_git.core.todo import FILE_MAX
from loopx_git.errors import InvalidState
from loopx_git.format.yaml_block import (
    BadYaml,
    Block,
    BlockLoader,
    YamlEntry,
    refuse_character,
    shown,
    write_list,
    write_scalar,
    yaml_refusal,
)

if TYPE_CHECKING:
    from frontmatter.default_handlers import YAMLHandler

MAX_BYTES = FILE_MAX
"""The size of the largest document that is read or written."""

Value = str | None | tuple[str, ...]


class FieldKind(Enum):
    """How a known key is typed.

    TEXT is one scalar, LIST a list of scalars. NUMBER is TEXT whose decimal digits are written without
    quotes; it is read as text like any other, and what a number may be is the caller's rule.
    """

    TEXT = "text"
    LIST = "list"
    NUMBER = "number"


@dataclass(frozen=True)
class Document:
    """One document as plain values.

    `fields`: the known keys that are there. Scalars are text as written; a null is None, for a LIST ().
    `extra`: the unknown keys with their source lines, so that two versions can be compared.
    `body`: everything after the closing `---` line, exact.
    `newline`: the line end of the opening line, which new lines take.
    """

    fields: Mapping[str, Value]
    extra: Mapping[str, str]
    body: str
    newline: str = "\n"


def load(data: bytes, schema: Mapping[str, FieldKind], *, name: str) -> Document:
    """Read one document; `schema` gives the known keys and their kinds, `name` the file for messages.

    Raises InvalidState whose message starts with `NAME:LINE: ` for everything that is not plainly one
    mapping of texts, lists and unknown keys within the limits; nothing is dropped or guessed.
    """
    try:
        return _document(_source(data), schema)
    except BadYaml as refusal:
        raise _invalid(name, refusal) from refusal.__cause__


def dump(fields: Mapping[str, Value], body: str, schema: Mapping[str, FieldKind]) -> bytes:
    """Write the canonical bytes: every key of `schema`, one line each, LF, then `body` as it is.

    An absent key or None is `key:`, an absent or empty LIST `key: []`, and a NUMBER of digits stays plain. Raises
    ValueError, naming the key, for a value that cannot be stored, a key that `schema` lacks, and a document larger
    than MAX_BYTES.
    """
    if unknown := fields.keys() - schema.keys():
        raise ValueError(f"no place in the order for {', '.join(sorted(unknown))}")
    lines = ["---\n"]
    for key, kind in schema.items():
        value = fields.get(key)
        if value is None and kind is FieldKind.LIST:
            value = ()
        lines.append(write_scalar(key) + ":" + _written(key, value, kind) + "\n")
    lines.append("---\n")
    data = "".join(lines).encode() + _encoded(body)
    if len(data) > MAX_BYTES:
        raise ValueError(f"the document would have {len(data)} bytes; {MAX_BYTES} are allowed")
    return data


def edit(
    data: bytes,
    changes: Mapping[str, Value],
    schema: Mapping[str, FieldKind],
    *,
    name: str,
    body: str | None = None,
    append: str = "",
) -> bytes:
    """Return `data` with `changes` made on their own lines, every other byte of the frontmatter as it was.

    A key that has the wanted value already keeps its line. None or () empties a key that is there and adds
    none that is not; a new key goes after the nearest one before it in the schema. A changed value becomes
    one canonical line; a comment behind a value of one line stays. `body` replaces the body, `append` is
    added at its end.

    Raises InvalidState when `data` does not load, when a comment stands inside the lines to be replaced,
    when the mapping is not one key a line from the first column, and when the result would not read back as
    wanted. Raises ValueError for a key that is not in the schema, a value of the wrong kind, and one that
    cannot be stored.
    """
    wanted = {key: _checked(key, value, schema) for key, value in changes.items()}
    try:
        source = _source(data)
        before = _document(source, schema)
        head = _rewritten(source, before, wanted, schema)
        new_body = (before.body if body is None else body) + append
        closing = source.closing
        if new_body and not closing.endswith("\n"):
            closing += before.newline
        result = (head + closing).encode() + _encoded(new_body)
        if result == data:
            return data
        after = _document(_source(result), schema)
        fields = dict(before.fields)
        fields.update({key: value for key, value in wanted.items() if key in fields or value not in (None, ())})
        if (after.fields, after.extra, after.body) != (fields, before.extra, new_body):
            raise BadYaml(1, "this change cannot be made line by line; edit the file by hand")
    except BadYaml as refusal:
        raise _invalid(name, refusal) from refusal.__cause__
    return result


class _Source(NamedTuple):
    head: str  # from the start to the closing line, the opening line included
    closing: str
    body: str
    block: Block


@lru_cache(maxsize=256)
def _source(data: bytes) -> _Source:
    # The same bytes are read by planner, encoder, check and view: parsed once, and nobody changes what comes of it.
    if len(data) > MAX_BYTES:
        raise BadYaml(1, f"the file has {len(data)} bytes; {MAX_BYTES} are allowed, move text elsewhere")
    try:
        text = data.decode()
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise BadYaml(line, f"the byte 0x{data[exc.start]:02X} is not UTF-8; save the file as UTF-8") from exc
    # Not frontmatter.parse: it strips the text first, and its own splitting takes `----` and the blank
    # lines behind a delimiter for part of it, so the body's bytes would be lost; a text it cannot split has
    # empty metadata.
    handler = _handler()
    head, body = handler.split(text)
    block: Block = handler.load(head)
    return _Source(head, text[len(head) : len(text) - len(body)], body, block)


@cache
def _handler() -> YAMLHandler:
    from frontmatter.default_handlers import YAMLHandler

    class StrictHandler(YAMLHandler):
        """The YAML handler with an exact split and our loader; raises BadYaml."""

        def split(self, text: str) -> tuple[str, str]:
            return _split(text)

        def load(self, fm: str, **kwargs: object) -> Any:
            import yaml

            try:
                return super().load(fm, Loader=BlockLoader)
            except yaml.YAMLError as exc:
                raise yaml_refusal(exc, fm) from exc

    return StrictHandler()


def _split(text: str) -> tuple[str, str]:
    if text.startswith("\ufeff"):
        raise BadYaml(1, "the file starts with a byte order mark; save it as UTF-8 without one")
    opening = _OPENING.match(text)
    if not opening:
        raise BadYaml(1, "the frontmatter is missing; the first line must be exactly '---'")
    closing = _CLOSING.search(text, opening.end())
    refuse_character(text, closing.start() if closing else len(text))
    if not closing:
        found = _ALMOST_CLOSING.search(text, opening.end())
        line = text.count("\n", 0, found.start()) + 1 if found else 1
        raise BadYaml(line, "the frontmatter is not closed; end it with a line of exactly '---'")
    return text[: closing.start()], text[closing.end() :]


def _document(source: _Source, schema: Mapping[str, FieldKind]) -> Document:
    fields: dict[str, Value] = {}
    extra: dict[str, str] = {}
    for key, entry in source.block.items():
        kind = schema.get(key)
        if kind is None:
            extra[key] = source.head[entry.start : entry.end]
        else:
            fields[key] = _list(key, entry) if kind is FieldKind.LIST else _text(key, entry)
    return Document(fields, extra, source.body, "\r\n" if source.head[3] == "\r" else "\n")


def _text(key: str, entry: YamlEntry) -> str | None:
    if entry.shape != "scalar":
        raise BadYaml(entry.line, f"'{key}' must be one text; write {key}: \"...\"")
    return entry.items[0].text


def _list(key: str, entry: YamlEntry) -> tuple[str, ...]:
    how = f"write {key}: [first, second]"
    if entry.shape == "scalar" and entry.items[0].text is None:
        return ()
    if entry.shape != "list":
        raise BadYaml(entry.line, f"'{key}' must be a list; {how}")
    texts: list[str] = []
    for text, nested, line in entry.items:
        if nested:
            raise BadYaml(line, f"an item of '{key}' is not a text; {how}, texts with ': ' in double quotes")
        if text is None:
            raise BadYaml(line, f'an item of \'{key}\' is null; remove it, or write "" or "null"')
        texts.append(text)
    return tuple(texts)


def _rewritten(
    source: _Source, before: Document, wanted: Mapping[str, Value], schema: Mapping[str, FieldKind]
) -> str:
    head, block = source.head, source.block
    splices: list[tuple[int, int, str]] = []
    at_end: list[str] = []  # new keys with none before them in the schema
    place: int | None = None
    for key, kind in schema.items():
        entry = block.get(key)
        if entry is not None:
            place = entry.end
            if key in wanted and wanted[key] != before.fields[key]:
                line = _replacement(head, entry, _written(key, wanted[key], kind))
                splices.append((entry.start, entry.end, line + before.newline))
        elif wanted.get(key, ()) not in (None, ()):
            line = write_scalar(key) + ":" + _written(key, wanted[key], kind) + before.newline
            if place is None:
                at_end.append(line)
            else:
                splices.append((place, place, line))
    if (splices or at_end) and not block.linewise:
        raise BadYaml(2, "the keys do not each start a line; write lines of 'key: value' from the first column")
    parts: list[str] = []
    at = 0
    for start, end, line in sorted(splices, key=lambda splice: splice[:2]):
        parts += head[at:start], line
        at = end
    return "".join([*parts, head[at:], *at_end])


def _replacement(head: str, entry: YamlEntry, value: str) -> str:
    line_end = head.index("\n", entry.key_start)
    tail = ""
    if entry.value_end <= line_end:
        behind = head[entry.value_end : line_end].rstrip("\r")
        if "#" in behind:
            # YAML readers take `"x"#note`; behind a plain value the blank is what makes it a comment.
            tail = behind if behind[0] in " \t" else " " + behind
    elif (comment := entry.comment(head)) is not None:
        line = head.count("\n", 0, comment) + 1
        name = shown(head[entry.key_start : entry.key_end])
        raise BadYaml(line, f"the value of {name} holds a comment that a change would lose; edit it by hand")
    return head[entry.key_start : entry.key_end] + ":" + value + tail


def _checked(key: str, value: Value, schema: Mapping[str, FieldKind]) -> Value:
    kind = schema.get(key)
    if kind is None:
        raise ValueError(f"'{key}' is not a known key")
    if kind is FieldKind.LIST:
        value = () if value is None else value
    if isinstance(value, tuple) is not (kind is FieldKind.LIST):
        raise ValueError(f"'{key}' must be a {kind.value}")
    return value


def _written(key: str, value: Value, kind: FieldKind) -> str:
    # With the blank in front, so that an empty value leaves none behind the colon.
    try:
        if value is None:
            return ""
        if isinstance(value, str):
            return " " + write_scalar(value, number=kind is FieldKind.NUMBER)
        return " " + write_list(value)
    except ValueError as exc:
        raise ValueError(f"'{key}': {exc}") from exc


def _encoded(body: str) -> bytes:
    try:
        return body.encode()
    except UnicodeEncodeError as exc:
        raise ValueError("'body': half a character (a lone surrogate) cannot be stored") from exc


def _invalid(name: str, refusal: BadYaml) -> InvalidState:
    return InvalidState(
        f"{name}:{refusal.line}: {refusal.reason}",
        hint="mend the file; until then nobody can use it and nothing else is affected: git loopx verify",
        about={"file": name, "line": refusal.line},
    )


_OPENING = re.compile(r"---\r?\n")
_CLOSING = re.compile(r"^---(?:\r?\n|\Z)", re.MULTILINE)
_ALMOST_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
